"""Which setting to try next, and which to keep: caps as low as the loss bound surely allows.

A setting is *safe* when it is fast enough with the probability asked for.  The next one to try is
the one whose success would save most: the watts beyond the best safe setting times the probability
that it is fast enough.  So tries go where the decision is open, and the last of them tend to
confirm what is then kept.  The first try, when nothing tells settings apart yet, is the one that
teaches most about all others.

Notation
--------
p  settings      saved_w : (p,) watts of caps below the default      q : (p,) P(fast enough)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.core.outcome import Array
from rheostat.predict.factor.mixture import CapMixture, Completion


@dataclass(frozen=True)
class Kept:
    """The setting to keep: its index, watts of caps saved and the probability to be fast enough."""

    setting: int
    saved_w: float
    probability: float


def keep(found: Completion, saved_w: Array, loss: float, risk: float) -> Kept:
    """The safe setting that saves most; the default is always safe.

    >>> c = Completion(np.ones(1), np.array([[-0.2, -0.01, 0.0]]), np.full((1, 3), 0.01), (2,))
    >>> keep(c, np.array([90.0, 40.0, 0.0]), 0.05, 0.9).setting
    1
    """
    likely = found.reaches(1.0 - loss)
    likely[saved_w == 0] = 1.0
    safe = likely >= risk
    best = int(np.where(safe, saved_w + likely, -1.0).argmax())
    return Kept(best, float(saved_w[best]), float(likely[best]))


def next_try(model: CapMixture, found: Completion, saved_w: Array, loss: float, risk: float) -> int:
    """The setting to try next; -1 when all have been tried."""
    untried = np.ones(len(saved_w), dtype=bool)
    untried[list(found.tried)] = False
    untried[model.start_] = model.start_ not in found.tried and not model.by_default
    if not untried.any():
        return -1
    if not [t for t in found.tried if t != model.start_ or not model.by_default]:
        return model.most_telling([], untried)
    hope = found.reaches(1.0 - loss) * (saved_w - keep(found, saved_w, loss, risk).saved_w)
    hope = np.where(untried, hope, -np.inf)
    if hope.max() > 0:
        return int(hope.argmax())
    return int(np.where(untried, found.variance(), -np.inf).argmax())
