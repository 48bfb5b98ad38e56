"""What a user's ended jobs took, job by job: the features of learned run times."""

from __future__ import annotations

import numpy as np

from rheostat.simulation.engine.array_types import Floats, Ints
from rheostat.simulation.engine.jit import compiled


@compiled
def history(user: Ints, run: Floats, ended: Ints, wanted: Ints) -> Floats:
    """(rows, 3): the user's last run time, the one before, and the mean of all, s; NaN: none yet.

    ``ended`` are jobs in order of their ends.  For a job of ``wanted`` that is among them only
    those that ended earlier count; for any other all of them do.
    """
    users = user.max() + 1
    last, before = np.full(users, np.nan), np.full(users, np.nan)
    total, seen = np.zeros(users), np.zeros(users)
    place = np.full(len(run), -1)
    for k in range(len(wanted)):
        place[wanted[k]] = k
    features = np.full((len(wanted), 3), np.nan)
    for j in ended:
        u = user[j]
        if place[j] >= 0:
            features[place[j], 0], features[place[j], 1] = last[u], before[u]
            features[place[j], 2] = total[u] / seen[u] if seen[u] > 0 else np.nan
            place[j] = -1
        before[u], last[u] = last[u], run[j]
        total[u] += run[j]
        seen[u] += 1
    for j in wanted:
        if place[j] >= 0:
            u = user[j]
            features[place[j], 0], features[place[j], 1] = last[u], before[u]
            features[place[j], 2] = total[u] / seen[u] if seen[u] > 0 else np.nan
    return features
