"""In which ways might past jobs inform this one?  Each way is a structure; the data choose.

A structure says how settings of different jobs correspond (absolute or relative coordinates), and
whether past jobs are one normal population, a smoothed bootstrap of kinds, or do not matter at all
(a generic law, flat or physical).  For every structure the past jobs are also taken out one by one,
so that hyper-parameters can be judged by how well they predict a job from the others.

Notation
--------
J  past jobs     N  settings of the target      S  structures
target : `Curve` of the job in question     left_out[j] : of past job j given the others
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rheostat.prediction.scaling_law.coordinates import Array, Basis, Scale, spread_out
from rheostat.prediction.scaling_law.hyper import Curve
from rheostat.prediction.scaling_law.population import Population, learn

LANDMARKS, LENGTH, PRIOR_JOBS = 40, 0.5, 1.5
WIDTHS = (1.0, 0.5, 0.25)
JUDGED = 20
"""Settings of a past job at which it is predicted from the others."""
SLACK, PHYSICAL_SLACK = 3.0, 2.0
TRUSTED = 2
"""Without past jobs the physical structure counts as so many: names of knobs are all there is."""
_VAGUE, _UNKNOWN = (4.0, 1.0), (100.0, 100.0)
_EXPONENTS = {
    "parallel": ((-1.0, -0.5), (0.75, 0.95)),
    "frequency": ((-0.9, -0.4), (0.4, 1.6)),
    "cap": ((-0.9, 0.0), (1.0, 0.3)),
    "batch": ((-0.6, -0.1), (0.2, 0.1)),
}
"""What more of a knob does to log runtime and log power, as exponents at its smallest and largest
value: rough, for want of data.  Gains fade as a knob grows; a cap binds at first and then does not,
so that energy is least somewhere between the ends."""
_ROLES = {
    "parallel": ("node", "thread", "core", "rank", "gpu", "task", "proc", "worker", "device"),
    "frequency": ("freq", "clock", "mhz", "ghz", "hz"),
    "cap": ("cap", "limit", "watt", "power"),
    "batch": ("batch",),
}


@dataclass(frozen=True)
class Job:
    """A measured job: knob values (n, k) and (2, n) log runtime and log power."""

    settings: Array
    logs: Array


@dataclass(frozen=True)
class Structure:
    """One way of relating the target to past jobs."""

    target: Curve
    left_out: tuple[Curve, ...] = ()


def structures(
    settings: Array, knobs: Sequence[str], jobs: Sequence[Job], named: Sequence[int] = ()
) -> list[Structure]:
    """All structures for a target with these settings (N, k) and past ``jobs``."""
    candidates: list[Structure] = []
    for target, units, numeric in _correspondences(settings, jobs, named):
        candidates += _informed(target, units, numeric, jobs)
    return candidates + _generic(settings, knobs, jobs, named)


def _correspondences(
    settings: Array, jobs: Sequence[Job], named: Sequence[int]
) -> list[tuple[Array, list[Array], NDArray[np.bool_]]]:
    """Coordinates of target and jobs: absolute, and relative where ranges differ."""
    if not jobs:
        return []
    shared = Scale.of(np.vstack([settings, *(j.settings for j in jobs)]), named)
    correspondences = [
        (shared.unit(settings), [shared.unit(j.settings) for j in jobs], shared.numeric)
    ]
    box = settings.min(axis=0), settings.max(axis=0)
    same = all(
        np.allclose(j.settings.min(axis=0), box[0]) and np.allclose(j.settings.max(axis=0), box[1])
        for j in jobs
    )
    if not same and not len(named):
        own = [Scale.of(j.settings).unit(j.settings) for j in jobs]
        correspondences.append((Scale.of(settings).unit(settings), own, shared.numeric))
    return correspondences


def _informed(
    target: Array, units: list[Array], numeric: NDArray[np.bool_], jobs: Sequence[Job]
) -> list[Structure]:
    """One structure per width of the population's components."""
    basis = Basis.over(np.vstack([target, *units]), numeric, count=LANDMARKS, length=LENGTH)

    def population(keep: list[int]) -> Population:
        return learn(
            basis, [units[i] for i in keep], [jobs[i].logs for i in keep], prior_jobs=PRIOR_JOBS
        )

    every = list(range(len(jobs)))
    whole = population(every)
    others = [population([i for i in every if i != j]) for j in every] if len(jobs) > 1 else []

    def curve(units: Array, features: Array, learned: Population, width: float) -> Curve:
        means = learned.means(features, width)
        return Curve(units, numeric, means, features, learned, width)

    informed, own = [], basis(target)
    for width in WIDTHS if len(jobs) > 1 else WIDTHS[:1]:
        left_out = []
        for j, rest in enumerate(others):
            at = spread_out(units[j], JUDGED)
            past = curve(units[j][at], basis(units[j][at]), rest, width)
            left_out.append(replace(past, y=jobs[j].logs[:, at].ravel()))
        informed.append(Structure(curve(target, own, whole, width), tuple(left_out)))
    return informed


