"""Which forecasts may be advised on?  Possible ones that rest on the application's own runs.

A forecast borrowed from other applications is a hint.  A forecast that contradicts physics points
at the log, not at the machine, unless chance or a designed measurement chose the settings: fewer
nodes that take far less time, or time that falls faster than with the square of the nodes
(beyond what caches do).  Less power per node than any run ever drew, which is more than an idle
node draws, contradicts physics whoever chose the settings.

Notation
--------
J  jobs      S  settings per job
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheostat.core.front import Front
from rheostat.core.outcome import GRADES, Array, Outcome
from rheostat.decision.batch_fronts import BatchFronts

Mask = NDArray[np.bool_]
LESS_TIME = 0.65
"""Fewer nodes and less than this share of the time: no sweep of nodes that we know shows it (the
thirteen of SPEChpc at most 0.70, beyond the count at which a code is fastest)."""
IDLE = 0.8
"""A node that draws less than this share of the least that any run drew per node is below idle."""
STEEPEST = 2.0
"""Time falls at most with this power of the nodes."""
PARALLEL = ("nodes", "gpus", "cores", "tasks", "threads")
CHOSEN_BY_DESIGN = ("trial", "repeats", "design")


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
    """(J, S): settings whose change from the request rests on one of ``grades``; None ungraded."""
    weaker = evidence(many)
    return None if weaker is None else np.isin(weaker, [GRADES.index(g) for g in grades])


def impossible(many: BatchFronts, model: Any) -> Mask:
    """(J, S): settings whose forecast contradicts physics.

    Asked of models that say what tells effect from choice in their log (``identification_``): times
    where neither chance nor a designed measurement does, and watts per node (``least_w_``).
    """
    wrong = np.zeros((len(many), many.size), dtype=bool)
    names = [n for n in PARALLEL if n in many.flat.alternatives.columns]
    identified = getattr(model, "identification_", None)
    if identified is None or not names:
        return wrong
    amount = many.flat.alternatives.numpy(names[0]).reshape(wrong.shape)
    least = getattr(model, "least_w_", {}).get(names[0], 0.0)
    if "power_w" in many.flat.outcome:
        wrong |= many.flat.mean("power_w").reshape(wrong.shape) < IDLE * least * amount
    if identified.by not in CHOSEN_BY_DESIGN:
        wrong |= _backwards(many, amount)
    return wrong


def _backwards(many: BatchFronts, amount: Array) -> Mask:
    """(J, S): times that fall with fewer nodes, or too steeply with more."""
    time = many.flat.mean("runtime_s").reshape(amount.shape)
    at = many.requested[:, None]
    more = amount / np.take_along_axis(amount, at, axis=1)
    slower = time / np.take_along_axis(time, at, axis=1)
    return ((more < 1) & (slower < LESS_TIME)) | ((more > 1) & (slower < more**-STEEPEST))


def only(many: BatchFronts, allowed: Mask) -> BatchFronts:
    """The same fronts with no forecast where it is not ``allowed`` (J, S)."""
    if allowed.all():
        return many
    outcome = many.flat.outcome
    gone = ~allowed.reshape(-1)
    draws = {k: np.where(gone, np.nan, v) for k, v in outcome.draws.items()}
    kept = Outcome(draws, outcome.support, outcome.notes, outcome.grade)
    return replace(many, flat=Front(many.flat.alternatives, kept, many.flat.objectives))
