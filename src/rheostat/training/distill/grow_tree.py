"""Grow a tree with a slope in each leaf: which question splits jobs so that two slopes tell most?

A common tree gives all jobs of a leaf the same value, and needs many questions to say what one
slope says.  Here a split is judged by how well the values on both sides follow one quantity each.

    Symbol  Shape   Meaning
    x       (n, d)  features of jobs; u (n,) value to be predicted; w (n,) weights
    g       (n, d)  x / (|x| + scale): bends from 0 to 1 as x grows, or straight; see `scales_of`
    bins    32      a split lies between two of so many shares of equal weight
    error           sum of w (u - a - b g)^2 with the best a and b, by sums alone

References
----------
Quinlan, "Learning with continuous classes", 1992 (M5: trees of linear models).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat.decision.policies.priority_tree import REAL, WHOLE, PriorityTree, TreeFeature

Array = np.ndarray
Features = tuple[TreeFeature, ...]
BINS = 32
FAR = 1000.0  # times the largest value: straight within a thousandth
LEAST = 5e-3  # of all weight in a leaf
LEAST_GAIN = 1e-4  # of all error, for a split to be worth a question


@dataclass
class _Node:
    rows: Array
    deep: int
    slope: int
    scale: float
    a: float
    b: float
    error: float
    feature: int = -1
    threshold: float = 0.0
    children: tuple[int, int] = (-1, -1)


def grow(
    features: Features, x: Array, u: Array, w: Array, depth: int, *, least: float = LEAST
) -> PriorityTree:
    """The tree, the most telling split first among those of one depth."""
    total = float(w.sum())
    nodes = [_leaf(features, x, u, w, np.arange(len(x)), 0)]
    floor = LEAST_GAIN * max(nodes[0].error, 1e-300)
    at = 0
    while at < len(nodes):
        node = nodes[at]
        if node.deep < depth:
            split = _split(features, x, u, w, node, least * total)
            if split is not None and node.error - split[0] > floor:
                node.feature, node.threshold = split[1:]
                goes = x[node.rows, node.feature] <= node.threshold
                node.children = (len(nodes), len(nodes) + 1)
                sides = (node.rows[goes], node.rows[~goes])
                nodes += [_leaf(features, x, u, w, rows, node.deep + 1) for rows in sides]
        at += 1
    return _tree(features, nodes)


def bent(x: Array, scale: Any) -> Array:
    """X / (|x| + scale)."""
    result: Array = x / (np.abs(x) + scale)
    return result


def _leaf(features: Features, x: Array, u: Array, w: Array, rows: Array, deep: int) -> _Node:
    """The best slope of these rows."""
    part, y, v = x[rows], u[rows], w[rows]
    scales = scales_of(part, features)
    sums = _sums(bent(part, scales), y, v).sum(axis=0)
    a, b, error = _lines(sums[None])
    k = int(error[0].argmin())
    return _Node(
        rows, deep, k, float(scales[k]), float(a[0, k]), float(b[0, k]), float(error[0, k])
    )


def scales_of(x: Array, features: Features) -> Array:
    """The median of |x| of each feature, or 1; of what is a logarithm or a share, far more; (d,).

    Worth then changes with it in a straight line.
    """
    middle = np.median(np.abs(x), axis=0)
    scale = np.where(middle > 0, middle, 1.0)
    straight = np.array([f.unit.startswith(("ln", "0")) for f in features], bool)
    return np.where(straight, FAR * np.maximum(np.abs(x).max(axis=0), 1.0), scale)


def _sums(g: Array, u: Array, w: Array) -> Array:
    """Per row what errors are made of, (n, 3 d + 3): w g, w g^2, w g u; w, w u, w u^2."""
    wg = w[:, None] * g
    return np.concatenate([wg, wg * g, wg * u[:, None], np.stack([w, w * u, w * u * u], 1)], 1)


def _lines(sums: Array) -> tuple[Array, Array, Array]:
    """(a, b, error) of the best lines, each (groups, d), from sums over groups of rows."""
    d = (sums.shape[1] - 3) // 3
    g, gg, gu = sums[:, :d], sums[:, d : 2 * d], sums[:, 2 * d : 3 * d]
    one, u, uu = (sums[:, -3 + i][:, None] for i in range(3))
    one = np.maximum(one, 1e-300)
    inside = gg - g * g / one
    cross = gu - g * u / one
    flat = inside <= 1e-9 * np.maximum(gg, 1e-300)
    b = np.where(flat, 0.0, cross / np.where(flat, 1.0, inside))
    a = (u - b * g) / one
    return a, b, np.maximum(uu - u * u / one - b * cross, 0.0)


def _split(
    features: Features, x: Array, u: Array, w: Array, node: _Node, least: float
) -> tuple[float, int, float] | None:
    """(error of both sides, feature, threshold) of the best split; None where there is none."""
    part, y, v = x[node.rows], u[node.rows], w[node.rows]
    sums = _sums(bent(part, scales_of(part, features)), y, v)
    best: tuple[float, int, float] | None = None
    for f in range(x.shape[1]):
        edges = np.unique(np.quantile(part[:, f], np.arange(1, BINS) / BINS, method="lower"))
        if len(edges) < 2:
            continue
        place = np.searchsorted(edges, part[:, f])  # place <= k: x <= edges[k]
        order = np.argsort(place, kind="stable")
        starts = np.searchsorted(place[order], np.arange(len(edges) + 1))
        full = starts < len(order)
        binned = np.zeros((len(edges) + 1, sums.shape[1]))
        inside = np.add.reduceat(sums[order], starts[full], axis=0)
        empty = np.diff(np.append(starts, len(order))) == 0
        binned[full] = inside
        binned[empty] = 0.0
        left = np.cumsum(binned, axis=0)[:-1]
        right = binned.sum(axis=0) - left
        error = _lines(left)[2].min(axis=1) + _lines(right)[2].min(axis=1)
        error[(left[:, -3] < least) | (right[:, -3] < least)] = np.inf
        k = int(error.argmin())
        if np.isfinite(error[k]) and (best is None or error[k] < best[0]):
            above = part[:, f] > edges[k]
            best = (float(error[k]), f, _between(float(edges[k]), float(part[above, f].min())))
    return best


def _between(low: float, high: float) -> float:
    """A short number in [low, high): what people can read, and what splits the same rows."""
    for digits in range(1, 17):
        middle = float(f"{(low + high) / 2:.{digits}g}")
        if low <= middle < high:
            return middle
    return low


def _tree(features: Features, nodes: list[_Node]) -> PriorityTree:
    return PriorityTree.of(
        features,
        feature=[n.feature for n in nodes],
        threshold=[n.threshold for n in nodes],
        left=[n.children[0] for n in nodes],
        right=[n.children[1] for n in nodes],
        value=[n.a for n in nodes],
        support=[len(n.rows) for n in nodes],
        slope=[n.slope if n.b else -1 for n in nodes],
        scale=[n.scale for n in nodes],
        steep=[1.0 / n.b if n.b else 1.0 for n in nodes],
    )


def cut(tree: PriorityTree, depth: int) -> PriorityTree:
    """The same tree with at most ``depth`` questions on any way: nodes there become leaves."""
    deep = tree.deep
    keep = np.flatnonzero(deep <= depth)
    number = np.full(len(deep), -1)
    number[keep] = np.arange(len(keep))
    ends = deep[keep] == depth
    children = {
        side: np.where(
            ends | (getattr(tree, side)[keep] < 0), -1, number[getattr(tree, side)[keep]]
        )
        for side in ("left", "right")
    }
    kept = {n: getattr(tree, n)[keep] for n in (*WHOLE, *REAL) if n not in children}
    kept["feature"] = np.where(children["left"] < 0, -1, kept["feature"])
    return PriorityTree.of(tree.features, tree.facts, **kept, **children)
