"""How long does one decision take?"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from rheostat.simulate.rank.policy import Ranker
from rheostat.simulate.workload import Workload

DEPTHS = (100, 1000, 5000)


def decision_times(ranker: Ranker, rounds: int = 300) -> dict[str, float]:
    """CPU-microseconds per decision with so many jobs waiting, features and EASY included.

    So many jobs of one processor and a day wait on a full machine; beside them jobs end one by
    one, each end a decision that starts the next.
    """
    found = {}
    for depth in DEPTHS:
        per = []
        for n in (rounds, 2 * rounds):
            load = _deep(depth, n)
            user = np.arange(len(load)) % 50
            free = replace(ranker, limit=np.inf)
            free.starts(load, user, 4)
            begin = time.process_time()
            free.starts(load, user, 4)
            per.append(time.process_time() - begin)
        found[str(depth)] = 1e6 * max(per[1] - per[0], 0.0) / rounds
    return found


def _deep(depth: int, ends: int) -> Workload:
    """``depth`` wide jobs that never fit while narrow ones come and go, ``ends`` of them."""
    wide, narrow = np.full(depth, 4), np.ones(ends, np.int64)
    submit = np.concatenate([[0.0], np.ones(depth), 2.0 + 10.0 * np.arange(ends)])
    procs = np.concatenate([[3], wide, narrow])
    run = np.concatenate([[10.0 * ends + 100], np.full(depth, 5.0), np.full(ends, 5.0)])
    return Workload(submit, run, procs, run.copy(), np.arange(len(run)), 0, ())
