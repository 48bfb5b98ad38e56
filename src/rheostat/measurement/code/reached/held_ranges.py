"""What memory holds, proved by the compiler: every store to a cell keeps numbers of one range.

Ranges are guessed from the stores that the compiler bounds by itself, and then stand as facts at
the loads.  With these it has to prove each store within the range of its cell: the first that was
not would be asked by a mark before it, when all loads so far read what is held.  Ends of ranges
are taken from the numbers of the text: `t = 300 + draw() % 900` is below 1,440 wherever it lies.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from rheostat.measurement.code.reached.memory_cells import memory_cells

OF_KEPT = 1 << 29
"""The first byte of those that a number beyond an end would set."""
DECLARED = (
    "declare void @rheostat_way(i32, i64) #9998",
    "attributes #9998 = { nounwind nomerge memory(inaccessiblemem: readwrite) }",
)
"""Where the compiler left none of these marks."""
STORED = re.compile(r"\s*store \S+ (?P<value>[^,]+), ptr ")
COMPARED = re.compile(
    r"= (?:icmp \w+|[su]rem|[su]div|and|add(?: n[us]w)*|call i\d+ @llvm\.[su](?:min|max)\.i\d+)"
    r"\(?.*?, (?:i\d+ )?(-?\d+)\)?(?:,|$)"
)
BY_TYPE = re.compile(r", !tbaa(?:\.struct)? !\d+")
"""What tells objects apart by their types alone."""
SIZED = re.compile(r"\[(\d+) x i\d+\]")
SHIFTED = re.compile(r"= shl (?P<how>(?:n[us]w )*)i(?P<bits>\d+) (?P<of>%[^\s,]+), (?P<by>\d+)")
MOST_ENDS, MOST_STORES, TURNS = 48, 48, 12
MOST_GROWN = 2
"""How often an end of a range moves until it is taken for a sum's, which has none."""
Range = tuple[int, int]


def held_ranges(
    text: str, ends: Collection[int], optimised: Callable[[str], str | None],
    bytes_of: Callable[[str], set[int] | None],
) -> tuple[str, str] | None:  # fmt: skip
    """The text where the compiler knows what memory holds, and as it leaves that.

    None without a proof.

    Parameters
    ----------
    text : str
        With marks, as it was before the compiler optimised it.
    ends : collection of int
        Numbers that ranges may end at, beside those of the text.
    optimised : callable
        What the compiler makes of a text.
    bytes_of : callable
        The bytes that a text's marks may set.
    """
    plain = optimised(BY_TYPE.sub("", text))
    asked = _Held(plain or "", ends)
    held: dict[int, Range] = {}
    for _ in range(TURNS if asked.cells else 0):
        made = optimised(asked.text(held))
        came = bytes_of(made) if made else None
        if made is None or came is None:
            return None
        more = asked.guessed(asked.kept(came), held)
        if more == held:
            return (asked.text(held, asks=False), made) if held else None
        held = more
    return None


