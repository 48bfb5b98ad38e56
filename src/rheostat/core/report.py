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
    """Series to draw: each a mapping with ``x``, ``y``, optional ``low``/``high``/``text``.

    ``kind`` is "front", "line", "bar" or "calibration", or for a schedule "time", "heat",
    "columns" or "gantt"; ``axes`` are the two axis titles.
    """

    kind: str
    series: tuple[Mapping[str, Any], ...]
    axes: tuple[str, str]
    log: bool = False


@dataclass(frozen=True)
class Section:
    """A heading, sentences, and optionally a table and a chart."""

    title: str
    sentences: tuple[str, ...] = ()
    grid: Grid | None = None
    chart: Chart | None = None


@dataclass(frozen=True)
class Report:
    """Sections in reading order; ``facts`` is the machine-readable content of all of them."""

    title: str
    sections: Sequence[Section] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    next_commands: tuple[str, ...] = ()
