"""How much of an answer is the law's and how much the learned part's, and how wide intervals are.

What the law says of a group of runs without that group follows in closed form from its Gaussian
of all runs [Rasmussen2006]_.  A group is a model at one placement, under one workload and with
requests of one length.  The learned part's own numbers are many, so that it is fitted anew
without each fold of groups.  Its share of the answer has a prior, mean a fifth, since the law knows
units and limits; a half where the lengths of requests are stated, since the tables that the law's
spreads are of state none.  What both said of the groups left out makes it larger or smaller, by the
density of what was measured there, groups counting alike.  The deviations are then multiplied until
90 % intervals hold nine of ten groups.

Notation
--------
q  quantities    n  rows measured    e1, v1  error and variance of the law    e2, v2  learned part

    share = mean of s under s^a (1 - s)^b product of the groups' densities at s
    error = (1 - share) e1 + share e2
    variance = (1 - share) v1 + share v2 + share (1 - share) (e1 - e2)^2

References
----------
.. [Rasmussen2006] Rasmussen, Williams: Gaussian processes for machine learning. MIT Press 2006,
   equations 5.10 to 5.12.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.prediction.serving_law.configurations import Array, Configurations

FEWEST = 12
"""Groups without which the law answers alone and its width is that of other tables, which counts as
so many groups beside one's own."""
PRIOR_WIDTH = 1.2
"""At which 90 % intervals from 10 or 12 rows of a table hold 90 % of its others, in the mean of six
sources (ML.ENERGY V2 and V3, Splitwise, Argonne with and without watts, Wilkins); without one of
them it is 1.04 to 1.29, and then holds 74 to 99 % of that one."""
FOLDS, LEVEL, Z = 5, 0.9, 1.6449
SHARES = (np.arange(20) + 0.5) / 20
LAW_FIRST, EVEN = (0.0, 3.0), (6.0, 6.0)
"""Powers of the share and of 1 - share in its prior, where lengths are not stated and where they
are.  Of the former, from 3 to 5, choices on six sources differ by chance; of the latter, whichever
of four sources (Splitwise, Argonne with and without watts, Wilkins) is left out, the others choose
no worse from 3 to 30 than below."""


@dataclass(frozen=True)
class LeftOut:
    """Errors and deviations of logarithms, (q, n) each; NaN where nothing was measured."""

    error: Array
    deviation: Array


@dataclass(frozen=True)
class PartWeights:
    """By quantity, (q,): share of the learned part, and factor of the deviations.

    ``held`` is the share of the groups that 90 % intervals hold before and after they are made as
    wide as that, (q, 2), NaN where no group was left out; ``groups`` their number.
    """

    share: Array
    width: Array
    held: Array
    groups: int


def groups_of(c: Configurations) -> np.ndarray:
    """A number for each group of rows, (n,)."""
    parts = [c.app, c.workload, c.gpu, *(np.nan_to_num(getattr(c, f)) for f in
             ("gpus", "pp", "ep", "dp", "weight_b", "prompt", "output"))]  # fmt: skip
    codes = np.stack([np.unique(p, return_inverse=True)[1] for p in parts])
    return np.asarray(np.unique(codes, axis=1, return_inverse=True)[1].reshape(-1))


def prior_of(c: Configurations) -> tuple[float, float]:
    """Powers of the share's prior: whether most rows state the lengths of their requests."""
    return EVEN if np.mean(np.isfinite(c.prompt + c.output)) > 0.5 else LAW_FIRST


def folds_of(groups: np.ndarray, seed: int = 0) -> list[np.ndarray]:
    """Which rows, (n,) of bool each, are left out together: whole groups, in `FOLDS` parts."""
    names = np.random.default_rng(seed).permutation(np.unique(groups))
    return [np.isin(groups, held) for held in np.array_split(names, FOLDS)]


def weighed(
    law: LeftOut, learned: LeftOut, groups: np.ndarray, prior: tuple[float, float] = LAW_FIRST
) -> PartWeights:
    """Shares and widths from what was left out, and the prior's powers."""
    made = []
    for q in range(len(law.error)):
        there = np.isfinite(law.error[q]) & np.isfinite(learned.error[q])
        own = groups[there]
        parts = [(p.error[q][there], p.deviation[q][there]) for p in (law, learned)]
        share = _share(*parts[0], *parts[1], own, prior)
        z = _standardised(*parts[0], *parts[1], share)
        width = _width(z, own)
        made.append((share, width, _held(z, own), _held(z / width, own)))
    columns = np.array(made)
    return PartWeights(columns[:, 0], columns[:, 1], columns[:, 2:], len(np.unique(groups)))


def unweighed(quantities: int, groups: int) -> PartWeights:
    """Of too few groups to say anything of them."""
    blank = np.full((quantities, 2), np.nan)
    return PartWeights(np.zeros(quantities), np.full(quantities, PRIOR_WIDTH), blank, groups)


def _share(
    e1: Array, s1: Array, e2: Array, s2: Array, groups: np.ndarray,
    prior: tuple[float, float] = LAW_FIRST,
) -> float:  # fmt: skip
    """Expected share of the learned part, given errors and deviations of both.

    A factor of all deviations is the most likely one at each share: widths are found afterwards.
    """
    count = len(np.unique(groups))
    if count < FEWEST:
        return 0.0
    weight = _weights(groups)
    log_density = prior[0] * np.log(SHARES) + prior[1] * np.log(1 - SHARES)
    for k, share in enumerate(SHARES):
        variance = _variance(e1, s1, e2, s2, share)
        off = ((1 - share) * e1 + share * e2) ** 2 / variance
        log_density[k] -= (weight @ np.log(variance) + count * np.log(weight @ off)) / 2
    return float(np.average(SHARES, weights=np.exp(log_density - log_density.max())))


def _variance(e1: Array, s1: Array, e2: Array, s2: Array, share: float) -> Array:
    """Of the mixture."""
    apart = share * (1 - share) * (e1 - e2) ** 2
    return np.asarray((1 - share) * s1**2 + share * s2**2 + apart)


def _standardised(e1: Array, s1: Array, e2: Array, s2: Array, share: float) -> Array:
    """Sizes of the errors of the mixture in its deviations."""
    deviation = np.sqrt(_variance(e1, s1, e2, s2, share))
    return np.asarray(np.abs((1 - share) * e1 + share * e2) / deviation)


def _width(z: Array, groups: np.ndarray) -> float:
    """Factor at which 90 % intervals hold so many groups, drawn to that of other tables."""
    count = len(np.unique(groups))
    if count < FEWEST:
        return PRIOR_WIDTH
    level = min(LEVEL * (count + 1) / count, 1.0)
    order = np.argsort(z)
    weight = _weights(groups)[order]
    place = (np.cumsum(weight) - weight / 2) / weight.sum()
    own = float(np.interp(level, place, z[order])) / Z
    return float(np.exp((count * np.log(own) + FEWEST * np.log(PRIOR_WIDTH)) / (count + FEWEST)))


def _held(z: Array, groups: np.ndarray) -> float:
    return float(np.average(z <= Z, weights=_weights(groups))) if len(z) else np.nan


def _weights(groups: np.ndarray) -> Array:
    """Of rows, so that groups count alike."""
    return np.asarray(1.0 / np.bincount(groups)[groups])