class _Held:
    def __init__(self, text: str, ends: Collection[int]) -> None:
        self.rows = [SHIFTED.sub(_multiplied, row) for row in text.splitlines()]
        every = [c for c in memory_cells(text) if len(c.stores) <= MOST_STORES]
        self.declared = () if "@rheostat_way(" in text else DECLARED
        self.cells = dict(enumerate(c for c in every if c.stores))
        near = {int(n) for row in self.rows for n in COMPARED.findall(row)}
        sizes = {int(n) for n in SIZED.findall(text)}
        stated, some = ({n + d for n in one for d in (-1, 0, 1)}
                        for one in (ends, (*near, *sizes, 0)))  # fmt: skip
        self.ends = sorted({*stated, *sorted(some, key=abs)[:MOST_ENDS]})
        self.asked: list[tuple[int, int, str, int]] = []
        self.grown = Counter[tuple[int, int]]()
        self.tried = set[int]()

    def text(self, held: Mapping[int, Range], *, asks: bool = True) -> str:
        """With ranges at the loads, and marks of each end before each store that it asks."""
        before: dict[int, list[str]] = {}
        behind: dict[int, str] = {}
        self.asked = []
        for i, c in self.cells.items():
            for row in c.stores if asks else ():
                before[row] = list(self._asked(i, row, c.type_))
            if i in held:
                low, high = held[i]
                known = f", {range_said(c.type_, low, high)}"
                behind |= dict.fromkeys(c.loads, known)
        rows = [r for n, row in enumerate(self.rows)
                for r in (*before.get(n, ()), row + behind.get(n, ""))]  # fmt: skip
        return "\n".join([*rows, *self.declared, ""])

    def _asked(self, cell: int, row: int, type_: str) -> Iterator[str]:
        m = STORED.match(self.rows[row])
        value = m["value"] if m else ""
        for how in ("sgt", "slt") if value.startswith("%") else ():
            for end in self._ends_of(type_):
                number = OF_KEPT + 2 * len(self.asked)
                self.asked.append((cell, row, how, end))
                name = f"%rheostat_kept.{number}"
                yield f"  {name} = icmp {how} {type_} {value}, {end}"
                yield f"  {name}.way = zext i1 {name} to i64"
                yield f"  call void @rheostat_way(i32 {number}, i64 {name}.way)"

    def _ends_of(self, type_: str) -> list[int]:
        most = _most(type_)
        return [e for e in self.ends if -most <= e < most - 1]

    def kept(self, came: Collection[int]) -> dict[int, list[Range]]:
        """Between what each store of a cell lies, by the compiler, and its first numbers."""
        made: dict[int, list[Range]] = {}
        proved: dict[tuple[int, int, str], list[int]] = {}
        for k, (cell, row, how, end) in enumerate(self.asked):
            if OF_KEPT + 2 * k + 1 not in came:
                proved.setdefault((cell, row, how), []).append(end)
        for i, c in self.cells.items():
            most = _most(c.type_)
            made[i] = [(n, n) for n in (*c.first, *self._constants(i))]
            for row in c.stores:
                if (m := STORED.match(self.rows[row])) and m["value"].startswith("%"):
                    low = max(proved.get((i, row, "slt"), [-most]))
                    high = min(proved.get((i, row, "sgt"), [most - 1]))
                    made[i] += [(low, high)] if low <= high else []
        return made

    def _constants(self, cell: int) -> Iterator[int]:
        for row in self.cells[cell].stores:
            m = STORED.match(self.rows[row])
            if m and re.fullmatch(r"-?\d+", m["value"]):
                yield int(m["value"])

    def guessed(
        self, kept: Mapping[int, list[Range]], held: Mapping[int, Range]
    ) -> dict[int, Range]:
        """Ranges that hold what is kept, once all cells that stores bound have one.

        A cell begins with what its bounded stores keep: others are copies of what has no range yet.
        """
        new = {i: r for i in self.cells if i not in self.tried and (r := self._bounded(i, kept[i]))}
        self.tried |= new.keys()
        if new:
            return {**held, **new}
        every = {i: self._grown(i, kept[i], r) for i, r in held.items()}
        return {i: r for i, r in every.items() if r != self._whole(i)}

    def _whole(self, cell: int) -> Range:
        most = _most(self.cells[cell].type_)
        return -most, most - 1

    def _bounded(self, cell: int, kept: Sequence[Range]) -> Range | None:
        """The range of the ends that are known; None where no store has one."""
        low, high = self._whole(cell)
        made = (min((r[0] for r in kept if r[0] > low), default=low),
                max((r[1] for r in kept if r[1] < high), default=high))  # fmt: skip
        return None if made == (low, high) else made

    def _grown(self, cell: int, kept: Sequence[Range], r: Range) -> Range:
        """A range with what is kept beyond it; an end that moves on and on is given up."""
        made = min(r[0], *(k[0] for k in kept)), max(r[1], *(k[1] for k in kept))
        ends = []
        for side, end in enumerate(made):
            self.grown[cell, side] += end != r[side]
            moves_on = self.grown[cell, side] > MOST_GROWN
            ends.append(self._whole(cell)[side] if moves_on else end)
        return ends[0], ends[1]


def range_said(type_: str, low: int, high: int) -> str:
    """What says between which ends a value lies; behind the greatest number is the least.

    Parameters
    ----------
    type_ : str
        Of whole numbers.
    low, high : int
        The ends, both with it.

    >>> range_said("i32", 4, 9), range_said("i32", 0, 2**31 - 1)
    ('!range !{i32 4, i32 10}', '!range !{i32 0, i32 -2147483648}')
    """
    behind = high + 1 if high < _most(type_) - 1 else -_most(type_)
    return f"!range !{{{type_} {low}, {type_} {behind}}}"


def _multiplied(m: re.Match[str]) -> str:
    """A shift as a product, of which the compiler knows the range also where it is below 0.

    >>> SHIFTED.sub(_multiplied, "  %a = shl nsw i32 %b, 3, !dbg !7")
    '  %a = mul nsw i32 %b, 8, !dbg !7'
    >>> SHIFTED.sub(_multiplied, "  %a = shl nsw i8 %b, 7")
    '  %a = shl nsw i8 %b, 7'
    """
    by, bits = int(m["by"]), int(m["bits"])
    return m[0] if by > bits - 2 else f"= mul {m['how']}i{bits} {m['of']}, {1 << by}"


def _most(type_: str) -> int:
    """One more than the greatest number of a type with a sign.

    >>> _most("i8")
    128
    """
    return 1 << int(type_[1:]) - 1
