"""Jobsets: the weeks of a trace, and weeks made after it, each an episode of its own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.errors import DataError
from rheostat.simulation.workload import workload
from rheostat.training.env.episode_trace import EpisodeTrace
from rheostat.training.env.episode_trace import trace as prepare
from rheostat.training.rl.synthetic_weeks import WEEK_S, rate_per_s, sampled_week, synthetic_week

DRAS_PHASES = (9, 9, 82)
MOST_WEEKS = 10_000
"""That one training may have: 200 years of a trace."""
MOST_JOBS = 10_000_000
"""Of weeks that are made; each takes some 100 bytes."""


def weeks(
    jobs: JobTable, machine: Machine | int, *, most: int | None = None, estimates: str = "user"
) -> list[EpisodeTrace]:
    """The jobs submitted in each week from the first submission on; weeks without any are skipped.

    ``most`` takes the first so many.  Rows that the machine cannot run are left out, as `simulate`
    does.  ``estimates="perfect"`` plans with true run times (clairvoyant).

    >>> from rheostat.core.vocabulary import table
    >>> jobs = table({"submit_s": [0.0, 5.0, 1e6], "cores": [1, 2, 1],
    ...               "runtime_s": [9.0, 9.0, 9.0], "time_limit_s": [9.0, 9.0, 9.0]})
    >>> [len(week) for week in weeks(jobs, 4)]
    [2, 1]
    """
    place = machine if isinstance(machine, Machine) else Machine(machine)
    load = workload(jobs, place)
    week = np.full(len(jobs), -1.0)
    week[load.row] = (load.submit_s - load.submit_s[0]) // WEEK_S
    numbers = np.unique(week[load.row])[:most]
    if len(numbers) > MOST_WEEKS:
        said = f"expected at most {MOST_WEEKS:,} weeks with jobs, got {len(numbers):,}"
        raise DataError("trace", [f"{said}; take the first with --jobsets"])
    return [prepare(jobs.rows(week == n), place, estimates) for n in numbers]


def three_phases(
    jobs: JobTable,
    machine: Machine | int,
    counts: tuple[int, int, int] = DRAS_PHASES,
    *,
    seed: int = 0,
    estimates: str = "user",
) -> list[EpisodeTrace]:
    """DRAS's order of training: sampled weeks, the first weeks of the trace, synthetic weeks.

    ``counts`` says how many of each; a trace with fewer weeks gives those it has.
    """
    if len(counts) != 3 or min(counts) < 0 or not any(counts):
        raise DataError("phases", [f"expected three counts of at least 0, got {counts!r}"])
    place = machine if isinstance(machine, Machine) else Machine(machine)
    _check_amounts(counts, rate_per_s(workload(jobs, place)) * WEEK_S)

    def made(kind: int, week: Callable[..., JobTable]) -> list[EpisodeTrace]:
        rngs = (np.random.default_rng([seed, kind, i]) for i in range(counts[kind]))
        return [prepare(week(jobs, place, rng), place, estimates) for rng in rngs]

    real = weeks(jobs, place, most=counts[1], estimates=estimates)
    return [*made(0, sampled_week), *real, *made(2, synthetic_week)]


def _check_amounts(counts: tuple[int, int, int], jobs_a_week: float) -> None:
    if sum(counts) > MOST_WEEKS:
        said = f"expected at most {MOST_WEEKS:,} weeks together, got {sum(counts):,}"
        raise DataError("phases", [said])
    if (made := (counts[0] + counts[2]) * jobs_a_week) > MOST_JOBS:
        said = f"expected at most {MOST_JOBS:,} jobs in weeks that are made, got {made:,.0f}"
        raise DataError("phases", [f"{said}: the trace has {jobs_a_week:,.0f} a week"])
