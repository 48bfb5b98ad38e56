"""What memory holds, proved by the compiler: every store to a cell keeps numbers of one range.

Ranges are guessed from the stores that the compiler bounds by itself, and then stand as facts at
the loads.  With these it has to prove each store within the range of its cell: the first that was
not would be asked by a mark before it, when all loads so far read what is held.  Ends of ranges
are taken from the numbers of the text: `t = 300 + draw() % 900` is below 1,440 wherever it lies.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping

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
MOST_ENDS, MOST_STORES, TURNS = 24, 48, 8
MOST_GROWN = 2
"""How often a range grows until it is taken for a sum's, which has no end."""
Range = tuple[int, int]


def held_ranges(
    text: str, ends: Collection[int], optimised: Callable[[str], str | None],
    bytes_of: Callable[[str], set[int] | None],
) -> str | None:  # fmt: skip
    """The text as the compiler leaves it where it knows what memory holds; None without a proof.

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
    for turn in range(TURNS if asked.cells else 0):
        made = optimised(asked.text(held))
        came = bytes_of(made) if made else None
        if came is None:
            return None
        kept = asked.kept(came)
        if turn and all(_within(kept[i], r) for i, r in held.items()):
            return made if held else None
        held = asked.guessed(kept, held, first=not turn)
    return None


class _Held:
    def __init__(self, text: str, ends: Collection[int]) -> None:
        self.rows = text.splitlines()
        every = [c for c in memory_cells(text) if len(c.stores) <= MOST_STORES]
        self.declared = () if "@rheostat_way(" in text else DECLARED
        self.cells = dict(enumerate(c for c in every if c.stores))
        near = {int(n) for row in self.rows for n in COMPARED.findall(row)}
        sizes = {int(n) for n in SIZED.findall(text)}
        some = {n + d for n in (*near, *sizes, *ends) for d in (-1, 0, 1)} | {-1, 0, 1}
        self.ends = sorted(sorted(some, key=abs)[: MOST_ENDS * 2])
        self.asked: list[tuple[int, int, str, int]] = []
        self.grown = Counter[int]()

    def text(self, held: Mapping[int, Range]) -> str:
        """With ranges at the loads, and marks of each end before each store."""
        before: dict[int, list[str]] = {}
        behind: dict[int, str] = {}
        self.asked = []
        for i, c in self.cells.items():
            for row in c.stores:
                before[row] = list(self._asked(i, row, c.type_))
            if i in held:
                low, high = held[i]
                known = f", !range !{{{c.type_} {low}, {c.type_} {high + 1}}}"
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
        most = 1 << int(type_[1:]) - 1
        return [e for e in self.ends if -most <= e < most - 1]

    def kept(self, came: Collection[int]) -> dict[int, list[Range]]:
        """Between what each store of a cell lies, by the compiler, and its first numbers."""
        made: dict[int, list[Range]] = {}
        proved: dict[tuple[int, int, str], list[int]] = {}
        for k, (cell, row, how, end) in enumerate(self.asked):
            if OF_KEPT + 2 * k + 1 not in came:
                proved.setdefault((cell, row, how), []).append(end)
        for i, c in self.cells.items():
            most = 1 << int(c.type_[1:]) - 1
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
        self, kept: Mapping[int, list[Range]], held: Mapping[int, Range], *, first: bool
    ) -> dict[int, Range]:
        """Ranges that hold all of it; at first without stores that nothing bounds."""
        made = {}
        for i, c in self.cells.items():
            most = 1 << int(c.type_[1:]) - 1
            some = [r for r in kept[i] if not first or r[1] < most - 1]
            some += [held[i]] if i in held else []
            low, high = (
                min((r[0] for r in some), default=-most),
                max((r[1] for r in some), default=most),
            )
            self.grown[i] += i in held and (low, high) != held[i]
            if high < most - 1 and (first or i in held) and self.grown[i] < MOST_GROWN:
                made[i] = low, high
        return made


def _within(kept: Collection[Range], r: Range) -> bool:
    return all(r[0] <= low and high <= r[1] for low, high in kept)
