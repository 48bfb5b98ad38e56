"""`LawGuided`: plan the evaluations left with scaling laws, learnt from other applications.

The most frugal proposer where the knobs are lists of numbers and runtime, power or energy are
wanted: it knows how such curves usually look, from the runs of other applications where there are
any (``prior``), and chooses the next setting as the first of a plan for the whole budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any, Unpack

import numpy as np
import polars as pl

from rheostat.core.front import Objective
from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array, Outcome
from rheostat.core.space import Knob, Setting, Space
from rheostat.errors import DataError
from rheostat.prediction.scaling_law import Job, LawEnsemble, structures
from rheostat.tradeoff.lookahead import REFERENCE, plan, scaled
from rheostat.tradeoff.propose.base import Searcher
from rheostat.tradeoff.propose.modelled import Shared

QUANTITIES = ("runtime_s", "power_w", "energy_j")
DRAWS, HORIZON = 128, 6
FEWEST = 3
"""Settings that an application of the past must have been run at to teach a curve."""


class LawGuided(Searcher):
    """The first setting of a plan for the evaluations left.

    Parameters
    ----------
    space, objectives, job, limits, seed
        As for `Searcher`; knobs are lists of numbers, objectives are two of runtime_s, power_w and
        energy_j, minimised.  In a draw where a setting misses a limit it adds nothing to the plan.
    prior : JobTable, optional
        Runs of other applications with the knobs, runtime_s and power_w.
    by : columns that tell the applications of ``prior`` apart
    budget : int, optional
        Evaluations in all; without it the next six are planned.
    """

    def __init__(
        self,
        space: Space | Knob | Iterable[Knob],
        objectives: Sequence[str | Objective] = ("runtime_s", "energy_j"),
        *,
        prior: JobTable | None = None,
        by: Sequence[str] = ("app",),
        budget: int | None = None,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(space, objectives, **shared)
        _refuse(self)
        self.budget = budget
        points = np.array([list(s.values()) for s in self._settings()], dtype=float)
        self._jobs = [] if prior is None else past_jobs(prior, self.space.names, by)
        self._fresh = LawEnsemble(structures(points, self.space.names, self._jobs), seed=self.seed)

    def propose(self, n: int, rng: np.random.Generator) -> list[dict[str, Any]]:
        """The best ``n`` settings of the plan; what is pending counts as measured."""
        settings = self._settings()
        taken = [i for i, s in enumerate(settings) if self.taken(s)]
        left = HORIZON if self.budget is None else self.budget - len(taken)
        count = min(max(n, left), max(n, HORIZON))
        logs = self._logs(settings)
        y = scaled(np.stack([logs[o.name] for o in self.objectives], axis=2))
        chosen = plan(self._limited(y, logs), taken, count)
        return [settings[i] for i in chosen[:n]]

    def forecast(self, settings: Sequence[Setting]) -> Outcome:
        """Runtime and power of listed settings, as the laws have them after what was told."""
        every = self._settings()
        place = {self.key(s): i for i, s in enumerate(every)}
        at = [place[self.key(s)] for s in settings]
        logs = self._logs(every)
        return Outcome({q: np.exp(logs[q][:, at]) for q in ("runtime_s", "power_w")})

    def _limited(self, y: Array, logs: Mapping[str, Array]) -> Array:
        """Settings that miss a limit lie at the reference, draw by draw, where any meets them all.

        What remains is scaled anew, so that the plan looks at the feasible part of the front.
        """
        missed = np.zeros(y.shape[:2], dtype=bool)
        for limit in self.limits:
            missed |= logs[limit.quantity] > np.log(limit.most)
        steered = missed.any(axis=1) & ~missed.all(axis=1)
        for draw in np.flatnonzero(steered):
            feasible = ~missed[draw]
            y[draw, feasible] = scaled(y[draw][None, feasible])[0]
            y[draw, ~feasible] = REFERENCE
        return y

    def _logs(self, settings: Sequence[Setting]) -> dict[str, Array]:
        """Log draws of every quantity at all settings, each (d, N), given what was told."""
        model, place = deepcopy(self._fresh), {self.key(s): i for i, s in enumerate(settings)}
        front = self.front
        if len(front):
            t, p = np.log(front.mean("runtime_s")), np.log(front.mean("power_w"))
            rows = front.alternatives.select(self.space.names).frame.rows()
            for row, runtime, power in zip(rows, t, p, strict=True):
                if row in place and np.isfinite(runtime) and np.isfinite(power):
                    model.tell(place[row], float(runtime), float(power))
        t, p = model.draws(DRAWS)
        known = {"runtime_s": t, "power_w": p, "energy_j": t + p}
        if "nodes" in self.space.names:
            nodes = np.array([float(s["nodes"]) for s in settings])
            known["node_hours"] = t + np.log(nodes / 3600.0)
        return known

    def _settings(self) -> list[dict[str, Any]]:
        return self.listed() or []


def limitable(knobs: Sequence[str]) -> tuple[str, ...]:
    """Quantities whose limits can steer the plan."""
    return (*QUANTITIES, *(("node_hours",) if "nodes" in knobs else ()))


def _refuse(searcher: LawGuided) -> None:
    """Raise a `DataError` that says all that does not fit."""
    problems = [
        f"{k.name}: expected a list of numbers"
        for k in searcher.space.knobs
        if not (k.finite and k.numeric)
    ]
    names = [o.name for o in searcher.objectives if o.sense == "min"]
    if len(names) != 2 or not set(names) <= set(QUANTITIES):
        problems.append(f"objectives: expected two of {', '.join(QUANTITIES)}, got {names}")
    knobs = searcher.space.names
    problems += [
        f"limit on {x.quantity}: expected one of {', '.join(limitable(knobs))}"
        for x in searcher.limits
        if x.quantity not in limitable(knobs)
    ]
    if not problems and not searcher.listed():
        problems.append("the space has no setting, or too many to list")
    if problems:
        raise DataError("LawGuided", problems)


def past_jobs(prior: JobTable, knobs: Sequence[str], by: Sequence[str]) -> list[Job]:
    """Curves of the applications in ``prior``: settings and mean log runtime and power."""
    prior.require(*knobs, *by, "runtime_s", "power_w")
    good = (pl.col("runtime_s") > 0) & (pl.col("power_w") > 0)
    logs = prior.frame.filter(good).drop_nulls(list(knobs))
    means = (
        logs.group_by(*by, *knobs)
        .agg(pl.col("runtime_s").log().mean(), pl.col("power_w").log().mean())
        .sort(*by, *knobs)
    )
    jobs = []
    for _, group in means.group_by(*by, maintain_order=True):
        if group.height >= FEWEST:
            values = group.select("runtime_s", "power_w").to_numpy().T
            jobs.append(Job(group.select(knobs).to_numpy().astype(float), values))
    return jobs
