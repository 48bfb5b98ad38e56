"""Orders of the waiting jobs: a score per job, the smallest goes first, ties as they arrived.

A score sees what a scheduler knows: the time, and of each job its submission, its estimated run
time and its size.  Orders whose score cannot change while a job waits are ``fixed``: they are
ranked once and need no sorting later, which makes them several times faster to simulate.

    Symbol  Unit  Meaning
    now     s     time of the decision, counted from the first submission
    s       s     submission, counted likewise
    r       s     estimated run time, at least 1
    n             processors
    w       s     waiting time so far, now - s

References
----------
WFP3 and UNICEF: Tang, Lan, Desai, Buettner, "Fault-aware, utility-based job scheduling on Blue
Gene/P systems", CLUSTER 2009.  F1 to F4: Carastan-Santos, de Camargo, "Obtaining dynamic scheduling
policies with simulation and machine learning", SC 2017.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rheostat.decision.policies.multifactor import Multifactor
from rheostat.decision.policies.priority_tree import PriorityTree
from rheostat.decision.policies.tree_priority import is_site, site_score
from rheostat.errors import DataError

Score = Callable[[Any, Any, Any, Any], Any]
Number = Any  # a number, or an array of them where a score is called once for all jobs


@dataclass(frozen=True)
class PriorityFunction:
    """``score(now, s, r, n)``, smallest first; ``fixed`` says that it does not depend on ``now``.

    A fixed score is called once with arrays, any other with numbers, for each waiting job at each
    event: what numba cannot compile runs as plain Python, a hundred times slower.  With ``factors``
    the site's priority decides instead, highest first, which knows users and what they have used.
    With a ``tree`` its worth does, highest first; where a request and the clock suffice for it,
    ``score`` says the same.  A ``falling`` score never rises while the job waits, and of two jobs
    with the same request that of the first to come is not above the other's (one of ``now - s``,
    ``r`` and ``n`` is so if it falls): that spares computing most of them where the queue is long.
    """

    name: str
    score: Score
    fixed: bool
    meaning: str = ""
    factors: Multifactor | None = None
    tree: PriorityTree | None = None
    falling: bool = False


def _fcfs(now: Number, s: Number, r: Number, n: Number) -> Number:
    return s


def _sjf(now: Number, s: Number, r: Number, n: Number) -> Number:
    return r


def _ljf(now: Number, s: Number, r: Number, n: Number) -> Number:
    return -r


def _saf(now: Number, s: Number, r: Number, n: Number) -> Number:
    return r * n


def _sqf(now: Number, s: Number, r: Number, n: Number) -> Number:
    return n


def _largest(now: Number, s: Number, r: Number, n: Number) -> Number:
    return -n


def _lxf(now: Number, s: Number, r: Number, n: Number) -> Number:
    return -(now - s + r) / np.maximum(r, 10.0)


def _wfp3(now: Number, s: Number, r: Number, n: Number) -> Number:
    return -(((now - s) / r) ** 3) * n


def _unicef(now: Number, s: Number, r: Number, n: Number) -> Number:
    return -(now - s + 1e-15) / (np.log2(n) * r + 1e-9)


def _f1(now: Number, s: Number, r: Number, n: Number) -> Number:
    return np.log10(r) * n + 870.0 * np.log10(np.maximum(s, 1.0))


def _f2(now: Number, s: Number, r: Number, n: Number) -> Number:
    return np.sqrt(r) * n + 25600.0 * np.log10(np.maximum(s, 1.0))


def _f3(now: Number, s: Number, r: Number, n: Number) -> Number:
    return r * n + 6860000.0 * np.log10(np.maximum(s, 1.0))


def _f4(now: Number, s: Number, r: Number, n: Number) -> Number:
    return r * np.sqrt(n) + 530000.0 * np.log10(np.maximum(s, 1.0))


PRIORITY_FUNCTIONS = {
    o.name: o
    for o in (
        PriorityFunction("fcfs", _fcfs, True, "first come, first served"),
        PriorityFunction("sjf", _sjf, True, "shortest estimated run time first"),
        PriorityFunction("ljf", _ljf, True, "longest estimated run time first"),
        PriorityFunction("saf", _saf, True, "smallest area (run time x processors) first"),
        PriorityFunction("sqf", _sqf, True, "fewest processors first"),
        PriorityFunction("largest", _largest, True, "most processors first"),
        PriorityFunction(
            "lxf",
            _lxf,
            False,
            "largest expansion factor (wait + run) / max(run, 10 s) first",
            falling=True,
        ),
        PriorityFunction(
            "wfp3", _wfp3, False, "(wait / run)^3 x processors, largest first", falling=True
        ),
        PriorityFunction(
            "unicef",
            _unicef,
            False,
            "wait / (log2 processors x run), largest first; one processor goes before all",
            falling=True,
        ),
        PriorityFunction("f1", _f1, True, "log10(run) n + 870 log10(submit), smallest first"),
        PriorityFunction("f2", _f2, True, "sqrt(run) n + 25600 log10(submit), smallest first"),
        PriorityFunction("f3", _f3, True, "run n + 6860000 log10(submit), smallest first"),
        PriorityFunction("f4", _f4, True, "run sqrt(n) + 530000 log10(submit), smallest first"),
        PriorityFunction(
            "multifactor",
            _fcfs,
            False,
            "the site's priority (age, size, fairshare, QOS), highest first; multifactor:FILE "
            "takes the weights from TOML or a slurm.conf",
            Multifactor(),
        ),
    )
}


def priority_function(
    name: str | PriorityFunction | Score | Multifactor | PriorityTree,
) -> PriorityFunction:
    """The priority function of this name; any other callable is one that changes with time.

    >>> priority_function("sjf").meaning
    'shortest estimated run time first'
    >>> priority_function("sfj")
    Traceback (most recent call last):
    ...
    rheostat.errors.DataError: order sfj: expected one of fcfs, sjf, ljf, saf, sqf, largest, ...
    """
    if not isinstance(name, str):
        return _made(name)
    if name.lower() not in PRIORITY_FUNCTIONS:
        raise DataError(f"order {name}", [f"expected one of {', '.join(PRIORITY_FUNCTIONS)}"])
    return PRIORITY_FUNCTIONS[name.lower()]


def _made(thing: PriorityFunction | Score | Multifactor | PriorityTree) -> PriorityFunction:
    if isinstance(thing, PriorityFunction):
        return thing
    if isinstance(thing, Multifactor):
        return replace(PRIORITY_FUNCTIONS["multifactor"], factors=thing)
    if isinstance(thing, PriorityTree):
        score = site_score(thing) if is_site(thing) else _fcfs
        return PriorityFunction(
            "tree", score, False, "a decision tree's worth, highest first", tree=thing
        )
    return PriorityFunction(getattr(thing, "__name__", "callable"), thing, False)
