"""From a workload and a policy to starts: which engine, and what it is handed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat.decide.queue.policy import Policy
from rheostat.simulate.workload import Array, Workload


@dataclass(frozen=True)
class Plan:
    """``start_s`` and the ``estimate_s`` each job was first planned with, (n,); what it took."""

    start_s: Array
    estimate_s: Array
    passes: int
    cpu_s: float
    clairvoyant: bool


def schedule(load: Workload, rule: Policy, size: int, estimate: Array) -> tuple[Array, int, float]:
    """(start (n,) in s, passes, CPU seconds) with estimates that are known beforehand."""
    planned = load.run_s if rule.semantics == "cqsim" else estimate
    job = (load.submit_s, load.run_s, load.procs, planned, estimate)
    args = _args(rule, load, estimate)
    one, whole = np.ones(1), np.ones(1, np.int64)
    short = tuple(a[:1] if isinstance(a, np.ndarray) else a for a in args)
    _run(rule, (one, one, whole, one, one), short, 1)  # compile or load outside what is timed
    begin = time.process_time()
    start, passes = _run(rule, job, args, size)
    return start, int(passes), time.process_time() - begin


def _args(rule: Policy, load: Workload, estimate: Array) -> tuple[Any, ...]:
    """What the engine takes besides the jobs: ranks, or a compiled score, or both."""
    from rheostat.simulate.engine.jit import compiled_score

    if rule.order.fixed and rule.backfill != "conservative":
        return (scores(rule, load, estimate),)
    if rule.order.fixed:
        return scores(rule, load, estimate), compiled_score(zero)
    if rule.backfill == "conservative":
        return np.zeros(len(load)), compiled_score(rule.order.score)
    return (compiled_score(rule.order.score),)


def _run(rule: Policy, job: Any, args: Any, size: int) -> tuple[Array, int]:
    from rheostat.simulate.engine import conservative, fixed, moving

    ties = (rule.ties == "batch", rule.ends == "expected")
    if rule.backfill == "conservative":
        found = conservative.run_conservative(*job, *args, size, not rule.order.fixed, ties)
    elif rule.order.fixed:
        n = len(job[0])
        start = np.full(n, np.nan)
        lists, at = fixed.fresh(n, size)
        easy = rule.backfill == "easy"
        fixed.run_fixed((*job, *args), start, lists, at, np.inf, easy, ties, None)
        found = start, at[fixed.PASSES]
    else:
        found = moving.run_moving(*job, *args, size, rule.backfill == "easy", ties)
    return found


def zero(now: float, s: float, r: float, n: float) -> float:
    """The score of an order that needs none."""
    return 0.0


def scores(rule: Policy, load: Workload, estimate: Array) -> Array:
    """Scores of a fixed order, (n,); jobs with the same one keep the order of arrival."""
    since = load.submit_s - load.submit_s[0]
    sizes = load.procs.astype(float)
    found = rule.order.score(0.0, since, np.maximum(estimate, 1.0), sizes)
    return np.ascontiguousarray(found, float)
