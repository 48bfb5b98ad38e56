"""The plan of a site: what is expected free of each resource, as a step function of time.

Capacity itself changes at known moments (maintenance, a power cap that follows the day), so steps
go down as well as up.  Steps of capacity are taken into the plan only as far as somebody looks.

    Symbol  Shape   Meaning
    R               resources: processors and GPUs of each partition, watts of the site
    K               resources one job may need: its partition's processors and GPUs, and watts
    t       (s,)    moments at which something changes, s; t[0] is now, and overdue ends may follow
                    with their own moments in the past, as in `conservative`
    f       (s, R)  expected free from t[k] until t[k + 1]; below 0 where more runs than there is
    steps   ()      steps in use
    next    ()      the next step of capacity to take in
    when    (m,)    moments at which capacity changes, s; when[0] is -inf
    there   (m, R)  capacity from when[k] on
    res     (K,)    resources of the job's partition, -1 for one it has not
    need    (K,)    what the job needs of them
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rheostat.simulation.engine.array_types import Floats, Ints
from rheostat.simulation.engine.jit import compiled
from rheostat.simulation.engine.site_struct import struct


@struct
class FreeProfile:
    """What is free, ``f`` (steps, resources), from ``t`` on; ``when``, ``there``: capacity."""

    t: Floats
    f: Ints
    steps: int
    next: int
    when: Floats
    there: Ints


class Capacity(NamedTuple):
    """What there is, and when that changes."""

    when: Floats
    there: Ints


@compiled
def plan(steps: int, when: Floats, there: Ints) -> FreeProfile:
    """Room for ``steps`` steps."""
    return FreeProfile(
        np.empty(steps), np.empty((steps, there.shape[1]), np.int64), 0, 0, when, there
    )


@compiled
def widen(p: FreeProfile, steps: int) -> None:
    """Make room for ``steps`` steps; what is in the plan is lost."""
    if len(p.t) < steps:
        p.t = np.empty(2 * steps)
        p.f = np.empty((2 * steps, p.f.shape[1]), np.int64)


@compiled
def begin(p: FreeProfile, here: int, now: float, used: Ints) -> None:
    """One step from ``now`` on with all that is not ``used``; ``here`` is the step of capacity."""
    f, there = p.f, p.there
    p.t[0] = now
    for r in range(len(used)):
        f[0, r] = there[here, r] - used[r]
    p.steps, p.next = 1, here + 1


@compiled
def _append(p: FreeProfile, when: float) -> None:
    """A further step equal to the last, unless the last is at that moment."""
    t, f, last = p.t, p.f, p.steps - 1
    if when > t[last]:
        t[last + 1] = when
        for r in range(f.shape[1]):
            f[last + 1, r] = f[last, r]
        p.steps += 1


@compiled
def grow(p: FreeProfile, until: float) -> None:
    """Take in all steps of capacity up to and including ``until``."""
    when, there = p.when, p.there
    k = p.next
    while k < len(when) and when[k] <= until:
        _append(p, when[k])
        for r in range(there.shape[1]):
            p.f[p.steps - 1, r] += there[k, r] - there[k - 1, r]
        k += 1
    p.next = k


@compiled
def _further(p: FreeProfile, before: float) -> bool:
    """Take in one more step of capacity that lies before ``before``; False if there is none."""
    k = p.next
    if k == len(p.when) or p.when[k] >= before:
        return False
    grow(p, p.when[k])
    return True


@compiled
def release(
    p: FreeProfile,
    ends: Floats,
    runs: Ints,
    way: Ints,
    part: Ints,
    need: Ints,
    res: Ints,
    least: float,
) -> None:
    """What ``runs`` give back at their expected ``ends``, which ascend; none is before ``least``.

    Step 0 is what is free in truth: an end that is due or overdue is a step behind it.
    """
    t, f, more = p.t, p.f, p.next < len(p.when)
    last, width = p.steps - 1, f.shape[1]
    for k in range(len(ends)):
        end = max(ends[k], least)
        if more and p.when[p.next] <= end:
            p.steps = last + 1
            grow(p, end)
            last, more = p.steps - 1, p.next < len(p.when)
        if last == 0 or end > t[last]:
            t[last + 1] = end
            for r in range(width):
                f[last + 1, r] = f[last, r]
            last += 1
        w, q = way[runs[k]], part[runs[k]]
        for i in range(res.shape[1]):
            if res[q, i] >= 0:
                f[last, res[q, i]] += need[w, i]
    p.steps = last + 1


@compiled
def enough(free: Ints, res: Ints, need: Ints) -> bool:
    """Is there as much of each resource as is needed?"""
    for s in range(len(res)):
        if need[s] > 0 and free[res[s]] < need[s]:
            return False
    return True


@compiled
def _enough(f: Ints, k: int, res: Ints, need: Ints) -> bool:
    for s in range(len(res)):
        if need[s] > 0 and f[k, res[s]] < need[s]:
            return False
    return True


@compiled
def _holds(p: FreeProfile, k: int, length: float, res: Ints, need: Ints) -> int:
    """First step after k, within ``length`` of its moment, that is not enough; -1 if all are."""
    t, f = p.t, p.f
    m, end = k + 1, max(t[k], t[0]) + length
    while m < p.steps or _further(p, end):
        if t[m] >= end:
            return -1
        if not _enough(f, m, res, need):
            return m
        m += 1
    return -1


@compiled
def fits(p: FreeProfile, length: float, res: Ints, need: Ints) -> bool:
    """Is there enough from now on for ``length`` seconds?"""
    return _enough(p.f, 0, res, need) and _holds(p, 0, length, res, need) < 0


@compiled
def earliest(p: FreeProfile, length: float, res: Ints, need: Ints) -> int:
    """First step from which there is enough for ``length`` seconds; -1 if there never is."""
    k, t, f, steps, more = 0, p.t, p.f, p.steps, p.next < len(p.when)
    now = t[0]
    while True:
        while not _enough(f, k, res, need):
            k += 1
            if k == steps:
                if not more or not _further(p, np.inf):
                    return -1
                steps = p.steps
        m, end = k + 1, max(t[k], now) + length
        while m < steps or (more and _further(p, end)):
            steps = p.steps
            if t[m] >= end:
                return k
            if not _enough(f, m, res, need):
                break
            m += 1
        if m == steps:
            return k
        k = m


@compiled
def _cut(p: FreeProfile, when: float) -> int:
    """Make ``when`` a step behind the first; its index."""
    t, f, k = p.t, p.f, p.steps
    while k > 1 and t[k - 1] >= when:
        k -= 1
    if k < p.steps and t[k] == when:
        return k
    for m in range(p.steps, k, -1):
        t[m] = t[m - 1]
        for r in range(f.shape[1]):
            f[m, r] = f[m - 1, r]
    t[k] = when
    for r in range(f.shape[1]):
        f[k, r] = f[k - 1, r]
    p.steps += 1
    return k


@compiled
def reserve(p: FreeProfile, at: int, length: float, res: Ints, need: Ints, instant: bool) -> None:
    """Take what is needed from step ``at`` for ``length`` seconds.

    ``instant``: what takes no time at all still takes the whole step, so that nothing runs across.
    """
    begin = max(p.t[at], p.t[0])
    grow(p, begin + length)
    last = _cut(p, begin + length)
    if instant:
        last = max(last, at + 1)
    f = p.f
    for k in range(at, last):
        for s in range(len(res)):
            if res[s] >= 0:
                f[k, res[s]] -= need[s]
