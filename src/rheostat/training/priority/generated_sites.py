"""Sites that never were: users with habits, for training and for tests.

Learning needs many machines, and few logs are public.  A site drawn here has a machine of any size,
days and weeks, and users who repeat themselves: each has some kinds of jobs, a kind has a size, a
request and a typical run time, and a share of jobs that fail within a minute.  Users submit in
bursts.  The load is drawn too, often above what the machine can do for days.

    Symbol   Meaning
    load     processor-seconds submitted over those of the machine, 0.45 to 0.8
    burst    jobs a user submits together, geometric
    rho      run time over request of a kind, log-uniform; its jobs vary by a factor e^0.6
"""

from __future__ import annotations

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.vocabulary import table

DAY_S = 86_400.0
REQUESTS_S = np.array([600, 1800, 3600, 7200, 14400, 28800, 43200, 64800, 86400, 172800])


def generated_site(seed: int, jobs: int = 3000) -> tuple[JobTable, int]:
    """(a log of so many jobs, processors of the machine); the same seed, the same site.

    >>> log, procs = generated_site(1, 500)
    >>> len(log), bool((log.frame["cores"] <= procs).all())
    (500, True)
    """
    rng = np.random.default_rng([seed, 7])
    procs = int(2 ** rng.uniform(5, 13))
    kind_of, user = _bursts(rng, jobs, kinds := int(rng.integers(30, 300)))
    owner = rng.integers(int(rng.integers(5, 60)), size=kinds)
    share = np.exp(-rng.exponential(rng.uniform(1.2, 2.5), kinds))
    cores = 2.0 ** np.round(np.log2(np.maximum(share * procs, 1)))
    cores = np.clip(cores, 1, procs).astype(np.int64)
    top = int(rng.integers(4, len(REQUESTS_S)))
    ask = rng.choice(REQUESTS_S[: top + 1], size=kinds)
    rho = np.exp(rng.uniform(np.log(0.01), 0, kinds))
    fails = rng.beta(0.5, 3, kinds)
    run = ask[kind_of] * rho[kind_of] * np.exp(rng.normal(0, 0.6, jobs))
    failed = rng.random(jobs) < fails[kind_of]
    run = np.where(failed, rng.uniform(1, 60, jobs), np.clip(run, 1, ask[kind_of])).round()
    span = float((run * cores[kind_of]).sum() / procs / rng.uniform(0.45, 0.8))
    return table(
        {
            "job_id": np.arange(1, jobs + 1),
            "submit_s": _moments(rng, user, span),
            "runtime_s": run,
            "cores": cores[kind_of],
            "time_limit_s": ask[kind_of].astype(float),
            "user": [f"u{u}" for u in owner[kind_of]],
        }
    ), procs


def _bursts(rng: np.random.Generator, jobs: int, kinds: int) -> tuple[np.ndarray, np.ndarray]:
    """(kind of each job, number of its burst), (n,); some kinds are far more usual than others."""
    lengths = rng.geometric(1 / rng.uniform(2, 12), size=jobs)
    burst = np.repeat(np.arange(jobs), lengths)[:jobs]
    usual = rng.zipf(1.6, size=kinds).clip(max=200) + 1.0
    return rng.choice(kinds, size=jobs, p=usual / usual.sum())[burst], burst


def _moments(rng: np.random.Generator, burst: np.ndarray, span: float) -> np.ndarray:
    """Submissions in whole seconds, ascending: bursts by day rather than by night."""
    begin = np.sort(rng.random(int(burst.max()) + 1)) * span
    phase = 2 * np.pi * begin / DAY_S
    begin = np.sort(begin + 0.8 * DAY_S / (2 * np.pi) * np.sin(phase))
    within = rng.exponential(60.0, len(burst))
    submit = begin[burst] + within
    return np.sort(submit - submit.min()).round()
