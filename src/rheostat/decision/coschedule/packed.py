"""Up to four tenants on a node: few GPUs each, long jobs first, as many at once as pays.

Most applications waste GPUs: on twice as many they are not twice as fast.  Running more jobs side
by side on fewer GPUs each therefore saves both time and energy, until the end of the queue, when a
long job on one GPU keeps a node up alone.  So a common deadline is sought: every job takes the mode
with the least cost (its energy, plus a price on GPU-seconds) that still meets it.  Where GPUs are
not wasted, or neighbours cost more than that, fewer tenants are better: every number of tenants
down to one is tried, and so are the modes of the baselines and of plain list schedules.  For a
queue of up to forty jobs the best of these plans, and one of modes drawn by chance, are then
improved by changes of modes and of the order, several at once now and then: where one job on more
GPUs is worse, two may be better.  Under the objective "edp" a guard holds: a plan not foreseen to
beat Marble's in time and in energy is penalised by how much it misses.

What is planned holds until the queue changes; each event only takes the next jobs that fit.

Notation
--------
T  deadline      q  price of a GPU-second [W]      cost = E + q g t      area = sum g t

References
----------
The common deadline: Turek, Wolf, Yu: Approximate algorithms for scheduling parallelizable tasks,
SPAA 1992.  Late acceptance: Burke, Bykov: The late acceptance hill-climbing heuristic, European
Journal of Operational Research 258 (2017).  The combination, the guard and the tenants are ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from rheostat.core.outcome import Array
from rheostat.decision.coschedule.expected_schedule import (
    ExpectedSchedule,
    NodeSite,
    Plan,
    Planned,
    cost,
    foresee,
)
from rheostat.decision.coschedule.gpu_profiles import Mode, Profiles
from rheostat.decision.coschedule.list_schedules import at_most, least_energy
from rheostat.decision.coschedule.shared_node import NodeState, Start, Waiting
from rheostat.decision.coschedule.simple_policies import fastest, most_gpus, near_fastest

IMPROVED_UP_TO = 40
DEADLINES, PRICES = 16, (0.0, 1.0, 2.0, 4.0)
LATE, AGAIN = 100, 0.3
"""How far back a change is compared, and how likely one more is made at once."""


class Packed:
    """Several tenants, planned; arrivals change the plan.

    Parameters
    ----------
    tenants : most jobs on a node at once.
    crowd : slowdown per neighbour that plans reckon with, as measured; 0.05 where it was not.
    objective : "edp", "makespan" or "energy"; the guard against Marble is for "edp".
    caution : runtimes are taken this much longer against Marble's, whose pairs are measured.
    iterations : changed plans examined, half of them from each of two plans.
    seed : of the order of changes.
    """

    name = "packed"

    def __init__(
        self,
        profiles: Profiles,
        idle_w: float,
        *,
        tenants: int = 4,
        crowd: float = 0.05,
        objective: str = "edp",
        caution: float = 0.03,
        iterations: int = 4000,
        seed: int = 0,
    ) -> None:
        self.profiles, self.idle_w = profiles, idle_w
        self.tenants, self.crowd, self.caution = tenants, crowd, caution
        self.objective, self.iterations, self.seed = objective, iterations, seed
        self.near = {app: near_fastest(modes) for app, modes in profiles.items()}
        self.planned = Planned((), tenants, self.name)

    def choose(self, waiting: Sequence[Waiting], state: NodeState) -> tuple[Start, ...]:
        """The first job of the plan that fits."""
        if not waiting or not state.free or len(state.tenants) >= self.tenants:
            return ()
        if not all(w.name in self.planned.left for w in waiting):
            plan = self._plan(waiting, state)
            steps = [(waiting[i].name, plan.modes[i]) for i in plan.order]
            self.planned = Planned(steps, plan.site.tenants, self.name)
        return self.planned.choose(waiting, state)

    def _plan(self, waiting: Sequence[Waiting], state: NodeState) -> Plan:
        sites = [
            NodeSite(state.node.gpus, k, self.idle_w, self.crowd)
            for k in range(self.tenants, 0, -1)
        ]
        if len(waiting) > IMPROVED_UP_TO:
            return self.by_area([w.app for w in waiting], sites)
        running = [(max(t.end_s - state.now_s, 0.0), t.mode.gpus) for t in state.tenants]
        options = [self.profiles[w.app] for w in waiting]
        guard = self._guard(waiting, sites[0], running)
        starts = (self.by_deadline(options, sites, running), self._by_chance(options, sites[0]))
        plans = [self._improved(plan, options, running, guard) for plan in starts]
        return min(plans, key=lambda plan: self._guarded(plan, running, guard))

    def _by_chance(self, options: Sequence[tuple[Mode, ...]], site: NodeSite) -> Plan:
        """Any mode for each job, the longest first."""
        rng = np.random.default_rng(self.seed)
        modes = [own[int(rng.integers(len(own)))] for own in options]
        order = sorted(range(len(modes)), key=lambda i: -modes[i].runtime_s)
        return Plan(modes, order, site)

    def _guard(
        self, waiting: Sequence[Waiting], site: NodeSite, running: Sequence[tuple[float, int]]
    ) -> ExpectedSchedule:
        """What Marble is foreseen to take on the same queue."""
        pairs = replace(site, tenants=2)
        return foresee([self.near[w.app] for w in waiting], pairs, running)

    def by_deadline(
        self,
        options: Sequence[tuple[Mode, ...]],
        sites: Sequence[NodeSite],
        running: Sequence[tuple[float, int]],
    ) -> Plan:
        """The plan foreseen to be best, longest jobs first or in the order of arrival."""
        t = _columns(options)[0]
        rows, arrival = np.arange(len(options)), list(range(len(options)))
        plans = (
            Plan([ms[p] for ms, p in zip(options, pick, strict=True)], order, site)
            for pick in _picks(options, np.ones(len(options)), sites[0])
            for order in (np.argsort(-t[rows, pick], kind="stable").tolist(), arrival)
            for site in sites
        )
        return min(plans, key=lambda p: p.foreseen(running).cost(self.objective))

    def by_area(self, apps: Sequence[str], sites: Sequence[NodeSite]) -> Plan:
        """The same for long queues, where a plan is judged by its area alone, per application."""
        names = list(dict.fromkeys(apps))
        place = {name: k for k, name in enumerate(names)}
        code = np.fromiter((place[a] for a in apps), dtype=np.int64, count=len(apps))
        count = np.bincount(code).astype(float)
        options = [self.profiles[a] for a in names]
        columns, rows = _columns(options), np.arange(len(names))
        picks = list(_picks(options, count, sites[0]))
        site, pick = min(
            ((s, p) for p in picks for s in sites),
            key=lambda x: self._area_cost([c[rows, x[1]] for c in columns], count, x[0]),
        )
        taken = [ms[p] for ms, p in zip(options, pick, strict=True)]
        order = np.argsort(-columns[0][rows, pick][code], kind="stable")
        return Plan([taken[k] for k in code.tolist()], order.tolist(), site)

    def _area_cost(self, columns: Sequence[Array], count: Array, site: NodeSite) -> float:
        """Cost of so many jobs of each application, if GPUs and tenants were filled to the end."""
        t, e, g = columns
        busy, alone = float(count @ (g * t)), float(count @ t)
        span = max(busy / site.gpus, alone / site.tenants)
        beside = max(alone / span / site.nodes - 1.0, 0.0)
        span = max(span, float(t.max())) * (1 + self.crowd * beside)
        above = float(count @ e) - site.idle_w * busy
        return cost(self.objective, span, above + site.idle_w * site.gpus * span)

    def _improved(
        self,
        plan: Plan,
        options: Sequence[tuple[Mode, ...]],
        running: Sequence[tuple[float, int]],
        guard: ExpectedSchedule,
    ) -> Plan:
        """Change modes and the order by late acceptance: better than now, or than `LATE` ago."""
        rng = np.random.default_rng(self.seed)
        best, least = plan, self._guarded(plan, running, guard)
        now, past = least, [least] * LATE
        for k in range(self.iterations // 2):
            changed = _changed(plan, options, rng)
            while rng.random() < AGAIN:
                changed = _changed(changed, options, rng)
            then = self._guarded(changed, running, guard)
            if then <= now or then < past[k % LATE]:
                plan, now = changed, then
            if now < least:
                best, least = plan, now
            past[k % LATE] = now
        return best

    def _guarded(
        self, plan: Plan, running: Sequence[tuple[float, int]], guard: ExpectedSchedule
    ) -> float:
        """The foreseen cost; under "edp" with a penalty where Marble is not beaten in both."""
        if self.objective != "edp":
            return plan.foreseen(running).cost(self.objective)
        stretch = 1 + self.caution
        seen = plan.foreseen(running, stretch)
        over = max(0.0, seen.makespan_s / guard.makespan_s - 1)
        over += max(0.0, seen.energy_j * stretch / guard.energy_j - 1)
        return seen.edp_js * (1 + 20 * over)


def _changed(plan: Plan, options: Sequence[tuple[Mode, ...]], rng: np.random.Generator) -> Plan:
    """One job in any of its modes, or, as often, one job at another place in the order."""
    modes, order = list(plan.modes), list(plan.order)
    i = int(rng.integers(len(order)))
    if rng.random() < 0.5:
        modes[i] = options[i][int(rng.integers(len(options[i])))]
    else:
        job = order.pop(i)
        order.insert(int(rng.integers(len(order) + 1)), job)
    return Plan(modes, order, plan.site)


def _columns(options: Sequence[tuple[Mode, ...]]) -> tuple[Array, Array, Array]:
    """Runtime, energy and GPUs of each mode, (jobs, modes) each."""
    return (
        _padded([[m.runtime_s for m in ms] for ms in options]),
        _padded([[m.energy_j for m in ms] for ms in options]),
        _padded([[float(m.gpus) for m in ms] for ms in options]),
    )


def _picks(options: Sequence[tuple[Mode, ...]], count: Array, site: NodeSite) -> Iterator[Array]:
    """Each distinct choice of modes: by deadline and price of a GPU-second, and of plain rules."""
    seen: set[bytes] = set()
    for pick in (*_by_deadlines(options, count, site), *_by_rules(options)):
        if pick.tobytes() not in seen:
            seen.add(pick.tobytes())
            yield pick


def _by_deadlines(
    options: Sequence[tuple[Mode, ...]], count: Array, site: NodeSite
) -> Iterator[Array]:
    t, e, g = _columns(options)
    shortest = float(np.nanmin(t, axis=1).max())
    least = float(count @ np.nanmin(t * g, axis=1)) / site.gpus
    deadlines = np.geomspace(max(shortest, 0.5 * least), max(2.0 * least, shortest), DEADLINES)
    for price in PRICES:
        priced = e + price * site.idle_w * g * t
        for deadline in deadlines:
            yield np.where(t <= deadline, priced, np.inf).argmin(axis=1)


def _by_rules(options: Sequence[tuple[Mode, ...]]) -> Iterator[Array]:
    """What the baselines and plain list schedules would take."""
    for rule in (near_fastest, fastest, most_gpus, least_energy):
        yield np.array([modes.index(rule(modes)) for modes in options])
    for gpus in sorted({m.gpus for modes in options for m in modes}):
        yield np.array([modes.index(at_most(modes, gpus)) for modes in options])


def _padded(rows: list[list[float]]) -> Array:
    """Rows of unequal length as a matrix, NaN where there is nothing."""
    widest = max(len(r) for r in rows)
    return np.array([[*r, *[np.nan] * (widest - len(r))] for r in rows], dtype=float)
