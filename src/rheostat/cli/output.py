"""Where a result goes: JSON, a table on a terminal, tab-separated values in a pipe.

stdout carries the result alone; notes and progress go to stderr.
"""

from __future__ import annotations

import logging
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rheostat.core.report import Grid, Report
    from rheostat.questions.answer import Answer
    from rheostat.questions.listener import Counted, Received, Rounds, Stages


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


def console() -> Any:
    """The standard output, at most 100 columns wide; rich honours NO_COLOR and COLUMNS."""
    from rich.console import Console

    from rheostat.explanation.formats.text import WIDEST

    terminal = Console(highlight=False, soft_wrap=False)
    return Console(highlight=False, width=min(terminal.width, WIDEST))


def tell(message: str) -> None:
    """A line on stderr; on a terminal it is broken between words, further lines indented."""
    from rheostat.core.texts.printable import printable

    message = printable(message)
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        message = textwrap.fill(message, width, subsequent_indent="  ", break_on_hyphens=False)
    print(message, file=sys.stderr)


def _tell_messages(messages: Sequence[str], most: int = 8) -> None:
    for message in messages[:most]:
        tell(f"note: {message}")
    if len(messages) > most:
        tell(f"note: and {len(messages) - most} more")


class Terminal:
    """Hears what happens while a question is worked on, and says it on stderr.

    ``uncounted`` leaves out lines that count, which a program that reads JSON does not want; of
    notes that come together ``most`` are said.
    """

    def __init__(self, *, uncounted: bool = False, most: int = 8) -> None:
        self.uncounted, self.most = uncounted, most

    def notes(self, messages: Sequence[str]) -> None:
        """A line each; a long list is cut and says so."""
        _tell_messages(messages, self.most)

    def line(self, text: str) -> None:
        """A sentence that stands before the answer."""
        tell(text)

    def working(self, what: str) -> AbstractContextManager[None]:
        """A spinner."""
        return working(what)

    def counted(self, what: str) -> AbstractContextManager[Counted]:
        """A bar, or a line each."""
        from rheostat.cli.progress import counted

        return counted(what, lines=not self.uncounted)

    def rounds(self, what: str) -> AbstractContextManager[Rounds]:
        """A bar, or at most some twenty lines."""
        from rheostat.cli.progress import watched

        return watched(what)

    def stages(self) -> AbstractContextManager[Stages]:
        """A bar each, or a line as each begins."""
        from rheostat.cli.progress import stages

        return stages()

    def received(self) -> AbstractContextManager[Received]:
        """A line that counts up; nothing where stderr is no terminal."""
        from rheostat.cli.progress import received

        return received()


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


class Compiling(logging.Handler):
    """Says on stderr that the simulator is being compiled, which happens once, and how far it is.

    Where a spinner turns the count is beside it; else there is a line at once and one every ten
    CPU-seconds.
    """

    def __init__(self) -> None:
        super().__init__()
        self.functions = 0
        self.spinner: tuple[Any, str] | None = None
        self._next_s = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        """One function is being compiled, or none can be kept."""
        if record.levelno >= logging.WARNING:
            tell(f"note: {record.getMessage()}")
            return
        self.functions += 1
        if self.spinner is not None:
            status, what = self.spinner
            status.update(f"{what} (compiling for the first use: {self.functions} functions)")
        elif self.functions == 1:
            tell(FIRST_USE)
        elif process_time() >= self._next_s:
            tell(f"compiling: {self.functions} functions so far")
        else:
            return
        self._next_s = process_time() + 10.0


FIRST_USE = (
    "compiling the simulator for its first use, up to a minute of CPU time "
    "(rheostat doctor --compile does this ahead)"
)
COMPILING = Compiling()


@contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner on stderr while something takes long; nothing where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.markup import escape

    from rheostat.core.texts.printable import printable

    what = escape(printable(what))
    with Console(stderr=True).status(what) as status:
        COMPILING.spinner = (status, what)
        try:
            yield
        finally:
            COMPILING.spinner = None


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
