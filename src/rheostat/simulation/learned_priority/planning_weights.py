"""How far a learned order trusts what is predicted when it plans.

EASY lets a job pass the head of the queue if it ends, as requested, before the head can start.
Requests are several times too long, so little passes.  Here jobs that *wait* are planned with a
run time between the one predicted from ended jobs and the request; jobs that *run* stay booked as
requested, so the head's start is predicted late and a passer that runs longer than planned seldom
delays it.  How far to trust is learned, and may be less the longer the head has waited.

    Symbol   Shape   Meaning
    t        (T,)    weights, in order of `TERMS`; none at all: requests, as in textbook EASY
    z                features as standardised in `net`; h of the head, j of the job that may pass
    q_j, a_j         run time planned with and asked for, s; f_j that predicted

    ln(q_j / a_j) = min(0, t0 + t1 ln(f_j / a_j) + t2 z_known,j
                           + t3 z_slowed,h + t4 z_share,h + t5 z_grown,h)

References
----------
Predictions in backfilling, and what goes wrong when promises rest on them: Tsafrir, Etsion,
Feitelson, IEEE TPDS 2007.
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.learned_priority.compiled import lent
from rheostat.simulation.learned_priority.queue_features import (
    ASK,
    GROWN,
    KNOWN,
    PREDICTED,
    SHARE,
    SLOWED,
)
from rheostat.simulation.learned_priority.scoring_network import CENTRE, SPREAD

Array = np.ndarray
TERMS = ("always", "predicted", "known", "head slowed", "head share", "head grown")


@lent
def plan(planned: Array, queue: Array, x: Array, head: int, ask: Array, trust: Array) -> None:
    """Write the run time ``planned`` of each waiting job, s."""
    grows = trust[0] + trust[3] * _z(x[head], SLOWED) + trust[4] * _z(x[head], SHARE)
    grows += trust[5] * _z(x[head], GROWN)
    for k in range(len(queue)):
        correction = trust[1] * (x[k, PREDICTED] - x[k, ASK]) + trust[2] * _z(x[k], KNOWN)
        planned[queue[k]] = ask[queue[k]] * np.exp(min(grows + correction, 0.0))


@lent
def _z(row: Array, column: int) -> float:
    z: float = (row[column] - CENTRE[column]) / SPREAD[column]
    return z
