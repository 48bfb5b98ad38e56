"""A scheduler one can read: a decision tree that says how much a waiting job deserves to go first.

A tree asks yes-or-no questions ("at most 8 processors?") until it arrives at a leaf, and each leaf
has a worth; the waiting job of the highest worth goes first.  A *plain* tree has a number there.
In a *sloped* one the worth of a leaf's jobs also rises or falls with a quantity or two of theirs,
such as the time waited, so that few leaves are enough to put a queue in order.

    Symbol     Shape   Meaning
    X          (r, d)  features of r jobs, in their units
    feature    (m,)    what node i asks about: a column of X; -1 at a leaf
    threshold  (m,)    go left if X[feature] <= threshold, else right; NaN goes right
    left       (m,)    node on the left, -1 at a leaf; right likewise
    value      (m,)    worth of a leaf; elsewhere that of its jobs together
    support    (m,)    jobs that came through the node in training
    slope      (m, s)  at a leaf: columns with which the worth changes; -1: with none
    scale      (m, s)  value of that column at which half of the change is made, above 0
    steep      (m, s)  worth changes by 1 / steep in all, from small to large; not 0

    worth = value + x / (|x| + scale) / steep + ..., with x of the columns ``slope``

Divisions alone: no compiler may round them together, so that exports give the very same numbers.

References
----------
Breiman, Friedman, Olshen, Stone, "Classification and regression trees", 1984.  Quinlan, "Learning
with continuous classes", 1992 (a line in each leaf).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.core.storage.archive import Archive
from rheostat.errors import DataError
from rheostat.prediction.saved_models.persist import load, save

Array = np.ndarray
WHOLE = ("feature", "left", "right", "support", "slope")
REAL = ("threshold", "value", "scale", "steep")
SLOPED = ("slope", "scale", "steep")

DEEPEST = 500
"""Questions on one way: nobody reads so many, and drawing them takes one call inside another."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SAID = re.compile(r"[\w .,:;()/%+=<>'-]*")
"""Neither ends a comment, a docstring or a line in Python, C or Lua."""


@dataclass(frozen=True)
class TreeFeature:
    """A quantity a tree may ask about: its name, base unit, and what people call it."""

    name: str
    unit: str = ""
    words: str = ""

    @property
    def said(self) -> str:
        """In words."""
        return self.words or self.name


@dataclass(frozen=True)
class PriorityTree:
    """Arrays of the notation above; ``facts`` are what is known of its making, plain data.

    >>> tree = PriorityTree.of([TreeFeature("hours")], feature=[0, -1, -1], threshold=[2.0, 0, 0],
    ...                left=[1, -1, -1], right=[2, -1, -1], value=[0.5, 1.0, 0.0])
    >>> tree.predict([[1.0], [2.0], [3.0], [float("nan")]]).tolist(), tree.depth
    ([1.0, 1.0, 0.0, 0.0], 1)
    """

    features: tuple[TreeFeature, ...]
    feature: Array
    threshold: Array
    left: Array
    right: Array
    value: Array
    support: Array
    slope: Array
    scale: Array
    steep: Array
    facts: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        problems = _problems(self)
        if problems:
            raise DataError("tree", problems)

    @classmethod
    def of(cls, features: Sequence[TreeFeature], facts: Any = None, **arrays: Any) -> PriorityTree:
        """From lists; ``support`` may be left out, and ``slope`` with ``scale`` and ``steep``.

        These three may be of shape (m,), for one slope each.
        """
        m = len(arrays["feature"])
        spare = {"slope": np.full(m, -1), "scale": np.ones(m), "steep": np.ones(m)}
        given = {"support": np.zeros(m)} | spare | arrays
        made = {n: np.ascontiguousarray(given[n], np.int64) for n in WHOLE}
        made |= {n: np.ascontiguousarray(given[n], np.float64) for n in REAL}
        for n in SLOPED:
            made[n] = made[n].reshape(len(made[n]), -1)
        return cls(tuple(features), **made, facts=dict(facts or {}))

    @property
    def leaves(self) -> Array:
        """Numbers of the leaves."""
        return np.flatnonzero(self.left < 0)

    @property
    def deep(self) -> Array:
        """Questions on the way to each node, (m,)."""
        result = np.zeros(len(self.left), np.int64)
        for i in np.flatnonzero(self.left >= 0):  # children are numbered after their parent
            result[[self.left[i], self.right[i]]] = result[i] + 1
        return result

    @property
    def depth(self) -> int:
        """Questions on the longest way to a leaf."""
        return int(self.deep.max())

    @property
    def used(self) -> tuple[TreeFeature, ...]:
        """The features that matter to it, in their order."""
        asked = {*self.feature[self.left >= 0].tolist(), *self.slope[self.leaves].ravel().tolist()}
        return tuple(f for i, f in enumerate(self.features) if i in asked)

    def apply(self, X: Any) -> Array:
        """The leaf of each job, (r,)."""
        x = self._checked(X)
        node = np.zeros(len(x), np.int64)
        rows = np.flatnonzero(self.left[node] >= 0)
        while len(rows):
            at = node[rows]
            goes = x[rows, self.feature[at]] <= self.threshold[at]
            node[rows] = np.where(goes, self.left[at], self.right[at])
            rows = rows[self.left[node[rows]] >= 0]
        return node

    def predict(self, X: Any) -> Array:
        """Worth of each job, (r,): the highest goes first."""
        x = self._checked(X)
        leaf = self.apply(x)
        priority: Array = self.value[leaf]
        for k in range(self.slope.shape[1]):
            slope = self.slope[leaf, k]
            sloped = np.flatnonzero(slope >= 0)
            seen, at = x[sloped, slope[sloped]], leaf[sloped]
            priority[sloped] += seen / (np.abs(seen) + self.scale[at, k]) / self.steep[at, k]
        return priority

    def _checked(self, X: Any) -> Array:
        x = np.atleast_2d(np.asarray(X, float))
        if x.ndim != 2 or x.shape[1] != len(self.features):
            names = ", ".join(f.name for f in self.features)
            problem = f"expected (r, {len(self.features)}) values of {names}, got shape {x.shape}"
            raise DataError("tree", [problem])
        return x

    def save(self, path: Path | str) -> None:
        """Write as JSON: the same tree gives the same bytes."""
        save(self, path)

    @classmethod
    def load(cls, path: Path | str) -> PriorityTree:
        """A tree that was saved."""
        tree: PriorityTree = load(path, ["priority-tree"])
        return tree

    def to_archive(self) -> Archive:
        """All of it as JSON values."""
        arrays = {n: getattr(self, n).tolist() for n in (*WHOLE, *REAL)}
        named = [{"name": f.name, "unit": f.unit, "words": f.words} for f in self.features]
        return Archive("", 0, {"features": named, **arrays, "facts": dict(self.facts)})

    @classmethod
    def from_archive(cls, archive: Archive) -> PriorityTree:
        """What `to_archive` gave."""
        given = archive.contents
        named = [TreeFeature(**f) for f in given["features"]]
        return cls.of(named, given["facts"], **{n: given[n] for n in (*WHOLE, *REAL)})


def _problems(tree: PriorityTree) -> list[str]:
    """Whatever would let a job run out of the tree or round in circles."""
    odd = [f for f in tree.features if not _NAME.fullmatch(f"{f.name}") or not _SAID.fullmatch(
        f"{f.unit} {f.words}")]  # fmt: skip
    if odd:  # they stand in the source that `export` writes, which a scheduler runs
        return [f"a feature's name is a word and its description plain text, got {odd[0]!r:.120}"]
    m, d = len(tree.feature), len(tree.features)
    sizes = {n: len(getattr(tree, n)) for n in (*WHOLE, *REAL)}
    wide = {getattr(tree, n).shape[1:] for n in SLOPED}
    if m == 0 or set(sizes.values()) != {m} or len(wide) != 1:
        return [f"expected one entry per node in each array, got {sizes}"]
    inside = tree.left >= 0
    own = np.arange(m)
    checks = {
        "a child comes before its parent or is none of the nodes": inside
        & ~((tree.left > own) & (tree.right > own) & (tree.left < m) & (tree.right < m)),
        "one child alone": inside != (tree.right >= 0),
        f"asks about a column that is none of the {d}": inside
        & ~((tree.feature >= 0) & (tree.feature < d)),
        f"slopes along a column that is none of the {d}": (
            (tree.slope >= d) | (tree.slope < -1)
        ).any(axis=1),
        "threshold is no number": inside & ~np.isfinite(tree.threshold),
        "value is no number": ~np.isfinite(tree.value),
        "scale is not above 0": ~(np.isfinite(tree.scale) & (tree.scale > 0)).all(axis=1),
        "steep is 0 or no number": (~np.isfinite(tree.steep) | (tree.steep == 0)).any(axis=1),
    }
    result = [
        f"nodes {np.flatnonzero(b)[:5].tolist()}: {why}" for why, b in checks.items() if b.any()
    ]
    children = np.concatenate([tree.left[inside], tree.right[inside]])
    if not result and len(np.unique(children)) != len(children):
        result.append("a node has two parents")
    if not result and tree.depth > DEEPEST:
        result.append(f"expected at most {DEEPEST} questions in a row, got {tree.depth:,}")
    return result
