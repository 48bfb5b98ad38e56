"""`check_policy`: what every policy owes a site, checked on yours.

Each promise is a function of its own, so that a failure names the promise that was broken.  The one
that matters most: a policy does not look at what is not known yet.  The future is changed - jobs
that are submitted later, and how long those run on that have not ended - and whatever started
before has to start as it did.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.vocabulary import table
from rheostat.simulation.policies.policy import Policy, as_policy
from rheostat.simulation.result import Simulation
from rheostat.simulation.simulate import simulate_run

PROCS = 16
CUTS = (0.25, 0.5, 0.75)
MORE = 12


def check_policy(
    policy: str | Policy | Callable[..., Any],
    *,
    traces: int = 4,
    procs: int = PROCS,
    seed: int = 0,
    make: Callable[[int, int], JobTable] | None = None,
) -> None:
    """Raise `AssertionError` naming the promise that ``policy`` breaks.

    Parameters
    ----------
    policy
        A `Policy`, or what `rheostat.simulation.policies.policy.as_policy` makes one of.
    traces
        How many traces are tried.
    procs
        Processors of the machine.
    seed
        Of the traces and of their changed futures.
    make : callable(procs, seed) -> JobTable
        A generator of traces of jobs with a request; `busy_trace` if not given.
    """
    made = as_policy(policy)
    for number in range(traces):
        jobs = (make or busy_trace)(procs, seed + number)
        run = simulate_run(jobs, made, procs, seed=seed)
        starts_every_job_once(run, jobs)
        starts_no_job_before_its_submission(run)
        takes_no_more_than_there_is(run)
        repeats_itself(run, jobs, made, procs, seed)
        if not run.clairvoyant:  # who says so may look
            knows_nothing_of_the_future(run, jobs, made, procs, seed)


def starts_every_job_once(run: Simulation, jobs: JobTable) -> None:
    """Each job of the trace is there, once, with a start."""
    ids = run.jobs.frame["job_id"].to_list()
    assert ids == jobs.frame["job_id"].to_list(), "not every job of the trace is there once"
    missing = np.flatnonzero(~np.isfinite(run.jobs.numpy("start_s")))
    assert not len(missing), f"jobs in rows {missing[:5].tolist()} never start"


def starts_no_job_before_its_submission(run: Simulation) -> None:
    """A job starts when it is there, or later."""
    early = np.flatnonzero(run.jobs.numpy("start_s") < run.jobs.numpy("submit_s"))
    assert not len(early), f"jobs in rows {early[:5].tolist()} start before they are submitted"


def takes_no_more_than_there_is(run: Simulation) -> None:
    """At no moment do the running jobs have more processors than the machine."""
    start, end = run.jobs.numpy("start_s"), run.jobs.numpy("end_s")
    procs = run.jobs.frame["procs"].to_numpy()
    lasts = end > start
    for now in np.unique(start[lasts]):
        used = int(procs[lasts & (start <= now) & (now < end)].sum())
        assert used <= run.machine.procs, (
            f"at {now:g} s jobs run on {used} of {run.machine.procs} processors"
        )


def repeats_itself(run: Simulation, jobs: JobTable, policy: Policy, procs: int, seed: int) -> None:
    """The same trace and the same seed give the same starts."""
    again = simulate_run(jobs, policy, procs, seed=seed).jobs.numpy("start_s")
    differ = np.flatnonzero(again != run.jobs.numpy("start_s"))
    assert not len(differ), f"jobs in rows {differ[:5].tolist()} start otherwise the second time"


def knows_nothing_of_the_future(
    run: Simulation, jobs: JobTable, policy: Policy, procs: int, seed: int
) -> None:
    """Whatever starts up to a moment does so with any future after it."""
    start = run.jobs.numpy("start_s")
    for share in CUTS:
        now = float(np.quantile(start, share))
        other = another_future(run.jobs, jobs, now, procs, seed)
        changed = simulate_run(other, policy, procs, seed=seed).jobs.numpy("start_s")[: len(start)]
        before = (start <= now) | (changed <= now)
        differ = np.flatnonzero(before & (start != changed))
        assert not len(differ), (
            f"jobs in rows {differ[:5].tolist()} start otherwise up to {now:g} s when what comes "
            "after that is changed: it looks at what is not known yet"
        )


def another_future(ran: JobTable, jobs: JobTable, now: float, procs: int, seed: int) -> JobTable:
    """``jobs`` as they were known at ``now``, with another future and `MORE` jobs in it.

    Jobs submitted after ``now`` come at other times, with other sizes, requests and run times; jobs
    that have not ended run on for another time.  Users stay: a site knows whom it serves.
    """
    rng, n = np.random.default_rng([seed, 1]), len(jobs)
    start = ran.numpy("start_s")
    jobs = jobs.rows(np.concatenate([np.arange(n), rng.integers(0, n, MORE)]))
    submit, run, ask, cores = (
        jobs.numpy(c).copy() for c in ("submit_s", "runtime_s", "time_limit_s", "cores")
    )
    start = np.append(start, np.full(MORE, np.inf))
    later = (submit > now) | (start == np.inf)
    count = int(later.sum())
    submit[later] = now + 1.0 + np.sort(rng.uniform(0.0, 2 * np.ptp(submit) + 60.0, count))
    cores[later] = rng.integers(1, procs + 1, count)
    ask[later] = rng.integers(60, 8000, count)
    run[later] = np.ceil(ask[later] * rng.uniform(0.01, 1.0, count))
    lasts = ~later & (start + run > now)
    so_far = np.maximum(now - start[lasts], 0.0)
    rest = np.maximum(ask[lasts] - so_far, 2.0) * rng.uniform(0.0, 1.0, len(so_far))
    run[lasts] = so_far + 1.0 + np.floor(rest)
    values = {"submit_s": submit, "runtime_s": run, "time_limit_s": ask, "cores": cores}
    return jobs.with_columns((), **values)


def busy_trace(procs: int, seed: int, jobs: int = 120) -> JobTable:
    """Jobs of six users that queue up; some outlive their requests, some come together."""
    rng = np.random.default_rng([seed, 0])
    ask = rng.integers(1, 60, jobs) * 60.0
    run = np.ceil(ask * rng.uniform(0.02, 1.1, jobs))
    cores = np.minimum(rng.geometric(0.25, jobs), procs)
    wide = rng.random(jobs) < 0.1
    cores[wide] = rng.integers(1, procs + 1, wide.sum())
    submit = (
        np.floor(np.cumsum(rng.exponential(0.9 * (run * cores).mean() / procs, jobs)) / 30) * 30
    )
    users = [f"u{k}" for k in rng.integers(0, 6, jobs)]
    columns = {"job_id": np.arange(jobs), "submit_s": submit, "cores": cores, "runtime_s": run}
    return table(columns | {"time_limit_s": ask, "user": users})
