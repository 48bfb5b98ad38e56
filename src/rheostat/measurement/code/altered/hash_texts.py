"""LLVM's text with weak hashes: which values are hashes, and how few bits are kept of them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rheostat.measurement.code.altered.compared_sums import compared_sums
from rheostat.measurement.code.altered.data_folds import DataFolds
from rheostat.measurement.code.altered.data_hashes import DataHashes
from rheostat.measurement.code.altered.power_sums import power_sums
from rheostat.measurement.code.reached.stated_ranges import FUNCTION

STORED = re.compile(
    r"\s*store (?P<type>i(?:32|64)) (?P<value>%[^\s,]+), ptr (?P<place>[%@][^\s,]+)"
)
LOADED = re.compile(r"load \S+, ptr ([%@][^\s,]+)")
STEP = re.compile(r"(?:mul|add|sub|x?or|shl|lshr|urem|zext|sext|trunc|and)\b(?! nsw)(?! nuw nsw)")
SHIFT = re.compile(r"(?P<how>shl|lshr) (?:\w+ )*i\d+ %[^\s,]+, (?P<by>\S+)")
FACTOR = re.compile(r"mul i\d+ (?:(?P<left>-?\d+), %|%[^\s,]+, (?P<right>-?\d+))")
REMAINDER = re.compile(r"urem i\d+ %[^\s,]+, (\d+)")
VALUE = re.compile(r"%[-\w.$]+")
OF_LIBRARY = re.compile(r'"?_ZN?K?St|"?_ZN?K?9__gnu_cxx')
HASHED = re.compile(r"\s*%[-\w.$]+ = (?:tail )?call [^@]*i64 @_ZNKSt4hash.*")
"""A call of ``std::hash`` by the program itself; containers of the library compare keys, too."""
DEFINED = re.compile(
    r"\s*(?P<value>%[-\w.$]+) = "
    r"(?P<said>(?:mul|xor|add|(?:tail )?call [^@]*?) ?(?:n[us]w )*(?P<type>i32|i64) .*)"
)
LEAST_FACTOR, KEPT_BITS = 17, 3
Way = tuple[tuple[str, str], ...]
"""The shifts that a value passes, each with by how many bits."""


@dataclass(frozen=True)
class _Step:
    """A store that makes a place's value of its own: times a constant, or with another value.

    ``reads``: places beside its own; ``moduli``: what remainders are taken by.
    """

    place: str
    row: str
    factor: int = 0
    mixes: bool = False
    rotated: bool = False
    by_xor: bool = False
    reads: frozenset[str] = frozenset()
    moduli: frozenset[str] = frozenset()


@dataclass
class _Chain:
    """What a value is made of: the greatest factor, places and the ways from them, and how.

    ``others``: whether of anything else.  A remainder by a constant is told by that constant, too.
    """

    factor: int = 0
    places: dict[str, set[Way]] = field(default_factory=lambda: defaultdict(set))
    others: bool = False
    hows: set[str] = field(default_factory=set)

    def of(self, place: str) -> tuple[int, bool, bool]:
        """What shifts make of a place's own value: its factor, and whether it is turned or moved.

        A window that takes a letter at one end (``word << 2 | letter``) moves what it keeps in one
        direction only, and a set of bits that spreads (``row |= row << 8 & free``) adds nothing.
        """
        ways = self.places[place]
        shifts = {how for way in ways for how, _ in way}
        constant = all(how == "shl" and by.isdigit() for way in ways for how, by in way)
        summed = len(ways) > 1 and constant and not self.hows & {"or", "and"}
        factor = sum(2 ** sum(int(by) for _, by in way) for way in ways) if summed else 0
        return max(self.factor, factor), shifts == {"shl", "lshr"}, bool(shifts)


def _steps(rows: Sequence[str]) -> Iterator[_Step]:
    defined = dict(r.strip().split(" = ", 1) for r in rows if " = " in r)
    for row in rows:
        m = STORED.match(row)
        if not m:
            continue
        made = _chain(m["value"], defined)
        if m["place"] in made.places:
            reads = frozenset(made.places.keys() - {m["place"]})
            moduli = frozenset(how for how in made.hows if how.isdigit())
            factor, turned, moved = made.of(m["place"])
            by_xor = made.hows <= {"xor", "zext", "trunc", *(("shl", "lshr") if moved else ())}
            yield _Step(m["place"], row, factor, bool(made.others or reads), turned,
                        by_xor and (not moved or "xor" in made.hows), reads, moduli)  # fmt: skip


def _chain(value: str, defined: Mapping[str, str]) -> _Chain:
    made, open_, known = _Chain(), [(value, Way())], set[tuple[str, Way]]()
    while open_:
        value, way = open_.pop()
        said = defined.get(value, "")
        if (value, way) in known:
            continue
        known.add((value, way))
        if m := LOADED.match(said):
            made.places[m[1]].add(way)
        elif STEP.match(said):
            made.hows |= {said.split()[0], *REMAINDER.findall(said)}
            if m := FACTOR.match(said):
                made.factor = max(made.factor, abs(int(m["left"] or m["right"])))
            if m := SHIFT.match(said):
                way = (*way, (m["how"], m["by"]))
            open_ += [(v, way) for v in VALUE.findall(said)]
        else:
            made.others = True
    return made


def _sums_of_sums(steps: Sequence[_Step]) -> set[str]:
    """Places of a checksum as Fletcher's: a sum and one of its sums, of both the same remainder."""
    both = [(a, b) for a in steps for b in steps if a.place in b.reads and a.moduli & b.moduli]
    return {s.place for pair in both for s in pair}


