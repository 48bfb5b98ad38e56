"""How losses of speed under caps go together: the covariance of an application's log speed.

A cap that does not bind costs nothing; where it binds, the loss grows smoothly as the cap goes
down.  A twice integrated random walk that starts at the highest cap draws such curves.  One for
each device, one for both together, and noise; the run at the default has noise too, and everything
is measured against it.

Notation
--------
p  settings      k  caps      u : (p,) depth of a cap, 0 at the highest, 1 at the lowest
B : (k + 1, p, p) basis covariances, for each cap and for the caps together

References
----------
Rasmussen, Williams: Gaussian Processes for Machine Learning (2006), section 6.3 (splines).
"""

from __future__ import annotations

import numpy as np

from rheostat.core.outcome import Array

_ROUGH = 1e-3  # share of a plain random walk, so that a curve may also begin with a kink


def bases(depth: Array) -> Array:
    """Basis covariances over settings, from their depths (p, k), (k + 1, p, p).

    >>> bases(np.array([[0.0], [1.0]]))[0].round(3)
    array([[0.   , 0.   ],
           [0.   , 1.001]])
    """
    each = [_integrated(u) + _ROUGH * np.minimum.outer(u, u) for u in depth.T]
    both = np.prod([np.minimum.outer(u, u) for u in depth.T], axis=0)
    return np.stack([*each, both])


def _integrated(u: Array) -> Array:
    """Covariance of an integrated random walk, 1 at depth 1."""
    low, high = np.minimum.outer(u, u), np.maximum.outer(u, u)
    return np.asarray(low**2 * (3 * high - low) / 2)


def additive(mean: Array, depth: Array) -> Array:
    """The part of a mean curve (p,) that each cap alone explains, (k, p); least squares by level.

    Levels of one cap get one number each, 0 at the highest; what the caps do only together is left
    to the covariance.
    """
    columns, owner = [], []
    for j, u in enumerate(depth.T):
        for level in np.unique(u)[1:]:
            columns.append((u == level).astype(float))
            owner.append(j)
    design = np.stack(columns, axis=1)
    effects = np.linalg.lstsq(design, mean, rcond=None)[0]
    parts = design * effects
    return np.stack([parts[:, np.array(owner) == j].sum(axis=1) for j in range(depth.shape[1])])
