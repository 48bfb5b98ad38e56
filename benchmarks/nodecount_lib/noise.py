"""How much do the logs of one setting's measurements vary by themselves?

Two settings that differ by less cannot be told apart, so what a method misses within it is not its
fault.  Repeats tell it where a pool has them.  Elsewhere the measured neighbours along a knob do: a
setting's value is compared with the straight line between the two beside it; curvature and steps
are in that too, so it is an upper bound.  Medians keep single odd runs and bends out of both.

Notation
--------
N  settings     k  knobs     s : (3,) standard deviations of log (runtime, power, energy)
y_b - ((1 - w) y_a + w y_c), a < b < c neighbours, has the variance s^2 (1 + w^2 + (1 - w)^2)

Reference: T. Gasser, L. Sroka, C. Jennen-Steinmetz, "Residual variance and residual pattern in
nonlinear regression", Biometrika 1986.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
NORMAL_MEDIAN = 0.6744897501960817
"""Median of |N(0, 1)|."""


def of_repeats(groups: list[Array]) -> Array | None:
    """Over all settings, from the log values (r, 3) of each one's repeats; None without any.

    >>> of_repeats([np.array([[0.0, 1.0, 1.0], [0.2, 1.0, 1.2]]), np.zeros((1, 3))]).round(3)
    array([0.21, 0.  , 0.21])
    """
    left = [(g - g.mean(axis=0)) * np.sqrt(len(g) / (len(g) - 1)) for g in groups if len(g) > 1]
    return np.median(np.abs(np.vstack(left)), axis=0) / NORMAL_MEDIAN if left else None


def of_neighbours(x: Array, log_y: Array) -> Array:
    """From triples of neighbours along one knob, ``x`` (N, k); 0 where there is none.

    >>> x = np.linspace(0, 1, 9)[:, None]
    >>> of_neighbours(x, np.hstack([x, 2 * x, 3 * x])).round(6)
    array([0., 0., 0.])
    """
    left = [
        (log_y[b] - (1 - w) * log_y[a] - w * log_y[c]) / np.sqrt(1 + w**2 + (1 - w) ** 2)
        for a, b, c, w in _triples(x)
    ]
    return np.median(np.abs(left), axis=0) / NORMAL_MEDIAN if left else np.zeros(3)


def _triples(x: Array) -> list[tuple[int, int, int, float]]:
    """Rows beside one another along a knob, all else equal, and where the middle one lies."""
    found = []
    for j in range(x.shape[1]):
        others = np.delete(x, j, axis=1).round(9)
        lines: dict[bytes, list[int]] = {}
        for i in np.argsort(x[:, j], kind="stable"):
            lines.setdefault(others[i].tobytes(), []).append(int(i))
        for line in lines.values():
            for a, b, c in zip(line, line[1:], line[2:], strict=False):
                found.append((a, b, c, float((x[b, j] - x[a, j]) / (x[c, j] - x[a, j]))))
    return found
