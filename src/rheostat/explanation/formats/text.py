"""A `Report` as terminal text: readable at 80 columns, never wider than 100, no colour needed.

Colour only repeats what a glyph or a word already says, so a monochrome terminal, a log file and a
screen reader get the whole message.  rich honours NO_COLOR and the terminal's width.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from rheostat.core.report import Grid, Report, Section
from rheostat.core.texts.printable import printable
from rheostat.explanation.formats.grid_cells import cell
from rheostat.explanation.formats.long_tables import shortened
from rheostat.explanation.number_words import head_words
from rheostat.explanation.pictures import scatter

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
    show(report, console, whole=True)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def show(report: Report, console: Console, *, whole: bool = False) -> None:
    """Print the report on ``console``; what is folded is a page's, long tables unless ``whole``."""
    if report.title:
        console.print(Text(printable(report.title), style="bold"))
        console.print()
    for section in report.sections if whole else shortened(report.sections):
        if section.folded:
            if not whole:
                console.print(_labelled("", Text(f"{section.title}: a pipe, --json and --html.")))
                console.print()
            continue
        console.print(_section(section, min(console.width, WIDEST)))
        if section.grid or section.chart:
            console.print()
    if report.next_commands:
        console.print(_labelled("next", Group(*(Text(printable(c)) for c in report.next_commands))))


def _section(section: Section, width: int) -> RenderableType:
    parts: list[RenderableType] = []
    said = Text(printable("\n".join([*section.sentences, *section.listing.splitlines()])))
    parts.append(_labelled(section.title, said))
    if section.chart and section.chart.kind in TERMINAL:
        lines = scatter.draw(section.chart, width=min(width, 84) - 2)
        if lines:
            legend = [LEGEND] if section.chart.kind == "front" else []
            parts += ["", Text(printable("\n".join([*lines, *legend])), no_wrap=True), ""]
    if section.grid:
        parts.append(grid_table(section.grid, width))
    return Group(*parts)


def _labelled(label: str, body: RenderableType) -> Table:
    table = Table.grid(padding=(0, 1))
    long = len(label) >= LABEL
    table.add_column(style="bold cyan", width=None if long else LABEL - 1, no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(escape(printable(label)), body)
    return table


def grid_table(grid: Grid, width: int) -> Table:
    """A `Grid` as a rich table; the marked row is bold.

    Where it is wider than ``width``, headings break between words (a console breaks within them),
    and then one blank parts columns, not two.
    """
    units = (*grid.units, *[""] * (len(grid.heads) - len(grid.units)))
    heads = [printable(head_words(h, u)) for h, u in zip(grid.heads, units, strict=True)]
    rows = [[printable(cell(v, u)) for v, u in zip(r, units, strict=True)] for r in grid.rows]
    if _table_width(heads, rows) > width:
        heads = ["\n".join(head.split()) for head in heads]
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="dim",
                  collapse_padding=_table_width(heads, rows) > width)  # fmt: skip
    for i, head in enumerate(heads):
        numeric = any(not isinstance(r[i], str) and r[i] is not None for r in grid.rows)
        table.add_column(escape(head), justify="right" if numeric else "left", overflow="fold")
    for i, row in enumerate(rows):
        table.add_row(*map(escape, row), style="bold" if i == grid.marked else None)
    return table


def _table_width(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    columns = zip(heads, *rows, strict=True)
    return sum(cell_len(max("\n".join(c).split("\n"), key=cell_len)) + 2 for c in columns) - 2
