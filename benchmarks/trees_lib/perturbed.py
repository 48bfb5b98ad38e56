"""How exact can a loss be?  What a teacher loses whose own score is perturbed a little.

A schedule is chaotic: one job moved changes the wait of many.  An order whose scores are larger or
smaller by up to a thousandth, differently for each job, is the same order for all that people mean
by it; what it loses against itself is a loss that no imitation can be asked to stay below.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from rheostat.decision.policies.batch_policy import batch_policy
from rheostat.decision.policies.priority_functions import PriorityFunction, priority_function
from rheostat.training.distill.decision_states import of_order, watched
from rheostat.training.distill.fidelity import agreement, loss

PART, DRAWS, DECISIONS = 1e-3, 8, 2000


def perturbed(teacher: str, on: Any) -> dict[str, Any]:
    """Loss and agreement of `DRAWS` perturbed orders on the part of the trace that is judged."""
    true = priority_function(teacher)
    start = on.trial.starts(batch_policy(true))
    since = float(on.submit_s[0])
    his, plain = on.slowdowns(start), numba.njit(true.score)
    asked = {"most": DECISIONS, "between": (since, np.inf)}
    states = watched(on.trial, start, of_order(true), **asked)
    now, s, r, n = states.asked.T
    mine, alike = [], []
    for draw in range(DRAWS):
        other = PriorityFunction("perturbed", _score(plain, draw), False)
        mine.append(on.slowdowns(on.trial.starts(batch_policy(other))))
        alike.append(agreement(states, -other.score(now, s, r, n))["mean"])
    each = [float(m.mean() / his.mean() - 1) for m in mine]
    told = loss(np.array(mine), np.array([his] * DRAWS), on.submit_s)
    return {"agreement": float(np.mean(alike)), "loss": told, "each": each}


def _score(plain: Any, draw: int) -> Any:
    def score(now, s, r, n):
        return plain(now, s, r, n) * (1.0 + PART * np.sin((12.9898 + draw) * s + 78.233 * r + n))

    return score
