"""Up to four tenants on a node: few GPUs each, long jobs first, and no plan that loses to Marble.

Most applications waste GPUs: on twice as many they are not twice as fast.  Running more jobs side
by side on fewer GPUs each therefore saves both time and energy, until the end of the queue, when a
long job on one GPU keeps a node up alone.  So a common deadline is sought: every job takes the mode
with the least cost (its energy, plus a price on GPU-seconds) that still meets it, and the longest
go first.  For a queue of up to forty jobs the order and the modes are then improved one change at a
time on the foreseen energy-delay product, under a guard: a plan that is not foreseen to beat
Marble's in time and in energy is penalised by how much it misses.

What is planned holds until the queue changes; each event only takes the next jobs that fit.

Notation
--------
T  deadline      q  price of a GPU-second [W]      cost = E + q g t      area = sum g t

References
----------
The common deadline: Turek, Wolf, Yu: Approximate algorithms for scheduling parallelizable tasks,
SPAA 1992.  The combination, the guard and the tenants are ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rheostat.core.outcome import Array
from rheostat.decide.coschedule.baselines import near_fastest
from rheostat.decide.coschedule.node import NodeState, Start, Waiting, best_place
from rheostat.decide.coschedule.plan import Foreseen, Site, foresee
from rheostat.decide.coschedule.profile import Mode, Profiles

IMPROVED_UP_TO = 40
DEADLINES, PRICES = 16, (0.0, 1.0, 2.0, 4.0)


class Packed:
    """Several tenants, planned; arrivals change the plan.

    Parameters
    ----------
    tenants : most jobs on a node at once.
    crowd : slowdown per neighbour that plans reckon with, as measured; 0.05 where it was not.
    caution : runtimes are taken this much longer against Marble's, whose pairs are measured.
    tries : changes tried when a plan is improved.
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
        caution: float = 0.03,
        tries: int = 1500,
        seed: int = 0,
    ) -> None:
        self.profiles, self.idle_w = profiles, idle_w
        self.tenants, self.crowd, self.caution = tenants, crowd, caution
        self.tries, self.seed = tries, seed
        self.near = {app: near_fastest(modes) for app, modes in profiles.items()}
        self._planned: dict[str, Mode] = {}
        self._order: list[str] = []

    def choose(self, waiting: Sequence[Waiting], state: NodeState) -> tuple[Start, ...]:
        """The first job of the plan that fits."""
        if not waiting or len(state.tenants) >= self.tenants or not state.free:
            return ()
        by_name = {w.name: w for w in waiting}
        if not by_name.keys() <= self._planned.keys():
            self._plan(waiting, state)
        free = len(state.free)
        for k, name in enumerate(self._order):
            if name not in by_name:
                continue
            mode = self._planned[name]
            if mode.gpus <= free:
                del self._order[k]
                gpus, domain = best_place(state, mode.gpus)
                return (Start(by_name[name], mode, gpus, domain),)
        return ()

    def _plan(self, waiting: Sequence[Waiting], state: NodeState) -> None:
        site = Site(state.node.gpus, self.tenants, self.idle_w, self.crowd)
        running = [(max(t.end_s - state.now_s, 0.0), t.mode.gpus) for t in state.tenants]
        names = [w.name for w in waiting]
        options = [self.profiles[w.app] for w in waiting]
        few = len(waiting) <= IMPROVED_UP_TO
        if few:
            chosen, order = self.by_deadline(options, site, running)
            guard = self._guard(waiting, site, running)
            chosen, order = self._improved(chosen, order, options, site, running, guard)
        else:
            chosen, order = self.by_area([w.app for w in waiting], site)
        self._planned = dict(zip(names, chosen, strict=True))
        self._order = [names[i] for i in order]

    def _guard(
        self, waiting: Sequence[Waiting], site: Site, running: Sequence[tuple[float, int]]
    ) -> Foreseen:
        """What Marble is foreseen to take on the same queue."""
        pairs = Site(site.gpus, 2, site.idle_w, site.crowd)
        return foresee([self.near[w.app] for w in waiting], pairs, running)

    def by_deadline(
        self,
        options: Sequence[tuple[Mode, ...]],
        site: Site,
        running: Sequence[tuple[float, int]],
    ) -> tuple[list[Mode], list[int]]:
        """Modes and order, longest first, of the deadline and price foreseen to be best."""
        best: tuple[float, list[Mode], list[int]] = (np.inf, [], [])
        t = _padded([[m.runtime_s for m in ms] for ms in options])
        for pick in _picks(options, np.ones(len(options)), site):
            order = np.argsort(-t[np.arange(len(pick)), pick], kind="stable").tolist()
            chosen = [ms[p] for ms, p in zip(options, pick, strict=True)]
            value = foresee([chosen[i] for i in order], site, running).edp_js
            if value < best[0]:
                best = (value, chosen, order)
        return best[1], best[2]

    def by_area(self, apps: Sequence[str], site: Site) -> tuple[list[Mode], list[int]]:
        """The same for long queues, where a plan is judged by its area alone, per application."""
        names = list(dict.fromkeys(apps))
        place = {name: k for k, name in enumerate(names)}
        code = np.fromiter((place[a] for a in apps), dtype=np.int64, count=len(apps))
        count = np.bincount(code)
        options = [self.profiles[a] for a in names]
        t, e, g = _columns(options)
        rows, best = np.arange(len(names)), (np.inf, np.zeros(len(names), dtype=np.int64))
        for pick in _picks(options, count, site):
            area = float(count @ (g * t)[rows, pick]) / site.gpus
            span = max(area, float(t[rows, pick].max()))
            above = float(count @ (e - site.idle_w * g * t)[rows, pick])
            value = span * (above + site.idle_w * site.gpus * span)
            if value < best[0]:
                best = (value, pick)
        taken = [ms[p] for ms, p in zip(options, best[1], strict=True)]
        chosen = [taken[k] for k in code.tolist()]
        order = np.argsort(-t[rows, best[1]][code], kind="stable")
        return chosen, order.tolist()

    def _improved(
        self,
        chosen: list[Mode],
        order: list[int],
        options: Sequence[tuple[Mode, ...]],
        site: Site,
        running: Sequence[tuple[float, int]],
        guard: Foreseen,
    ) -> tuple[list[Mode], list[int]]:
        """Change a mode or an order as long as the foreseen value falls."""
        rng = np.random.default_rng(self.seed)
        stretch = 1 + self.caution

        def value(modes: list[Mode], sequence: list[int]) -> float:
            seen = foresee([modes[i] for i in sequence], site, running, stretch)
            over = max(0.0, seen.makespan_s / guard.makespan_s - 1)
            over += max(0.0, seen.energy_j * stretch / guard.energy_j - 1)
            return seen.edp_js * (1 + 20 * over)

        now = value(chosen, order)
        for _ in range(self.tries):
            modes, sequence = list(chosen), list(order)
            i = int(rng.integers(len(order)))
            if rng.random() < 0.5:
                modes[i] = options[i][int(rng.integers(len(options[i])))]
            else:
                job = sequence.pop(i)
                sequence.insert(int(rng.integers(len(order))), job)
            then = value(modes, sequence)
            if then < now:
                chosen, order, now = modes, sequence, then
        return chosen, order


