"""The schedule that a log records, as a run beside simulated ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.errors import DataError
from rheostat.simulation.replay import logged_waits
from rheostat.simulation.result import Simulation
from rheostat.simulation.start_plan import StartPlan

LOGGED = "as logged"


@dataclass(frozen=True)
class LoggedSchedule:
    """What the site did: a name beside those of policies, which cannot be run again."""

    name: str = LOGGED

    def plan(self, problem: Any) -> StartPlan:
        """A `DataError`: a log is not a rule."""
        raise DataError(self.name, ["it is what the site did, and no policy to be run"])


def as_logged(trace: JobTable, run: Simulation) -> tuple[Simulation, Simulation] | None:
    """(what the log records, ``run``) of the same jobs; None where too few waits are recorded.

    Jobs whose wait is not recorded are left out of both.

    >>> from rheostat.core.vocabulary import table
    >>> from rheostat.simulation.simulate import simulate_run
    >>> jobs = table({"job_id": range(40), "submit_s": [10.0 * i for i in range(40)],
    ...               "runtime_s": [30.0] * 40, "cores": [1] * 40, "wait_s": [5.0] * 40,
    ...               "time_limit_s": [60.0] * 40})
    >>> logged, easy = as_logged(jobs, simulate_run(jobs, "easy", 4))
    >>> logged.policy.name, float(logged.jobs.numpy("wait_s").mean())
    ('as logged', 5.0)
    >>> float(easy.jobs.numpy("wait_s").mean())
    0.0
    """
    wait = logged_waits(trace, run.jobs)
    if wait is None:
        return None
    known = np.isfinite(wait)
    jobs = run.jobs if known.all() else run.jobs.rows(known)
    start = jobs.numpy("submit_s") + wait[known]
    times = {"wait_s": wait[known], "start_s": start, "end_s": start + jobs.numpy("runtime_s")}
    logged = replace(run, jobs=jobs.with_columns((), **times), account=None, clairvoyant=False,
                     passes=0, cpu_s=0.0, policy=LoggedSchedule())  # fmt: skip
    return logged, replace(run, jobs=jobs)
