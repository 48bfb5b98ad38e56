"""Jobsets: the weeks of a trace, each a game of its own."""

from __future__ import annotations

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.simulate.env.rules import Trace
from rheostat.simulate.env.rules import trace as prepare
from rheostat.simulate.workload import workload

WEEK_S = 7 * 86_400.0


def weeks(
    jobs: JobTable, machine: Machine | int, *, most: int | None = None, estimates: str = "user"
) -> list[Trace]:
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
    return [prepare(jobs.rows(week == n), place, estimates) for n in numbers]
