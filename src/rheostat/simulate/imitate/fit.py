"""From decisions to a tree: of values, as published, or of who goes first.

A tree of values spends its questions on getting every value right.  A scheduler only asks who is
first: of all jobs that wait now, not how much each is worth.  So here the target is a job's *place*
among those it waits with, places near the front count more, and decisions count as much as there
is at stake in them (VIPER).  In a leaf jobs are equal to a tree; here each leaf also learns by
which of the features its jobs are best put in order.

    Symbol  Shape   Meaning
    place   (r,)    0 for the job the teacher puts first, 1 for the next, ...
    target  (r,)    -log2(1 + place), less its mean in the decision
    weight  (r,)    stakes of the decision / (1 + place), equal totals for equal stakes
    stakes  (k,)    the teacher's best less its worst worth there, over the mean of that

References
----------
Bastani, Pu, Solar-Lezama, "Verifiable reinforcement learning via policy extraction", NeurIPS 2018
(VIPER: weights by what a wrong action costs).  Li, Lan, Papka, "Interpretable modeling of deep
reinforcement learning driven scheduling", MASCOTS 2023 (regression of values).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rheostat.decide.queue.tree import Tree
from rheostat.simulate.imitate.grow import bent, cut, grow
from rheostat.simulate.imitate.states import States

Array = np.ndarray
STAKES = (0.1, 10.0)  # a decision counts at least and at most so many times the mean
GROWN_ON = 40_000  # rows; all are used to polish
LOOKED, LESS = 3, 0.5  # places that are polished, and what each counts of the one before
NEARLY = 0.003
START, HELD, STEPS = 10.0, 1e-4, 200


def value_tree(states: States, depth: int, *, seed: int = 0) -> Tree:
    """A regression tree of the teacher's worth, every row alike: as published."""
    return _converted(states, _grown(states.x, states.worth, None, depth, 1, seed))


def rank_tree(
    states: States, depth: int, *, stakes: bool = True, polish: bool = True, most: int = GROWN_ON
) -> Tree:
    """A sloped tree that puts first whom the teacher puts first.

    ``stakes=False`` counts decisions alike, ``polish=False`` leaves the leaves as they grew;
    ``most`` rows are grown on.
    """
    matter = stakes_of(states) if stakes else np.ones(len(states))
    tree = grown(states, depth, matter, most=most)
    return polished(tree, states, matter) if polish else tree


def best_tree(states: States, held: States, depth: int, *, most: int = GROWN_ON) -> Tree:
    """Of trees of up to ``depth``, by stakes or not, polished or not: the most like the teacher.

    They are compared on decisions ``held`` back from them; of trees that agree nearly as often
    (`NEARLY`) the one with fewest leaves is taken.
    """
    tried = []
    for matter in (stakes_of(states), np.ones(len(states))):
        whole = grown(states, depth, matter, most=most)
        for deep in sorted({*range(0, depth, 2), depth}):
            short = cut(whole, deep)
            tried += [short, polished(short, states, matter)]
    alike = np.array(
        [(held.best(t.predict(held.x)) == held.best(held.worth)).mean() for t in tried]
    )
    near = np.flatnonzero(alike >= alike.max() - NEARLY)
    return tried[min(near, key=lambda i: (len(tried[i].leaves), -alike[i]))]


def grown(states: States, depth: int, matter: Array, *, most: int = GROWN_ON) -> Tree:
    """A sloped tree of the teacher's worth, levelled, but for what a whole decision has more.

    ``matter`` (k,) weighs decisions.  What is common to all jobs of a decision puts nobody first:
    it is found by a small tree, and taken away from the worth that the tree has to tell.
    """
    place = places(states)
    weight = 1.0 / (1.0 + place)
    weight *= np.repeat(matter / np.add.reduceat(weight, states.first), states.rows)
    u, shift = _levelled(states.worth), np.zeros(len(states))
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


def _levelled(worth: Array) -> Array:
    """Shares of rows with less worth: the same order, whatever the scale; (r,)."""
    known, place = np.unique(worth, return_inverse=True)
    count = np.bincount(place, minlength=len(known))
    found: Array = ((np.cumsum(count) - count / 2) / len(worth))[place]
    return found


def polished(tree: Tree, states: States, matter: Array) -> Tree:
    """The same questions; values and slopes for which the teacher's order is likeliest.

    In each decision the first job is drawn with odds exp(worth), then the second of those left
    (Plackett-Luce): a convex problem, as worth is linear in values and slopes.
    """
    from scipy.optimize import minimize

    place = places(states)
    leaf = np.searchsorted(tree.leaves, tree.apply(states.x))
    at = tree.leaves
    m, sloped = len(at), tree.slope[at] >= 0
    column = np.maximum(tree.slope[at], 0)[leaf]
    g = bent(states.x[np.arange(len(leaf)), column], tree.scale[at][leaf]) * sloped[leaf]
    low = np.array([g[leaf == i].mean() if (leaf == i).any() else 0.0 for i in range(m)])
    g = g - low[leaf]
    first = np.concatenate([tree.value[at] + low / tree.steep[at], 1.0 / tree.steep[at]]) * START
    chosen = [np.flatnonzero(place == k) for k in range(LOOKED)]

    def loss(theta: Array) -> tuple[float, Array]:
        worth = theta[:m][leaf] + theta[m:][leaf] * g
        grad_row, total = np.zeros(len(worth)), 0.0
        for k, top in enumerate(chosen):
            left = place >= k
            most = np.maximum.reduceat(np.where(left, worth, -np.inf), states.first)
            odds = np.where(left, np.exp(worth - np.repeat(most, states.rows)), 0.0)
            sums = np.add.reduceat(odds, states.first)
            of = states.of[top]
            part = matter[of] * LESS**k
            total += float((part * (most[of] + np.log(sums[of]) - worth[top])).sum())
            share = np.zeros(len(states))
            share[of] = part / sums[of]
            grad_row += odds * np.repeat(share, states.rows)
            grad_row[top] -= part
        n = len(states)
        held = HELD * (theta - first)
        grad = np.concatenate([np.bincount(leaf, grad_row, m), np.bincount(leaf, grad_row * g, m)])
        return total / n + 0.5 * float(held @ (theta - first)), grad / n + held

    theta = minimize(loss, first, jac=True, method="L-BFGS-B", options={"maxiter": STEPS}).x
    value, slope, scale, steep = (
        getattr(tree, n).copy() for n in ("value", "slope", "scale", "steep")
    )
    b = np.where(sloped, theta[m:], 0.0)
    slope[at] = np.where(b != 0.0, tree.slope[at], -1)
    steep[at] = 1.0 / np.where(b != 0.0, b, 1.0)
    value[at] = theta[:m] - b * low
    return replace(tree, value=value, slope=slope, scale=scale, steep=steep)


def places(states: States) -> Array:
    """0 for the job the teacher puts first in its decision, 1 for the next, ...; (r,)."""
    order = np.lexsort((np.arange(len(states.x)), -states.worth, states.of))
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


def _converted(states: States, grown: Any) -> Tree:
    """The same questions on 64-bit numbers."""
    asks = grown.children_left >= 0
    threshold = np.where(asks, grown.threshold, 0.0)
    return Tree.of(
        states.features,
        feature=np.where(asks, grown.feature, -1),
        threshold=threshold,
        left=grown.children_left,
        right=grown.children_right,
        value=grown.value[:, 0, 0],
        support=grown.n_node_samples,
    )
