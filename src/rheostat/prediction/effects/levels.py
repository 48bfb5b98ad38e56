"""Where does an application's curve lie?  EffectLevels of groups, pulled to those of wider groups.

Differences between settings come from `hierarchy`; a level is what remains of a group's rows when
their columns are accounted for.  A user of an application with few runs is taken as a usual user of
it, an application never seen as a usual application.

Notation
--------
n  rows      A  applications      C  cells (users of an application)      q  weights      B  draws
anchor : mean of (1, x) over rows, (q,) and of y: a level is  y_anchor + (x - x_anchor) b
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheostat.core.outcome import Array

Ints = NDArray[np.int64]
FEWEST = 3
"""Runs in a half with which its mean says something."""


@dataclass(frozen=True)
class EffectLevels:
    """Anchors of cells, then applications, then all: ``y`` (C + A + 1,), ``x`` (C + A + 1, q).

    ``sd`` is how far a level may be off, ``app_of`` the application of each cell.
    """

    y: Array
    x: Array
    sd: Array
    cells: int

    def place(self, cell: Ints, app: Ints) -> Ints:
        """The narrowest group known of each row."""
        wide = np.where(app >= 0, self.cells + app, len(self.y) - 1)
        return np.where(cell >= 0, cell, wide)

    def of(self, x: Array, cell: Ints, app: Ints, weights: Array) -> Array:
        """Levels (n,) of rows ``x`` (n, q) by point ``weights`` (A, q)."""
        at = self.place(cell, app)
        return np.asarray(self.y[at] + np.einsum("nq,nq->n", x - self.x[at], weights[app]))


def mean_errors(cell: Ints, variance: Array, shared: float, problem: Ints, between: float) -> Array:
    """Variance of the mean of each cell's rows, (C,), of rows with ``variance`` (n,).

    ``shared`` is the part that runs of one time have in common, see `drift`, ``between`` the
    variance that runs of one ``problem`` (n,) have in common: a mean over few problems tells little
    of the next one, however often they ran.
    """
    runs = np.bincount(cell)
    one, alone = np.bincount(cell, variance) / runs, 1 / runs
    of_problems = between * (_concentration(cell, problem) - alone)
    return np.asarray(np.maximum(one * (shared + (1 - shared) * alone), one * alone + of_problems))


def fit_levels(
    x: Array, y: Array, cell: Ints, app: Ints, weights: Array, error: Array
) -> EffectLevels:
    """Anchors from rows ``x`` (n, q), ``y`` (n,), given point ``weights`` (A, q).

    ``error`` (C,) is by `mean_errors`.  A cell is pulled to its application's mean, which is itself
    not sure: it is a mean of few cells.
    """
    cells, apps = int(cell.max()) + 1, len(weights)
    of = np.zeros(cells, dtype=np.int64)
    of[cell] = app
    count = np.bincount(cell, minlength=cells)
    cy, cx = _means(y[:, None], cell, cells)[:, 0], _means(x, cell, cells)
    ay, ax = _means(y[:, None], app, apps)[:, 0], _means(x, app, apps)
    gap = cy - ay[of] - np.einsum("cq,cq->c", cx - ax[of], weights[of])
    share = count / np.bincount(of, count, minlength=apps)[of]
    apart = _apart(gap, error, share, of)
    own = apart / (apart + error)
    unsure = np.bincount(of, share**2 * (apart + error), minlength=apps)
    levels_y = ay[of] + own * (cy - ay[of])
    levels_x = ax[of] + own[:, None] * (cx - ax[of])
    wide = float(np.std(ay)) if apps > 1 else 1.0
    sd = [np.sqrt(own * error + (1 - own) ** 2 * unsure[of]), np.sqrt(apart + unsure), [wide]]
    return EffectLevels(
        np.concatenate([levels_y, ay, [ay.mean()]]),
        np.concatenate([levels_x, ax, ax.mean(axis=0)[None]]),
        np.concatenate(sd),
        cells,
    )


def drift(rest: Array, cell: Ints) -> float:
    """Share of the variance of ``rest`` (n,), in order of time, that neighbours in time share.

    Users run one problem many times and then another, so twice the runs are not twice the evidence.
    Means of the earlier and the later half of each cell differ by more than independent runs would;
    the excess is taken as a part that the runs of a half have in common.

    >>> rng = np.random.default_rng(0)
    >>> cell = np.repeat(np.arange(50), 20)
    >>> alone = rng.normal(size=1000)
    >>> halves = np.repeat(rng.normal(size=100), 10)
    >>> drift(alone, cell) < 0.05 < 0.3 < drift(alone + halves, cell)
    True
    """
    order = np.argsort(cell, kind="stable")
    place = np.empty(len(cell), dtype=np.int64)
    count = np.bincount(cell)
    first = np.cumsum(count) - count
    place[order] = np.arange(len(cell)) - first[cell[order]]
    half = (place >= count[cell] // 2).astype(np.int64)
    half_of = 2 * cell + half
    size = np.bincount(half_of, minlength=2 * len(count)).reshape(-1, 2)
    mean = _means(rest[:, None], half_of, 2 * len(count)).reshape(-1, 2)
    inside = rest - mean.reshape(-1)[half_of]
    known = (size >= FEWEST).all(axis=1)
    size, mean = size[known], mean[known]
    within = np.bincount(cell, inside**2)[known] / (size - 1).sum(axis=1)
    chance = within * (1 / size).sum(axis=1)
    between = np.maximum(((mean[:, 0] - mean[:, 1]) ** 2 - chance).sum(), 0.0) / 2
    total = between + within.sum()
    return float(np.clip(between / total, 0.0, 0.9)) if total > 0 else 0.0


def _concentration(cell: Ints, problem: Ints) -> Array:
    """Sum over the problems of each cell of their squared share of its runs, (C,).

    >>> _concentration(np.array([0, 0, 0, 0, 1]), np.array([7, 7, 8, 8, 9])).tolist()
    [0.5, 1.0]
    """
    pairs, runs = np.unique(np.stack([cell, problem]), axis=1, return_counts=True)
    return np.asarray(np.bincount(pairs[0], runs**2.0) / np.bincount(cell) ** 2)


def _means(values: Array, code: Ints, size: int) -> Array:
    count = np.maximum(np.bincount(code, minlength=size), 1)
    sums = np.zeros((size, values.shape[1]))
    for j, column in enumerate(values.T):
        sums[:, j] = np.bincount(code, column, minlength=size)
    return sums / count[:, None]


def centred(values: Array, code: Ints) -> Array:
    """``values`` (n, ...) less the mean of their group.

    >>> centred(np.array([1.0, 3.0, 8.0]), np.array([0, 0, 1]))
    array([-1.,  1.,  0.])
    """
    flat = values if values.ndim == 2 else values[:, None]
    return (flat - _means(flat, code, int(code.max()) + 1)[code]).reshape(values.shape)


def _apart(gap: Array, error: Array, share: Array, of: Ints) -> float:
    """Variance between cells of one application beyond what their errors explain.

    ``gap`` (C,) is from the mean of its application, ``of`` (C,), of which a cell is ``share`` (C,)
    of the rows: a cell that is all of its application tells nothing.
    """
    own, others = 1 - 2 * share, share**2
    chance = own * error + np.bincount(of, others * error)[of]
    weight = (own + np.bincount(of, others)[of]).sum()
    return max(float(np.sum(gap**2 - chance)) / max(float(weight), 1e-9), 1e-6)
