"""LLVM's text of a program with marks: which way each comparison came out, which blocks were run.

Every comparison in the program's own files writes to one of two bytes, every block to one, so that
what no run reached can be told by its line, also where no `if` stands: ``x * (x == 7)``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType

from rheostat.measurement.code.reached.choices import (
    CHOSEN,
    CHOSEN_CL,
    CHOSEN_CXX,
    LABEL,
    TYPES,
    chooses,
    is_taken,
)
from rheostat.measurement.code.reached.consequences import note
from rheostat.measurement.code.reached.constant_values import DECLARED, NAME
from rheostat.measurement.code.reached.constants import (
    CONSTANT,
    asked_before,
    constant_loads,
    globals_set_once,
    set_once,
)
from rheostat.measurement.code.reached.idle_operations import Idle, idle
from rheostat.measurement.code.reached.margins import without_margin
from rheostat.measurement.code.reached.marks import (
    ARRAY,
    At,
    Block,
    Comparison,
    Marked,
    byte_at,
    stored,
)
from rheostat.measurement.code.reached.memory_failures import tells_failure
from rheostat.measurement.code.reached.numbers import cut_numbers
from rheostat.measurement.code.reached.quotients import Remainder, remainders, rounded
from rheostat.measurement.code.reached.reciprocals import rounded_reciprocals
from rheostat.measurement.code.reached.room import noted
from rheostat.measurement.code.reached.shared_places import shared_places
from rheostat.measurement.code.reached.source_places import Places
from rheostat.measurement.code.reached.stated_ranges import Ends, Stated
from rheostat.measurement.code.reached.sums import DECLARED as OF_DIGITS
from rheostat.measurement.code.reached.sums import noted_sums
from rheostat.measurement.code.reached.ties import BRANCH, Kinds, Ties
from rheostat.measurement.code.reached.truths import (
    ALLOCATES,
    LOADED,
    MADE_TRUE,
    SEARCHES,
    ends_text,
    is_only_kept,
    maker,
    targets_of,
)
from rheostat.measurement.code.reached.unread_entries import of_table, read_entries, tables
from rheostat.measurement.code.reached.whole_numbers import told_apart
from rheostat.measurement.code.reached.wrapping_counters import noted_counters

COMPARED = re.compile(
    rf"\s*(?P<value>{NAME}) = [if]cmp (?:(?:fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) )*"
    rf"(?P<how>[a-z]+) (?P<type>\S+) (?P<one>[^,]+), (?P<other>[^,]+?)(?:, !.*)?$"
)
DEFINED = re.compile(r'define (?P<how>.*?)@(?P<name>[-\w.$]+|"[^"]*")\(')
NAMED = re.compile(r'@([-\w.$]+|"[^"]*")')
LAST = re.compile(
    rf"\s+(?:br|ret|switch|unreachable|resume|indirectbr|(?:{NAME} = )?(?:invoke|callbr))\b"
)
SWITCH = re.compile(rf"\s*switch (?P<type>\S+) (?P<value>{NAME}), label %(?P<other>\S+) \[")
CASE = re.compile(r"\s*\S+ (-?\d+), label %(\S+)$")
TARGET = re.compile(r'label %([-\w.$]+|"[^"]*")')
NOTHING = re.compile(r"@llvm\.(?:dbg|lifetime)\.")
ACTS = re.compile(rf"\s*(?:{NAME} = )?(?:(?:tail |notail )?call|invoke|store|atomicrmw|cmpxchg)\b")
ENDS_WELL = re.compile(r"@(?:_?exit|_Exit|quick_exit)\(i32 (?:noundef )?0\)")
FAILS = re.compile(r"\s*store i32 (?!0\b)-?\d+, ptr %retval\b")
BY_COMPILER = re.compile(
    r"(?:lpad|ehcleanup|eh\.resume|terminate|catch\.dispatch|unreachable|cleanup)"
)
WAYS = {"eq": ("eq", True), "ne": ("eq", False), "lt": ("lt", True), "ge": ("lt", False),
        "gt": ("gt", True), "le": ("gt", False), "no": ("nan", True),
        "rd": ("nan", False)}  # fmt: skip
MIRRORED = {"lt": "gt", "gt": "lt", "eq": "eq", "nan": "nan"}


def marked(
    code: str, files: Mapping[str, str], first: int = 0, values: int = 0,
    stated: Mapping[int, Ends] = MappingProxyType({}), theirs: Collection[str] = (),
) -> Marked:  # fmt: skip
    """LLVM's text with marks from byte ``first`` on.

    Parameters
    ----------
    code : str
        What clang writes, with lines and the names of values, before it optimises.
    files : mapping of str to str
        The program's own files.
    first, values : int
        The first free byte, and number of a value that is kept.
    stated : mapping of int to pair of int
        The ends of arguments by their place: what they decide is no question.
    theirs : collection of str
        What tables of the original hold, which are no question, too.

    Returns
    -------
    Marked
        Functions that nothing refers to are not among its ``functions``.
    """
    return _Marker(code, files, first, values, stated, theirs).marked()


class _Marker:
    def __init__(
        self, code: str, files: Mapping[str, str], first: int, values: int,
        stated: Mapping[int, Ends], theirs: Collection[str],
    ) -> None:  # fmt: skip
        self.code, self.files, self.first_value = code, files, values
        self.globals, self.stated = globals_set_once(code), Stated(code, stated)
        self.all_inexact, self.shared = told_apart(code), shared_places(code)
        self.cut = cut_numbers(code, files.values()) | rounded_reciprocals(code)
        self.named = Counter(NAMED.findall(code))
        self.tables = tables(code, files, theirs, first)
        own = [t for t, _ in self.tables.values()]
        self.made = Marked("", first + sum(t.count + 1 for t in own), tables=own)
        self.loads = 0
        self._place = Places(code, files).of

    def marked(self) -> Marked:
        rows, function = list[str](), list[str]()
        for row in self.code.splitlines():
            m = DEFINED.match(row)
            if m and "available_externally" not in m["how"]:
                self.function, function = m["name"], [row]
                continue
            if function and row == "}":
                rows += self._function(function) if self._is_own(function) else function
                function = []
            (function or rows).append(row)
        made = self.made
        made.functions = {f for f, _ in made.blocks if self._is_used(f)}
        declared = [d for d in (*DECLARED, *OF_DIGITS) if d not in self.code]
        made.text = "\n".join([*rows, *declared, f"@{ARRAY} = external global [1 x i8]", ""])
        return made

    def _is_own(self, rows: Sequence[str]) -> bool:  # the library's may read own tables, too
        return bool(self.tables) or any(map(self._place, rows))

    def _is_used(self, name: str) -> bool:
        return name == "main" or self.named[name] > 1

    def _function(self, rows: list[str]) -> Iterator[str]:
        self.rows = rows
        self.defined = dict(r.strip().split(" = ", 1) for r in rows[1:] if " = " in r)
        self.asked = asked_before(rows, self.defined)
        self.inexact = {v: most for (f, v), most in self.all_inexact.items() if f == self.function}
        self.once, self.kinds = set_once(rows), Kinds(rows, self.defined)
        self.ties = Ties(rows, self.kinds)
        self.set_once = self.globals | {p: v for p, v in self.once.items() if CONSTANT.fullmatch(v)}
        yield rows[0]
        block: list[str] = []
        label = "entry"
        for row in rows[1:]:
            m = LABEL.match(row)
            if m and any(x.strip() for x in block):
                yield from self._block(label, block)
                block = []
            label = m[1] if m else label
            block.append(row)
        yield from self._block(label, block)

    def _block(self, label: str, rows: list[str]) -> Iterator[str]:
        made = self.made
        self.label = label
        block = Block(made.end, unasked=bool(BY_COMPILER.match(label)) or label in self.ties.orders)
        made.blocks[self.function, label] = block
        made.end += 1
        branch = next((m for row in rows if (m := BRANCH.match(row))), None)
        asked = self.asked.get(label, {})
        self.constant, self.impossible = constant_loads(rows, self.defined, asked), ""
        for row in rows:
            self._noted(block, row)
            if m := SWITCH.match(row):
                yield from self._switched(m, rows)
            if LAST.match(row):
                yield f"  store i8 1, ptr {byte_at(block.offset)}"
            before, behind = self._kept_values(row)
            yield from (*self._entries(row), *before, row, *behind)
            yield from self._chosen(row)
            yield from self._idle(row)
            yield from self._truth(row, branch)
            if m := COMPARED.match(row):
                yield from self._compared(m, row, branch)
        block.stops &= not any(ENDS_WELL.search(row) for row in rows)

    def _noted(self, block: Block, row: str) -> None:
        if NOTHING.search(row):
            return
        block.targets += [t for t in TARGET.findall(row) if t != self.impossible]
        block.acts |= bool(ACTS.match(row))
        block.chooses |= " = phi " in row
        note(block, row)
        in_main = self.function == "main"
        block.stops |= row.strip().startswith("unreachable") or (in_main and bool(FAILS.match(row)))
        at = self._place(row)
        said = self.cut.get((self.function, row.strip().partition(" = ")[0]))
        self.made.cut += [(at, said)] if at and said else []
        if at and not re.match(r"\s*(?:br|switch|ret)\b", row):
            block.places.add(at[:2])

    def _compared(self, m: re.Match[str], row: str, branch: re.Match[str] | None) -> Iterator[str]:
        at, asked = self._place(row), WAYS.get(m["how"][-2:])
        targets = targets_of(branch, m["value"])
        if at is None or asked is None or m["type"].startswith("<"):
            return
        made = maker(m["one"], self.rows, self.defined)
        if "null" in m["other"] and not of_table(made, self.defined):
            yield from self._with_null(m, at, targets)
            return
        if ends_text(m, targets, self.rows) or tells_failure(m, self.rows, self.defined):
            return
        if self._is_stated(m, *asked, targets):
            return
        how, value, constant = asked[0], m["one"], self._constant(m["other"])
        if other := self._constant(m["one"]):
            how, value, constant = MIRRORED[how], m["other"], other
        alike = self.kinds.equal if how == "eq" else self.kinds.ordered
        tie = not constant and alike(m["one"], m["other"])
        if tie and self.ties.settle(self.label, m["value"], how):
            return
        yield from self._kept(Comparison(at, how, constant, asked[1], self.made.end, targets,
                                         self.function, -1, m["value"], tie,
                                         self.kinds.is_byte(value)), m["value"])  # fmt: skip
        yield from self._margin(m, at)
        if how in ("lt", "gt") and constant and self._is_choice(at, constant, value, targets or ()):
            sign = m["how"][:-2]
            yield from self._strictly(at, m["type"], value, constant, sign, (MIRRORED[how],))

    def _is_stated(
        self, m: re.Match[str], how: str, holds: bool, targets: tuple[str, str] | None
    ) -> bool:
        """Whether the stated ranges decide it; the way that is never taken is then no way."""
        came = self.stated.decided(self.function, how, m["one"], m["other"],
                                   signed=m["how"][0] != "u")  # fmt: skip
        if came is not None and targets:
            self.impossible = targets[came == holds]
        return came is not None

    def _with_null(
        self, m: re.Match[str], at: At, targets: tuple[str, str] | None
    ) -> Iterator[str]:
        """Whether a search gave something, or memory was had: whether it failed is no question."""
        equal, made = m["how"] == "eq", maker(m["one"], self.rows, self.defined)
        if ALLOCATES.match(made) and (targets or is_only_kept(m["value"], self.rows)):
            yield f"  store i8 1, ptr {byte_at(self.made.end + equal)}"
        if ALLOCATES.match(made) or SEARCHES.match(made):
            yield from self._kept(Comparison(at, "eq", "null", equal, self.made.end, targets,
                                             self.function), m["value"])  # fmt: skip

    def _truth(self, row: str, branch: re.Match[str] | None) -> Iterator[str]:
        """How a truth came out that no comparison here makes: of a table, of C++'s library."""
        at, m = self._place(row), MADE_TRUE.match(row)
        exchange = m and m["pair"] and "with.overflow" not in self.defined.get(m["pair"], "")
        if at and m and not (exchange or (m["of"] and self._constant(m["of"]))):
            yield from self._kept(Comparison(at, "eq", "true", True, self.made.end, targets_of(
                branch, m["value"]), self.function), m["value"])  # fmt: skip

    def _constant(self, operand: str) -> str:
        """A constant, also one that a variable is set to and nothing changes; else empty."""
        if CONSTANT.fullmatch(operand):
            return operand
        m = LOADED.match(self.defined.get(operand, ""))
        return self.set_once.get(m[1], "") if m else ""

    def _is_choice(self, at: At, constant: str, value: str, targets: Sequence[str]) -> bool:
        """Whether the constant is taken where a value is beyond it: equality then shows nothing."""
        rows = self.files[at[0]].splitlines()
        text = rows[at[1] - 1] if at[1] <= len(rows) else ""
        return is_taken(constant, value, targets, self.rows, self.defined) or chooses(text, at[2])

    def _chosen(self, row: str) -> Iterator[str]:
        """The lesser or greater of two values by a function of the library."""
        at = self._place(row)
        if at and (m := CHOSEN.search(row)):
            one, other = (m[2], m[3]) if CONSTANT.fullmatch(m[3]) else (m[3], m[2])
            yield from self._strictly(at, m[1], one, other, "o", ("lt", "gt"))
        elif at and (m := CHOSEN_CXX.search(row)):
            type_, places = TYPES[m[1]], re.findall(r"([%@][^\s,]+)(?:,|$)", m[2])
            sign = "o" if type_ in ("float", "double") else "u" if m[1] in "jmyt" else "s"
            if first := next((p for p in places if p not in self.set_once), ""):
                values = {p: self.set_once.get(p, f"%{ARRAY}.{self.made.end}.{i}")
                          for i, p in enumerate(places)}  # fmt: skip
                for place in (p for p in values if p not in self.set_once):
                    yield f"  {values[place]} = load {type_}, ptr {place}"
                value = values.pop(first)
                for other in values.values():
                    yield from self._strictly(at, type_, value, other, sign, ("lt", "gt"))
        elif at and (m := CHOSEN_CL.search(row)):
            sign = "o" if m[1] in "fd" else "u" if m[1] in "hjmt" else "s"
            every = [given.split()[-1] for given in m[2].split(", ")]
            value = next((v for v in every if not CONSTANT.fullmatch(v)), every[0])
            for other in (v for v in every if v != value):
                yield from self._strictly(at, TYPES[m[1]], value, other, sign, ("lt", "gt"))

    def _idle(self, row: str) -> Iterator[str]:
        """Whether a summand, a factor, a quotient was ever another than what changes nothing."""
        known = idle(row, self.rows, self.defined, self.set_once, self.constant)
        shared = self.shared.get((self.function, row.strip().partition(" = ")[0]), ())
        for one in (*known, *rounded(row, self.defined), *shared):
            yield from self._nothing(one, self._place(row))
        for asked in remainders(row, self.defined, self.once):
            yield from self._remainder(asked, self._place(row))

    def _remainder(self, asked: Remainder, at: At | None) -> Iterator[str]:
        """Whether a remainder ever came; a third byte is of what shows nothing."""
        if at is not None:
            offset, name = self.made.end, f"%{ARRAY}.{self.made.end}"
            self.made.comparisons.append(Comparison(at, "eq", asked.said, True, offset, None,
                                                    self.function))  # fmt: skip
            self.made.end += 3
            yield asked.outcome(name)
            yield from (*stored(offset, name), *stored(offset, f"{name}.too"))

    def _nothing(self, one: Idle, at: At | None) -> Iterator[str]:
        """Whether a value was ever another one than what changes nothing."""
        if at is not None:
            name = f"%{ARRAY}.{self.made.end}.nothing"
            yield one.compared(f"  {name}")
            yield from self._once_not(at, name, one.said)

    def _once_not(self, at: At, name: str, said: str, of: int = -1) -> Iterator[str]:
        """A comparison that no text shows, of which only "never otherwise" is asked."""
        yield f"  store i8 1, ptr {byte_at(self.made.end + 1)}"
        yield from self._kept(Comparison(at, "eq", said, True, self.made.end, None,
                                         self.function, of), name)  # fmt: skip

    def _margin(self, m: re.Match[str], at: At) -> Iterator[str]:
        """Whether the comparison ever came out otherwise than without its margin."""
        without, said = without_margin(m, self.defined)
        if without:
            name, of = f"%{ARRAY}.{self.made.end}", self.made.end - 2
            yield f"  {name}.without = {without}"
            yield f"  {name}.same = icmp eq i1 {name}.without, {m['value']}"
            yield from self._once_not(at, f"{name}.same", f"what it is {said}", of)

    def _strictly(
        self, at: At, type_: str, value: str, other: str, sign: str, hows: Sequence[str]
    ) -> Iterator[str]:
        """Comparisons of their own, whether a value is less, or greater, than another one."""
        constant = other if CONSTANT.fullmatch(other) else ""
        compare = "fcmp" if type_ in ("float", "double") else "icmp"
        for how in hows:
            name = f"%{ARRAY}.{self.made.end}.strict"
            yield f"  {name} = {compare} {sign}{how} {type_} {value}, {other}"
            yield from self._kept(Comparison(at, how, constant, True, self.made.end, None,
                                             self.function), name)  # fmt: skip

    def _kept_values(self, row: str) -> tuple[list[str], list[str]]:
        """What keeps values of a row, to stand before it and behind it."""
        at, number = self._place(row), self.first_value + len(self.made.values)
        made = list(noted(row, at, number, self.defined, self.code, self.inexact)) if at else []
        if at:
            made += noted_sums(row, at, number + len(made), self.defined, self.rows)
            made += noted_counters(row, at, number + len(made), self.defined, self.rows, self.kinds)
        self.made.values += [n for n, _, _ in made]
        return [r for _, b, _ in made for r in b], [r for _, _, b in made for r in b]

    def _entries(self, row: str) -> Iterator[str]:
        """Which entry of a table it reads."""
        self.loads += bool(self.tables)
        if self.tables:
            yield from read_entries(row, self.tables, self.defined, ARRAY, self.loads)

    def _switched(self, m: re.Match[str], rows: Sequence[str]) -> Iterator[str]:
        """Each case as a comparison of its own; the place stands behind the last."""
        at = next((self._place(row) for row in rows if row.strip().startswith("]")), None)
        for row in rows:
            case = CASE.match(row)
            if at and case:
                value = f"%{ARRAY}.{self.made.end}.case"
                yield f"  {value} = icmp eq {m['type']} {m['value']}, {case[1]}"
                targets = case[2], m["other"]
                yield from self._kept(Comparison(at, "eq", case[1], True, self.made.end, targets,
                                                 self.function), value)  # fmt: skip

    def _kept(self, comparison: Comparison, value: str) -> Iterator[str]:
        """What writes how a comparison came out, put behind it."""
        name = f"%{ARRAY}.{comparison.offset}"
        self.made.comparisons.append(comparison)
        self.made.end += 2
        yield f"  {name} = zext i1 {value} to i64"
        yield from stored(comparison.offset, name)
