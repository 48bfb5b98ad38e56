"""Traces that are hard on a guard: jobs due together, wide jobs, run times nobody foresees."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.vocabulary import table

SIZE = 16
Columns = dict[str, np.ndarray]


def burst(kind: str, seed: int, jobs: int = 60) -> JobTable:
    """A trace of `KINDS` for a machine of `SIZE` processors; the same seed gives the same one."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    columns = KINDS[kind](_usual(rng, jobs), rng)
    order = np.argsort(columns["submit_s"], kind="stable")
    columns = {name: values[order] for name, values in columns.items()}
    return table({"job_id": np.arange(len(order)), **columns})


def _usual(rng: np.random.Generator, n: int) -> Columns:
    """Jobs of eight users that come at about the rate at which they are done."""
    run = np.ceil(rng.lognormal(5.0, 1.5, n))
    procs = rng.choice([1, 1, 2, 2, 4, 8, 12], n)
    gap = run.mean() * procs.mean() / SIZE
    return {
        "submit_s": np.floor(np.cumsum(rng.exponential(rng.uniform(0.6, 1.4) * gap, n))),
        "runtime_s": run,
        "cores": procs,
        "time_limit_s": np.ceil(run * rng.uniform(1.0, 8.0, n)),
        "user": np.char.mod("u%d", rng.integers(8, size=n)),
    }


def _equal(given: Columns, rng: np.random.Generator) -> Columns:
    """A third of the jobs are the same one, submitted at one moment: all become due together."""
    n = len(given["submit_s"])
    some = rng.choice(n, n // 3, replace=False)
    for name in ("submit_s", "runtime_s", "cores", "time_limit_s"):
        given[name][some] = given[name][some[0]]
    return given


def _flood(given: Columns, rng: np.random.Generator) -> Columns:
    """Half of the jobs are one user's, short and narrow, within a tenth of the time."""
    n, last = len(given["submit_s"]), given["submit_s"].max()
    some = rng.choice(n, n // 2, replace=False)
    given["user"][some] = "u0"
    given["submit_s"][some] = np.floor(last * (0.4 + 0.1 * rng.random(len(some))))
    given["runtime_s"][some] = np.ceil(given["runtime_s"][some] / 4)
    given["cores"][some] = 1
    return given


def _unasked(given: Columns, rng: np.random.Generator) -> Columns:
    """A third of the jobs ask for no time."""
    given["time_limit_s"][rng.random(len(given["submit_s"])) < 1 / 3] = np.nan
    return given


def _outlived(given: Columns, rng: np.random.Generator) -> Columns:
    """A third of the jobs run for up to ten times as long as they asked for."""
    some = rng.random(len(given["submit_s"])) < 1 / 3
    given["time_limit_s"][some] = np.ceil(given["runtime_s"][some] / rng.uniform(1, 10, some.sum()))
    return given


def _whole(given: Columns, rng: np.random.Generator) -> Columns:
    """A few jobs need the whole machine."""
    some = rng.choice(len(given["submit_s"]), 4, replace=False)
    given["cores"][some] = SIZE
    return given


def _stream(given: Columns, rng: np.random.Generator) -> Columns:
    """Behind the first tenth, the last of which needs all, short narrow jobs without end."""
    n = len(given["submit_s"])
    first = n // 10
    given["cores"][first - 1] = SIZE
    given["cores"][first:] = rng.choice([1, 2], n - first)
    given["runtime_s"][first:] = rng.integers(50, 150, n - first)
    given["time_limit_s"][first:] = 2 * given["runtime_s"][first:]
    given["submit_s"][first:] = given["submit_s"][first - 1] + 10 * np.arange(n - first)
    return given


def _plain(given: Columns, rng: np.random.Generator) -> Columns:
    return given


KINDS: dict[str, Callable[[Columns, np.random.Generator], Columns]] = {
    "random": _plain, "equal jobs": _equal, "one user's flood": _flood,
    "no request": _unasked, "requests outlived": _outlived, "the whole machine": _whole,
    "an endless stream": _stream,
}  # fmt: skip
