"""`search`: measure a few settings, well chosen, instead of all of them.

Which settings should be tried, when each try costs a run of the job?  A proposer is asked, its
answer is measured, the result is told back; that is all, and it is the same loop whether the
proposer is a grid, a Gaussian process or a language model.  With a journal, every result is on disk
before the next question, so that a search may be killed at any moment and continued by the same
call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from rheostat.core.front import Front
from rheostat.core.jobs import JobTable, concat
from rheostat.core.outcome import Outcome
from rheostat.errors import DataError
from rheostat.tradeoff.propose.base import Proposer
from rheostat.tradeoff.propose.observations import front_of, merged, stack
from rheostat.tradeoff.search_journal import SearchJournal

Measure = Callable[[JobTable], Outcome]
Progress = bool | Callable[[int, int], None]
Announce = Callable[[JobTable], None]


def search(
    proposer: Proposer,
    measure: Measure,
    budget: int,
    *,
    batch: int = 1,
    workers: int = 1,
    journal: str | Path | None = None,
    progress: Progress = False,
    announce: Announce | None = None,
) -> Front:
    """Ask, measure, tell, until ``budget`` results are in or nothing is left to ask.

    Parameters
    ----------
    proposer : Proposer
        See `rheostat.tradeoff.propose`.
    measure : callable
        Called with one row at a time; returns its `Outcome`, one draw per repetition.
    budget : int
        Results in all, those already in the journal included.
    batch : int
        Settings asked together; the proposer chooses them to complement each other.
    workers : int
        Settings of a batch measured at the same time, in threads; ``measure`` must allow it.
    journal : path, optional
        JSON lines.  If it exists, its results are told first and settings that were asked but never
        told are measured next.  A journal of another program (an attribute of ``measure``, where it
        has one), space, job or objectives is refused.
    progress : bool or callable(done, budget)
        True draws a bar on stderr.
    announce : callable(JobTable), optional
        Called with the settings asked, before they are measured.

    Returns
    -------
    Front
        All measured settings in the order told, with the journal's notes.

    Raises
    ------
    DataError
        A number below 1, or an outcome of another length than its row.
    KeyboardInterrupt
        After Ctrl-C, with the journal closed and complete; the same call continues.

    Examples
    --------
    >>> import numpy as np
    >>> from rheostat import Knob
    >>> from rheostat.tradeoff.propose import Exhaustive
    >>> def measure(jobs):
    ...     n = jobs.numpy("nodes")[None, :]
    ...     return Outcome({"runtime_s": 10 + 90 / n, "power_w": 400 * n})
    >>> search(Exhaustive(Knob("nodes", [1, 2, 4])), measure, budget=2).mean("runtime_s")
    array([100.,  55.])
    """
    problems = [
        f"{n}: expected at least 1, got {v}" for n, v in _counts(budget, batch, workers) if v < 1
    ]
    if problems:
        raise DataError("search", problems)
    results: list[tuple[JobTable, Outcome]] = []
    with ExitStack() as held:
        book = (
            None
            if journal is None
            else held.enter_context(SearchJournal(journal, proposer, measure))
        )
        report = held.enter_context(_reporter(progress, budget))
        try:
            for pair in _results(proposer, _one(measure), book, budget, batch, workers, announce):
                results.append(pair)
                report(len(results), budget)
        except KeyboardInterrupt as stop:
            kept = "in memory only: give journal= to keep them" if book is None else f"in {journal}"
            stop.add_note(f"{len(results)} of {budget} results are {kept}; the same call continues")
            raise
    outcome = stack([o for _, o in results])
    notes = outcome.notes + (book.notes if book is not None else ())
    rows, outcome = concat([j for j, _ in results]), replace(outcome, notes=notes)
    space = getattr(proposer, "space", None)
    if space is None:
        return Front(rows, outcome, proposer.objectives)
    return front_of(space, *merged(space, rows, outcome), proposer.objectives)


def _counts(budget: int, batch: int, workers: int) -> tuple[tuple[str, int], ...]:
    return ("budget", budget), ("batch", batch), ("workers", workers)


def _results(
    proposer: Proposer,
    measure: Callable[[JobTable], Outcome],
    book: SearchJournal | None,
    budget: int,
    batch: int,
    workers: int,
    announce: Announce | None,
) -> Iterator[tuple[JobTable, Outcome]]:
    """Results one by one, told and written down before they are handed out."""
    done = 0
    for jobs, outcome in book.results if book else ():
        proposer.tell(jobs, outcome)
        done += 1
        yield jobs, outcome
    waiting = list(book.pending) if book else []
    while done < budget:
        if not waiting:
            chosen = proposer.ask(min(batch, budget - done))
            if not len(chosen):
                return
            if book is not None:
                book.asked(chosen)
            waiting = [chosen.rows([i]) for i in range(len(chosen))]
        waiting = waiting[: budget - done]
        if announce is not None:
            announce(concat(waiting))
        for row, outcome in _measured(waiting, measure, workers):
            if book is not None:
                book.tell(row, outcome)
            proposer.tell(row, outcome)
            done += 1
            yield row, outcome
        waiting = []


def _measured(
    rows: list[JobTable], measure: Callable[[JobTable], Outcome], workers: int
) -> Iterator[tuple[JobTable, Outcome]]:
    """Each row with its outcome, as they come in."""
    if workers == 1:
        for row in rows:
            yield row, measure(row)
        return
    pool = ThreadPoolExecutor(workers)
    try:
        running: dict[Future[Outcome], JobTable] = {pool.submit(measure, r): r for r in rows}
        while running:
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                yield running.pop(future), future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _one(measure: Measure) -> Callable[[JobTable], Outcome]:
    """``measure`` as a function that insists on one outcome per row."""

    def measured(row: JobTable) -> Outcome:
        outcome = measure(row)
        if not isinstance(outcome, Outcome) or len(outcome) != len(row):
            raise DataError("search", [f"measure: expected an Outcome for 1 row, got {outcome!r}"])
        return outcome

    return measured


def _reporter(progress: Progress, budget: int) -> Any:
    """A context whose value is called with (done, budget)."""
    if callable(progress):
        return nullcontext(progress)
    return _Bar(budget) if progress else nullcontext(lambda done, budget: None)


class _Bar:
    """A bar on stderr; nothing is imported unless one is asked for."""

    def __init__(self, budget: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

        columns = ("measured", BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bar = Progress(*columns, console=Console(stderr=True))
        self._task = self._bar.add_task("", total=budget)

    def __enter__(self) -> Callable[[int, int], None]:
        self._bar.start()
        return lambda done, budget: self._bar.update(self._task, completed=done)

    def __exit__(self, *error: object) -> None:
        self._bar.stop()
