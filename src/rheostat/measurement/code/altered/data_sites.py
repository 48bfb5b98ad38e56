"""Where a program draws its data: parts of numbers that hang on its seed, in LLVM's text.

A part is what a shift, a remainder or a mask keeps of a random number, or the whole one that
becomes a floating-point number.  How large it can be is known of each, so that other data can be
put in its place that the program could have drawn.  Steps of a generator itself are left alone,
and so are hashes of data that are kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from rheostat.measurement.code.altered.data_hashes import STEP, VALUE, DataHashes
from rheostat.measurement.code.altered.text_lines import TextLines
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInputs
from rheostat.measurement.code.reached.stated_ranges import ELEMENT, FUNCTION, PARSED
from rheostat.measurement.code.reached.truths import LOADED, STORED

PART = re.compile(
    r"(?P<how>lshr|urem|srem|and) (?:exact )?i(?P<bits>32|64) (?P<of>%[^\s,]+), (?P<by>[^\s,]+)"
)
TO_FLOAT = re.compile(r"(?P<how>[us]itofp) i(?P<bits>32|64) (?P<of>%[^\s,]+) to")
LIBRARY = re.compile(
    r"(?:tail )?call (?:noundef )?i(?P<bits>32|64) @(?P<name>rand|random|lrand48|"
    r"_ZNSt23mersenne_twister_engineI\w+clEv)\("
)
CALLED = re.compile(r"(?:tail |notail )?(?:call|invoke) [^@]*@([-\w.$]+)\(")
FACTOR = re.compile(r"mul (?:n[us]w )*i(?:32|64) (?:(-?\d+), %|%[^\s,]+, (-?\d+))")
SHIFTED = re.compile(r"(?:shl|lshr) \S+ (%[^\s,]+), \d+")
XOR = re.compile(r"xor i\d+ (%[^\s,]+), (%[^\s,]+)")
WIDER = re.compile(r"(?:zext|trunc) i(\d+) (%\S+) to i(\d+)")
POINTED = re.compile(r"load ptr, ptr (\S+?)(?:,|$)")
FIELD = re.compile(
    r"getelementptr (?:inbounds )?[^@]+?, ptr (?P<base>[%@][^\s,]+)"
    r"(?P<way>(?:, i\d+ \d+)+)(?:, !|$)"
)
SUM = re.compile(r"(add|mul) (?:n[us]w )*i\d+ ([^\s,]+), ([^\s,]+)")
CHECKED_SUM = re.compile(
    r"call \{ \w+, i1 \} @llvm\.[us](add|sub|mul)\.with\.overflow\.\w+\((\w+) (\S+), \w+ (\S+)\)"
    r"|extractvalue \{ (\w+), i1 \} (%\S+), 0"
)
WIDTH = re.compile(r"\w+[^@]*? i(\d+)\b")
RETURNED = re.compile(r"\s*ret i\d+ (%[^\s,]+)")
LEAST_FACTOR, DEEPEST = 1000, 12
RAND_BITS, ANY = 31, (1 << 64) - 1


@dataclass(frozen=True)
class DataSite:
    """A row that keeps a part of a random number, and the greatest that the part can be.

    ``greatest`` is a number, or the value of LLVM's text that the part is less than.
    ``of_generator``: all that draw keep a part of what this part is made into.
    """

    function: str
    row: str
    text: str
    how: str
    bits: int
    greatest: int | str
    of: str = ""
    of_generator: bool = False

    @property
    def sign(self) -> tuple[str, int, int | str]:
        """What has to be the same where another program has the same line."""
        return self.how, self.bits, self.greatest if isinstance(self.greatest, int) else "variable"


@dataclass(frozen=True)
class _MaybeDrawn:
    """A value that is random by ``itself``, or where what it comes of is."""

    itself: bool = False
    called: str = ""
    place: str = ""
    of: frozenset[str] = frozenset()

    def is_drawn(self, f: _Drawing, returning: Collection[str]) -> bool:
        """Whether it hangs on a random number, by what is known so far."""
        known = self.called in returning or self.place in f.places
        return self.itself or known or not self.of.isdisjoint(f.drawn)


@dataclass
class _Drawing:
    """A function's rows, what its values are, and which of them hang on a random number."""

    name: str
    rows: list[str]
    defined: dict[str, str]
    drawn: set[str] = field(default_factory=set)
    places: set[str] = field(default_factory=set)
    hashes: set[str] = field(default_factory=set)
    rolled: set[str] = field(default_factory=set)
    all: dict[str, _Drawing] = field(default_factory=dict)
    seeds: frozenset[int] = frozenset()

    @cached_property
    def asked(self) -> dict[str, _MaybeDrawn]:
        """What may hang on random numbers."""
        return {v: asked for v, said in self.defined.items() if (asked := _asked(self, said))}

    def place(self, pointer: str, depth: int = 0) -> str:
        """A name of a place that is the same wherever it is read; empty for an array's element.

        >>> member = "getelementptr inbounds %struct.Stream, ptr {}, i32 0, i32 1, !dbg !3"
        >>> made = {"%a": member.format("%g"), "%b": member.format("%e"),
        ...         "%e": "getelementptr inbounds [9 x %struct.Stream], ptr @s, i64 0, i64 %i"}
        >>> _Drawing("draw", [], made).place("%a"), _Drawing("draw", [], made).place("%b")
        ('%g, i32 0, i32 1', '')
        """
        said = self.defined.get(pointer, "")
        if depth > DEEPEST:
            return ""
        if m := POINTED.match(said):
            base = self.place(m[1], depth + 1)
            return base and f"*{base}"
        if m := FIELD.match(said):
            base = self.place(m["base"], depth + 1)
            return base and f"{base}{m['way']}"
        return "" if said.startswith("getelementptr") else pointer

    def read(self, value: str) -> str:
        """The place that a value is read from."""
        m = LOADED.match(self.defined.get(value, ""))
        return self.place(m[1]) if m else ""

    @cached_property
    def stored(self) -> list[tuple[str, str]]:
        """Values that are stored, and where."""
        return [(m["value"], self.place(m["place"])) for row in self.rows
                if (m := STORED.match(row))]  # fmt: skip

    @cached_property
    def returned(self) -> list[str]:
        """What it may give back."""
        return [m[1] for row in self.rows if (m := RETURNED.match(row))]

    def made_of(self, value: str) -> set[str]:
        """All values of the function that it is calculated of, with it."""
        known, open_ = set[str](), [value]
        while open_:
            value = open_.pop()
            if value not in known:
                known.add(value)
                said = self.defined.get(value, "")
                open_ += VALUE.findall(said) if STEP.match(said) else []
        return known


