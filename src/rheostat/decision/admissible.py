"""Which forecasts may be advised on?  Those that rest on the application's own runs.

A forecast borrowed from other applications is a hint.  What contradicts physics the model itself
does not forecast, whoever asks (`prediction.effects.plausible`).

Notation
--------
J  jobs      S  settings per job
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rheostat.core.front import Front
from rheostat.core.jobs import JobTable
from rheostat.core.outcome import GRADES, Array, Outcome
from rheostat.decision.batch_fronts import BatchFronts
from rheostat.prediction.effects.shapes import PARALLEL

Mask = NDArray[np.bool_]


def evidence(many: BatchFronts) -> NDArray[np.int64] | None:
    """(J, S): the grade of a change from the request to a setting, the weaker of the two.

    Places in `GRADES`; None where the model does not grade its forecasts.
    """
    grade = many.flat.outcome.grade
    if grade is None:
        return None
    folded = grade.reshape(len(many), many.size)
    return np.minimum(folded, np.take_along_axis(folded, many.requested[:, None], axis=1))


def graded(many: BatchFronts, grades: Sequence[str]) -> Mask | None:
    """(J, S): settings whose change from the request rests on one of ``grades``, or is ungraded.

    None where all are.
    """
    weaker = evidence(many)
    if weaker is None:
        return None
    return (weaker < 0) | np.isin(weaker, [GRADES.index(g) for g in grades])


def told_by_users(model: object, jobs: JobTable) -> bool:
    """Whether the model learnt from settings of a log, not from those of a measured table."""
    log = getattr(model, "identification_", None)
    return bool(log is not None and (log.by != "design" or "submit_s" in jobs.columns))


def too_good(many: BatchFronts, model: object, knobs: Sequence[str]) -> Mask:
    """(J, S): more nodes for less energy or fewer node-hours than asked for, told by a log alone.

    It takes watts that nodes share, or time that falls faster than the nodes grow.  Users do not
    ask for such settings by chance, and of many forecasts the best are the most flattered.  Where
    chance drew the setting of every job nothing tells it better.
    """
    more = np.zeros((len(many), many.size), dtype=bool)
    drawn = getattr(getattr(model, "identification_", None), "drawn", False)
    if drawn or not told_by_users(model, many.flat.alternatives):
        return more
    for knob in set(knobs) & set(PARALLEL):
        given = many.flat.alternatives.numpy(knob).reshape(more.shape)
        more |= _beyond(given, many.requested)
    falls = np.zeros_like(more)
    for name in {"energy_j", "node_hours"} & {o.name for o in many.flat.objectives}:
        falls |= _beyond(-many.flat.mean(name).reshape(more.shape), many.requested)
    return more & falls


def _beyond(values: Array, requested: NDArray[np.int64]) -> Mask:
    """(J, S): more than at the request; NaN is not."""
    with np.errstate(invalid="ignore"):
        return np.asarray(values > np.take_along_axis(values, requested[:, None], axis=1))


def only(many: BatchFronts, allowed: Mask) -> BatchFronts:
    """The same fronts with no forecast where it is not ``allowed`` (J, S)."""
    if allowed.all():
        return many
    outcome = many.flat.outcome
    gone = ~allowed.reshape(-1)
    draws = {k: np.where(gone, np.nan, v) for k, v in outcome.draws.items()}
    kept = Outcome(draws, outcome.support, outcome.notes, outcome.grade)
    return replace(many, flat=Front(many.flat.alternatives, kept, many.flat.objectives))
