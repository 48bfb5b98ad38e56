"""How far can a tree be trusted to decide as its teacher?  The certificate.

Whoever says "the tree is as good as the network" has compared two means.  Here every decision is
compared: does the tree put first whom the teacher would?  If not, what does it cost in the
teacher's own eyes?  And how much of what it met had it never seen?  Decisions follow each other, so
intervals are drawn from whole blocks of them.

    agreement   share of decisions in which both put the same job first
    chance      what drawing a job would agree in
    place       mean place, in the teacher's order, of the job the tree puts first: 0 first, 1 last
    regret      what that job lacks of the teacher's best worth, as a share of what is at stake
    strange     share of decisions whose first job has a feature outside of what was learned from
    unused      leaves in which no job ever was

Agreement says nothing of how well the tree schedules: `loss` compares what jobs of both suffered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rheostat.decision.policies.priority_tree import PriorityTree
from rheostat.simulation.comparison.paired_comparison import LEVEL, block_sums, blocks, interval
from rheostat.training.distill.decision_states import States
from rheostat.training.distill.fit_tree import places

Array = np.ndarray
BLOCKS, DRAWS = 50, 1000


def certificate(
    tree: PriorityTree, states: States, *, learned: States | None = None, seed: int = 0
) -> dict[str, Any]:
    """The facts above on ``states``, with intervals; ``learned`` are those it was made of."""
    chosen = states.best(tree.predict(states.x))
    alike = chosen == states.best(states.value)
    place = places(states)[chosen] / np.maximum(states.rows - 1, 1)
    facts: dict[str, Any] = {"decisions": len(states), "chance": float((1 / states.rows).mean())}
    for name, values in (
        ("agreement", alike),
        ("place", place),
        ("regret", _regret(states, chosen)),
    ):
        facts[name] = _interval(np.asarray(values, float), seed)
    leaf = tree.apply(states.x)
    facts["unused"] = int((tree.support[tree.leaves] == 0).sum())
    facts["leaves_met"] = len(np.unique(leaf))
    if learned is not None:
        facts["strange"] = float(_outside(tree, states.x[chosen], learned).mean())
    return facts


def agreement(states: States, value: Array, *, seed: int = 0) -> dict[str, float]:
    """Share of decisions in which ``value`` puts first whom the teacher does, with an interval."""
    alike = states.best(value) == states.best(states.value)
    return dict(_interval(alike.astype(float), seed))


def loss(tree: Array, teacher: Array, submit_s: Array, *, seed: int = 0) -> dict[str, float]:
    """How much more slowdown the same jobs had under the tree, as a share of the teacher's.

    ``tree`` and ``teacher`` are bounded slowdowns, (n,), or (k, n) of k repetitions: the mean is
    that of their losses.  The interval draws blocks of time (`paired_comparison.blocks`),
    the same for both, and repetitions where there are some.

    >>> more = loss(np.array([2.0, 4.0]), np.array([2.0, 2.0]), np.array([0.0, 1e6]))
    >>> more["mean"], more["low"], more["high"]
    (0.5, 0.0, 1.0)
    """
    mine, his = (np.atleast_2d(v) for v in (tree, teacher))
    block, _ = blocks(submit_s)
    sums = block_sums(block, *mine, *his)[1]  # (N, 2 k)
    rng, (many, k) = np.random.default_rng(seed), (len(sums), len(mine))
    drawn = rng.multinomial(many, np.full(many, 1 / many), size=DRAWS) @ sums
    each = drawn[:, :k] / drawn[:, k:] - 1
    means = np.take_along_axis(each, rng.integers(0, k, (DRAWS, k)), axis=1).mean(axis=1)
    low, high = interval(means)
    return {"mean": float((mine.mean(1) / his.mean(1) - 1).mean()), "low": low, "high": high}


def _regret(states: States, chosen: Array) -> Array:
    spread = states.spread()
    lack = states.value[states.best(states.value)] - states.value[chosen]
    known = np.isfinite(spread) & (spread > 0)
    result: Array = np.where(known, lack / np.where(known, spread, 1.0), 0.0)
    return result


def _outside(tree: PriorityTree, x: Array, learned: States) -> Array:
    names = [f.name for f in tree.features]
    used = [names.index(f.name) for f in tree.used]
    low, high = learned.x[:, used].min(axis=0), learned.x[:, used].max(axis=0)
    result: Array = ((x[:, used] < low) | (x[:, used] > high)).any(axis=1)
    return result


def _interval(values: Array, seed: int) -> Mapping[str, float]:
    """Mean, and an interval from blocks of decisions drawn anew."""
    parts = np.array_split(values, min(BLOCKS, len(values)))
    sums, counts = (np.array([f(p) for p in parts], float) for f in (np.sum, len))
    pick = np.random.default_rng(seed).integers(0, len(parts), (DRAWS, len(parts)))
    means = sums[pick].sum(axis=1) / counts[pick].sum(axis=1)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return {"mean": float(values.mean()), "low": float(low), "high": float(high)}