def _columns(options: Sequence[tuple[Mode, ...]]) -> tuple[Array, Array, Array]:
    """Runtime, energy and GPUs of each mode, (jobs, modes) each."""
    return (
        _padded([[m.runtime_s for m in ms] for ms in options]),
        _padded([[m.energy_j for m in ms] for ms in options]),
        _padded([[float(m.gpus) for m in ms] for ms in options]),
    )


def _picks(options: Sequence[tuple[Mode, ...]], count: Array, site: Site) -> Iterator[Array]:
    """Each distinct choice of modes that some deadline and some price of a GPU-second make."""
    t, e, g = _columns(options)
    shortest = float(np.nanmin(t, axis=1).max())
    least = float(count @ np.nanmin(t * g, axis=1)) / site.gpus
    deadlines = np.geomspace(max(shortest, 0.5 * least), max(2.0 * least, shortest), DEADLINES)
    seen: set[bytes] = set()
    for price in PRICES:
        cost = e + price * site.idle_w * g * t
        for deadline in deadlines:
            pick = np.where(t <= deadline, cost, np.inf).argmin(axis=1)
            if pick.tobytes() not in seen:
                seen.add(pick.tobytes())
                yield pick


def _padded(rows: list[list[float]]) -> Array:
    """Rows of unequal length as a matrix, NaN where there is nothing."""
    widest = max(len(r) for r in rows)
    return np.array([[*r, *[np.nan] * (widest - len(r))] for r in rows], dtype=float)
