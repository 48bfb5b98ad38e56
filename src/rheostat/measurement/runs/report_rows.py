"""Rows that a benchmark prints among other text, each below a heading and a line: HPL's report."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rheostat.measurement.runs.table_shapes import RULER, is_number

JUDGED = re.compile(r".*\b(PASSED|FAILED)\W*", re.IGNORECASE)
"""A line behind a row that says whether its result is right."""
LEAST = 3
"""Cells of a heading."""


def rows_of_reports(lines: Sequence[str]) -> tuple[list[str], int]:
    """Heading and rows between bars, with how each was judged, and how many lines are none of them.

    Other texts stay as they are.

    >>> row = ["T/V  N  NB  Time", "-----", "WR1  4500  128  12.5"]
    >>> rows_of_reports(["Starting", *row, "----", "||Ax-b|| = 1e-3 ... PASSED", "End of tests."])
    (['T/V | N | NB | Time | state', 'WR1 | 4500 | 128 | 12.5 | PASSED'], 2)
    """
    some = [x for x in lines if x.strip()]
    first = next((i for i in range(len(some) - 2) if _heads(some[i : i + 3])), None)
    if first is None:
        return list(lines), 0
    heading, like = some[first].split(), some[first + 2].split()
    rows, other, again = list[list[str]](), first, 0
    for line in some[first + 2 :]:
        cells = line.split()
        if _alike(cells, like):
            rows.append([*cells, ""])
        elif judged := JUDGED.fullmatch(line):
            rows[-1][-1] = rows[-1][-1] if rows[-1][-1] == "FAILED" else judged[1].upper()
            again += 1
        elif not RULER.fullmatch(line):
            again, other = (again + 1, other) if cells == heading else (again, other + 1)
    if other == first and not again:
        return list(lines), 0
    state = any(row[-1] for row in rows)
    table = [[*heading, "state"], *rows]
    return [" | ".join(row if state else row[:-1]) for row in table], other


def _heads(lines: Sequence[str]) -> bool:
    """Whether a heading of words stands above a line and a row of mostly numbers."""
    heading, row = lines[0].split(), lines[2].split()
    if not RULER.fullmatch(lines[1]) or len(heading) != len(row) or len(row) < LEAST:
        return False
    return not any(map(is_number, heading)) and sum(map(is_number, row)) > len(row) / 2


def _alike(cells: Sequence[str], like: Sequence[str]) -> bool:
    """Whether cells are numbers where those of another row are."""
    same = len(cells) == len(like)
    return same and all(is_number(c) == is_number(x) for c, x in zip(cells, like, strict=True))
