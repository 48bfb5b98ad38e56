"""From decisions to a tree: of values, as published, or of who goes first.

A tree of values spends its questions on getting every value right.  A scheduler only asks who is
first: of all jobs that wait now, not what value each has.  So here the target is a job's *place*
among those it waits with, places near the front count more, and decisions count as much as there
is at stake in them (VIPER).  In a leaf jobs are equal to a tree; here each leaf also learns by
which of the features its jobs are best put in order.

    Symbol  Shape   Meaning
    place   (r,)    0 for the job the teacher puts first, 1 for the next, ...
    target  (r,)    -log2(1 + place), less its mean in the decision
    weight  (r,)    stakes of the decision / (1 + place), equal totals for equal stakes
    stakes  (k,)    the teacher's best less its worst value there, over the mean of that

References
----------
Bastani, Pu, Solar-Lezama, "Verifiable reinforcement learning via policy extraction", NeurIPS 2018
(VIPER: weights by what a wrong action costs).  Li, Lan, Papka, "Interpretable modeling of deep
reinforcement learning driven scheduling", MASCOTS 2023 (regression of values).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rheostat.decision.policies.priority_tree import SLOPED, PriorityTree
from rheostat.training.distill.decision_states import States
from rheostat.training.distill.grow_tree import bent, cut, grow, scales_of

Array = np.ndarray
STAKES = (0.1, 10.0)  # a decision counts at least and at most so many times the mean
GROWN_ON, POLISHED_ON = 40_000, 40_000  # rows
LOOKED, LESS = 3, 0.5  # places that are polished, and what each counts of the one before
NEARLY = 0.003
SLOPES, MANY = 2, 8  # of a leaf
OUTER = (0.1, 0.9)  # further scales of a slope: these shares of jobs have less
START, HELD, STEPS, FLAT = 10.0, 1e-6, 120, 1e9


def value_tree(states: States, depth: int, *, seed: int = 0) -> PriorityTree:
    """A regression tree of the teacher's values, every row alike: as published."""
    return _converted(states, _grown(states.x, states.value, None, depth, 1, seed))