def data_sites(
    codes: Sequence[str], program: Program, inputs: ProgramInputs
) -> list[list[DataSite]]:
    """Where each of a program's texts keeps parts of random numbers.

    Parameters
    ----------
    codes : sequence of str
        LLVM's text of each source before it is optimised, with lines.
    program : Program
        Whose files they were made of.
    inputs : ProgramInputs
        Which of the arguments is a seed.
    """
    files = tuple(program.files.items())
    return [list(some) for some in _data_sites(tuple(codes), files, frozenset(_seeds(inputs)))]


@lru_cache(maxsize=8)  # several checks ask about the same texts
def _data_sites(
    codes: tuple[str, ...], files: tuple[tuple[str, str], ...], seeds: frozenset[int]
) -> list[list[DataSite]]:
    every = [[_Drawing(name, body.splitlines(), _defined(body))
              for name, _, body in FUNCTION.findall(code)] for code in codes]  # fmt: skip
    functions = [f for some in every for f in some]
    by_name, hashes = {f.name: f for f in functions}, DataHashes(codes)
    for f in functions:
        f.hashes |= {said for said in f.defined.values() if hashes.factor(said)}
        f.rolled |= hashes.rolled(f.name)
        f.all, f.seeds = by_name, seeds
    _spread(functions)
    every_lines = [TextLines(code, Program(dict(files))) for code in codes]
    sites = [[s for f in some for s in _sites(f, lines)]
             for lines, some in zip(every_lines, every, strict=True)]  # fmt: skip
    inner = _generators(functions, [s for some in sites for s in some])
    return [[replace(s, of_generator=s.function in inner) for s in some] for some in sites]


def _generators(functions: Sequence[_Drawing], sites: Sequence[DataSite]) -> set[str]:
    """Functions of whose random numbers every caller keeps a part."""
    parted, whole = set[str](), set[str]()
    for f in functions:
        made = {v for s in sites if s.function == f.name and s.of for v in f.made_of(s.of)}
        read = {place for v in made if (place := f.read(v))}
        made |= {v for v, place in f.stored if place in read}
        for value, said in f.defined.items():
            if (m := CALLED.match(said)) and m[1] in f.all:
                (parted if value in made else whole).add(m[1])
    return parted - whole


