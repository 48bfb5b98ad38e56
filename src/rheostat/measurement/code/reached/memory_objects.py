"""Which pointers of a text may go to the same object, and what reads and writes there.

Pointers that are put beside each other (chosen from, kept in one place, given to one function) are
one, as in Steensgaard's analysis: whatever the index, the order and the thread.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import gcd

from rheostat.measurement.code.reached.constant_values import NAME

VALUE = rf"(?:{NAME}|@[-\w.$]+)"
DEFINED = re.compile(r"define (?P<how>.*?)@(?P<name>[-\w.$]+)\((?P<given>.*)\)[^()]*\{$")
ASSIGNED = re.compile(rf"\s*(?:({NAME}) = )?(.*)$")
POINTERS = re.compile(rf"\bptr (?:align \d+ |[a-z_]+(?:\([^()]*\))? )*({VALUE})")
TYPE = r'(?:%"[^"]*"|[^,"]+?)'
LOADED = re.compile(rf"load (?P<type>\S+), ptr (?P<place>{VALUE})")
STORED = re.compile(rf"store (?P<type>\S+) (?P<value>[^,]+), ptr (?P<place>{VALUE})")
ELEMENT = re.compile(
    rf"getelementptr (?:inbounds )?(?P<of>{TYPE}), ptr (?P<base>{VALUE})(?P<by>(?:, i\d+ [^,!]+)+)"
)
CALLED = re.compile(
    r"(?:(?:tail|musttail|notail) )?(?:call|invoke) [^@(]*(?:\([^@()]*\) )?@(?P<name>[-\w.$]+)"
    r"\((?P<given>.*)"
)
CHOICE = re.compile(rf"\[ ({VALUE}), ")
GLOBAL = re.compile(
    r"(?m)^(?P<name>@[-\w.$]+) = (?P<how>.*?)\b(?:global|constant) (?P<type>\[.*?\]|\S+) "
    r"(?P<held>.*)$"
)
GIVES, CLEARS = re.compile(r"(?:[mc]alloc|aligned_alloc|_Zn[wa]\w*)$"), re.compile(r"calloc$")
FILLS, COPIES = re.compile(r"llvm\.memset\."), re.compile(r"llvm\.mem(?:cpy|move)\.")
SORTS = re.compile(r"qsort$")
READS = re.compile(
    r"(?:free|_Zd[la]Pv\w*|f?printf|puts|f?putc|putchar|exit|abort|strlen|strn?cmp|memcmp|atoll?|"
    r"atoi|llvm\.(?:lifetime|dbg)\..*|rheostat_\w+|"
    r"__kmpc_(?:global_thread_num|barrier|(?:end_)?critical|for_static_fini|push_num_threads))$"
)
"""Functions that keep nothing where they are pointed to.  What other threads do is in the text."""
UNKNOWN = re.compile(
    r'c"[^"]*%[\d*$hlzjt]*n|'
    r"inttoptr|addrspacecast|va_arg|callbr|indirectbr|blockaddress|asm |"
    r"\b(?:load|store) (?:atomic |volatile )*(?:<|\{|\[|i128)|\bret [{\[<]"
)
"""Pointers made of numbers, or moved by what is not looked at; what `printf` may write."""
SIZES = re.compile(r"(shl|mul|add|sub|zext|sext)(?: n[us]w)* i\d+ ([^,\s]+)(?:, (\S+))?")
DIFFERENCE = re.compile(rf"sub (?:n[us]w )*i64 ({NAME}), ({NAME})$")
ANYWHERE, GIVEN_BACK, DEEPEST = "anywhere", "what it gives back", 8


@dataclass
class MemoryObject:
    """Accesses by row, with type and member; types it is taken for; sizes of what is copied.

    ``first``: numbers that it starts with; ``open``: another program's function may write to it.
    """

    loads: dict[int, tuple[str, str]] = field(default_factory=dict)
    stores: dict[int, tuple[str, str]] = field(default_factory=dict)
    shapes: set[str] = field(default_factory=set)
    sizes: set[int] = field(default_factory=set)
    first: set[int] = field(default_factory=set)
    open: bool = False

    def take(self, other: MemoryObject) -> None:
        """Take what is known of another one that may be the same."""
        self.loads |= other.loads
        self.stores |= other.stores
        self.shapes |= other.shapes
        self.sizes |= other.sizes
        self.first |= other.first
        self.open |= other.open


class _Pointers:
    """Nodes that may go to the same object, each with what stands there."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}
        self._inside: dict[str, str] = {}
        self.known: defaultdict[str, MemoryObject] = defaultdict(MemoryObject)
        self.of(ANYWHERE).open = True
        self.same(ANYWHERE, self.content(ANYWHERE))

    def of(self, node: str) -> MemoryObject:
        return self.known[self._root(node)]

    def content(self, node: str) -> str:
        root = self._root(node)
        return self._inside.setdefault(root, f"in {root}")

    def same(self, one: str, other: str) -> None:
        open_ = [(one, other)]
        while open_:
            a, b = map(self._root, open_.pop())
            if a == b:
                continue
            self._above[b] = a
            self.known[a].take(self.known.pop(b, MemoryObject()))
            inside = [x for r in (a, b) if (x := self._inside.pop(r, ""))]
            if inside:
                self._inside[a] = inside[0]
                open_ += [(inside[0], x) for x in inside[1:]]

    def _root(self, node: str) -> str:
        while (above := self._above.get(node, node)) != node:
            node = above
        return node


