"""Where a result goes: JSON, a table on a terminal, tab-separated values in a pipe.

stdout carries the result alone; notes and progress go to stderr.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rheostat.explanation.terminal.terminal import Terminal, console, tell

if TYPE_CHECKING:
    from rheostat.core.report import Grid, Report
    from rheostat.questions.answer import Answer


def put_report(report: Report, *grids: Grid | None) -> None:
    """The report on a terminal; in a pipe ``grids``, if any, as tab-separated values.

    Several are set apart by an empty line.
    """
    tables = [grid for grid in grids if grid is not None]
    if tables and not sys.stdout.isatty():
        from rheostat.explanation.formats.grid_cells import tsv

        sys.stdout.write("\n".join(tsv(grid) for grid in tables))
        return
    from rheostat.explanation.formats.text import render, show

    if sys.stdout.isatty():
        show(report, console())
    else:
        sys.stdout.write(render(report, console().width))


def on_terminal() -> bool:
    """Whether a person reads the result, with its sentences; in a pipe it is the table alone."""
    return sys.stdout.isatty()


@contextmanager
def printed(
    *,
    json: bool,
    html: Path | None = None,
    figure: Path | None = None,
    quiet: bool = False,
    most_notes: int = 8,
) -> Iterator[Callable[[Answer], None]]:
    """Gives what prints an answer; one that an error carries is printed before the error.

    ``quiet`` leaves a pipe empty, where the result was written to a file; of notes beyond
    ``most_notes`` the number is said.
    """
    from rheostat.errors import Infeasible
    from rheostat.questions.listener import listening

    try:
        with listening(Terminal(uncounted=json, most=most_notes)):
            yield partial(put, json=json, html=html, figure=figure, quiet=quiet)
    except (Infeasible, KeyboardInterrupt) as stop:
        if (answer := getattr(stop, "answer", None)) is not None:
            put(answer, json=json, html=html, figure=figure)
        raise


def put(
    answer: Answer,
    *,
    json: bool,
    html: Path | None = None,
    figure: Path | None = None,
    quiet: bool = False,
) -> None:
    """Print an answer, and write the page and the figures that were asked for."""
    if json and not answer.verbatim:
        from rheostat.explanation.formats.json import written

        sys.stdout.write(written(answer.to_dict()))
    else:
        text = answer.text()
        if on_terminal() or not quiet:
            _put_words(answer, text)
        for sentence in answer.beside() if text or not on_terminal() else ():
            tell(sentence)
    draw(answer, html=html, figure=figure)


def draw(answer: Answer, *, html: Path | None = None, figure: Path | None = None) -> None:
    """Write the page and the figures that were asked for."""
    if html:
        write_files(answer.page_report(), html)
    if figure:
        write_files(answer.pictures(), None, figure)


def _put_words(answer: Answer, text: str) -> None:
    if text:
        sys.stdout.write(text)
    elif (report := answer.report()).sections:
        put_report(report, *answer.grids())


def write_files(report: Report, html: Path | None, figure: Path | None = None) -> None:
    """Write the HTML page and the figures that were asked for and say where.

    A page without a title of its own is headed by the command.
    """
    from rheostat.core.storage.files import replace_file

    if html is not None:
        from rheostat.explanation.formats.html import page

        replace_file(html, page(report, " ".join(ASKED[1:3]), _how_and_when()))
        tell(f"wrote {html}")
    if figure is not None:
        from rheostat.explanation.pictures.draw import drawing
        from rheostat.explanation.pictures.figure import ending_of, figure_bytes, figure_charts

        for path, chart in figure_charts(report, figure).items():
            replace_file(path, figure_bytes(drawing(chart), ending_of(path)))
            tell(f"wrote {path}")


def _how_and_when() -> str:
    """The command and the date of a page, or the date that SOURCE_DATE_EPOCH fixes."""
    import os
    from datetime import UTC, datetime

    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    when = datetime.fromtimestamp(int(fixed), UTC) if fixed.isdigit() else datetime.now(UTC)
    asked = f"{shlex.join(ASKED)}, " if ASKED else ""
    return f"{asked}{when:%Y-%m-%d %H:%M} UTC"


ASKED: list[str] = []
"""The words of the command that runs, for the last line of a page."""
