"""The plan of a site: what is expected free of each resource, as a step function of time.

Capacity itself changes at known moments (maintenance, a power cap that follows the day), so steps
go down as well as up.  Steps of capacity are taken into the plan only as far as somebody looks.

    Symbol  Shape   Meaning
    R               resources: processors and GPUs of each partition, watts of the site
    K               resources one job may need: its partition's processors and GPUs, and watts
    t       (s,)    moments at which something changes, s; t[0] is now, and overdue ends may follow
    f       (s, R)  expected free from t[k] until t[k + 1]; below 0 where more runs than there is
    meta    (2,)    steps in use; the next step of capacity to take in
    when    (m,)    moments at which capacity changes, s; when[0] is -inf
    there   (m, R)  capacity from when[k] on
    res     (K,)    resources of the job's partition, -1 for one it has not
    need    (K,)    what the job needs of them
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rheostat.simulate.engine.jit import compiled

STEPS, NEXT = 0, 1


class Plan(NamedTuple):
    """The step function under work."""

    t: np.ndarray
    f: np.ndarray
    meta: np.ndarray


class Capacity(NamedTuple):
    """What there is, and when that changes."""

    when: np.ndarray
    there: np.ndarray


@compiled
def plan(steps, resources):
    """Room for ``steps`` steps."""
    return Plan(np.empty(steps), np.empty((steps, resources), np.int64), np.zeros(2, np.int64))


@compiled
def begin(p, capacity, here, now):
    """One step from ``now`` on with all that is there; ``here`` is the step of capacity."""
    p.t[0] = now
    p.f[0] = capacity.there[here]
    p.meta[STEPS], p.meta[NEXT] = 1, here + 1


@compiled
def _append(p, when):
    """A further step equal to the last, unless the last is at that moment."""
    last = p.meta[STEPS] - 1
    if when > p.t[last]:
        p.t[last + 1] = when
        p.f[last + 1] = p.f[last]
        p.meta[STEPS] += 1


@compiled
def grow(p, capacity, until):
    """Take in all steps of capacity up to and including ``until``."""
    k = p.meta[NEXT]
    while k < len(capacity.when) and capacity.when[k] <= until:
        _append(p, capacity.when[k])
        p.f[p.meta[STEPS] - 1] += capacity.there[k] - capacity.there[k - 1]
        k += 1
    p.meta[NEXT] = k


@compiled
def _further(p, capacity, before):
    """Take in one more step of capacity that lies before ``before``; False if there is none."""
    k = p.meta[NEXT]
    if k == len(capacity.when) or capacity.when[k] >= before:
        return False
    grow(p, capacity, capacity.when[k])
    return True


@compiled
def release(p, capacity, end, now, res, need, apart):
    """What runs gives back at its expected ``end``; ends come in ascending.

    Overdue counts as free from now on.  ``apart``: step 0 is what is free in truth, and each end
    that is due or overdue is a step of its own behind it, with its own moment in the past.
    """
    grow(p, capacity, end)
    if apart and p.meta[STEPS] == 1:
        p.t[1] = end
        p.f[1] = p.f[0]
        p.meta[STEPS] = 2
    else:
        _append(p, end if apart else max(end, now))
    for s in range(len(res)):
        if res[s] >= 0:
            p.f[p.meta[STEPS] - 1, res[s]] += need[s]


@compiled
def enough(free, res, need):
    """Is there as much of each resource as is needed?"""
    for s in range(len(res)):
        if need[s] > 0 and free[res[s]] < need[s]:
            return False
    return True


@compiled
def _holds(p, capacity, k, length, res, need):
    """First step after k, within ``length`` of its moment, that is not enough; -1 if all are."""
    m, end = k + 1, max(p.t[k], p.t[0]) + length
    while m < p.meta[STEPS] or _further(p, capacity, end):
        if p.t[m] >= end:
            return -1
        if not enough(p.f[m], res, need):
            return m
        m += 1
    return -1


@compiled
def fits(p, capacity, length, res, need):
    """Is there enough from now on for ``length`` seconds?"""
    return enough(p.f[0], res, need) and _holds(p, capacity, 0, length, res, need) < 0


@compiled
def earliest(p, capacity, length, res, need):
    """First step from which there is enough for ``length`` seconds; -1 if there never is."""
    k = 0
    while True:
        while not enough(p.f[k], res, need):
            k += 1
            if k == p.meta[STEPS] and not _further(p, capacity, np.inf):
                return -1
        m = _holds(p, capacity, k, length, res, need)
        if m < 0:
            return k
        k = m


@compiled
def _cut(p, when):
    """Make ``when`` a step; its index."""
    k = p.meta[STEPS]
    while k > 0 and p.t[k - 1] >= when:
        k -= 1
    if k < p.meta[STEPS] and p.t[k] == when:
        return k
    for m in range(p.meta[STEPS], k, -1):
        p.t[m] = p.t[m - 1]
        p.f[m] = p.f[m - 1]
    p.t[k] = when
    p.f[k] = p.f[k - 1]
    p.meta[STEPS] += 1
    return k


@compiled
def reserve(p, capacity, at, length, res, need, instant):
    """Take what is needed from step ``at`` for ``length`` seconds.

    ``instant``: what takes no time at all still takes the whole step, so that nothing runs across.
    """
    begin = max(p.t[at], p.t[0])
    grow(p, capacity, begin + length)
    last = _cut(p, begin + length)
    if instant:
        last = max(last, at + 1)
    for k in range(at, last):
        for s in range(len(res)):
            if res[s] >= 0:
                p.f[k, res[s]] -= need[s]
