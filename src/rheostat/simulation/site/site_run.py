"""The site engine from arrays to logs: what it is handed, and for how long a horizon."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rheostat.core.machine import Machine
from rheostat.decision.policies.batch_policy import OVERDUE, BatchPolicy
from rheostat.simulation.policies.dispatch import scores, zero
from rheostat.simulation.site.capacity_changes import capacity, demand, failures, resources
from rheostat.simulation.site.moldable import JobOptions, gpus_of
from rheostat.simulation.workload import Array, Workload

DEPTH = {"none": 0, "easy": 1, "conservative": 2}


class EngineResult(NamedTuple):
    """What the engine says: rows as `site_state` has them, and (n,) per job."""

    log: Array
    piece: Array
    eligible: Array
    again: Array
    passes: int


@dataclass(frozen=True)
class SiteProblem:
    """What the site engine is asked to do, as arrays; one per simulation."""

    machine: Machine
    load: Workload
    ways: JobOptions
    part: Array
    planned: Array
    booked: Array
    planned_w: Array
    parent: Array
    think: Array
    array: Array
    limit: Array
    share: Any = None


def run_engine(site: SiteProblem, rule: BatchPolicy) -> tuple[EngineResult, float]:
    """What the engine says, and the CPU seconds it took.

    Caps that repeat and random failures are laid out as far as the schedule reached, and further.
    """
    load, repeat = site.load, site.machine.cap_w.repeat_s if site.machine.cap_w else 0.0
    begin, longest = (
        load.submit_s[0],
        max(site.ways.run_s.max(), site.planned.max()) + site.think.max(),
    )
    area = (site.ways.run_s * site.ways.procs).sum() / site.machine.procs
    span = max(load.submit_s[-1] - begin, area) * 1.5 + 4 * longest + 2 * repeat
    _run(site, rule, begin, begin, warm=True)
    while True:
        clock = time.process_time()
        simulated = _run(site, rule, begin, begin + span)
        spent = time.process_time() - clock
        last = simulated.log[:, 4].max(initial=begin)
        if last + longest + repeat <= begin + span or site.machine.plain:
            return simulated, spent
        span *= 2


def _run(
    site: SiteProblem, rule: BatchPolicy, begin: float, end: float, *, warm: bool = False
) -> EngineResult:
    from rheostat.simulation.engine import jit
    from rheostat.simulation.engine.fair_share import Share, no_share
    from rheostat.simulation.engine.site_engine import run_site
    from rheostat.simulation.engine.site_plan import Capacity
    from rheostat.simulation.engine.site_state import Jobs, QueueRule, Ways

    n = 0 if warm else len(site.load)
    parts = site.machine.parts
    outages = failures(site.machine, begin, end)
    outages = {k: v[: len(v) if n else 0] for k, v in outages.items()}
    fixed = rule.order.fixed
    jobs = Jobs(
        *_flat(_jobs(site, n, outages, _places(site, rule) if fixed and n else np.zeros(n)))
    )
    ways = Ways(*_flat(_ways(site, n, outages)))
    doze = np.array([q.sleep_after_s for q in parts], float)
    wake = np.array([q.wake_s if np.isfinite(q.sleep_after_s) else 0.0 for q in parts], float)
    again = site.machine.rules.requeue
    bound = QueueRule(DEPTH[rule.backfill], not fixed, rule.ties == "batch",
                 rule.ends == "expected", doze, wake, again,
                 OVERDUE.index(rule.overdue or "past"))  # fmt: skip
    plain = fixed or rule.order.factors is not None
    score = jit.compiled_score(zero if plain else rule.order.score)
    share = no_share() if warm or site.share is None else site.share
    count = len(outages["at"])
    room = n + min(n * (again + 1), int(outages["procs"].sum())) + count
    procs = np.array([q.procs for q in parts])
    steps = Capacity(*_flat(capacity(site.machine, begin, end)))
    return EngineResult(
        *run_site(jobs, ways, steps, procs, score, bound, Share(*_flat(share)), room)
    )


def _flat(arrays: Iterable[Array]) -> list[Array]:
    """Copies of one layout, so that there is one compiled engine."""
    return [np.array(a, order="C") for a in arrays]


def _jobs(site: SiteProblem, n: int, outages: dict[str, Array], rank: Array) -> list[Array]:
    """The fields of `site_state.Jobs` for the first n jobs."""
    child = np.argsort(site.parent, kind="stable")
    none = np.full(len(outages["at"]), -1)
    return [
        site.load.submit_s[:n],
        rank,
        np.concatenate([site.part[:n], outages["part"]]),
        np.searchsorted(site.ways.job, np.arange(n + 1)),
        site.parent[:n],
        site.think[:n],
        np.searchsorted(site.parent[child], np.arange(n + 1)),
        child,
        np.concatenate([site.array[:n], none]),
        site.limit,
        outages["at"],
        outages["hit"],
    ]


def _ways(site: SiteProblem, n: int, outages: dict[str, Array]) -> list[Array]:
    """The fields of `site_state.Ways`."""
    machine, ways = site.machine, site.ways
    need = np.column_stack([ways.procs, gpus_of(machine, ways), np.zeros(len(ways), np.int64)])
    if machine.cap_w is not None:
        need[:, 2] = demand(machine, site.part[ways.job], ways.procs, need[:, 1], site.planned_w)
    least, shortest = need[:0], site.planned[:0]
    if n:
        first = np.searchsorted(ways.job, np.arange(n))
        least = np.minimum.reduceat(need, first, axis=0)
        shortest = np.minimum.reduceat(site.planned, first)
    down = np.zeros((len(outages["at"]), 3), np.int64)
    down[:, 0] = outages["procs"]
    spans = (
        np.concatenate([v, outages["repair"]]) for v in (ways.run_s, site.planned, site.booked)
    )
    return [*spans, np.concatenate([need, down]), resources(machine), least, shortest]


def _places(site: SiteProblem, rule: BatchPolicy) -> Array:
    """Each job's place in a fixed order, by the size and the estimate of its preferred way.

    Nobody shares a place: a job that a failure ended comes back to its own.
    """
    at = np.searchsorted(site.ways.job, np.arange(len(site.load)))
    load = replace(site.load, procs=site.ways.procs[at])
    place = np.empty(len(load))
    place[np.argsort(scores(rule, load, site.booked[at]), kind="stable")] = np.arange(len(load))
    return place
