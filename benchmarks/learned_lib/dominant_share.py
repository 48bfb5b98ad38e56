"""A power cap as a share of the machine: a job takes the larger of its shares of nodes and watts.

A machine with a cap has two things to give out.  Where every job is given the larger of its two
shares, neither can be overdrawn: sums of shares stay below one, so do both sums.  Something is
wasted where wide jobs that draw little meet narrow ones that draw much; in return any order, the
simple and the learned ones alike, runs under a cap unchanged, and can be trained for one.

    Symbol   Meaning
    n_j / N  share of the processors
    p_j / C  share of the watts that the cap leaves for jobs
    d_j      max of both, rounded up to a part in `UNITS`: the dominant share

References
----------
Dominant shares: Ghodsi et al., "Dominant resource fairness", NSDI 2011.
"""

from __future__ import annotations

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.core.vocabulary import VOCABULARY
from rheostat.errors import DataError
from rheostat.simulation.workload import sizes

UNITS = 100_000


def under_cap(
    jobs: JobTable, machine: Machine | int, watts: np.ndarray, cap_w: float
) -> tuple[JobTable, Machine]:
    """``jobs`` sized by dominant shares, and a machine of `UNITS` to run them on.

    Parameters
    ----------
    jobs, machine
        As for a simulation.  A job without a size keeps none, and is left out there.
    watts
        What each job draws while it runs, (n,), as known at submission: predicted, not measured.
    cap_w
        What all jobs together may draw: the cap less what the machine draws without them.

    Raises
    ------
    DataError
        Where watts are no numbers of at least 0, or a job alone would draw more than the cap.
    """
    place = machine if isinstance(machine, Machine) else Machine(machine)
    power = np.asarray(watts, float)
    problems = []
    if power.shape != (len(jobs),) or not (power >= 0).all():
        problems.append(f"watts: expected {len(jobs)} numbers of at least 0")
    elif (power > cap_w).any():
        over = np.flatnonzero(power > cap_w)
        problems.append(f"{len(over)} jobs draw more than the {cap_w:g} W left: row {over[0]}, ...")
    if problems:
        raise DataError("power cap", problems)
    share = np.maximum(sizes(jobs) / place.procs, power / cap_w)
    found = np.nan_to_num(np.ceil(np.round(share * UNITS, 6))).astype(np.int64)
    return jobs.with_columns([VOCABULARY["cores"]], cores=found), Machine(UNITS)
