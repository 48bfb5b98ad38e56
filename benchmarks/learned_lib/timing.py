"""How long does one decision take?"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from rheostat.simulation.learned_priority.priority import LearnedPriority
from rheostat.simulation.workload import Workload

DEPTHS = (100, 1000, 3000)


def decision_times(ranker: LearnedPriority, rounds: int = 1000) -> dict[str, float]:
    """CPU-microseconds per decision with so many jobs waiting, features and EASY included.

    So many wide jobs wait on a busy machine, and narrow ones come one by one: each arrival is a
    decision, in which all are scored and the narrow one is backfilled.  Timed is what a thousand
    more arrivals take, the least of three.
    """
    free = replace(ranker, limit=np.inf)
    found = {}
    for depth in DEPTHS:
        few, many = (_spent(free, depth, n) for n in (rounds // 10, rounds + rounds // 10))
        found[str(depth)] = 1e6 * (many - few) / rounds
    return found


def _spent(ranker: LearnedPriority, depth: int, ends: int) -> float:
    load = _deep(depth, ends)
    user = np.arange(len(load)) % 50
    times = []
    for _ in range(3):
        begin = time.process_time()
        ranker.starts(load, user, 4)
        times.append(time.process_time() - begin)
    return min(times)


def _deep(depth: int, ends: int) -> Workload:
    """``depth`` wide jobs that never fit while narrow ones come and go, ``ends`` of them."""
    wide, narrow = np.full(depth, 4), np.ones(ends, np.int64)
    submit = np.concatenate([[0.0], np.ones(depth), 2.0 + 10.0 * np.arange(ends)])
    procs = np.concatenate([[3], wide, narrow])
    run = np.concatenate([[10.0 * ends + 100], np.full(depth, 5.0), np.full(ends, 5.0)])
    return Workload(submit, run, procs, run.copy(), np.arange(len(run)), 0, ())
