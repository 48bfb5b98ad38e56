"""Run methods x pools x seeds, resumably.

Results are cached as JSON lines, one file per method; a line holds the rows of one (method, pool,
seed) and its key names everything they depend on.  Work goes seed by seed, so an interrupted run is
balanced over pools and already has as many paired seeds as it got to.
"""

from __future__ import annotations

import json
import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .methods import REGISTRY
from .pools import Pool, prior_of
from .replay import BUDGETS, Case, Row, key_of, replay


@dataclass(frozen=True)
class Task:
    """One unit of work and the key under which its rows are kept."""

    method: str
    case: Case
    seed: int
    budgets: tuple[int, ...] = BUDGETS

    @property
    def key(self) -> str:
        """Cache key."""
        return key_of(REGISTRY[self.method], self.case, self.seed, self.budgets)


class Cache:
    """JSON lines under `folder`; `folder` None keeps nothing."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        if folder:
            folder.mkdir(parents=True, exist_ok=True)

    def load(self, methods: list[str]) -> dict[str, list[Row]]:
        """Everything stored for the methods; a line cut short by a kill is skipped."""
        kept: dict[str, list[Row]] = {}
        for path in [self.folder / f"{m}.jsonl" for m in methods] if self.folder else []:
            for line in path.read_text().splitlines() if path.exists() else []:
                entry = _parse(line)
                if entry:
                    kept[entry["key"]] = entry["rows"]
        return kept

    def finished(self, tasks: list[Task]) -> list[Task]:
        """The tasks whose rows are stored."""
        done = self.load(sorted({t.method for t in tasks}))
        return [t for t in tasks if t.key in done]

    def add(self, task: Task, rows: list[Row]) -> None:
        """Append one unit of work."""
        if self.folder:
            with (self.folder / f"{task.method}.jsonl").open("a") as out:
                out.write(json.dumps({"key": task.key, "rows": rows}) + "\n")


def _parse(line: str) -> dict[str, Any] | None:
    try:
        return json.loads(line)  # type: ignore[no-any-return]
    except json.JSONDecodeError:
        return None


def plan(methods: list[str], pools: list[Pool], seeds: int, *, every: list[Pool]) -> list[Task]:
    """All tasks, seed by seed; `every` holds the pools that prior jobs are taken from."""
    cases = [Case(p, prior_of(p, every)) for p in pools]
    limit = {m: REGISTRY[m].max_seeds or seeds for m in methods}
    return [Task(m, c, s) for s in range(seeds) for c in cases for m in methods if s < limit[m]]


def execute(tasks: list[Task], cache: Cache, *, jobs: int, console: Console) -> list[Row]:
    """Rows of all tasks in the order of `tasks`, from the cache or computed."""
    done = cache.load(sorted({t.method for t in tasks}))
    todo = [t for t in tasks if t.key not in done]
    console.print(f"{len(tasks)} runs, {len(tasks) - len(todo)} of them cached; {jobs} processes")
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("replaying", total=len(todo))
        last = time.monotonic()
        for task, rows in _compute(todo, jobs):
            done[task.key] = rows
            cache.add(task, rows)
            progress.advance(bar)
            if not console.is_terminal and time.monotonic() - last > 60:
                console.print(f"{progress.tasks[0].completed:.0f} / {len(todo)}")
                last = time.monotonic()
    return [row for t in tasks for row in done[t.key]]


def _work(task: Task) -> list[Row]:
    return replay(REGISTRY[task.method], task.case, task.seed, task.budgets)


def _compute(todo: list[Task], jobs: int) -> Iterator[tuple[Task, list[Row]]]:
    if jobs == 1:
        for task in todo:
            yield task, _work(task)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        futures: dict[Future[list[Row]], Task] = {pool.submit(_work, t): t for t in todo}
        for future in as_completed(futures):
            yield futures[future], future.result()