def _generic(
    settings: Array, knobs: Sequence[str], jobs: Sequence[Job], named: Sequence[int]
) -> list[Structure]:
    """Structures in which past jobs tell no more than the usual level: flat, and physical."""
    levels = np.array([j.logs.mean(axis=1) for j in jobs]) if jobs else np.zeros((1, 2))
    generic, alone = [], not jobs
    names = Scale.of(settings, named).levels  # a past job may have run with some of them only
    for physical in (False, True):
        if physical and not any(role_of(k) for k in knobs):
            continue

        def curve(x: Array, level: Array, physical: bool = physical) -> Curve:
            scale = replace(Scale.of(x, named), levels=names)
            means = np.repeat(level, len(x))[None]
            if physical:
                means = means + _physical(x, scale, knobs, named)
            variance = _VAGUE if jobs else _UNKNOWN
            return Curve(
                scale.unit(x),
                scale.numeric,
                means,
                level_variance=variance,
                slack=PHYSICAL_SLACK if alone and physical else SLACK,
                reach=scale.reach if alone and physical else 1.0,
            )

        left_out = []
        for j, job in enumerate(jobs) if len(jobs) > 1 else ():
            at = spread_out(Scale.of(job.settings, named).unit(job.settings), JUDGED)
            level = np.delete(levels, j, axis=0).mean(axis=0)
            past = curve(job.settings[at], level)
            left_out.append(replace(past, y=job.logs[:, at].ravel()))
        structure = Structure(curve(settings, levels.mean(axis=0)), tuple(left_out))
        generic += [structure] * (TRUSTED if alone and physical else 1)
    return generic


def role_of(knob: str) -> str | None:
    """What kind of resource a knob's name speaks of.

    >>> role_of("num_nodes_alloc"), role_of("core_freq_GHz"), role_of("cap_w"), role_of("batch")
    ('parallel', 'frequency', 'cap', 'batch')
    """
    name = knob.lower()
    for role in ("batch", "frequency", "cap", "parallel"):
        if any(word in name for word in _ROLES[role]):
            return role
    return None


def _physical(x: Array, scale: Scale, knobs: Sequence[str], named: Sequence[int]) -> Array:
    """Log runtime and log power (2n,) relative to the level, by the exponents of known roles."""
    shift = np.zeros((2, len(x)))
    for j, knob in enumerate(knobs):
        role, half = role_of(knob), (scale.high[j] - scale.low[j]) / 2
        if role and j not in named and scale.log[j] and half > 0:
            v = np.log(x[:, j]) - (scale.high[j] + scale.low[j]) / 2
            for row, (least, most) in enumerate(_EXPONENTS[role]):
                shift[row] += (least + most) / 2 * v + (most - least) / (4 * half) * v**2
    return np.asarray((shift - shift.mean(axis=1, keepdims=True)).ravel())
