"""A tree that knows the queue and the past plays a trace, on the engine of learned orders."""

from __future__ import annotations

import time

import numba
import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.decision.policies.batch_policy import OVERDUE, BatchPolicy
from rheostat.decision.policies.priority_tree import PriorityTree
from rheostat.errors import DataError
from rheostat.simulation.learned_priority import queue_features as rank
from rheostat.simulation.learned_priority.priority import LIMIT
from rheostat.simulation.learned_priority.rescoring_engine import no_simple_order, play
from rheostat.simulation.learned_priority.two_level_guard import constants_learned
from rheostat.simulation.workload import Array, Workload, users

_array = numba.types.Array
_SIGNATURE = numba.void(
    _array(numba.float64, 2, "C"), _array(numba.float64, 1, "C"), _array(numba.float64, 1, "C")
)


def schedule_tree(
    jobs: JobTable, load: Workload, rule: BatchPolicy, size: int, estimate: Array
) -> tuple[Array, int, float]:
    """(start (n,) in s, passes, CPU seconds) under the tree of ``rule``.

    A tree whose ``facts`` have a ``guard``, its limit, is guarded as a learned order is, but
    without ageing, which is of that one's scores; it plans with ``trust``, if it has that.
    """
    if rule.backfill == "conservative" or rule.semantics == "cqsim":
        problem = "EASY or none, and textbook semantics"
        raise DataError(rule.name, [f"a tree that sees the queue needs {problem}"])
    tree = rule.order.tree
    assert tree is not None
    limits = tree.facts.get("guard") or [np.inf]
    limit = limits[0] if len(limits) == 1 else LIMIT  # more: of the guard before
    guard = constants_learned(limit, 0.0)
    trust = np.array(tree.facts.get("trust") or [], float)
    given = (load.submit_s, load.run_s, load.procs, estimate, users(jobs, load))
    known = rank.table(*given)
    job = (load.submit_s, load.run_s, load.procs, estimate, estimate)
    late = OVERDUE.index(rule.overdue or ("extend" if len(trust) else "past"))
    how = (size, rule.backfill == "easy", rule.ties == "batch", True, late)
    begin = time.process_time()
    rules, score = (trust, guard), compiled_worth()
    start, passes, *_ = play(known, job, score, packed(tree), rules, *no_simple_order(), how)
    return start, int(passes), time.process_time() - begin


def packed(tree: PriorityTree) -> Array:
    """The tree as one row of numbers, its columns those of `rank.features`.

    The first says how many numbers a node has; then come those of each node.
    """
    names = [f.name for f in tree.features]
    odd = [n for n in names if n not in rank.NAMES]
    if odd:
        problem = f"expected features among {', '.join(rank.NAMES)}, got {', '.join(odd)}"
        raise DataError("order of a tree", [problem])
    of = np.array([*(rank.NAMES.index(n) for n in names), -1])  # the last: of -1
    slopes = np.stack([of[tree.slope], tree.scale, tree.steep], axis=2).reshape(len(tree.left), -1)
    plain = (of[tree.feature], tree.threshold, tree.left, tree.right, tree.value)
    table = np.concatenate([np.stack(plain, axis=1), slopes], axis=1)
    return np.append(float(table.shape[1]), table.reshape(-1))


def compiled_worth() -> numba.core.ccallback.CFunc:
    """``(x, weights, scores)``: the score of every job, smallest first; compiled once."""
    if not _MADE:
        _MADE.append(numba.cfunc(_SIGNATURE, error_model="numpy")(_scores))
    return _MADE[0]


_MADE: list[numba.core.ccallback.CFunc] = []


def _scores(x, weights, scores):  # type: ignore[no-untyped-def]
    """The arithmetic is that of `PriorityTree.predict`."""
    wide = int(weights[0])
    for k in range(len(x)):
        node = 1
        while weights[node + 2] >= 0:
            goes = x[k, int(weights[node])] <= weights[node + 1]
            node = 1 + wide * int(weights[node + 2] if goes else weights[node + 3])
        value = weights[node + 4]
        for at in range(node + 5, node + wide, 3):
            if weights[at] >= 0:
                v = x[k, int(weights[at])]
                value += v / (abs(v) + weights[at + 1]) / weights[at + 2]
        scores[k] = -value
