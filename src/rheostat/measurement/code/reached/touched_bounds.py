"""Bounds that many inputs touch and none passes: ``while (k < n && end[k] <= now)``.

A comparison of two whole numbers that never came out otherwise, though the two were next to it on
many inputs and the bound was another one each time, says how the two belong together: a queue
has as many places as there are vertices, and each is put in once.  Data that are cut off at a
bound are so as well, but not what is always the same: two checksums, say.  Numbers that only happen
to be in order come next to their bound hardly more often than they pass it.  A bound that is a
constant of the text is none of these, nor is what no input came next to.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rheostat.measurement.code.case import Case
from rheostat.measurement.code.reached.constant_values import NAME, RECORD
from rheostat.measurement.code.reached.counted import Counted
from rheostat.measurement.code.reached.marked_builds import LINKED, bytes_left, keeping
from rheostat.measurement.code.reached.marks import Comparison, Marked, still_asked
from rheostat.measurement.code.reached.open_marks import Left

COMPARED = re.compile(
    rf"\s*(?P<value>{NAME}) = icmp (?P<how>[su][lg][te]) (?P<type>i(?:8|16|32|64)) "
    rf"(?P<one>{NAME}), (?P<other>{NAME})(?:, !.*)?$"
)
DEFINED = re.compile(r'define .*?@(?P<name>[-\w.$]+|"[^"]*")\(')
NEXT = {"lt": (-1, 0), "ge": (-1, 0), "gt": (0, 1), "le": (0, 1)}
"""How far the first is from the second at the most on one side, at the least on the other."""
LEAST_RUNS, LEAST_PART, MANY_S, LEAST_APART = 128, 0.05, 1.0, 2
"""Inputs that have to come next to a bound; which part of those that ask; CPU seconds of runs; how
far from it others have to be where the two are not counted: what is always the same is a check."""
KEPT = 3
"""Values of a comparison: the difference, the bound, and that it was asked."""
Key = tuple[tuple[str, int, int], str]


@dataclass(frozen=True)
class _Noted:
    key: Key
    how: str
    number: int
    counted: bool = True

    def is_touched(self, kept: bytes) -> bool | None:
        """Whether many runs came next to the bound; None where none asked."""
        least, most, least_in, most_in = self._record(kept, 0)
        low, high, *_ = self._record(kept, 1)
        runs = self._record(kept, 2)[3]
        below, above = NEXT[self.how]
        near = most_in if most == below else least_in if least == above else 0
        varied = low < high and (self.counted or most - least >= LEAST_APART)
        enough = near >= LEAST_RUNS and near >= LEAST_PART * runs and varied
        return enough if runs else None

    def _record(self, kept: bytes, which: int) -> tuple[int, int, int, int]:
        made: tuple[int, int, int, int] = RECORD.unpack_from(
            kept, (self.number + which) * RECORD.size
        )
        return made


def without_touched(case: Case, whole: Sequence[Marked], left: Left) -> Left:
    """What runs leave open, without bounds that many inputs touch.

    Parameters
    ----------
    case : Case
        The candidate on its way.
    whole : sequence of Marked
        Its sources.
    left : Left
        What its runs left.
    """
    keys = {_key(c) for c, _ in left.comparisons if not c.constant and c.how in ("lt", "gt")}
    if not keys or case.reference.starts_dearly:
        return left
    texts, noted = dict[str, str](), list[_Noted]()
    for i, m in enumerate(whole):
        asked = {(c.function, c.value): c for c in m.comparisons if _key(c) in keys}
        texts[f"touched{i}.ll"] = "\n".join([*_with_values(m, asked, noted), ""])
    values = KEPT * len(noted)
    built = case.bench.build(keeping(case.candidate, texts, whole[-1].end, values), LINKED)
    inputs = [given for given, _ in case.many] if built.ok else []
    random.Random(case.reference.seed).shuffle(inputs)
    with case.bench.run_folder("touched") as place:
        limits = case.limits(case.reference.expected[0])
        case.bench.run_many(built, inputs, limits, MANY_S, kept=place) if inputs else []
        kept = bytes_left(place / "values", values * RECORD.size)
    came = [(n.key, touched) for n in noted if (touched := n.is_touched(kept)) is not None]
    known = {k for k, _ in came} - {k for k, touched in came if not touched}
    settled = [
        (c, missing) for c, missing in left.comparisons if _key(c) in known and not c.constant
    ]
    return replace(left, comparisons=[one for one in left.comparisons if one not in settled],
                   lines=left.lines - _ends(whole, settled))  # fmt: skip


def _ends(
    whole: Sequence[Marked], settled: Sequence[tuple[Comparison, bool]]
) -> set[tuple[str, int]]:  # fmt: skip
    """Lines of errors that the ways not taken end with."""
    keys = {(c.function, c.value) for c, _ in settled}
    ways = [(m, c.function, target) for m in whole for c in m.comparisons
            if (c.function, c.value) in keys for target in c.targets or ()]  # fmt: skip
    return {at for way in ways for at in _error(*way)}


def _error(m: Marked, function: str, label: str) -> set[tuple[str, int]]:
    """Lines of blocks, one behind the other, of which the last ends with an error."""
    places, known = set[tuple[str, int]](), set[str]()
    while label not in known:
        known.add(label)
        block = m.blocks.get((function, label))
        if block is None:
            return set()
        places |= block.places
        if block.stops:
            return places
        ways = [t for t in block.targets
                if (b := m.blocks.get((function, t))) and not b.unasked]  # fmt: skip
        label = ways[0] if len(ways) == 1 else label
    return set()


def _key(c: Comparison) -> Key:
    return c.at, c.how


def _with_values(
    m: Marked, asked: dict[tuple[str, str], Comparison], noted: list[_Noted]
) -> Iterator[str]:
    """A text without its marks, in which these comparisons say how far their sides are apart."""
    function, counted = "", Counted(m.text)
    for row in still_asked(m.text, b"\1" * m.end, ()):
        if head := DEFINED.match(row):
            function = head["name"]
        yield row
        compared = COMPARED.match(row)
        c = asked.get((function, compared["value"])) if compared else None
        sides = compared.group("one", "other") if compared else ()
        if compared and c:
            both = all(counted.is_counted(function, side) for side in sides)
            made = _Noted(_key(c), compared["how"][1:], KEPT * len(noted), both)
            noted.append(made)
            yield from _values(compared, made.number)


def _values(m: re.Match[str], number: int) -> Iterator[str]:
    name, wider = f"%rheostat_touched.{number}", "sext" if m["how"][0] == "s" else "zext"
    sides = [m["one"], m["other"]]
    for i, side in enumerate(sides if m["type"] != "i64" else []):
        sides[i] = f"{name}.{i}"
        yield f"  {sides[i]} = {wider} {m['type']} {side} to i64"
    yield f"  {name} = sub i64 {sides[0]}, {sides[1]}"
    for i, value in enumerate((name, sides[1], "0")):
        yield f"  call void @rheostat_reached_value(i32 {number + i}, i64 {value})"