def _defined(body: str) -> dict[str, str]:
    """What each value is; a sum that is asked whether it overflows is a sum.

    >>> _defined("%t = call { i32, i1 } @llvm.sadd.with.overflow.i32(i32 %a, i32 %b), !dbg !2")
    {'%t': 'add i32 %a, %b, !dbg !2'}
    """
    rows = (r.strip().split(" = ", 1) for r in body.splitlines() if " = " in r)
    return {value: CHECKED_SUM.sub(_sum, said) for value, said in rows}


def _sum(m: re.Match[str]) -> str:
    return f"{m[1]} {m[2]} {m[3]}, {m[4]}" if m[1] else f"add {m[5]} {m[6]}, 0"


def _seeds(inputs: ProgramInputs) -> set[int]:
    """Places of the arguments that are seeds."""
    return {i for i, text in enumerate(inputs.arguments, 1)
            if (r := inputs.ranges.get(text[1:-1])) is not None and r.kind == "seed"}  # fmt: skip


def _spread(functions: Sequence[_Drawing]) -> None:
    """Mark what hangs on random numbers, until nothing more does."""
    shared, returning = set[str](), set[str]()
    while True:
        before = len(shared), len(returning), sum(len(f.drawn) + len(f.places) for f in functions)
        for f in functions:
            f.places |= shared
            _mark(f, returning)
            shared |= {p for p in f.places if p.lstrip("*").startswith("@")}
            if any(v in f.drawn for v in f.returned):
                returning.add(f.name)
        if before == (len(shared), len(returning),
                      sum(len(f.drawn) + len(f.places) for f in functions)):  # fmt: skip
            return


def _mark(f: _Drawing, returning: Collection[str]) -> None:
    f.drawn |= {v for v, asked in f.asked.items()
                if v not in f.drawn and asked.is_drawn(f, returning)}  # fmt: skip
    f.places |= {place for value, place in f.stored if value in f.drawn and place}


def _asked(f: _Drawing, said: str) -> _MaybeDrawn | None:
    """What an instruction's random value would come of; None where it makes none."""
    if m := CALLED.match(said):
        return _MaybeDrawn(bool(LIBRARY.match(said)) or _is_seed(f, said), called=m[1])
    if m := LOADED.match(said):
        return _MaybeDrawn(place=f.place(m[1]))
    if not STEP.match(said):
        return None
    own = (_by_factor(f, said) or _shifts_itself(f, said)) and not _is_rolled(f, said)
    return _MaybeDrawn(own, of=frozenset(VALUE.findall(said)))


def _by_factor(f: _Drawing, said: str) -> bool:
    """Whether it is multiplied as generators do, and by no hash's factor."""
    m = FACTOR.match(said)
    factor = abs(int(m[1] or m[2])) if m and said not in f.hashes else 0
    return factor >= LEAST_FACTOR and bool(factor & (factor - 1))


def _is_rolled(f: _Drawing, said: str) -> bool:
    """Whether it is made of a variable that hashes text."""
    return any(f.read(v) in f.rolled for one in VALUE.findall(said) for v in f.made_of(one))


def _shifts_itself(f: _Drawing, said: str) -> bool:
    """Whether a value is put together with its own shift, as generators do."""
    m = XOR.match(said)
    for one, other in ((m[1], m[2]), (m[2], m[1])) if m else ():
        shift = SHIFTED.match(f.defined.get(other, ""))
        if shift and (place := f.read(one)) and place == f.read(shift[1]):
            return True
    return False


def _is_seed(f: _Drawing, said: str) -> bool:
    """Whether an argument that is a seed is read."""
    m = PARSED.match(said)
    text = LOADED.match(f.defined.get(m[1], "")) if m and f.name == "main" else None
    at = ELEMENT.match(f.defined.get(text[1], "")) if text else None
    return at is not None and int(at[2]) in f.seeds


def _sites(f: _Drawing, lines: TextLines) -> Iterator[DataSite]:
    stored = f.stored
    for row in f.rows:
        value, _, said = row.strip().partition(" = ")
        m = LIBRARY.match(said) or PART.match(said) or TO_FLOAT.match(said)
        text = lines.of(row) if m else ""
        if not (m and text):
            continue
        groups = m.groupdict()
        if "of" in groups and (m["of"] not in f.drawn or _steps(f, value, m["of"], stored)):
            continue
        if groups.get("how", "").endswith("fp") and not _is_whole(f, m["of"]):
            continue
        greatest = _greatest(f, groups, said)
        if greatest not in (-1, 0):
            yield DataSite(f.name, row, text, groups.get("how", "call"), int(m["bits"]), greatest,
                           groups.get("of", ""))  # fmt: skip


