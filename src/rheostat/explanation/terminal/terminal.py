"""A listener that says on stderr what happens while a question is worked on."""

from __future__ import annotations

import logging
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from time import process_time
from typing import Any

from rheostat.core.texts.printable import printable
from rheostat.explanation.terminal.progress import (
    Counted,
    Received,
    Rounds,
    Stages,
    counted,
    received,
    stages,
    watched,
)


def console() -> Any:
    """The standard output, at most 100 columns wide; rich honours NO_COLOR and COLUMNS."""
    from rich.console import Console

    from rheostat.explanation.formats.text import WIDEST

    terminal = Console(highlight=False, soft_wrap=False)
    return Console(highlight=False, width=min(terminal.width, WIDEST))


def tell(message: str) -> None:
    """A line on stderr; on a terminal it is broken between words, further lines indented."""
    message = printable(message)
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        message = textwrap.fill(message, width, subsequent_indent="  ", break_on_hyphens=False)
    print(message, file=sys.stderr)


def _tell_messages(messages: Sequence[str], most: int = 8) -> None:
    most = most + 1 if len(messages) == most + 1 else most  # "and 1 more" is as long as that one
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
        return counted(what, lines=not self.uncounted)

    def rounds(self, what: str) -> AbstractContextManager[Rounds]:
        """A bar, or at most some twenty lines."""
        return watched(what)

    def stages(self) -> AbstractContextManager[Stages]:
        """A bar each, or a line as each begins."""
        return stages()

    def received(self) -> AbstractContextManager[Received]:
        """A line that counts up; nothing where stderr is no terminal."""
        return received()


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

    what = escape(printable(what))
    with Console(stderr=True).status(what) as status:
        COMPILING.spinner = (status, what)
        try:
            yield
        finally:
            COMPILING.spinner = None