def _no_row(_row: str) -> bool:
    return False


def mixes_by_xor(code: str) -> bool:
    """Whether a program itself puts values together by exclusive or."""
    return any(s.mixes and s.by_xor for name, _, body in FUNCTION.findall(code)
               if not OF_LIBRARY.match(name) for s in _steps(body.splitlines()))  # fmt: skip


def factors_in(code: str) -> set[int]:
    """Constants modulo 2**32 that a program itself multiplies by, as in its digests."""
    return {abs(int(m["left"] or m["right"])) % 2**32 for name, _, body in FUNCTION.findall(code)
            if not OF_LIBRARY.match(name) for m in FACTOR.finditer(body)}  # fmt: skip


def weakened(
    code: str, known: set[int], *, xor: bool = False, theirs: Callable[[str], bool] = _no_row,
    original_sums: Callable[[], bool] = bool,
) -> tuple[str, str]:  # fmt: skip
    """LLVM's text whose hashes keep three bits, and a row of it; both empty where there are none.

    Parameters
    ----------
    code : str
        LLVM's text before it is optimised.
    known : set of int
        Numbers of the original modulo 2**32: what is multiplied by one of them is its own.
    xor : bool
        Whether values that are put together by exclusive or alone are hashes, too.
    theirs : callable
        Whether a row is made of a line that the original has as well: its hash is no question.
    original_sums : callable
        Whether the original compares sums of products as well, asked where the text does.
    """
    found_at = compared_sums(code, theirs)
    data = DataHashes([code])
    made = {(f, v) for f, v, factor in data.used() if factor % 2**32 not in known}
    made |= set(DataFolds(data).used())
    if (sums := power_sums(code, data, theirs)) and not original_sums():
        found_at |= sums
    for name, _, body in FUNCTION.findall(code):
        if OF_LIBRARY.match(name):
            continue
        for row in body.splitlines():
            m = DEFINED.match(row)
            of_data = m and (name, m["value"]) in made and not theirs(row)
            if m and (of_data or HASHED.match(row)):
                found_at[row] = _weak_value(m)
        steps = list(_steps(body.splitlines()))
        summed = _sums_of_sums(steps)
        for place in {s.place for s in steps}:
            own = [s for s in steps if s.place == place]
            factor = max(s.factor for s in own)
            of_known = factor >= LEAST_FACTOR and factor % 2**32 in known
            by_factor = factor >= LEAST_FACTOR and not of_known
            by_xor = xor and not of_known and any(s.mixes and s.by_xor for s in own)
            turned = by_xor or any(s.rotated for s in own)
            if any(s.mixes for s in own) and (by_factor or turned or place in summed):
                found_at |= {s.row: _weak(s.row, i) for i, s in enumerate(own, len(found_at))
                             if not theirs(s.row)}  # fmt: skip
    rows = [found_at.get(row, row) for row in code.splitlines()]
    return ("\n".join(rows) + "\n", next(iter(found_at))) if found_at else ("", "")


def _weak(row: str, number: int) -> str:
    m = STORED.match(row)
    assert m
    name = f"%rheostat_weak.{number}"
    kept = f"  {name} = and {m['type']} {m['value']}, {(1 << KEPT_BITS) - 1}"
    return f"{kept}\n{row.replace(m['value'] + ',', name + ',', 1)}"


def _weak_value(m: re.Match[str]) -> str:
    whole = f"{m['value']}.whole"
    kept = f"  {m['value']} = and {m['type']} {whole}, {(1 << KEPT_BITS) - 1}"
    return f"  {whole} = {m['said']}\n{kept}"
