"""Rows of a log weighed by what they tell: runs of one problem, and runs beside a trial's jobs.

Notation
--------
n  rows      flat : (n, q + 1) columns less the mean of their cell, the last is the outcome
"""

from __future__ import annotations

import numpy as np
import polars as pl

from rheostat.core.outcome import Array
from rheostat.prediction.effects.effect_coding import Rows
from rheostat.prediction.effects.hierarchy import Hierarchy, Ints
from rheostat.prediction.effects.levels import centred
from rheostat.prediction.effects.neighbours import beside


def steady(frame: pl.DataFrame, values: Array) -> Ints:
    """An order of the rows that does not depend on the order they came in."""
    when = [frame["submit_s"].to_numpy()] if "submit_s" in frame.columns else []
    return np.lexsort((*values.T, *when))


def cells_of(rows: Rows, apps: int) -> Array:
    """How many users each of ``apps`` applications has, (A,)."""
    pairs = np.unique(np.stack([rows.app, rows.cell]), axis=1)
    return np.bincount(pairs[0], minlength=apps).astype(float)


def group_means(values: Array, group: Ints) -> Array:
    """Each row's mean over its group."""
    _, code = np.unique(group, return_inverse=True)
    return np.asarray(values - centred(values, code))


def even(flat: Array, problem: Ints, cell: Ints) -> Array:
    """Rows less the part that runs of one problem have in common by chance.

    Generalised least squares with a random effect of the problem; the last column of ``flat`` is
    the outcome.
    """
    _, code, count = np.unique(problem, return_inverse=True, return_counts=True)
    within, between = problem_variances(flat[:, -1] - _fitted_values(flat), problem, cell)
    keep = 1 - np.sqrt(within / (within + count * between))
    return np.asarray(flat - keep[code][:, None] * (flat - centred(flat, code)))


def problem_variances(rest: Array, problem: Ints, cell: Ints) -> tuple[float, float]:
    """Variance of ``rest`` (n,) between runs of one problem, and what problems add to it.

    The means of cells are taken away, and with them a part of what the few problems of a cell add.
    Problems may be those of one cell or be shared by several: the moments of Henderson's method.
    """
    from scipy.sparse import block_array, csr_array  # slow to load, and few logs have problems
    from scipy.sparse.csgraph import connected_components

    runs = csr_array((np.ones(len(rest)), (cell, np.unique(problem, return_inverse=True)[1])))
    rank = sum(runs.shape) - connected_components(block_array([[None, runs], [runs.T, None]]))[0]
    if rank == len(rest):
        return 1.0, 0.0
    inside = _less_both(rest, problem, cell)
    within = max(float(inside @ inside) / (len(rest) - rank), 1e-9)
    in_cell = runs.sum(axis=1)
    free = len(rest) - float((runs.power(2).sum(axis=1) / in_cell).sum())
    excess = float(rest @ rest) - within * (len(rest) - len(in_cell))
    return within, max(excess / max(free, 1.0), 0.0)


def _less_both(rest: Array, problem: Ints, cell: Ints) -> Array:
    """``rest`` (n,) less what problems and cells explain together."""
    from scipy.sparse import csr_array, hstack
    from scipy.sparse.linalg import lsqr

    n, groups = len(rest), [np.unique(g, return_inverse=True)[1] for g in (problem, cell)]
    sides = [csr_array((1 / np.sqrt(np.bincount(g)[g]), (np.arange(n), g))) for g in groups]
    both = hstack(sides, format="csr")
    return np.asarray(rest - both @ lsqr(both, rest, atol=1e-10, btol=1e-10)[0])


def unlike_runs(rest: Array, alike: Array, problem: Ints, cell: Ints) -> tuple[float, float]:
    """Spread of runs beyond that of one problem's, and the part of its variance that problems add.

    ``alike`` (n,) is left where each run counts as asking for what its problem's runs ask for in
    the mean, ``rest`` (n,) by what it asked for itself: a problem that never ran is told by that.
    """
    same, between = problem_variances(alike, problem, cell)
    if len(np.unique(problem)) == len(problem):
        return 0.0, between
    return float(np.sqrt(max(float(rest @ rest) / len(rest) - same, between))), between


def less_neighbours(
    level: Array, flat: Array, hierarchy: Hierarchy, rows: Rows, effects: int, own: Array
) -> Array:
    """Rows of a trial less what the runs beside them in time say, and weighed by how much that is.

    ``flat`` has ``effects`` columns of the setting, then what requests and sizes betray, and last
    the outcome.  ``own`` (n,) is the spread of what a setting does to one job, by `unlike_turned`:
    however well its neighbours tell a job's problem, it is one job of an application.
    """
    point = hierarchy.weights[:, :-1].mean(axis=0)[rows.app]
    part = flat[:, :-1] * point
    betrayed = part[:, effects:].sum(axis=1)
    off, surer = beside(
        flat[:, -1] - part[:, :effects].sum(axis=1), betrayed, rows.cell, rows.turned
    )
    lighter = level.copy()
    lighter[:, -1] -= off
    plain = hierarchy.noise[rows.app] ** 2
    surer = np.sqrt(plain / (plain / surer**2 + own**2))
    return np.asarray(lighter * surer[:, None])


def _fitted_values(flat: Array) -> Array:
    x, y = flat[:, :-1], flat[:, -1]
    return np.asarray(x @ np.linalg.lstsq(x, y, rcond=None)[0])


GUESS_WORTH = 10.0
"""Runs that the slope of all applications weighs in the slope of one."""


def guess_slopes(rows: Rows, apps: int) -> Array:
    """Slope of each guess on request and sizes by application, (A + 1, s + k, g); the last for all.

    On the sizes too: a guess that knows the run time says through both what requests do at equal
    sizes, and without them that larger problems, which ask for more, take longer.
    """
    cell = rows.cell
    asked, guess = centred(requests_and_sizes(rows), cell), centred(rows.guess, cell)
    s = asked.shape[1]
    common = np.linalg.lstsq(asked, guess, rcond=None)[0]
    gram, cross = np.zeros((apps, s, s)), np.zeros((apps, s, guess.shape[1]))
    np.add.at(gram, rows.app, asked[:, :, None] * asked[:, None, :])
    np.add.at(cross, rows.app, asked[:, :, None] * guess[:, None, :])
    squares, r = np.mean(asked**2, axis=0), rows.request.shape[1]
    squares[:r] = squares[:r].mean()
    pull = GUESS_WORTH * np.diag(np.maximum(squares, 1e-6))
    own = np.linalg.solve(gram + pull, cross + pull @ common)
    return np.concatenate([own, common[None]])


def requests_and_sizes(rows: Rows) -> Array:
    """(n, s + k): what a job asked for, and how large its problem is."""
    return np.concatenate([rows.request, rows.size], axis=1)
