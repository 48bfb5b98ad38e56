"""Weeks that never were: jobs for training, drawn after a trace.

A trace has few weeks, and an agent that has seen only those knows only those.  DRAS therefore
begins with *sampled* weeks (jobs of the trace, in the wrong order, arriving at random), goes on
with the real ones and ends with *synthetic* weeks: arrivals with the trace's pattern of hours and
days, sizes as often as they were, and run times from a distribution fitted to each class of sizes.

    Symbol  Unit  Meaning
    rate    1/s   submissions per second, over the whole trace or in an hour of the week
    r, n    s,    run time and processors of a job
    q             requested run time / run time
    m, s          mean and deviation of log r in a class of sizes, between two powers of two

References
----------
Fan et al., IPDPS 2021 (the three kinds and their order: sampled, real, synthetic; 9, 9 and 82 of
them).  The released code has no generator: those here are ours.
"""

from __future__ import annotations

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.core.vocabulary import VOCABULARY, table
from rheostat.simulation.workload import Workload, workload

HOUR_S, HOURS = 3600.0, 168
WEEK_S = HOURS * HOUR_S


def sampled_week(jobs: JobTable, machine: Machine, rng: np.random.Generator) -> JobTable:
    """A week of jobs drawn from the trace, with replacement, that arrive as a Poisson process."""
    load = workload(jobs, machine)
    submit = _arrivals(np.full(HOURS, rate_per_s(load)), rng)
    drawn = rng.integers(len(load), size=len(submit))
    made = _made(submit, load.run_s[drawn], load.procs[drawn], load.ask_s[drawn])
    per = _watts_per_processor(jobs, load)
    return made if per is None else _powered(made, per[drawn])


def synthetic_week(jobs: JobTable, machine: Machine, rng: np.random.Generator) -> JobTable:
    """A week with the trace's pattern of hours, and jobs from distributions fitted to it.

    Run times are log-normal in each class of sizes, cut at the shortest and longest seen there;
    requests are run times by a ratio seen there, at most the longest request of the trace.
    """
    load = workload(jobs, machine)
    submit, per = _arrivals(hourly(load), rng), _watts_per_processor(jobs, load)
    procs = load.procs[rng.integers(len(load), size=len(submit))]
    run, ask, watts = (np.empty(len(submit)) for _ in range(3))
    seen, wanted = np.log2(load.procs).astype(int), np.log2(procs).astype(int)
    for size in np.unique(wanted):
        here, past = wanted == size, seen == size
        known = np.maximum(load.run_s[past], 1.0)
        logs, count = np.log(known), int(here.sum())
        drawn = np.exp(rng.normal(logs.mean(), logs.std(), count))
        run[here] = np.clip(drawn, known.min(), known.max()).round()
        if per is not None:
            watts[here] = per[past][rng.integers(past.sum(), size=count)]
        ratio = np.maximum(load.ask_s[past] / known, 1.0)
        ask[here] = run[here] * ratio[rng.integers(len(ratio), size=count)]
    made = _made(submit, run, procs, np.maximum(np.minimum(ask, load.ask_s.max()).round(), run))
    return made if per is None else _powered(made, watts)


def hourly(load: Workload) -> np.ndarray:
    """Submissions per second in each hour of the week, (168,), counted from the first submission.

    An hour of the week is a mean over all weeks of the trace; hours that a trace of less than a
    week does not reach have its mean rate.
    """
    hour = ((load.submit_s - load.submit_s[0]) // HOUR_S).astype(int)
    weeks, more = divmod(int(hour[-1]) + 1, HOURS)
    lived = weeks + (np.arange(HOURS) < more)
    rate = np.bincount(hour % HOURS, minlength=HOURS) / np.maximum(lived, 1) / HOUR_S
    return np.asarray(np.where(lived > 0, rate, len(load) / (hour[-1] + 1) / HOUR_S))


def _watts_per_processor(jobs: JobTable, load: Workload) -> np.ndarray | None:
    """(n,) as measured, or NaN; None where the trace has no watts."""
    if "power_w" not in jobs.schema:
        return None
    return np.asarray(jobs.numpy("power_w")[load.row] / load.procs)


def _powered(jobs: JobTable, per: np.ndarray) -> JobTable:
    watts = per * jobs.numpy("cores")
    return jobs.with_columns([VOCABULARY["power_w"]], power_w=watts)


def rate_per_s(load: Workload) -> float:
    """Submissions per second over the whole trace, which is taken for an hour at least."""
    return len(load) / max(float(load.submit_s[-1] - load.submit_s[0]), HOUR_S)


def _arrivals(rate: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Whole seconds of a Poisson process with a rate per hour of the week; at least one."""
    counts = rng.poisson(rate * HOUR_S)
    if not counts.any():
        counts[rng.integers(HOURS)] = 1
    hours = np.repeat(np.arange(HOURS), counts)
    return np.sort(np.floor((hours + rng.random(len(hours))) * HOUR_S))


def _made(submit: np.ndarray, run: np.ndarray, procs: np.ndarray, ask: np.ndarray) -> JobTable:
    columns = {"submit_s": submit, "runtime_s": run, "cores": procs, "time_limit_s": ask}
    return table({"job_id": np.arange(1, len(submit) + 1), **columns})
