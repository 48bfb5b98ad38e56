"""What a long command is doing: bars on a terminal, lines in a log; on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, process_time
from typing import Any

Counted = Callable[[int, int], None]
"""Called with (done, of)."""
Rounds = Callable[[int, int, dict[str, Any]], None]
"""Called after each round with (done, of, facts)."""
Stages = Callable[[str, float, float], None]
"""Called within every stage with (stage, done, of)."""
Received = Callable[[int, int | None], None]
"""Called with bytes (received, of all, where that is known)."""
LINES = 20
SAID = {
    "jobs": "{:,} jobs",
    "decisions": "{:,} decisions",
    "mean_reward": "mean reward {:.4g}",
    "mean_wait_s": "mean wait {:,.0f} s",
    "entropy": "entropy {:.2f}",
    "score": "score {:.4g}",
    "best": "best {:.4g}",
    "compiled": "{}",
}


@contextmanager
def watched(what: str) -> Iterator[Rounds]:
    """A function to be called after each round with (done, of, facts)."""
    if sys.stderr.isatty():
        with _bar(what) as progress:
            yield progress
        return
    begun, printed = [process_time()], [0]

    def line(done: int, of: int, facts: dict[str, Any]) -> None:
        # of hundreds of rounds twenty are told, the last among them, once
        if of > 2 * LINES and done * LINES // of == printed[-1]:
            return
        printed.append(done * LINES // of)
        begun.append(process_time())
        spent = f"{begun[-1] - begun[-2]:.1f} CPU-seconds"
        said = ", ".join(part for part in (words(facts), spent) if part)
        print(f"{what} {done:,} of {of:,}: {said}", file=sys.stderr)

    yield line


def words(facts: dict[str, Any]) -> str:
    """The facts worth a line.

    >>> words({"jobs": 1200, "of": "a3", "mean_wait_s": 90.0})
    '1,200 jobs, mean wait 90 s'
    """
    return ", ".join(form.format(facts[k]) for k, form in SAID.items() if facts.get(k) is not None)


@contextmanager
def _bar(what: str) -> Iterator[Rounds]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
               TextColumn("{task.fields[said]}"))  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as shown:
        task = shown.add_task(what, total=None, said="")

        def progress(done: int, of: int, facts: dict[str, Any]) -> None:
            shown.update(task, completed=done, total=of, said=words(facts))

        yield progress


@contextmanager
def counted(what: str, *, lines: bool) -> Iterator[Counted]:
    """A function to be called with (done, of): a bar, or a line each where ``lines`` are wanted."""
    if not sys.stderr.isatty():
        yield (
            (lambda done, of: print(f"{what} {done} of {of}", file=sys.stderr))
            if lines
            else lambda done, of: None
        )
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    columns = (what, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as shown:
        task = shown.add_task("", total=None)
        yield lambda done, of: shown.update(task, completed=done, total=of)


EVERY_S = 10.0


@contextmanager
def stages() -> Iterator[Stages]:
    """A function to be called within every stage with (stage, done, of): bars, or lines in a log.

    A log has a line as a stage begins, and one every ten seconds of a stage that takes longer.
    """
    if sys.stderr.isatty():
        with _stage_bars() as progress:
            yield progress
        return
    said_s: dict[str, float] = {}

    def line(stage: str, done: float, of: float) -> None:
        now = monotonic()
        if stage not in said_s:
            print(stage, file=sys.stderr)
        elif now - said_s[stage] < EVERY_S:
            return
        else:
            print(f"{stage}: {done:,.0f} of {of:,.0f}", file=sys.stderr)
        said_s[stage] = now

    yield line


@contextmanager
def _stage_bars() -> Iterator[Stages]:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress

    bars: dict[str, Any] = {}
    with Progress(console=Console(stderr=True)) as shown:

        def bar(stage: str, done: float, of: float) -> None:
            if stage not in bars:
                bars[stage] = shown.add_task(escape(stage), total=of or None)
            shown.update(bars[stage], completed=done)

        yield bar


@contextmanager
def received() -> Iterator[Received]:
    """A function to be called with bytes (received, of all): a line that counts up, or nothing."""

    def line(done: int, total: int | None) -> None:
        share = f" of {total / 1e6:,.0f}" if total else ""
        end = "\n" if total and done >= total else ""
        print(f"\r{done / 1e6:,.0f}{share} MB", end=end, file=sys.stderr, flush=True)

    yield line if sys.stderr.isatty() else lambda done, of: None
