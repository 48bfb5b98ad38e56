"""`LawGuided`: plan the evaluations left with scaling laws, learnt from other applications.

The most frugal proposer where the knobs are numbers and runtime, power, energy or node-hours are
wanted: it knows how such curves usually look, from the runs of other applications where there are
any (``prior``), and chooses the next setting as the first of a plan for the whole budget.

Up to `EXACT` settings are drawn jointly; of up to `LISTED` each is looked at alone first, and a few
hundred are drawn.  Of a larger space, or one with a range, an even sample is; ``notes`` says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from rheostat._optional import require
from rheostat.core.dominance import Mask
from rheostat.core.front import Objective
from rheostat.core.jobs import JobTable, Note
from rheostat.core.outcome import Array, Outcome
from rheostat.core.space import Knob, Setting, Space
from rheostat.errors import DataError
from rheostat.prediction.scaling_law import DefensiveEnsemble, LawEnsemble, structures
from rheostat.prediction.scaling_law.coordinates import Scale
from rheostat.prediction.scaling_law.structures import role_of
from rheostat.tradeoff.limits import Limit
from rheostat.tradeoff.propose.base import Searcher
from rheostat.tradeoff.propose.candidates import promising
from rheostat.tradeoff.propose.failures import fails
from rheostat.tradeoff.propose.lookahead import (
    REFERENCE,
    least_regret,
    plan,
    scaled,
    value_of_a_run,
)
from rheostat.tradeoff.propose.modelled import Shared
from rheostat.tradeoff.propose.past_applications import coded, levels, past_jobs
from rheostat.tradeoff.propose.unmeasured import ROUNDING, spread_out

QUANTITIES = ("runtime_s", "power_w", "energy_j")
HORIZON = 6
ALIKE = 0.01
"""Two caps whose runtime and power differ by less than this, in logs, or by less than noise."""
DRAWS, ENTRIES = (128, 512), 40_000
"""Model draws behind a decision: within these bounds, so many that draws x settings is this."""
EXACT, CANDIDATES = 256, 256
"""Settings up to which all are drawn jointly, and how many of a larger space are."""
LISTED, SAMPLED = 20_000, 4_096
"""Settings up to which all are looked at, and how many of a larger space are."""
Index = NDArray[np.int64]
Measured = tuple[int, float, float, tuple[float, float]]
"""A setting's place, its log runtime and log power, and the variances of both."""


