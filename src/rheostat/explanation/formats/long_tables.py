"""Tables that a person reads: twenty rows, and the rest folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rheostat.core.report import Grid, Section

MOST = 20
"""Rows of a table beside an answer; a page opens the others, a pipe and --json have them all."""


def shortened(sections: Sequence[Section]) -> list[Section]:
    """Each section with `MOST` rows of its table, and one folded with all of a longer one.

    >>> long = Section("jobs", grid=Grid(("job",), tuple((k,) for k in range(30))))
    >>> [(s.title, len(s.grid.rows), s.folded) for s in shortened([long])]
    [('jobs', 20, False), ('All rows: jobs', 30, True)]
    """
    return [part for section in sections for part in _parts(section)]


def _parts(section: Section) -> Iterator[Section]:
    grid = section.grid
    if grid is None or section.folded or len(grid.rows) <= MOST:
        yield section
        return
    marked = grid.marked if grid.marked is not None and grid.marked < MOST else None
    short = Grid(grid.heads, grid.rows[:MOST], grid.units, marked)
    said = f"The first {MOST} of {len(grid.rows):,} rows."
    yield replace(section, sentences=(*section.sentences, said), grid=short)
    yield Section(f"All rows: {section.title}".rstrip(": "), grid=grid, folded=True)