def best_tree(
    states: States,
    held: States,
    depth: int,
    *,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> PriorityTree:
    """Of trees of up to ``depth``, by stakes or not, polished or not: the most like the teacher.

    They are compared on decisions ``held`` back from them; of trees that agree nearly as often
    (`NEARLY`) the one with fewest leaves is taken.
    """
    tried: list[PriorityTree] = []
    depths = sorted({*range(0, depth, 3), depth})
    ways = ((stakes_of(states), SLOPES), (np.ones(len(states)), MANY))
    done, of = 0, len(depths) * (SLOPES + MANY)
    progress(done, of)
    for matter, most_slopes in ways:
        whole = grown(states, depth, matter, most=GROWN_ON)
        for deep in depths:
            tried += polishes(cut(whole, deep), states, matter, most_slopes)
            done += most_slopes
            progress(done, of)
    alike = np.array(
        [(held.best(t.predict(held.x)) == held.best(held.value)).mean() for t in tried]
    )
    near = np.flatnonzero(alike >= alike.max() - NEARLY)
    return tried[min(near, key=lambda i: (_size(tried[i]), -alike[i]))]


def _size(tree: PriorityTree) -> int:
    """Numbers one has to know: a value per leaf, and its slopes."""
    return int(len(tree.leaves) + (tree.slope[tree.leaves] >= 0).sum())


def grown(states: States, depth: int, matter: Array, *, most: int = GROWN_ON) -> PriorityTree:
    """A sloped tree of the teacher's values, levelled, but for what a whole decision has more.

    ``matter`` (k,) weighs decisions.  What is common to all jobs of a decision puts nobody first:
    it is found by a small tree, and taken away from the value that the tree has to predict.
    """
    place = places(states)
    weight = 1.0 / (1.0 + place)
    weight *= np.repeat(matter / np.add.reduceat(weight, states.first), states.rows)
    u, shift = _levelled(states.value), np.zeros(len(states))
    few = min(len(states), max(1, most * len(states) // len(states.x)))
    some = int(states.rows[:few].sum())
    tree = None
    for deep in (min(depth, 2), depth):
        target = u[:some] - np.repeat(shift, states.rows)[:some]
        tree = grow(states.features, states.x[:some], target, weight[:some], deep)
        off = weight * (u - tree.predict(states.x))
        shift = np.add.reduceat(off, states.first) / np.add.reduceat(weight, states.first)
    assert tree is not None
    return tree


def _levelled(value: Array) -> Array:
    """Shares of rows with a lower value: the same order, whatever the scale; (r,)."""
    known, place = np.unique(value, return_inverse=True)
    count = np.bincount(place, minlength=len(known))
    result: Array = ((np.cumsum(count) - count / 2) / len(value))[place]
    return result


def polishes(tree: PriorityTree, states: States, matter: Array, slopes: int) -> list[PriorityTree]:
    """The same questions; values and slopes for which the teacher's order is likeliest.

    In each decision the first job is drawn with odds exp(value), then the second of those left
    (Plackett-Luce): a convex problem, as a job's value is linear in those of the leaves and their
    slopes.  Then each leaf gets the slope along which that grows most, until it has ``slopes``: the
    trees with one slope to a leaf, two, four, ...
    """
    some = np.arange(0, len(states), -(-len(states.x) // POLISHED_ON))
    states, matter = states.only(some), matter[some]
    fit = Likelihood(states, matter)
    leaf = np.searchsorted(tree.leaves, tree.apply(states.x))
    bends = bends_of(states) if slopes > 1 else None
    made = _sloped_leaves(tree, fit, leaf)
    result = [made]
    for count in range(2, slopes + 1):
        made = _with_slope(made, fit, leaf, bends)
        if count % 2 == 0:  # two at a time: half the work
            made = _sloped_leaves(made, fit, leaf)
            result.append(made)
    return result


class Likelihood:
    """Of the teacher's first choices, under these values: loss and its gradient, per decision."""

    def __init__(self, states: States, matter: Array) -> None:
        self.states, self.matter, self.place = states, matter, places(states)
        self.chosen = [np.flatnonzero(self.place == k) for k in range(LOOKED)]
        self.of = states.of

    def at(self, value: Array) -> tuple[float, Array]:
        """(loss, its gradient (r,))."""
        states, slope, total = self.states, np.zeros(len(value)), 0.0
        for k, top in enumerate(self.chosen):
            left = self.place >= k
            most = np.maximum.reduceat(np.where(left, value, -np.inf), states.first)
            odds = np.where(left, np.exp(np.where(left, value - most[self.of], 0.0)), 0.0)
            sums = np.add.reduceat(odds, states.first)
            of = self.of[top]
            part = self.matter[of] * LESS**k
            total += float((part * (most[of] + np.log(sums[of]) - value[top])).sum())
            share = np.zeros(len(states))
            share[of] = part / sums[of]
            slope += odds * share[self.of]
            slope[top] -= part
        return total / len(states), slope / len(states)


def _sloped_leaves(tree: PriorityTree, fit: Likelihood, leaf: Array) -> PriorityTree:
    """Values and slopes of the leaves, anew; ``leaf`` (r,) counts among the leaves."""
    from scipy.optimize import minimize

    at, x, rows = tree.leaves, fit.states.x, np.arange(len(leaf))
    m, s = len(at), tree.slope.shape[1]
    sloped = tree.slope[at] >= 0
    g = np.empty((s, len(leaf)))
    for k in range(s):
        column = np.maximum(tree.slope[at, k], 0)[leaf]
        g[k] = bent(x[rows, column], tree.scale[at, k][leaf]) * sloped[leaf, k]
    count = np.maximum(np.bincount(leaf, minlength=m), 1)
    low = np.stack([np.bincount(leaf, row, m) / count for row in g])  # centred: better conditioned
    g -= low[:, leaf]
    wide = np.stack([np.sqrt(np.bincount(leaf, row * row, m) / count) for row in g])
    wide = np.where(wide > 0, wide, 1.0)
    g /= wide[:, leaf]
    b = sloped.T / tree.steep[at].T
    first = np.concatenate([(tree.value[at] + (low * b).sum(axis=0))[None], b * wide])
    if s == 1:
        first = first * START

    def loss(flat: Array) -> tuple[float, Array]:
        theta = flat.reshape(s + 1, m)
        value = theta[0][leaf] + (theta[1:, leaf] * g).sum(axis=0)
        total, slope = fit.at(value)
        grad = [np.bincount(leaf, slope, m), *(np.bincount(leaf, slope * row, m) for row in g)]
        return total + 0.5 * HELD * float(flat @ flat), np.concatenate(grad) + HELD * flat

    done = minimize(loss, first.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    theta = done.x.reshape(s + 1, m)
    b = np.where(sloped.T, theta[1:], 0.0) / wide
    made = {n: getattr(tree, n).copy() for n in ("value", *SLOPED)}
    made["slope"][at] = np.where(b != 0.0, tree.slope[at].T, -1).T
    made["steep"][at] = (1.0 / np.where(b != 0.0, b, 1.0)).T
    made["value"][at] = theta[0] - (b * low).sum(axis=0)
    return replace(tree, **made)


@dataclass(frozen=True)
class SlopeFit:
    """What a slope may follow: columns of x (c,), their scales (c,), and x so bent (r, c)."""

    of: Array
    scale: Array
    shape: Array


def bends_of(states: States) -> SlopeFit:
    """Each feature with a few scales: the sum of some of these slopes is as good as a logarithm."""
    pairs = []
    for f, middle in enumerate(scales_of(states.x, states.features)):
        size = np.abs(states.x[:, f])
        wide = [middle]
        if middle < size.max():  # else straight
            wide += np.quantile(size[size > 0], OUTER).tolist()
        pairs += [(f, s) for s in dict.fromkeys(float(f"{w:.3g}") for w in wide)]
    of = np.array([f for f, _ in pairs])
    scale = np.array([s for _, s in pairs])
    return SlopeFit(of, scale, bent(states.x[:, of], scale))


def _with_slope(
    tree: PriorityTree, fit: Likelihood, leaf: Array, bends: SlopeFit | None
) -> PriorityTree:
    """One more slope for each leaf: along the feature that would raise the likelihood most."""
    assert bends is not None
    at, m = tree.leaves, len(tree.leaves)
    _, slope = fit.at(tree.predict(fit.states.x))
    count = np.maximum(np.bincount(leaf, minlength=m), 1)
    pull = np.empty((len(bends.of), m))
    unfitted = tree.steep[at] == FLAT
    for k, row in enumerate(bends.shape.T):
        mean = np.bincount(leaf, row, m) / count
        off = row - mean[leaf]
        spread = np.sqrt(np.bincount(leaf, off * off, m) / count)
        pull[k] = np.abs(np.bincount(leaf, slope * off, m)) / np.maximum(spread, 1e-9)
        pull[k, spread <= 1e-9 * np.abs(mean).max()] = 0.0
        same = tree.slope[at] == bends.of[k]
        pull[k, (same & (unfitted | (tree.scale[at] == bends.scale[k]))).any(axis=1)] = 0.0
    best = pull.argmax(axis=0)
    more = np.full((len(tree.left), 1), -1)
    wide, steep = np.ones((len(tree.left), 1)), np.full((len(tree.left), 1), FLAT)
    more[at, 0] = np.where(pull.max(axis=0) > 0, bends.of[best], -1)
    wide[at, 0] = bends.scale[best]
    added = {"slope": more, "scale": wide, "steep": steep}
    wider: dict[str, Any] = {n: np.hstack([getattr(tree, n), v]) for n, v in added.items()}
    return replace(tree, **wider)


def places(states: States) -> Array:
    """0 for the job the teacher puts first in its decision, 1 for the next, ...; (r,)."""
    order = np.lexsort((np.arange(len(states.x)), -states.value, states.of))
    place = np.empty(len(order))
    place[order] = np.arange(len(order)) - np.repeat(states.first, states.rows)
    return place


def stakes_of(states: States) -> Array:
    """What a wrong choice can cost there, over the mean of that, within `STAKES`; (k,)."""
    spread = states.spread()
    mean = float(spread[np.isfinite(spread)].mean())
    shares = np.nan_to_num(spread / (mean or 1.0), nan=1.0, posinf=STAKES[1])
    return np.clip(shares, *STAKES)


def _grown(x: Array, y: Array, weight: Array | None, depth: int, least: float, seed: int) -> Any:
    from sklearn.tree import DecisionTreeRegressor

    kind = {"min_samples_leaf": 1} if weight is None else {"min_weight_fraction_leaf": least}
    made = DecisionTreeRegressor(max_depth=depth, random_state=seed, **kind)
    # scikit-learn looks at features as 32-bit numbers: so must whoever asks the same questions
    return made.fit(x.astype(np.float32), y, sample_weight=weight).tree_


def _converted(states: States, grown: Any) -> PriorityTree:
    """The same questions on 64-bit numbers."""
    asks = grown.children_left >= 0
    threshold = np.where(asks, grown.threshold, 0.0)
    return PriorityTree.of(
        states.features,
        feature=np.where(asks, grown.feature, -1),
        threshold=threshold,
        left=grown.children_left,
        right=grown.children_right,
        value=grown.value[:, 0, 0],
        support=grown.n_node_samples,
    )
