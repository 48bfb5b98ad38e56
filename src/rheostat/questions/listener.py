"""Who hears what happens while a question is worked on: a terminal, a notebook, a service.

Questions print nothing.  What they notice goes to the listener that is set where they are asked;
without one it is kept in the answer's notes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar

from rheostat.errors import Infeasible
from rheostat.explanation.terminal.progress import Counted, Received, Rounds, Stages

if TYPE_CHECKING:
    from rheostat.core.jobs import Note
    from rheostat.questions.answer import Answer


class Listener(Protocol):
    """What a face of the program does with events."""

    def notes(self, messages: Sequence[str]) -> None:
        """Things that were noticed together, most important first."""

    def line(self, text: str) -> None:
        """A sentence that stands before the answer."""

    def working(self, what: str) -> AbstractContextManager[None]:
        """Something that may take long, for as long as the context lasts."""

    def counted(self, what: str) -> AbstractContextManager[Counted]:
        """Something of which a known number is done, one after the other."""

    def rounds(self, what: str) -> AbstractContextManager[Rounds]:
        """Something that gets better round by round."""

    def stages(self) -> AbstractContextManager[Stages]:
        """Something in named stages, each of its own length."""

    def received(self) -> AbstractContextManager[Received]:
        """A file that comes over a network."""


class Silent:
    """Hears nothing."""

    def notes(self, messages: Sequence[str]) -> None:
        """Nothing."""

    def line(self, text: str) -> None:
        """Nothing."""

    def working(self, what: str) -> AbstractContextManager[None]:
        """Nothing."""
        return nullcontext()

    def counted(self, what: str) -> AbstractContextManager[Counted]:
        """Nothing."""
        return nullcontext(lambda done, of: None)

    def rounds(self, what: str) -> AbstractContextManager[Rounds]:
        """Nothing."""
        return nullcontext(lambda done, of, facts: None)

    def stages(self) -> AbstractContextManager[Stages]:
        """Nothing."""
        return nullcontext(lambda stage, done, of: None)

    def received(self) -> AbstractContextManager[Received]:
        """Nothing."""
        return nullcontext(lambda done, of: None)


_listener: ContextVar[Listener] = ContextVar("listener", default=Silent())  # noqa: B039


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Events go to ``listener`` for as long as the context lasts.

    Parameters
    ----------
    listener : Listener
        Hears notes, lines and progress; a subclass of `Silent` has only to hear what it wants.

    Examples
    --------
    >>> class Printed(Silent):
    ...     def notes(self, messages): print(*messages)
    >>> with listening(Printed()):
    ...     note("three rows have no runtime")
    three rows have no runtime
    """
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def notes(noticed: Iterable[Note]) -> None:
    """What a reader or model noticed."""
    messages = [f"{n.message}{_where(n)}" for n in noticed]
    if messages:
        _listener.get().notes(messages)


def _where(noted: Note) -> str:
    """How many rows are concerned; a single one by its number, from 1."""
    if noted.count == 1 and noted.rows:
        return f" (row {noted.rows[0] + 1})"
    return f" ({noted.count:,} rows)" if noted.count else ""


def note(message: str) -> None:
    """One thing that was noticed."""
    _listener.get().notes([message])


def line(text: str) -> None:
    """A sentence that stands before the answer."""
    _listener.get().line(text)


def working(what: str) -> AbstractContextManager[None]:
    """Something that may take long, for as long as the context lasts."""
    return _listener.get().working(what)


def counted(what: str) -> AbstractContextManager[Counted]:
    """Something of which a known number is done, one after the other."""
    return _listener.get().counted(what)


def rounds(what: str) -> AbstractContextManager[Rounds]:
    """Something that gets better round by round."""
    return _listener.get().rounds(what)


def stages() -> AbstractContextManager[Stages]:
    """Something in named stages, each of its own length."""
    return _listener.get().stages()


def received() -> AbstractContextManager[Received]:
    """A file that comes over a network."""
    return _listener.get().received()


class _Kept:
    """Keeps the notes of one question and hands every event on, a note once."""

    def __init__(self, beyond: Listener) -> None:
        self.beyond = beyond
        self.kept: list[str] = []

    def notes(self, messages: Sequence[str]) -> None:
        fresh = [m for m in dict.fromkeys(messages) if m not in self.kept]
        self.kept.extend(fresh)
        if fresh:
            self.beyond.notes(fresh)

    def line(self, text: str) -> None:
        self.beyond.line(text)

    def working(self, what: str) -> AbstractContextManager[None]:
        return self.beyond.working(what)

    def counted(self, what: str) -> AbstractContextManager[Counted]:
        return self.beyond.counted(what)

    def rounds(self, what: str) -> AbstractContextManager[Rounds]:
        return self.beyond.rounds(what)

    def stages(self) -> AbstractContextManager[Stages]:
        return self.beyond.stages()

    def received(self) -> AbstractContextManager[Received]:
        return self.beyond.received()


P = ParamSpec("P")
A = TypeVar("A", bound="Answer")


def question(ask: Callable[P, A]) -> Callable[P, A]:
    """The function, its answer with the notes of all that was noticed on the way."""

    @wraps(ask)
    def asked(*args: P.args, **kwargs: P.kwargs) -> A:
        kept = _Kept(_listener.get())
        try:
            with listening(kept):
                answer = ask(*args, **kwargs)
        except Infeasible as stop:
            if stop.answer is not None:
                stop.answer = replace(stop.answer, notes=tuple(kept.kept))
            raise
        return replace(answer, notes=tuple(kept.kept))

    return asked
