"""Decisions to learn from: for each the jobs that wait, their features, and what a teacher thinks.

A student that only sees what its teacher met is lost where its own mistakes lead it.  So decisions
are taken from schedules of teacher and student alike, and the teacher is asked about all of them.

    Symbol  Shape   Meaning
    x       (r, d)  features of the waiting jobs of k decisions, one after another
    first   (k,)    row at which a decision begins; `rows` (k,) how many jobs it has
    value   (r,)    what the teacher gives each job: the highest goes first
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.decision.policies.batch_policy import BatchPolicy
from rheostat.decision.policies.priority_functions import PriorityFunction
from rheostat.decision.policies.priority_tree import TreeFeature
from rheostat.decision.policies.tree_priority import SITE_NAMES
from rheostat.errors import DataError
from rheostat.simulation.learned_priority import queue_features as rank
from rheostat.simulation.policies.estimates import scheduled
from rheostat.simulation.schedule_metrics import bounded_slowdown
from rheostat.simulation.workload import Workload, users, workload
from rheostat.training.distill.record_decisions import FIRST, ROWS, TIME, walk

Array = np.ndarray
FULL = tuple(TreeFeature(f.name, f.unit, f.words) for f in rank.FEATURES)
MOST_ROWS = 400_000


@dataclass(frozen=True)
class States:
    """The notation above; ``crowd`` (k,) jobs that waited, ``asked`` (r, 4): now, s, r, n.

    ``job`` (r,) numbers the jobs of a trace in order of submission.
    """

    features: tuple[TreeFeature, ...]
    x: Array
    first: Array
    rows: Array
    value: Array
    crowd: Array
    asked: Array | None = None
    job: Array | None = None

    def __len__(self) -> int:
        return len(self.first)

    @property
    def of(self) -> Array:
        """The decision each row belongs to, (r,)."""
        return np.repeat(np.arange(len(self)), self.rows)

    def only(self, keep: Array) -> States:
        """Some of the decisions."""
        kept = np.flatnonzero(keep) if np.asarray(keep).dtype == bool else np.asarray(keep)
        rows = self.rows[kept]
        first = np.concatenate([[0], np.cumsum(rows)[:-1]]).astype(np.int64)
        take = np.repeat(self.first[kept] - first, rows) + np.arange(rows.sum())
        asked, job = (None if v is None else v[take] for v in (self.asked, self.job))
        given = (self.x[take], first, rows, self.value[take], self.crowd[kept], asked, job)
        return States(self.features, *given)

    def best(self, value: Array) -> Array:
        """Row of the highest ``value`` in each decision, the first of equals, (k,)."""
        most = np.maximum.reduceat(value, self.first)
        place = np.where(value == np.repeat(most, self.rows), np.arange(len(value)), len(value))
        result: Array = np.minimum.reduceat(place, self.first)
        return result

    def spread(self) -> Array:
        """What is at stake in each decision: the highest value less the lowest, (k,)."""
        most, least = (f.reduceat(self.value, self.first) for f in (np.maximum, np.minimum))
        result: Array = most - least
        return result


def joined(parts: Sequence[States]) -> States:
    """All decisions of ``parts``, which have the same features."""
    x, rows, value, crowd = (
        np.concatenate([getattr(p, n) for p in parts]) for n in ("x", "rows", "value", "crowd")
    )
    first = np.concatenate([[0], np.cumsum(rows)[:-1]]).astype(np.int64)
    given: dict[str, Any] = {}
    for name in ("asked", "job"):
        if all(getattr(p, name) is not None for p in parts):
            given[name] = np.concatenate([getattr(p, name) for p in parts])
    return States(parts[0].features, x, first, rows, value, crowd, **given)


@dataclass(frozen=True)
class VisibleState:
    """What a teacher is shown: ``x`` (r, F) as `rank.features`, and ``asked`` (r, 4).

    ``asked`` are the times and sizes that simple orders take: now and submission, s, counted from
    the first submission; requested run time, s; processors.
    """

    x: Array
    asked: Array
    first: Array
    rows: Array
    job: Array


Teacher = Callable[[VisibleState], Array]


def of_order(order: PriorityFunction) -> Teacher:
    """A simple order as a teacher."""

    def value(sight: VisibleState) -> Array:
        now, s, r, n = sight.asked.T
        with np.errstate(all="ignore"):
            return -np.asarray(order.score(now, s, r, n), float) * np.ones(len(now))

    return value


@dataclass(frozen=True)
class DistillTrace:
    """A trace on a machine, to be scheduled by whoever is to be watched."""

    jobs: JobTable
    load: Workload
    size: int

    @classmethod
    def of(cls, jobs: JobTable, machine: Machine | int) -> DistillTrace:
        """The rows of ``jobs`` that can run there."""
        place = machine if isinstance(machine, Machine) else Machine(machine)
        return cls(jobs, workload(jobs, place), place.procs)

    def starts(self, rule: BatchPolicy) -> Array:
        """Starts of the workload's jobs under a policy, with users' estimates, s; (n,)."""
        return scheduled(self.jobs, self.load, rule, self.size, "user").start_s

    def slowdown(self, start: Array, since: float = -np.inf, until: float = np.inf) -> float:
        """Mean bounded slowdown of the jobs submitted from ``since`` on and before ``until``."""
        submit = self.load.submit_s
        return float(self.slowdowns(start)[(submit >= since) & (submit < until)].mean())

    def slowdowns(self, start: Array) -> Array:
        """Bounded slowdown of each job, (n,)."""
        load = self.load
        return bounded_slowdown(start - load.submit_s, load.run_s)


def of_network(weights: Array) -> Teacher:
    """A learned order (`rheostat.simulation.learned_priority`) as a teacher, by its weights."""
    from rheostat.simulation.learned_priority.scoring_network import CENTRE, SPREAD

    f = rank.F
    units = weights[f:].reshape(-1, f + 2)

    def value(sight: VisibleState) -> Array:
        z = (sight.x - CENTRE) / SPREAD
        u = z @ units[:, :f].T + units[:, f]
        result: Array = -(z @ weights[:f] + (u / (1.0 + np.abs(u))) @ units[:, f + 1])
        return result

    return value


def watched(
    trial: DistillTrace,
    start: Array,
    teacher: Teacher,
    *,
    features: Sequence[TreeFeature] = FULL,
    most: int = 4000,
    between: tuple[float, float] = (-np.inf, np.inf),
    seed: int | Sequence[int] = 0,
) -> States:
    """Decisions of a schedule, at most ``most`` of them, drawn at random; judged by ``teacher``.

    ``start`` are the starts of the workload's jobs, s.  ``between`` bounds the time of a decision.
    ``features`` are `FULL` or `SITE`, or some of one of these.
    """
    sight = _sight(trial, start, most, between, seed)
    names = [f.name for f in features]
    if set(names) <= set(SITE_NAMES):
        x = site_features(sight.asked)[:, [SITE_NAMES.index(n) for n in names]]
    else:
        x = sight.x[:, [rank.NAMES.index(n) for n in names]]
    value = np.asarray(teacher(sight), float)
    given = (sight.first, sight.rows, value, sight.rows, sight.asked, sight.job)
    return States(tuple(features), np.ascontiguousarray(x), *given)


def site_features(asked: Array) -> Array:
    """Columns of `SITE` from (now, s, r, n); (r, 5)."""
    now, s, r, n = asked.T
    wait = now - s
    return np.stack([wait, r, n, r * n, wait / np.maximum(r, 1.0)], axis=1)


def _sight(
    trial: DistillTrace,
    start: Array,
    most: int,
    between: tuple[float, float],
    seed: int | Sequence[int],
) -> VisibleState:
    """Walk twice: to see which decisions there are, and to write down those drawn."""
    load, size, user = trial.load, trial.size, users(trial.jobs, trial.load)

    def known() -> tuple[Array, Array]:
        return rank.table(load.submit_s, load.run_s, load.procs, load.ask_s, user)

    when = np.empty((2 * len(load), 2))
    empty = (np.empty((0, rank.F)), np.empty(0, np.int64), np.empty((0, 4)))
    met = walk(known(), start, size, np.zeros(0, bool), when, empty)
    inside = (when[:met, 0] >= between[0]) & (when[:met, 0] < between[1])
    if not inside.any():
        raise DataError("decisions", ["expected a moment with two waiting jobs, found none"])
    drawn = np.random.default_rng(seed).permutation(np.flatnonzero(inside))[:most]
    drawn = drawn[np.cumsum(when[drawn, 1]) <= max(MOST_ROWS, when[drawn[0], 1])]
    wanted = np.zeros(met, bool)
    wanted[drawn] = True
    rows = int(when[drawn, 1].sum())
    outs = (np.empty((rows, rank.F)), np.empty(rows, np.int64), np.empty((len(drawn), 4)))
    walk(known(), start, size, wanted, when, outs)
    x, job, facts = outs
    count = facts[:, ROWS].astype(np.int64)
    since = load.submit_s[0]
    now = np.repeat(facts[:, TIME], count) - since
    asked = np.stack([now, load.submit_s[job] - since, load.ask_s[job], load.procs[job]], axis=1)
    return VisibleState(x, asked, facts[:, FIRST].astype(np.int64), count, job)
