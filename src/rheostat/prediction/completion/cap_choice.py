"""Which setting to try next, and which to keep: caps as low as the loss bound surely allows.

A setting that was tried and held is *safe*; one that was not is safe where the model is as sure as
it needs to be (`CapModel.needed`).  The next one to try is the one whose success would save most:
the watts beyond the best setting that is confirmed, times the probability that it is fast enough.
The first try, when nothing tells settings apart yet, is the one that tells most about all others.

Notation
--------
p  settings      saved_w : (p,) watts of caps below the default      q : (p,) P(fast enough)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rheostat.core.outcome import Array
from rheostat.prediction.completion.mixture import Completion

_CERTAIN = 1.0 - 1e-6
_CONFIRMED = 0.9


class Teaching(Protocol):
    """What `next_try` asks of a model."""

    start_: int
    by_default: bool

    def first_try(self, there: NDArray[np.bool_]) -> int:
        """The setting whose run tells most about all others."""
        ...


@dataclass(frozen=True)
class CapChoice:
    """The setting to keep: its index, watts of caps saved and the probability to be fast enough."""

    setting: int
    saved_w: float
    probability: float


def keep(
    completion: Completion, saved_w: Array, loss: float, needed: float, default: int
) -> CapChoice:
    """The safe setting that saves most; the default is always safe.

    >>> c = Completion(np.ones(1), np.array([[-0.2, -0.01, 0.0]]), np.full((1, 3), 0.01), (2,))
    >>> keep(c, np.array([90.0, 40.0, 0.0]), 0.05, 0.9, 2).setting
    1
    """
    likely = completion.reaches(1.0 - loss)
    tried = list(completion.tried)
    safe = likely >= needed
    safe[tried] = likely[tried] >= min(needed, _CERTAIN)
    safe[default], likely[default] = True, 1.0
    best = int(np.where(safe, saved_w + likely, -np.inf).argmax())
    return CapChoice(best, float(saved_w[best]), float(likely[best]))


def next_try(
    model: Teaching,
    completion: Completion,
    saved_w: Array,
    loss: float,
    eligible: NDArray[np.bool_] | None = None,
) -> int:
    """The setting to try next; -1 when none is left, of those ``eligible`` where they are given.

    Then one that saves no more than what is confirmed is no try either.
    """
    untried = np.ones(len(saved_w), dtype=bool) if eligible is None else eligible.copy()
    untried[list(completion.tried)] = False
    untried[model.start_] = model.start_ not in completion.tried and not model.by_default
    if not untried.any():
        return -1
    if not [t for t in completion.tried if t != model.start_ or not model.by_default]:
        return model.first_try(untried)
    likely = completion.reaches(1.0 - loss)
    confirmed = max((saved_w[t] for t in completion.tried if likely[t] >= _CONFIRMED), default=0.0)
    hope = np.where(untried, likely * (saved_w - confirmed), -np.inf)
    if hope.max() > 0:
        return int(hope.argmax())
    if eligible is not None:
        return -1
    return int(np.where(untried, completion.variance(), -np.inf).argmax())