def _is_whole(f: _Drawing, value: str, depth: int = 0) -> bool:
    """Whether it is a random number as it is, no part of one and no sum that has a range."""
    for v in f.made_of(value):
        said = f.defined.get(v, "")
        if PART.match(said) or said.startswith(("sub", "select", "phi")) or depth > DEEPEST:
            return False
        if (m := CALLED.match(said)) and m[1] in f.all:
            of = f.all[m[1]]
            if not all(_is_whole(of, r, depth + 1) for r in of.returned):
                return False
    return True


def _steps(f: _Drawing, value: str, of: str, stored: Sequence[tuple[str, str]]) -> bool:
    """Whether it is a step of a generator: it goes back to where it was read from."""
    places = {p for v in f.made_of(of) if (p := f.read(v))}
    return any(p in places and value in f.made_of(v) for v, p in stored)


def _greatest(f: _Drawing, groups: Mapping[str, str | None], said: str) -> int | str:
    """The greatest that a part can be; -1 where that is not known."""
    bits, how, by = int(groups["bits"] or 0), groups.get("how") or "", groups.get("by") or ""
    if "of" not in groups:
        return (1 << (bits if "mersenne" in said and "Lm64" in said else RAND_BITS)) - 1
    whole = _most(f, groups["of"] or "")
    if how == "lshr" and (below := _below(f, groups["of"] or "", by)):
        return below
    if not by:
        return min(whole, (1 << bits - 1) - 1) if how == "sitofp" else whole
    if not by.isdecimal():
        return by if how in ("urem", "srem") and by.startswith("%") else -1
    if how == "and" and int(by) & (int(by) + 1):
        return -1
    return _kept(how, whole, int(by))


def _below(f: _Drawing, value: str, by: str) -> str:
    """What ``draw() * below >> 32`` is less than, where what is drawn has no more bits.

    >>> made = {"%p": "mul i64 %d, %n", "%d": "lshr i64 %s, 32"}
    >>> f = _Drawing("f", [], made, {"%d"})
    >>> _below(f, "%p", "32"), _below(f, "%p", "31")
    ('%n', '')
    """
    m = SUM.match(f.defined.get(value, ""))
    if not (m and m[1] == "mul" and by.isdecimal()):
        return ""
    sides = [(m[2], m[3]), (m[3], m[2])]
    return next((other for one, other in sides if other.startswith("%") and one in f.drawn
                 and _most(f, one) < 1 << int(by)), "")  # fmt: skip


def _kept(how: str, whole: int, by: int) -> int:
    """The greatest that is kept of a value of which this is the greatest."""
    return whole >> by if how == "lshr" else min(whole, by if how == "and" else by - 1)


def _most(f: _Drawing, value: str, depth: int = 0) -> int:
    """The greatest that a value without a sign can be, by what it is made of."""
    if value.isdecimal():
        return int(value)
    said = f.defined.get(value, "")
    bits = int(m[1]) if (m := WIDTH.match(said)) else 64
    most = (1 << bits) - 1
    if depth > DEEPEST:
        return most
    return min(most, _made(f, value, said, depth + 1))


def _made(f: _Drawing, value: str, said: str, depth: int) -> int:
    """The greatest that an instruction makes; `ANY` where that is not known."""
    if (m := PART.match(said)) and m["by"].isdecimal():
        return _kept(m["how"], _most(f, m["of"], depth), int(m["by"]))
    if m := WIDER.match(said):
        return min((1 << int(m[1])) - 1, _most(f, m[2], depth))
    if m := SUM.match(said):
        one, other = _most(f, m[2], depth), _most(f, m[3], depth)
        return one + other if m[1] == "add" else one * other
    if (m := CALLED.match(said)) and m[1] in f.all:
        of = f.all[m[1]]
        return max((_most(of, v, depth) for v in of.returned), default=ANY)
    place = f.read(value)
    kept = [v for v, p in f.stored if place == p != "" and PART.match(f.defined.get(v, ""))]
    return max((_most(f, v, depth) for v in kept), default=0) or ANY