class LawGuided(Searcher):
    """The first setting of a plan for the evaluations left.

    Parameters
    ----------
    space, objectives, job, limits, seed
        As for `Searcher`; objectives are runtime_s, power_w, energy_j and, where nodes are a knob,
        node_hours, minimised.  In a draw where a setting misses a limit it adds nothing to the
        plan.
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
        self._jobs = (
            [] if prior is None else past_jobs(prior, self.space.names, by, levels(self.space))
        )
        self._fresh: tuple[int, DefensiveEnsemble] | None = None
        self._conditioned: list[tuple[Measured, DefensiveEnsemble]] = []
        self._drawn: tuple[tuple[int, int], Index, dict[str, Array]] | None = None

    @property
    def past_applications(self) -> int:
        """How many applications of the past it learns from."""
        return len(self._jobs)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a user should know of the method on this space."""
        if self._whole():
            return ()
        text = f"a sample of {SAMPLED:,} settings is searched: the space has a range, or too many"
        return (Note(text),)

    def listed(self) -> list[dict[str, Any]]:
        """The settings looked at: all, or an even sample and whatever was told or is pending."""
        if self._listed is None:
            self._listed = self.space.settings() if self._whole() else self._sample()
        if self._whole():
            return self._listed
        here = {self.key(s) for s in self._listed}
        observed = self.front.alternatives.select(self.space.names).frame.rows(named=True)
        others = {self.key(s): s for s in (*observed, *self.pending)}
        return [*self._listed, *(others[k] for k in sorted(set(others) - here))]

    def considered(self) -> list[dict[str, Any]]:
        """The settings that can matter after what was told: all of a small space."""
        settings = self.listed()
        return [settings[i] for i in self._logs(settings)[0]]

    def propose(self, n: int, rng: np.random.Generator) -> list[dict[str, Any]]:
        """The best ``n`` settings of the plan; what is pending counts as measured."""
        settings = self.listed()
        at, logs = self._logs(settings)
        every = sum(self.taken(s) for s in settings)
        taken = [i for i, s in enumerate(at) if self.taken(settings[s])]
        left = HORIZON if self.budget is None else self.budget - every
        count = min(max(n, left), max(n, HORIZON))
        y = scaled(np.stack([logs[o.name] for o in self.objectives], axis=2))
        likely = self.failing([settings[i] for i in at])
        chosen = plan(self._limited(y, logs, fails(likely, len(y))), taken, count)
        again = self._repeat(settings, at, logs) if chosen else []
        return [settings[at[i]] for i in (*again, *chosen)][:n]

    def _repeat(
        self, settings: Sequence[Setting], at: Index, logs: Mapping[str, Array]
    ) -> list[int]:
        """The measured candidate whose repeat is worth more than any new setting, if there is one.

        Noise is known from repeats; without any a measured value is taken as exact.
        """
        cells = self._cells({self.key(s): i for i, s in enumerate(settings)})
        runtime, power = _noise(list(cells.values()))
        if len(self.objectives) != 2:
            return []
        measured = [int(np.searchsorted(at, i)) for i in sorted(cells) if i in at]
        if not runtime + power or not measured:
            return []
        variance = {"power_w": power, "energy_j": runtime + power}
        noise = np.array([variance.get(o.name, runtime) for o in self.objectives])
        draws = np.stack([logs[o.name] for o in self.objectives], axis=2)
        value = value_of_a_run(draws, noise, measured)
        free = [i for i, s in enumerate(at) if not self.taken(settings[s])]
        ready = [i for i in measured if self.key(settings[at[i]]) not in self._pending]
        if not ready or not free:
            return []
        best = max(ready, key=lambda i: float(value[i]))
        return [best] if value[best] > value[free].max() else []

    def forecast(self, settings: Sequence[Setting]) -> Outcome:
        """Runtime and power of listed settings, as the laws have them after what was told.

        Where the laws miss what was measured, those of other settings are wider.
        """
        every = self.listed()
        place = {self.key(s): i for i, s in enumerate(every)}
        asked = np.array([place[self.key(s)] for s in settings], dtype=np.int64)
        at, logs = self._logs(every)
        if not np.isin(asked, at).all():
            at = np.union1d(at, asked)
            logs = self._joint(every, at, self._informed(every))
        rows = np.searchsorted(at, asked)
        drawn = np.stack([logs[q][:, rows] for q in ("runtime_s", "power_w")])
        scale = Scale.of(*self._coded(every))
        runtime, power = np.exp(spread_out(self._model, scale, asked, drawn))
        return Outcome({"runtime_s": runtime, "power_w": power})

    def _coded(self, settings: Sequence[Setting]) -> tuple[Array, list[int]]:
        """Settings as numbers (n, k), and which knobs are names."""
        names = levels(self.space)
        named = [i for i, k in enumerate(self.space.names) if k in names]
        return np.array([coded(s, names) for s in settings]), named

    def recommend(self, objective: str, limit: Limit) -> dict[str, Any]:
        """The setting to run for the least expected regret under one limit.

        Parameters
        ----------
        objective : str
            Quantity to be minimised.
        limit : Limit
            A quantity and the most it may be.

        Returns
        -------
        dict
            Knob values; measured or not.
        """
        settings = self.listed()
        at, logs = self._logs(settings)
        best = least_regret(logs[objective], logs[limit.quantity], float(np.log(limit.most)))
        return dict(settings[int(at[best])])

    def _limited(self, y: Array, logs: Mapping[str, Array], failed: Mask) -> Array:
        """Settings that fail or miss a limit lie at the reference, draw by draw, where any do not.

        What remains is scaled anew, so that the plan looks at the feasible part of the front.
        """
        missed = failed
        for limit in self.limits:
            missed = missed | (logs[limit.quantity] > np.log(limit.most))
        steered = missed.any(axis=1) & ~missed.all(axis=1)
        for draw in np.flatnonzero(steered):
            feasible = ~missed[draw]
            y[draw, feasible] = scaled(y[draw][None, feasible])[0]
            y[draw, ~feasible] = REFERENCE
        return y

    def _logs(self, settings: Sequence[Setting]) -> tuple[Index, dict[str, Array]]:
        """Candidates (n,) among ``settings``, and log draws (d, n) of every quantity there."""
        state = len(self.history), len(self._pending) if len(settings) > EXACT else 0
        if self._drawn is None or self._drawn[0] != state:
            self._model = model = self._informed(settings)
            at = self._candidates(settings, model)
            logs = self._joint(settings, at, model)
            for here, same in self._caps_alike(settings, model):
                if here in at:
                    place = np.searchsorted(at, [here, same])
                    for values in logs.values():
                        values[:, place[0]] = values[:, place[1]]
            self._drawn = (state, at, logs)
        return self._drawn[1:]

    def _informed(self, settings: Sequence[Setting]) -> DefensiveEnsemble:
        """The model after what was told, in an order that the telling does not change."""
        if self._fresh is None or self._fresh[0] != len(settings):
            self._fresh, self._conditioned = (len(settings), self._untold(settings)), []
        cells = self._cells({self.key(s): i for i, s in enumerate(settings)})
        noise = _noise(list(cells.values()))
        runs: list[Measured] = []
        for at, logs in cells.items():
            t, p = np.log(np.exp(logs).mean(axis=0)).tolist()
            runs.append((at, t, p, (noise[0] / len(logs), noise[1] / len(logs))))
        return self._after(self._fresh[1], runs)

    def _untold(self, settings: Sequence[Setting]) -> DefensiveEnsemble:
        """The model before any run, with past jobs and, where there are some, without."""
        points, named = self._coded(settings)
        parts = [
            LawEnsemble(structures(points, self.space.names, jobs, named), seed=self.seed)
            for jobs in ([self._jobs, []] if self._jobs else [[]])
        ]
        return DefensiveEnsemble(*parts)

    def _after(self, fresh: DefensiveEnsemble, runs: Sequence[Measured]) -> DefensiveEnsemble:
        """A copy of the model after ``runs``; what begins as the last time is not learnt again."""
        past, same = self._conditioned, 0
        while same < min(len(runs), len(past)) and runs[same] == past[same][0]:
            same += 1
        del past[same:]
        for one in runs[same:]:
            model = (past[-1][1] if past else fresh).copy()
            model.tell(*one)
            past.append((one, model))
        return (past[-1][1] if past else fresh).copy()

    def _cells(self, place: Mapping[Any, int]) -> dict[int, Array]:
        """Log runtime and log power (k, 2) of the k runs of each setting that was told."""
        runs_at: dict[int, list[Array]] = {}
        front = self.front
        if not len(front):
            return {}
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(np.stack([front.draws(q) for q in ("runtime_s", "power_w")], axis=2))
        rows = front.alternatives.select(self.space.names).frame.rows()
        for i, row in enumerate(rows):
            runs = logs[np.isfinite(logs[:, i]).all(axis=1), i]
            if row in place and len(runs):
                runs_at.setdefault(place[row], []).append(runs)
        return {at: np.concatenate(runs) for at, runs in runs_at.items()}

    def _caps_alike(
        self, settings: Sequence[Setting], model: DefensiveEnsemble
    ) -> list[tuple[int, int]]:
        """Settings that are one with a told setting, since neither's power cap binds.

        Where two caps, all else equal, gave the same runtime and power, no cap from the lower one
        on binds.  Pairs of a setting that was not told and the lower one.
        """
        caps = [k for k in self.space.names if role_of(k) == "cap"]
        if len(caps) != 1:
            return []
        cap, logs = caps[0], dict(zip(model.measured, np.array(model.logs), strict=True))
        margin = 2 * np.sqrt(np.max(np.reshape(model.noise, (-1, 2)), axis=0, initial=0.0))
        groups: dict[tuple[Any, ...], list[int]] = {}
        for i, s in enumerate(settings):
            groups.setdefault(tuple(v for k, v in s.items() if k != cap), []).append(i)
        pairs = []
        for rows in groups.values():
            rows.sort(key=lambda i: settings[i][cap])
            own = [i for i in rows if i in logs]
            near = (np.abs(logs[a] - logs[b]) for a, b in pairwise(own))
            lowest = next((a for a, d in zip(own, near, strict=False)
                           if (d <= np.maximum(ALIKE, margin)).all()), None)  # fmt: skip
            if lowest is not None:
                free = rows[rows.index(lowest) :]
                pairs += [(i, lowest) for i in free if i not in logs]
        return pairs

    def _candidates(self, settings: Sequence[Setting], model: DefensiveEnsemble) -> Index:
        """Settings to be drawn jointly: all of a small space, else those that can matter."""
        if len(settings) <= EXACT:
            return np.arange(len(settings))
        mean, spread = (self._every(settings, *x) for x in model.marginals())
        wanted = [o.name for o in self.objectives]
        middle, width = (np.stack([x[q] for q in wanted], axis=1) for x in (mean, spread))
        excess = None
        for limit in self.limits if model.measured else ():
            over = mean[limit.quantity] - 2 * spread[limit.quantity] - np.log(limit.most)
            excess = over if excess is None else np.maximum(excess, over)
        chosen = promising(middle, width, CANDIDATES, excess=excess, seed=self.seed)
        taken = [i for i, s in enumerate(settings) if self.taken(s)]
        return np.union1d(chosen, np.array(taken, dtype=np.int64))

    def _joint(
        self, settings: Sequence[Setting], at: Index, model: DefensiveEnsemble
    ) -> dict[str, Array]:
        t, p = model.draws(int(np.clip(ENTRIES // len(at), *DRAWS)), at)
        return self._every([settings[i] for i in at], t, p, t + p)

    def _every(
        self, settings: Sequence[Setting], runtime: Array, power: Array, energy: Array
    ) -> dict[str, Array]:
        """Every quantity by its name; of node-hours, the nodes are known."""
        known = {"runtime_s": runtime, "power_w": power, "energy_j": energy}
        if "nodes" in self.space.names:
            nodes = np.array([float(s["nodes"]) for s in settings])
            known["node_hours"] = runtime + np.log(nodes / 3600.0)
        return known

    def _whole(self) -> bool:
        """Whether all settings are looked at."""
        sizes = [len(k.values) for k in self.space.knobs]
        return self.space.finite and prod(sizes) <= LISTED

    def _sample(self) -> list[dict[str, Any]]:
        points = require("scipy.stats.qmc", extra="core").Sobol(
            len(self.space.knobs), scramble=True, rng=self.seed
        )
        sampled = self.space.sample(points.random(SAMPLED))
        return list({self.key(s): s for s in sampled}.values())


def _noise(cells: Sequence[Array]) -> Array:
    """Variance (2,) of one run's log runtime and log power, pooled over repeats; 0 without any.

    >>> _noise([np.array([[0.0, 1.0], [0.2, 1.0]]), np.array([[5.0, 5.0]])]).round(3)
    array([0.02, 0.  ])
    """
    spare = sum(len(c) - 1 for c in cells)
    squares = sum((((c - c.mean(axis=0)) ** 2).sum(axis=0) for c in cells), np.zeros(2))
    variance = squares / max(spare, 1)
    return np.asarray(np.where(variance > ROUNDING, variance, 0.0))


def limitable(knobs: Sequence[str]) -> tuple[str, ...]:
    """Quantities whose limits can steer the plan."""
    return (*QUANTITIES, *(("node_hours",) if "nodes" in knobs else ()))


def _refuse(searcher: LawGuided) -> None:
    """Raise a `DataError` that says all that does not fit."""
    problems = []
    knobs = searcher.space.names
    names, known = [o.name for o in searcher.objectives if o.sense == "min"], limitable(knobs)
    if len(names) != len(searcher.objectives) or not set(names) <= set(known):
        problems.append(f"objectives: expected some of {', '.join(known)}, minimised; got {names}")
    problems += [
        f"limit on {x.quantity}: expected one of {', '.join(limitable(knobs))}"
        for x in searcher.limits
        if x.quantity not in limitable(knobs)
    ]
    if not problems and not searcher.listed():
        problems.append("the space has no setting that its constraints allow")
    if problems:
        raise DataError("LawGuided", problems)
