"""From a workload and a policy to starts: which engine, and what it is handed."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.decision.policies.batch_policy import OVERDUE, BatchPolicy
from rheostat.decision.policies.tree_priority import is_site
from rheostat.errors import DataError
from rheostat.simulation.workload import Array, Workload, users


def schedule(
    jobs: JobTable, load: Workload, rule: BatchPolicy, size: int, estimate: Array
) -> tuple[Array, int, float]:
    """(start (n,) in s, passes, CPU seconds) with estimates that are known beforehand."""
    if rule.order.tree is not None and not is_site(rule.order.tree):
        from rheostat.simulation.learned_priority.tree_scores import schedule_tree

        return schedule_tree(jobs, load, rule, size, estimate)
    from rheostat.simulation.engine.fair_share import no_share

    planned = load.run_s if rule.semantics == "cqsim" else estimate
    job = (load.submit_s, load.run_s, load.procs, planned, estimate.copy())
    share = no_share() if rule.order.factors is None else shared(jobs, load, rule, size)
    one, whole = np.ones(1), np.ones(1, np.int64)
    _run(
        rule, (one, one, whole, one, one), one, no_share(), 1, one
    )  # compile outside what is timed
    begin = time.process_time()
    rank = np.zeros(len(load))
    if rule.order.fixed:  # places in the order: unique, so that a deep queue can be cut by them
        rank[np.argsort(scores(rule, load, estimate), kind="stable")] = np.arange(len(load))
    if rule.guard is not None:
        from rheostat.simulation.learned_priority.guarded_order import schedule_guarded

        user = users(jobs, load)
        start, passes, _ = schedule_guarded(load, user, rule, size, estimate, rank, share)
    else:
        start, passes = _run(rule, job, rank, share, size, estimate)
    _numbers(rule, start, load)
    return start, int(passes), time.process_time() - begin


def _run(
    rule: BatchPolicy, job: Any, rank: Array, share: Any, size: int, estimate: Array
) -> tuple[Array, int]:
    from rheostat.simulation.engine import conservative
    from rheostat.simulation.engine import dynamic_priority as moving
    from rheostat.simulation.engine import queue_index as depth
    from rheostat.simulation.engine import static_priority as fixed
    from rheostat.simulation.engine.jit import checked, compiled_score

    ties = (rule.ties == "batch", rule.ends == "expected")
    late = (OVERDUE.index(rule.overdue or "past"), estimate, estimate)
    plain = rule.order.fixed or rule.order.factors is not None
    score = zero if plain else rule.order.score
    if rule.backfill == "conservative":
        made = compiled_score(score)
        sizes, which = np.unique(job[2], return_inverse=True)
        jobs, index = (*job, rank, which), depth.index(job[2])
        settings = (made, share, not rule.order.fixed, ties, late)
        plan: tuple[Array, int] = checked(
            made, conservative.run_conservative(jobs, size, sizes, index, *settings)
        )
        return plan
    easy = rule.backfill == "easy"
    if not rule.order.fixed:
        made, falls = compiled_score(score), rule.order.falling
        procs = job[2] if falls else np.ones(1, np.int64)
        few = min(depth.GROUPS, 256), min(depth.CLASSES, 16)  # more than a cache holds is slower
        index = depth.index(procs, None, *few)
        plan = checked(
            made, moving.run_moving(job, made, falls, share, size, index, easy, ties, late)
        )
        return plan
    start, (lists, at) = np.full(len(rank), np.nan), fixed.fresh(len(rank), size)
    index = depth.index(job[2])
    fixed.run_fixed((*job, rank), start, lists, index, at, np.inf, easy, ties, late, None)
    return start, at[fixed.PASSES]


def shared(jobs: JobTable, load: Workload, rule: BatchPolicy, size: int) -> Any:
    """Users, qualities of service and weights of a multifactor order, as the engines want them."""
    from rheostat.simulation.engine.fair_share import share

    facts = rule.order.factors
    assert facts is not None
    user = users(jobs, load)
    part = np.ones(user.max() + 1)
    if facts.shares and "user" in jobs.schema:
        names = jobs.frame["user"].cast(pl.String)[load.row]
        given = names.replace_strict(dict(facts.shares), default=1.0, return_dtype=pl.Float64)
        part[user] = given.to_numpy()
    level = np.zeros(len(load))
    if facts.levels and "qos" in jobs.schema:
        top = max(facts.levels.values())
        steps = {k: v / top for k, v in facts.levels.items()}
        asked = jobs.frame["qos"].cast(pl.String)[load.row]
        level = asked.replace_strict(steps, default=0.0, return_dtype=pl.Float64).to_numpy()
    weights = (facts.age, facts.size, facts.fairshare, facts.qos)
    clocks = (facts.max_age_s, facts.half_life_s, size, facts.favour_small)
    total = part.sum()
    return share(user, level.copy(), part / total, np.array((*weights, *clocks), float))


def _numbers(rule: BatchPolicy, scores: Array, load: Workload) -> None:
    """Raise if a score was not a number: such jobs have no place in the order, and never start."""
    bad = np.flatnonzero(np.isnan(scores))
    if len(bad):
        rows = ", ".join(str(load.row[j]) for j in bad[:5])
        problem = f"gave no number for {len(bad)} jobs, among them those in rows {rows}"
        raise DataError(f"order {rule.order.name}", [problem])


def zero(now: float, s: float, r: float, n: float) -> float:
    """The score of an order that needs none."""
    return 0.0


def scores(rule: BatchPolicy, load: Workload, estimate: Array) -> Array:
    """Scores of a fixed order, (n,); jobs with the same one keep the order of arrival."""
    since = load.submit_s - load.submit_s[0]
    sizes = load.procs.astype(float)
    with np.errstate(all="ignore"):  # what is no number is told below, with its rows
        result = rule.order.score(0.0, since, np.maximum(estimate, 1.0), sizes)
    result = np.ascontiguousarray(result, float)
    _numbers(rule, result, load)
    return result
