"""What is added to what a program draws: `6 + draw() % 18` hits are never none.

Where both programs add the same, both can be run without: lists are then empty, sums 0.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from rheostat.measurement.code.altered.data_sites import DataSite

LESS = 100
"""Added to a kind of data: nothing is added to what is drawn."""
CONVERTED = re.compile(r"  (?P<value>%\S+) = (?:[sz]ext|trunc) i\d+ (?P<of>%\S+) to ")
ADDED = re.compile(
    r"  %\S+ = (?:add|sub) (?:n[us]w )*(?P<type>i32|i64) "
    r"(?:(?P<of>%[^\s,]+), (?P<right>-?\d+)|(?P<left>-?\d+), (?P<other>%[^\s,]+))(?=,|$)"
)


def without_bases(
    texts: tuple[Sequence[str], list[list[DataSite]]],
) -> tuple[list[str], list[list[DataSite]]]:
    """LLVM's texts with calls in the place of what is added to what draws data.

    Parameters
    ----------
    texts : tuple of list
        They, with marks or without, and what draws data in each.
    """
    codes, sites = texts
    made = ["\n".join(_rows(code, {s.row for s in some}))
            for code, some in zip(codes, sites, strict=True)]  # fmt: skip
    return made, sites


def _rows(code: str, drawing: Collection[str]) -> Iterator[str]:
    r"""The text's rows.

    >>> code = "  %1 = urem i64 %0, 18\n  %2 = trunc i64 %1 to i32\n  %3 = add nsw i32 6, %2"
    >>> print("\n".join(_rows(code, {"  %1 = urem i64 %0, 18"})))
      %1 = urem i64 %0, 18
      %2 = trunc i64 %1 to i32
      %rheostat.base.1 = call i32 @rheostat_base_i32(i32 6)
      %3 = add nsw i32 %rheostat.base.1, %2
    """
    drawn, count = set[str](), 0
    for row in code.splitlines():
        if row.startswith("define "):
            drawn = set()
        if row in drawing:
            drawn.add(row.split()[0])
        elif (m := CONVERTED.match(row)) and m["of"] in drawn:
            drawn.add(m["value"])
        m = ADDED.match(row)
        if m and (m["of"] or m["other"]) in drawn:
            count += 1
            name, side = f"%rheostat.base.{count}", "right" if m["of"] else "left"
            yield f"  {name} = call {m['type']} @rheostat_base_{m['type']}({m['type']} {m[side]})"
            yield f"{row[: m.start(side)]}{name}{row[m.end(side) :]}"
        else:
            yield row
