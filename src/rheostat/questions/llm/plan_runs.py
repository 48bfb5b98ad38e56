"""Configurations of a served model as runs under caps, for what shares watts among many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheostat.core.front import Front
from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array
from rheostat.core.vocabulary import table

DRAWS = 8
CAP = "power_cap_w"


def as_runs(app: str, front: Front, allowed: NDArray[np.bool_]) -> JobTable:
    """Allowed configurations that are faster than all of fewer watts: so many equally likely runs.

    A run is a token at a full batch: ``runtime_s`` is the time between tokens over the batch.
    ``cap_w`` is the GPUs' power cap where one is stated, else the high end of the power's interval.

    >>> import rheostat as rh
    >>> two = rh.table({"gpus": [1, 1], "batch_cap": [8, 32]})
    >>> draws = {"itl_s": np.array([[0.01, 0.02]]), "power_w": np.array([[300.0, 500.0]])}
    >>> front = Front(two, rh.Outcome(draws), ["itl_s"])
    >>> runs = as_runs("chat", front, np.array([True, True])).frame
    >>> runs["cap_w"].unique().sort().to_list(), runs["setting"][0]
    ([300.0, 500.0], 'batch_cap=8')
    """
    token_s = front.draws("itl_s") / front.alternatives.numpy("batch_cap")
    power = _power(front)
    cap, rate = _most_w(front, power), 1.0 / token_s.mean(axis=0)
    kept, fastest = [], 0.0
    for row in np.lexsort((-rate, cap)):
        if allowed[row] and np.isfinite(cap[row]) and rate[row] > fastest:
            kept.append(int(row))
            fastest = rate[row]
    levels = (np.arange(DRAWS) + 0.5) / DRAWS
    drawn = np.quantile(token_s[:, kept], levels, axis=0)
    settings = [" ".join(f"{k}={v}" for k, v in front.setting(row).items()) for row in kept]
    return table({
        "app": [app] * len(kept) * DRAWS,
        "cap_w": np.repeat(cap[kept], DRAWS),
        "runtime_s": drawn.T.ravel(),
        "power_w": np.repeat(np.minimum(power.mean(axis=0), cap)[kept], DRAWS),
        "setting": np.repeat(settings, DRAWS),
    })  # fmt: skip


def _power(front: Front) -> Array:
    """Watts at a full batch, (d, n)."""
    if "power_w" in front.outcome:
        return front.draws("power_w")
    energy = front.draws("energy_per_token_j") / front.draws("itl_s")
    return np.asarray(energy * front.alternatives.numpy("batch_cap"))


def _most_w(front: Front, power: Array) -> Array:
    """What each configuration may draw, (n,): its cap, else the high end of the interval."""
    high = np.quantile(power, 0.95, axis=0)
    if CAP not in front.alternatives.columns:
        return np.asarray(high)
    cap = front.alternatives.numpy(CAP) * front.alternatives.numpy("gpus")
    return np.where(np.isfinite(cap), cap, high)
