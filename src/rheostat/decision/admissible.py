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
from rheostat.core.outcome import GRADES, Outcome
from rheostat.decision.batch_fronts import BatchFronts

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
    """(J, S): settings whose change from the request rests on one of ``grades``; None ungraded."""
    weaker = evidence(many)
    return None if weaker is None else np.isin(weaker, [GRADES.index(g) for g in grades])


def only(many: BatchFronts, allowed: Mask) -> BatchFronts:
    """The same fronts with no forecast where it is not ``allowed`` (J, S)."""
    if allowed.all():
        return many
    outcome = many.flat.outcome
    gone = ~allowed.reshape(-1)
    draws = {k: np.where(gone, np.nan, v) for k, v in outcome.draws.items()}
    kept = Outcome(draws, outcome.support, outcome.notes, outcome.grade)
    return replace(many, flat=Front(many.flat.alternatives, kept, many.flat.objectives))