class MemoryObjects:
    """Objects of LLVM's optimised text of a whole program but for the libraries'.

    Parameters
    ----------
    text : str
        The text.
    """

    def __init__(self, text: str) -> None:
        self._pointers = _Pointers()
        self._rows = text.splitlines()
        heads = [m for row in self._rows if (m := DEFINED.match(row))]
        self._parameters = {m["name"]: _values(m["given"]) for m in heads}
        self._elsewhere, self._members = set[str](), dict[str, str]()
        for m in heads:
            if "internal" not in m["how"]:
                self._given_anything(m["name"])
        for m in GLOBAL.finditer(text):
            self._global(m)
        self._read()

    def each(self) -> list[MemoryObject]:
        """Objects that no other program's function may write to."""
        for node in self._members.keys() & self._elsewhere:
            self._pointers.of(node).shapes.add(f"within {self._members[node]}")
        return [o for o in self._pointers.known.values() if not o.open]

    def _read(self) -> None:
        self._function, self._defined = "", dict[str, str]()
        for number, row in enumerate(self._rows):
            if m := DEFINED.match(row):
                self._function, self._defined = m["name"], {}
            elif row == "}":
                self._function = ""
            elif self._function and (m := ASSIGNED.match(row)):
                said = m[2].split(", !")[0]
                self._defined[m[1] or ""] = said
                self._row(number, m[1] or "", said)

    def _node(self, value: str) -> str:
        return value if value.startswith("@") else f"{self._function} {value}"

    def _row(self, number: int, value: str, said: str) -> None:
        if m := LOADED.match(said):
            self._loaded(number, value, m)
        elif m := STORED.match(said):
            self._stored(number, m)
        else:
            self._elsewhere |= {self._node(v) for v in re.findall(NAME, said)}
            self._other(value, said)
        called = CALLED.match(said)
        direct = called["name"] if called else ""
        for name in re.findall(r"@([-\w.$]+)", said) if not SORTS.match(direct) else ():
            if name in self._parameters and name != direct:
                self._given_anything(name)

    def _other(self, value: str, said: str) -> None:
        if m := ELEMENT.match(said):
            self._element(value, m)
        elif m := CALLED.match(said):
            self._called(value, m["name"], m["given"])
        elif said.startswith("phi "):
            self._one(value, CHOICE.findall(said) if said[4:7] in ("ptr", "i64") else ())
        elif said.startswith("ptrtoint "):
            self._one(value, POINTERS.findall(said))
        elif said.startswith(("ret ptr ", "ret i64 ")):
            given_back = f"{self._function} {GIVEN_BACK}"
            self._pointers.same(given_back, self._node(said.rsplit(maxsplit=1)[-1]))
        elif said.startswith(("select ", "freeze ", "insertvalue ", "extractvalue ")):
            self._one(value, re.findall(VALUE, said) if re.search(r"\bptr\b|\bi64\b", said) else ())
        elif not said.startswith(("icmp ", "alloca ")):
            self._anywhere(value, said)

    def _one(self, value: str, others: Sequence[str]) -> None:
        for other in others:
            self._pointers.same(self._node(value), self._node(other))

    def _anywhere(self, value: str, said: str) -> None:
        """Pointers in an instruction that is not looked at; numbers made of addresses."""
        m = DIFFERENCE.match(said)
        of_address = [v for v in re.findall(NAME, said)
                      if self._defined.get(v, "").startswith("ptrtoint ")]  # fmt: skip
        plain = m and len(of_address) == 2
        given = [*POINTERS.findall(said), *(() if plain else of_address)]
        for v in (*given, *([value] if given and value else [])):
            self._pointers.same(ANYWHERE, self._node(v))

    def _loaded(self, number: int, value: str, m: re.Match[str]) -> None:
        place = self._node(m["place"])
        self._pointers.of(place).loads[number] = m["type"], self._member(m["place"])
        if m["type"] in ("ptr", "i64"):
            self._pointers.same(self._pointers.content(place), self._node(value))

    def _stored(self, number: int, m: re.Match[str]) -> None:
        place = self._node(m["place"])
        self._pointers.of(place).stores[number] = m["type"], self._member(m["place"])
        self._elsewhere.add(self._node(m["value"]))
        if m["type"] in ("ptr", "i64"):
            for value in re.findall(VALUE, m["value"]):
                self._pointers.same(self._pointers.content(place), self._node(value))

    def _element(self, value: str, m: re.Match[str]) -> None:
        """An element, or a member of one; what is had in more steps is within the type."""
        by = [x.split()[-1] for x in m["by"].split(", ")[1:]]
        flat = len(by) == 1 or (len(by) == 2 and m["of"].startswith("%") and by[1].isdecimal())
        self._pointers.of(self._node(m["base"])).shapes.add(
            m["of"] if flat else f"within {m['of']}"
        )
        if len(by) > 1:
            self._members[self._node(value)] = m["of"]
        self._one(value, [m["base"]])

    def _member(self, place: str) -> str:
        m = ELEMENT.match(self._defined.get(place, ""))
        by = [x.split()[-1] for x in m["by"].split(", ")[1:]] if m else []
        return by[1] if len(by) > 1 else "0"

    def _given_anything(self, function: str) -> None:
        """A function that may be called with anything: by another program, by its address."""
        for parameter in filter(None, self._parameters[function]):
            self._pointers.same(ANYWHERE, f"{function} {parameter}")

    def _called(self, value: str, name: str, given: str) -> None:
        pointers, result = [self._node(p) for p in POINTERS.findall(given)], self._node(value)
        if name in self._parameters:
            for parameter, part in zip(self._parameters[name], _parts(given), strict=False):
                for v in re.findall(VALUE, part):
                    self._pointers.same(f"{name} {parameter}", self._node(v))
            self._pointers.same(f"{name} {GIVEN_BACK}", result)
        elif GIVES.match(name):
            self._pointers.of(result).first |= {0} if CLEARS.match(name) else set()
        elif FILLS.match(name) or COPIES.match(name):
            self._kept_whole(pointers, given)
        elif SORTS.match(name):
            self._sorted(pointers, given)
        elif not READS.match(name):
            for one in (*pointers, result):
                self._pointers.same(ANYWHERE, one)

    def _kept_whole(self, places: Sequence[str], given: str) -> None:
        """What is filled, or copied, in whole elements is what stands there, or in the other."""
        byte, size = re.search(r", i8 (\S+), i64", given), re.search(r", i64 ([^,]+), i1", given)
        for other in places[1:]:
            self._pointers.same(places[0], other)
        held = self._pointers.of(places[0] if places else ANYWHERE)
        held.sizes.add(self._multiple(size[1]) if size else 1)
        if byte:
            held.open |= byte[1] not in ("0", "-1")
            held.first |= {int(byte[1])} if byte[1] in ("0", "-1") else set()

    def _sorted(self, places: Sequence[str], given: str) -> None:
        """Elements change their places; the function that compares them is given two."""
        *_, size, compares = ["", "", *_values(given)]
        self._pointers.of(places[0]).sizes.add(self._multiple(size))
        for parameter in self._parameters.get(compares[1:], ()):
            self._pointers.same(places[0], f"{compares[1:]} {parameter}")

    def _multiple(self, size: str, depth: int = 0) -> int:
        """A number that a size is a multiple of."""
        if size.isdecimal():
            return int(size)
        m = SIZES.match(self._defined.get(size, "")) if depth < DEEPEST else None
        if m is None or (m[3] is None and "ext" not in m[1]):
            return 1
        one, other = self._multiple(m[2], depth + 1), m[3] or ""
        if m[1] == "shl":
            return one << int(other) if other.isdecimal() else one
        if m[1] == "mul":
            return one * self._multiple(other, depth + 1)
        return one if "ext" in m[1] else gcd(one, self._multiple(other, depth + 1))

    def _global(self, m: re.Match[str]) -> None:
        own, held = self._pointers.of(m["name"]), m["held"].partition(", align")[0]
        own.shapes.add(m["type"] if m["type"].startswith("%") else f"within {m['type']}")
        own.first |= {0} if "zeroinitializer" in held else set()
        own.first |= {int(n) for n in re.findall(r"(?:^|\bi\d+ )(-?\d+)\b", held)}
        own.open |= 'c"' in held or "external" in m["how"] or "undef" in held
        for other in re.findall(r"@([-\w.$]+)", held):
            self._pointers.same(self._pointers.content(m["name"]), f"@{other}")
            if other in self._parameters:
                self._given_anything(other)


def _values(given: str) -> list[str]:
    """The last word of each of a call's or a function's parts, which is its value or name."""
    return [(part.split() or [""])[-1] for part in _parts(given)]


def _parts(given: str) -> Iterator[str]:
    """What stands between commas that no bracket is around, up to the bracket that ends it all."""
    depth, part = 0, ""
    for c in given:
        depth += (c in "([{<") - (c in ")]}>")
        if depth < 0:
            break
        if c == "," and depth == 0:
            yield part
            part = ""
        else:
            part += c
    if part.strip():
        yield part
