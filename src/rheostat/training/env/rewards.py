"""What an agent is rewarded for: a name, or weights of several.

Rewards are summed over what happens from one decision to the next.

    Name             Reward per decision                                Sum over an episode
    wait             - integral of Q dt, in hours                       - waits, h
    slowdown         - integral of sum over waiting 1 / max(r, 10 s) dt - sum of wait / max(r, 10 s)
    utilisation      - integral of F / N dt while Q > 0, in hours       - idle hours with a queue
    dras_capability  (B / N + w / max(6 h, w_max) + n / N) / 3          a number per job chosen
    dras_capacity    - sum over waiting 1 / max(r, 10 s)                per decision, not per second
    energy           - energy of the site, kWh                          to the last end, idle ones
    cost             - its price under the tariff                       too: the account that
    carbon           - its carbon, kg                                   `simulate` gives

What jobs draw is counted when they start, and idle watts as the last end moves away
(`rheostat.simulation.engine.env_bill`): the sums are exact on a machine that began empty.

    Symbol  Unit  Meaning
    Q             jobs that wait
    r       s     true run time: hindsight, in the reward alone and never in an observation
    F, N          processors free, processors
    B             processors busy, with the chosen job if it fits
    n, w    ,s    processors and wait of the chosen job; 0 is the reward of choosing none
    w_max   s     longest wait in the queue

An episode begun on a busy machine counts what its queue waits from then on.

References
----------
Fan et al., IPDPS 2021: both DRAS rewards; weights of a third and the floor of six hours as in the
code released with it.  Mao, Alizadeh, Menache, Kandula, "Resource management with deep
reinforcement learning", HotNets 2016 (the sum of 1 / r: slowdown).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rheostat.errors import DataError

# in the order of GAINS
REWARDS = ("wait", "slowdown", "utilisation", "dras_capability", "dras_capacity",
           "energy", "cost", "carbon")  # fmt: skip


def weights(reward: str | Mapping[str, float]) -> np.ndarray:
    """One weight for each of `REWARDS`.

    >>> weights("slowdown").tolist()
    [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    >>> weights("wait=0.5,utilisation=2").tolist() == weights({"wait": 0.5, "utilisation": 2}).tolist()
    True
    >>> weights("speed")
    Traceback (most recent call last):
    ...
    rheostat.errors.DataError: reward: expected wait, slowdown, ..., energy, cost, carbon, got speed
    """  # noqa: E501
    given = parsed(reward) if isinstance(reward, str) else dict(reward)
    unknown = [name for name in given if name not in REWARDS]
    problems = [f"expected {', '.join(REWARDS)}, got {', '.join(unknown)}"] if unknown else []
    problems += [
        f"{name}: expected a finite weight, got {weight!r}"
        for name, weight in given.items()
        if not isinstance(weight, (int, float)) or not np.isfinite(weight)
    ]
    if not given:
        problems.append(f"expected weights of {', '.join(REWARDS)}, got none")
    if problems:
        raise DataError("reward", problems)
    return np.array([float(given.get(name, 0.0)) for name in REWARDS])


def parsed(text: str) -> dict[str, float]:
    """Weights by name from ``slowdown`` or ``slowdown=1,energy=0.2``.

    >>> parsed("slowdown=1, energy=0.2")
    {'slowdown': 1.0, 'energy': 0.2}
    """
    result, problems = {}, []
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, _, weight = part.partition("=")
        try:
            result[name.strip()] = float(weight or 1.0)
        except ValueError:
            problems.append(f"{name.strip()}: expected a number, got {weight.strip()!r}")
    if problems:
        raise DataError("reward", problems)
    return result
