"""What happens over time: load, queue and power as steps, averaged over equal bins.

Every one of these is a sum over jobs of a weight that holds from one moment to another, so one
function serves all: utilisation is processors from start to end, queue depth is ones from
submission to start.  Averages are exact integrals, not samples, and cost one sort however long the
trace is.

    Symbol  Shape    Meaning
    t       (k,)     distinct moments at which the sum changes, s
    h       (k,)     the sum from t[i] until t[i + 1]
    edges   (m+1,)   of the bins, s
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def steps(begin: Array, end: Array, weight: Array) -> tuple[Array, Array]:
    """(t, h) of the sum of ``weight`` over the jobs with begin <= t < end.

    >>> t, h = steps(np.array([0.0, 1.0]), np.array([2.0, 3.0]), np.array([1.0, 5.0]))
    >>> t.tolist(), h.tolist()
    ([0.0, 1.0, 2.0, 3.0], [1.0, 6.0, 5.0, 0.0])
    """
    moment = np.concatenate((begin, end))
    order = np.argsort(moment, kind="stable")
    moment = moment[order]
    first = np.flatnonzero(np.diff(moment, prepend=-np.inf) != 0)  # of those at one moment
    change = np.add.reduceat(np.concatenate((weight, -weight)).astype(float)[order], first)
    return moment[first], np.cumsum(change)


def mean_in(t: Array, h: Array, edges: Array) -> Array:
    """(m,) mean of the step function in each bin; it is zero outside ``t``."""
    if not len(t):
        return np.zeros(len(edges) - 1)
    area = np.concatenate(([0.0], np.cumsum(h[:-1] * np.diff(t))))
    result: Array = np.diff(np.interp(edges, t, area)) / np.diff(edges)
    return result


def peak_in(t: Array, h: Array, edges: Array) -> Array:
    """(m,) largest value that the step function takes in each bin."""
    padded = np.concatenate(([0.0], h))
    first = np.searchsorted(t, edges[:-1], side="right")  # in force as the bin begins
    last = np.maximum(np.searchsorted(t, edges[1:], side="left") + 1, first + 1)
    pairs = np.stack((first, np.minimum(last, len(padded))), axis=1).ravel()
    return np.maximum.reduceat(np.append(padded, -np.inf), pairs)[::2]


def even_edges(begin: float, end: float, bins: int) -> Array:
    """Edges of ``bins`` equal bins from ``begin`` to ``end`` (at least a second)."""
    return np.linspace(begin, max(end, begin + 1.0), bins + 1)


def place(start: Array, end: Array, procs: Array) -> list[tuple[int, int, int]]:
    """(job, lowest processor, how many) of the pieces that the jobs occupy, for a drawing.

    A job takes the lowest free processors when it starts; several pieces where these are not
    neighbours.  Batch traces do not tell which processors a job had: this is one way to draw it.

    >>> place(np.array([0, 0, 5]), np.array([5, 9, 9]), np.array([2, 1, 3]))
    [(0, 0, 2), (1, 2, 1), (2, 0, 2), (2, 3, 1)]
    """
    pieces: list[tuple[int, int, int]] = []
    held: list[tuple[float, int]] = []
    free: list[int] = []
    top = 0
    own: dict[int, list[int]] = {}
    for job in np.lexsort((np.arange(len(start)), start)):
        for _, done in sorted(x for x in held if x[0] <= start[job]):
            free += own.pop(done)
        held = [x for x in held if x[0] > start[job]]
        free.sort()
        lacking = max(0, int(procs[job]) - len(free))
        free += range(top, top + lacking)
        top += lacking
        own[int(job)], free = free[: int(procs[job])], free[int(procs[job]) :]
        held.append((float(end[job]), int(job)))
        pieces += [(int(job), *run) for run in _runs(own[int(job)])]
    return pieces


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """(first, how many) of each run of consecutive numbers."""
    breaks = np.flatnonzero(np.diff(numbers) != 1) + 1
    return [(int(p[0]), len(p)) for p in np.split(np.asarray(numbers), breaks) if len(p)]
