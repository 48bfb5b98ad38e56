"""A `Report` as terminal text: readable at 80 columns, never wider than 100, no colour needed.

Colour only repeats what a glyph or a word already says, so a monochrome terminal, a log file and a
screen reader get the whole message.  rich honours NO_COLOR and the terminal's width.
"""

from __future__ import annotations

import io
import math
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from rheostat.core.report import Grid, Report, Section
from rheostat.explain import scatter
from rheostat.explain.words import quantity, share, signed, spanned

WIDEST = 100
LABEL = 9
TERMINAL = ("front", "line", "bar")  # other pictures are a page's
LEGEND = "◆ chosen   □ asked for   o on the front   · dominated"


def render(report: Report, width: int = 80) -> str:
    """The report as plain text of at most ``width`` columns, no colour codes.

    >>> from rheostat.core.report import Report, Section
    >>> print(render(Report("Title", [Section("why", ("because",))])), end="")
    Title
    <BLANKLINE>
    why      because
    """
    out = io.StringIO()
    console = Console(
        file=out, width=min(width, WIDEST), no_color=True, force_terminal=False, highlight=False
    )
    show(report, console)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def show(report: Report, console: Console) -> None:
    """Print the report on ``console``."""
    if report.title:
        console.print(Text(report.title, style="bold"))
        console.print()
    for section in report.sections:
        console.print(_section(section, min(console.width, WIDEST)))
        if section.grid or section.chart:
            console.print()
    if report.next_commands:
        console.print(_labelled("next", Group(*(Text(c) for c in report.next_commands))))


def _section(section: Section, width: int) -> RenderableType:
    parts: list[RenderableType] = []
    said = Text("\n".join(section.sentences))
    parts.append(_labelled(section.title, said))
    if section.chart and section.chart.kind in TERMINAL:
        lines = scatter.draw(section.chart, width=min(width, 84) - 2)
        if lines:
            legend = [LEGEND] if section.chart.kind == "front" else []
            parts += ["", Text("\n".join([*lines, *legend]), no_wrap=True), ""]
    if section.grid:
        parts.append(grid_table(section.grid))
    return Group(*parts)


def _labelled(label: str, body: RenderableType) -> Table:
    table = Table.grid(padding=(0, 1))
    long = len(label) >= LABEL
    table.add_column(style="bold cyan", width=None if long else LABEL - 1, no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(label, body)
    return table


def grid_table(grid: Grid) -> Table:
    """A `Grid` as a rich table; the marked row is bold."""
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="dim")
    units = (*grid.units, *[""] * (len(grid.heads) - len(grid.units)))
    for i, head in enumerate(grid.heads):
        numeric = any(not isinstance(r[i], str) and r[i] is not None for r in grid.rows)
        table.add_column(head, justify="right" if numeric else "left", overflow="fold")
    for i, row in enumerate(grid.rows):
        here = i == grid.marked
        cells = [cell(v, u) for v, u in zip(row, units, strict=True)]
        table.add_row(*cells, style="bold" if here else None)
    return table


def cell(value: Any, unit: str) -> str:
    """One value as drawn.

    ``"%"`` marks a relative change, ``"share"`` a part of one, ``"+s"`` a time gained or lost.

    >>> cell((9.13e6, 8.7e6, 9.5e6), "J"), cell(-0.29, "%"), cell(None, "s"), cell(0.892, "share")
    ('9.13 MJ [8.7 9.5]', '−29 %', '', '89 %')
    >>> cell(7200.0, "+s"), cell(-7200.0, "+s")
    ('+2h', '−2h')
    """
    if value is None or isinstance(value, (str, bool)):
        return {None: "", True: "yes", False: "no"}.get(value, str(value))
    if isinstance(value, tuple):
        drawn = {"%": change, "share": shares}.get(unit)
        return drawn(value) if drawn else spanned(*value, unit)
    if unit == "+s":
        return ("+" if value > 0 else "") + quantity(float(value), "s")
    if unit in ("%", "share"):
        return signed(float(value)) if unit == "%" else share(float(value))
    return f"{value}" if isinstance(value, int) and not unit else quantity(float(value), unit)


def change(value: tuple[float, float, float]) -> str:
    """A relative change with its interval in percent.

    >>> change((-0.29, -0.34, -0.24)), change((0.27, 0.21, 0.33))
    ('−29 % [−34 −24]', '+27 % [+21 +33]')
    """
    low, high = (signed(v).replace(" %", "") for v in value[1:])
    if not all(math.isfinite(v) for v in value[1:]) or value[1] == value[2]:
        return signed(value[0])
    return f"{signed(value[0])} [{low} {high}]"


def shares(value: tuple[float, float, float]) -> str:
    """A share of one with its interval in percent.

    >>> shares((0.2321, 0.201, 0.268))
    '23.2 % [20.1 26.8]'
    """
    low, high = (f"{100 * v:.1f}" for v in value[1:])
    return f"{share(value[0], 1)} [{low} {high}]" if math.isfinite(value[1]) else share(value[0], 1)


def tsv(grid: Grid) -> str:
    r"""Tab-separated values for pipes: base units, full precision, an interval as three columns.

    >>> g = Grid(("nodes", "runtime_s"), ((4, (10.0, 9.0, 11.0)),))
    >>> tsv(g)
    'nodes\truntime_s\truntime_s_low\truntime_s_high\n4\t10.0\t9.0\t11.0\n'
    """
    heads: list[str] = []
    for i, head in enumerate(grid.heads):
        triple = any(isinstance(r[i], tuple) for r in grid.rows)
        heads += [head, f"{head}_low", f"{head}_high"] if triple else [head]
    lines = ["\t".join(heads)]
    for row in grid.rows:
        flat = [x for v in row for x in (v if isinstance(v, tuple) else (v,))]
        lines.append("\t".join("" if _missing(v) else f"{v}" for v in flat))
    return "\n".join(lines) + "\n"


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
