"""What a model says about candidate settings, in the coordinates the proposers score in.

Notation
--------
N  rows: candidates first, then fixed (pending or picked)     d  draws     m  objectives
y : (d, N, m) draws, minimised, on log axes when all are positive       known : (f, m) told rows
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat.core.dominance import Mask
from rheostat.core.front import Front
from rheostat.core.outcome import Array
from rheostat.errors import DataError
from rheostat.tradeoff.limits import Limit
from rheostat.tradeoff.propose.acquisition import infer_reference, project_out
from rheostat.tradeoff.propose.failures import fails


@dataclass(frozen=True)
class CandidateView:
    """Predictions for candidates and what is known, ready to be scored; see the module.

    ``fixed`` are rows of ``y`` that will be known anyway, ``baseline`` those that were told, where
    the model was asked about them again.  ``feasible`` (d, N) says in which draws a row meets the
    limits; ``known`` holds the measured values of observed rows that do, ``observed`` of all.
    """

    settings: tuple[dict[str, Any], ...]
    candidates: int
    front: Front
    y: Array
    feasible: Mask
    observed: Array
    known: Array
    reference: Array
    log: bool
    fixed: tuple[int, ...]
    baseline: tuple[int, ...]

    def given(self, row: int) -> CandidateView:
        """The same view with one more row fixed."""
        return CandidateView(**{**self.__dict__, "fixed": (*self.fixed, row)})

    @property
    def ideal(self) -> Array:
        """Least of each objective, observed or forecast on average, (m,)."""
        seen = np.concatenate([self.observed, self.y.mean(axis=0)])
        return np.asarray(np.min(seen, axis=0, where=np.isfinite(seen), initial=np.inf))

    @property
    def span(self) -> Array:
        """From the ideal to the reference, (m,)."""
        return self.reference - self.ideal

    def uncertainty(self) -> Array:
        """Spread that knowing ``fixed`` leaves, (candidates,); NaN counts as inf."""
        total = np.zeros(self.y.shape[1])
        scale = np.where(self.span > 0, self.span, 1.0)
        for j in range(self.y.shape[2]):
            z = (self.y[:, :, j] - self.y[:, :, j].mean(axis=0)) / scale[j]
            blank = np.isnan(z).any(axis=0)
            z = np.where(blank, 0.0, z)
            for row in self.fixed:
                z = project_out(z, row)
            total += np.where(blank, np.inf, (z**2).mean(axis=0))
        return total[: self.candidates]

    def likely(self) -> Array:
        """Probability that each candidate meets the limits, (candidates,)."""
        return np.asarray(self.feasible[:, : self.candidates].mean(axis=0))


def look(
    parts: Sequence[Sequence[dict[str, Any]]],
    front: Front,
    observed: Front,
    *,
    limits: Sequence[Limit] = (),
    failing: Array | None = None,
    reference: Sequence[float] | None = None,
    log: bool | None = None,
) -> CandidateView:
    """A view of the predicted ``front`` of (candidates, fixed, baseline) and of ``observed``.

    ``failing`` is the probability that each row of ``front`` gives no result.
    """
    first, second = len(parts[0]), len(parts[0]) + len(parts[1])
    signs = np.array([o.sign for o in front.objectives])
    draws = signs * _stacked(front)
    values = observed.values if len(observed) else np.empty((0, len(signs)))
    told_there = np.isfinite(values).all(axis=1)
    positive = bool((signs > 0).all() and (values[told_there] > 0).all() and not (draws <= 0).any())
    if log and not positive:
        raise DataError("search", ["log axes need positive minimised objectives: pass log=False"])
    on_log = positive if log is None else log
    y, known = (np.log(draws), _log(values)) if on_log else (draws, values)
    meets = told_there.copy()
    for limit in limits if len(observed) else ():
        meets &= limit.excess(observed) <= 0
    feasible = _feasible(front, limits, y)
    if failing is not None:
        feasible &= ~fails(failing, len(y))
    seen = np.concatenate([known[told_there], y.mean(axis=0)])
    return CandidateView(
        settings=tuple(s for part in parts for s in part),
        candidates=first,
        front=front,
        y=y,
        feasible=feasible,
        observed=known[told_there],
        known=known[meets],
        reference=_reference(reference, signs, on_log) if reference else infer_reference(seen),
        log=on_log,
        fixed=tuple(range(first, second)),
        baseline=tuple(range(second, len(front))),
    )


def _stacked(front: Front) -> Array:
    draws = [front.draws(o.name) for o in front.objectives]
    return np.stack(np.broadcast_arrays(*draws), axis=-1)


def _log(values: Array) -> Array:
    return np.asarray(np.log(np.where(values > 0, values, np.nan)))


def _reference(reference: Sequence[float], signs: Array, log: bool) -> Array:
    r = np.asarray(reference, dtype=float)
    r = signs * r if r.shape == signs.shape else np.empty(0)
    if not len(r) or (log and (r <= 0).any()):
        raise DataError(
            "reference", [f"expected {len(signs)} values in the objectives' units, got {reference}"]
        )
    return np.asarray(np.log(r)) if log else r


def _feasible(front: Front, limits: Sequence[Limit], y: Array) -> Mask:
    """Draws in which every limit holds, (d, N)."""
    held = np.isfinite(y).all(axis=-1)
    for limit in limits:
        held = held & (front.draws(limit.quantity) <= limit.most)
    return np.asarray(held)
