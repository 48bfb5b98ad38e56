"""What a site knows in advance and what befalls it: capacity over time, and failures.

Watts are counted in whole microwatts above what idle processors draw: job demands are rounded up,
caps down, and sums are exact.
"""

from __future__ import annotations

import numpy as np

from rheostat.core.machine import Machine
from rheostat.errors import DataError
from rheostat.simulation.workload import Array

MICRO = 1e6
MOST_FAILURES = 1_000_000
"""That are drawn for a partition."""


def resources(machine: Machine) -> Array:
    """(q, 3): the numbers of each partition's processors and GPUs, and of the watts; -1 none."""
    parts = machine.parts
    res = np.full((len(parts), 3), -1)
    res[:, 0] = np.arange(len(parts))
    used = len(parts)
    for k, part in enumerate(parts):
        if part.gpus:
            res[k, 1], used = used, used + 1
    if machine.cap_w is not None:
        res[:, 2] = used
    return res


def idle_w(machine: Machine) -> float:
    """What the site draws when everything idles awake."""
    return float(sum(p.procs * p.idle_w + p.gpus * p.gpu_idle_w for p in machine.parts))


def capacity(machine: Machine, begin: float, end: float) -> tuple[Array, Array]:
    """(moments (m,), what there is (m, R)): the first is -inf, before any maintenance.

    A cap that repeats is laid out until ``end``.  Then its lowest value holds, so that a job that
    no day has room for does not find it there.
    """
    res = resources(machine)
    edges = [t for w in machine.maintenance for t in (w.from_s, w.to_s)]
    if machine.cap_w is not None:
        edges += machine.cap_w.changes(begin, end).tolist()
        edges += [end] if machine.cap_w.repeat_s else []
    when = np.unique(np.array([begin, *edges], float))
    when = np.concatenate([[-np.inf], when])
    there = np.zeros((len(when), res.max() + 1), np.int64)
    for k, part in enumerate(machine.parts):
        away = np.zeros(len(when))
        for w in machine.maintenance:
            if w.partition in ("", part.name):
                away += np.where((when >= w.from_s) & (when < w.to_s), w.procs or part.procs, 0)
        left = np.maximum(part.procs - away, 0)
        there[:, res[k, 0]] = left
        if part.gpus:  # GPUs leave with the processors they sit beside
            there[:, res[k, 1]] = part.gpus * left // part.procs
    if machine.cap_w is not None:
        cap = machine.cap_w.at(np.maximum(when, begin))
        if machine.cap_w.repeat_s:
            cap = np.where(when >= end, min(machine.cap_w.values), cap)
        if cap.min() < idle_w(machine):
            raise DataError(
                "machine",
                [f"cap_w: {cap.min():g} W is below the {idle_w(machine):g} W drawn when idle"],
            )
        there[:, res[0, 2]] = np.floor((cap - idle_w(machine)) * MICRO + 1e-3).astype(np.int64)
    changed = np.concatenate([[True], (np.diff(there, axis=0) != 0).any(axis=1)])
    return when[changed], there[changed]


def demand(machine: Machine, part: Array, procs: Array, gpus: Array, watts: Array) -> Array:
    """Microwatts above idle that a job needs while it runs or wakes its processors."""
    facts = ("idle_w", "gpu_idle_w", "wake_w", "sleep_after_s")
    idle, gpu, wake, doze = (np.array([getattr(p, f) for p in machine.parts])[part] for f in facts)
    base = procs * idle + gpus * gpu
    most = np.where(np.isfinite(doze), np.maximum(watts, procs * wake + gpus * gpu), watts)
    result: Array = np.maximum(np.ceil((most - base) * MICRO - 1e-3), 0.0).astype(np.int64)
    return result


def failures(machine: Machine, begin: float, end: float) -> dict[str, Array]:
    """Failures until ``end`` in order of time: at, part, procs, repair_s, hit in [0, 1)."""
    names = [p.name for p in machine.parts]
    rows = [
        (f.at_s, names.index(f.partition) if f.partition else 0, f.procs, f.repair_s)
        for f in machine.failures
    ]
    chance = machine.random_failures
    seed = 0 if chance is None else chance.seed
    if chance is not None:
        for k, part in enumerate(machine.parts):
            rng = np.random.default_rng([seed, k])
            mean = chance.mtbf_s / max(part.procs // chance.procs, 1)
            if begin + mean <= begin:
                problem = f"mtbf_s: {chance.mtbf_s:g} s is no time between two failures"
                raise DataError("failures", [problem])
            expected = (end - begin) / mean
            if expected > MOST_FAILURES:
                whose = part.name or "the machine"
                problem = f"mtbf_s: {chance.mtbf_s:g} s gives {expected:.2g} failures of {whose} "
                limit = f"in {end - begin:g} s; expected at most {MOST_FAILURES:,}"
                raise DataError("failures", [problem + limit])
            at = begin + rng.exponential(mean)
            while at <= end:
                rows.append((at, k, chance.procs, chance.repair_s))
                at += rng.exponential(mean)
    rows.sort()
    table = np.array(rows, float).reshape(-1, 4)
    where = np.random.default_rng([seed, len(names)]).random(len(rows))
    return {
        "at": table[:, 0].copy(),
        "part": table[:, 1].astype(np.int64),
        "procs": table[:, 2].astype(np.int64),
        "repair": table[:, 3].copy(),
        "hit": where,
    }
