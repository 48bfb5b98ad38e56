"""The schedule that a log records, as a run beside simulated ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.errors import DataError
from rheostat.simulation.comparison.replay import logged_waits
from rheostat.simulation.policies.start_plan import StartPlan
from rheostat.simulation.result import Simulation
from rheostat.simulation.schedule_metrics import metrics

LOGGED = "as logged"
READ = ("submit_s", "wait_s", "runtime_s", "end_s", "procs", "estimate_s", "user")
"""What `metrics` reads: ten million jobs are copied without more."""


@dataclass(frozen=True)
class LoggedSchedule:
    """What the site did: a name beside those of policies, which cannot be run again."""

    name: str = LOGGED

    def plan(self, problem: Any) -> StartPlan:
        """A `DataError`: a log is not a rule."""
        raise DataError(self.name, ["it is what the site did, and no policy to be run"])


def as_logged(
    trace: JobTable, run: Simulation, read: Sequence[str] | None = None
) -> tuple[Simulation, Simulation] | None:
    """(what the log records, ``run``) of the same jobs; None where too few waits are recorded.

    Jobs whose wait is not recorded are left out of both, as is every column but those of ``read``.

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
    jobs = run.jobs
    jobs = jobs if read is None else jobs.select([c for c in read if c in jobs.columns])
    jobs = jobs if known.all() else jobs.rows(known)
    start = jobs.numpy("submit_s") + wait[known]
    times = {"wait_s": wait[known], "start_s": start, "end_s": start + jobs.numpy("runtime_s")}
    times = {k: v for k, v in times.items() if k in jobs.columns}
    logged = replace(run, jobs=jobs.with_columns((), **times), account=None, clairvoyant=False,
                     passes=0, cpu_s=0.0, policy=LoggedSchedule())  # fmt: skip
    return logged, replace(run, jobs=jobs)


def logged_facts(trace: JobTable, runs: Sequence[Simulation]) -> dict[str, Any] | None:
    """Metrics of what the log records; None where too few waits are recorded.

    ``same_jobs`` has the metrics of each run over the jobs whose wait is recorded, where these are
    not all: what the log says of some jobs is not compared with what a policy makes of others.
    """
    logged: dict[str, Any] = {}
    same: dict[str, Any] = {}
    for run in runs:
        if pair := as_logged(trace, run, READ):
            logged, same[run.policy.name] = (metrics(one.jobs, one.machine.procs) for one in pair)
    if not logged:
        return None
    part = logged["jobs"] < len(runs[0].jobs)
    return logged | {"same_jobs": same if part else {}}


def joined(facts: Iterable[dict[str, Any] | None]) -> dict[str, Any] | None:
    """The `logged_facts` of runs made one by one, as those of all; None where none are known."""
    known = [f for f in facts if f]
    if not known:
        return None
    return known[0] | {"same_jobs": {k: v for f in known for k, v in f["same_jobs"].items()}}
