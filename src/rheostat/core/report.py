"""`Report`: sections of facts, drawn by `explain` as terminal text, HTML or JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Grid:
    """A table: column heads and rows of values (numbers stay numbers until drawn)."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    units: tuple[str, ...] = ()
    marked: int | None = None


@dataclass(frozen=True)
class Chart:
    """What to show: series, each a mapping, and what the two axes are.

    ``kind`` is "front", "scatter", "line", "bar" or "calibration"; for a schedule "time",
    "columns", "occupancy", "pairs" or "gantt"; or "tree".  Most series have ``x`` and ``y``, and
    optionally ``low``, ``high`` and ``text``.  ``axes`` are names of columns, or words with the
    base unit in ``units``; "share" is a part of one; `rheostat.explanation.pictures.draw` draws it.
    """

    kind: str
    series: tuple[Mapping[str, Any], ...]
    axes: tuple[str, str]
    log: bool = False
    units: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Section:
    """A heading, sentences, and optionally a table, a chart and a listing, shown line by line.

    The table of a ``folded`` section is opened by the reader of a page; a terminal leaves it out.
    """

    title: str
    sentences: tuple[str, ...] = ()
    grid: Grid | None = None
    chart: Chart | None = None
    listing: str = ""
    folded: bool = False


@dataclass(frozen=True)
class Report:
    """Sections in reading order; ``facts`` is the machine-readable content of all of them."""

    title: str
    sections: Sequence[Section] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    next_commands: tuple[str, ...] = ()
