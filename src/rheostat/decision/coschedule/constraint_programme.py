"""The best schedule there is, when everything is known beforehand: a constraint programme.

Each job takes one mode and a start; GPUs and tenants are never more than there are.  Minimised is
the energy of the node, or its makespan.  It is a yardstick, not a policy: it believes the profile,
knows the whole queue, and neighbours cost nothing.

Notation
--------
x(j, m)  job j in mode m      M  makespan      E = w G M + sum (P - w g) t x      times in 0.1 s

References
----------
OR-tools CP-SAT.  It cannot be loaded in one process with the ``highspy`` package (their symbols
clash, either way round); scipy's own HiGHS is no problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rheostat._optional import require
from rheostat.decision.coschedule.expected_schedule import NodeSite, Planned
from rheostat.decision.coschedule.gpu_profiles import Mode, Profiles
from rheostat.decision.coschedule.shared_node import Waiting
from rheostat.errors import DataError, Infeasible

TICKS = 10


@dataclass(frozen=True)
class Optimum:
    """Starts of the best schedule found, its value, and how far it can be from the best."""

    starts: tuple[tuple[float, Waiting, Mode], ...]
    makespan_s: float
    energy_j: float
    bound: float
    proven: bool

    def plan(self, tenants: int) -> Planned:
        """Its modes and its order of starts as a policy, for runs in which neighbours cost time."""
        return Planned(((job.name, mode) for _, job, mode in self.starts), tenants, "exact")


def optimum(
    queue: Sequence[Waiting],
    profiles: Profiles,
    site: NodeSite,
    *,
    minimise: str = "energy",
    tolerance: float | None = None,
    effort: float = 20.0,
    seed: int = 0,
) -> Optimum:
    """The schedule of least "energy" or "makespan".

    With a ``tolerance``, modes that much slower than the most GPUs are left out (EcoSched's oracle:
    0.2).  ``effort`` is in deterministic seconds of search: the same effort and seed give the same
    schedule.
    """
    if minimise not in ("energy", "makespan"):
        raise DataError("minimise", [f"expected energy or makespan, got {minimise!r}"])
    cp = require("ortools.sat.python.cp_model", extra="exact")
    model = cp.CpModel()
    first = min(j.submit_s for j in queue)
    horizon = sum(_ticks(max(m.runtime_s for m in profiles[j.app])) for j in queue)
    horizon += round(max(j.submit_s - first for j in queue) * TICKS)
    end = model.new_int_var(0, horizon, "makespan")
    chosen, energy = [], []
    spans, needs = [], []
    for j in queue:
        begin = round((j.submit_s - first) * TICKS)
        start = model.new_int_var(begin, horizon, f"start {j.name}")
        picks = []
        for m in _allowed(profiles[j.app], site, tolerance):
            pick = model.new_bool_var(f"{j.name} on {m.gpus}")
            length = _ticks(m.runtime_s)
            span = model.new_optional_fixed_size_interval_var(start, length, pick, "")
            model.add(end >= start + length).only_enforce_if(pick)
            spans.append(span)
            needs.append(m.gpus)
            energy.append((pick, round((m.power_w - site.idle_w * m.gpus) * m.runtime_s)))
            picks.append((pick, m))
        model.add_exactly_one(p for p, _ in picks)
        chosen.append((j, start, picks))
    model.add_cumulative(spans, needs, site.gpus)
    model.add_cumulative(spans, [1] * len(spans), site.tenants)
    idle = round(site.idle_w * site.gpus / TICKS)
    total = sum(p * e for p, e in energy) + idle * end
    model.minimize(end if minimise == "makespan" else total)
    return _solved(cp, model, chosen, site, minimise, effort, seed)


def _allowed(modes: Sequence[Mode], site: NodeSite, tolerance: float | None) -> list[Mode]:
    fit = [m for m in modes if m.gpus <= site.gpus]
    if tolerance is None or not fit:
        return fit
    limit = (1 + tolerance) * max(fit, key=lambda m: m.gpus).runtime_s
    return [m for m in fit if m.runtime_s <= limit]


def _solved(
    cp: Any, model: Any, chosen: Any, site: NodeSite, minimise: str, effort: float, seed: int
) -> Optimum:
    solver = cp.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    solver.parameters.max_deterministic_time = effort
    status = solver.solve(model)
    if status not in (cp.OPTIMAL, cp.FEASIBLE):
        raise Infeasible(f"no schedule found with effort {effort:g}: raise it", -1)
    starts = []
    for j, start, picks in chosen:
        mode = next(m for p, m in picks if solver.value(p))
        starts.append((solver.value(start) / TICKS, j, mode))
    starts.sort(key=lambda s: (s[0], s[1].name))
    makespan = max(t + m.runtime_s for t, _, m in starts)
    active = sum((m.power_w - site.idle_w * m.gpus) * m.runtime_s for _, _, m in starts)
    bound = solver.best_objective_bound
    return Optimum(
        tuple(starts), makespan, active + site.idle_w * site.gpus * makespan,
        bound / TICKS if minimise == "makespan" else bound, status == cp.OPTIMAL,
    )  # fmt: skip


def _ticks(seconds: float) -> int:
    return max(1, -int(-seconds * TICKS // 1))
