"""`Modelled`: fit a model to what was told, look at the settings left, take the most promising.

Subclasses say only what "promising" means (`score`).  The first few questions are spread evenly,
since a model needs something to learn from.  In a finite space every setting left is looked at; in
an endless one a dense even sample is, then the surroundings of the best, twice.  A batch is chosen
greedily: a setting that is already pending or picked is treated as if its result were in, draw by
draw, so that the next one complements it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from rheostat.core.front import Front, Objective
from rheostat.core.jobs import JobTable, concat
from rheostat.core.outcome import Array, Outcome, Predictor
from rheostat.core.space import Knob, Setting, Space
from rheostat.errors import DataError
from rheostat.prediction.gp import GaussianProcess
from rheostat.tradeoff.limits import Limit
from rheostat.tradeoff.propose.base import Searcher
from rheostat.tradeoff.propose.candidate_view import CandidateView, look
from rheostat.tradeoff.propose.spacefill import spread

POOL = 512  # even sample of an endless space
_BEST, _AROUND = 4, 24  # so many settings refined, each by so many neighbours
_PHYSICAL = {"runtime_s", "power_w", "energy_j", "edp_js", "node_hours"}


class Shared(TypedDict, total=False):
    """What every proposer takes; see `Searcher`."""

    job: JobTable | None
    limits: Iterable[Limit]
    seed: int


class Options(Shared, total=False):
    """What every proposer led by a model takes; see `Modelled`."""

    model: Predictor | None
    prior: JobTable | None
    initial: int | None
    reference: Sequence[float] | None
    log: bool | None


class Modelled(Searcher):
    """A search led by a model.

    Parameters
    ----------
    space, objectives, **shared
        As for `Searcher`.
    model : Predictor, optional
        Refitted before every question to ``prior`` and what was told.  Default: a
        `GaussianProcess` over the knobs.
    prior : JobTable, optional
        Past runs to learn from as well, with the same columns as ``job`` and the targets.
    initial : int, optional
        Evenly spread settings before the model is asked; default: one more than there are knobs,
        none with a ``prior``.
    reference : sequence of float, optional
        Reference point of the hypervolume in the objectives' units; default: a tenth of the range
        beyond the nadir of what is told and forecast.
    log : bool, optional
        Whether ratios or differences count; default: ratios when everything is positive.
    """

    steps: tuple[float, ...] = (0.1, 0.03, 0.01)  # of the unit cube: surroundings seen in turn
    rereads: bool = False  # whether the model is asked about told settings again

    def __init__(
        self,
        space: Space | Knob | Iterable[Knob],
        objectives: Sequence[str | Objective] = ("runtime_s", "energy_j"),
        *,
        model: Predictor | None = None,
        prior: JobTable | None = None,
        initial: int | None = None,
        reference: Sequence[float] | None = None,
        log: bool | None = None,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(space, objectives, **shared)
        self.model = model or GaussianProcess(self.space, self.targets(), seed=self.seed)
        self.prior = prior
        self.reference = reference
        self.log = log
        unknown = 0 if prior is not None else len(self.space.knobs) + 1
        self.initial = unknown if initial is None else initial

    def score(self, view: CandidateView, rng: np.random.Generator) -> Array:
        """How promising each candidate is, (candidates,); larger is better."""
        raise NotImplementedError(f"{type(self).__name__} does not say what is promising")

    def propose(self, n: int, rng: np.random.Generator) -> list[dict[str, Any]]:
        """Evenly spread settings first, then the best scores, one after the other."""
        if self.early():
            return spread(self, n)
        self.refit()
        free = self.free()
        return self._from_range(n, rng) if free is None else self._from_list(n, free, rng)

    def early(self) -> bool:
        """Whether there is too little to fit a model to."""
        observed = np.isfinite(self.front.values).all(axis=1).sum() if len(self.history) else 0
        fewest = 0 if self.prior is not None else 2
        return bool(observed < fewest or len(self.history) + len(self.pending) < self.initial)

    def forecast(self, settings: Sequence[Setting]) -> Outcome | None:
        """Draws of the model, fitted to what was told; None while there is too little to fit."""
        if self.early():
            return None
        self.refit()
        return self.model.predict(self.space.alternatives(self.job, list(settings)))

    def targets(self) -> tuple[str, ...]:
        """What the default model learns: runtime and power where the rest follows from them."""
        wanted = dict.fromkeys([*(o.name for o in self.objectives), *self.also()])
        if set(wanted) <= {"runtime_s", "node_hours"} and "nodes" in self.space.names:
            return ("runtime_s",)
        if set(wanted) <= _PHYSICAL and len(wanted) > 1:
            return ("runtime_s", "power_w")
        return tuple(wanted)

    def also(self) -> tuple[str, ...]:
        """Quantities needed beside the objectives."""
        return tuple(limit.quantity for limit in self.limits)

    def refit(self) -> None:
        """Fit the model to the prior and to what was told."""
        parts = [] if self.prior is None else [self.prior]
        if len(self.history):
            extra = [t for t in self.targets() if t in self.front.outcome]
            observed = self.history.table(extra)
            parts.append(observed.rows(np.asarray(np.isfinite(self.front.values).all(axis=1))))
        self.model = self.model.fit(concat(parts))

    def view(
        self, candidates: Sequence[dict[str, Any]], fixed: Sequence[dict[str, Any]]
    ) -> CandidateView:
        """What the fitted model says about the candidates, ``fixed`` being as good as known."""
        observed = self.front.alternatives.select(self.space.names).frame.rows(named=True)
        parts = (candidates, fixed, observed if self.rereads else [])
        settings = [s for part in parts for s in part]
        rows = self.space.alternatives(self.job, settings)
        return look(
            parts,
            Front(rows, self.model.predict(rows), self.objectives),
            self.front,
            limits=self.limits,
            failing=self.failing(settings),
            reference=self.reference,
            log=self.log,
        )

    def _from_list(
        self, n: int, free: list[dict[str, Any]], rng: np.random.Generator
    ) -> list[dict[str, Any]]:
        """The ``n`` best of a finite space, in one prediction."""
        if not free:
            return []
        view = self.view(free, self.pending)
        picked: list[int] = []
        for _ in range(min(n, len(free))):
            order = ranked(view, self.score(view, rng))
            best = next(int(i) for i in order if i not in picked)
            picked.append(best)
            view = view.given(best)
        return [free[i] for i in picked]

    def _from_range(self, n: int, rng: np.random.Generator) -> list[dict[str, Any]]:
        """``n`` settings of an endless space: a dense sample, then the surroundings of its best."""
        picked: list[dict[str, Any]] = []
        for _ in range(n):
            seed = int(rng.integers(2**32))  # each look at this point scores with the same chance
            best = self._best(self.unseen(self.sample(rng), picked), picked, seed)
            for step in self.steps:
                near = self.unseen(self.around(best, step, rng), [*picked, *best])
                best = self._best([*best, *near], picked, seed)
            picked.append(best[0])
        return picked

    def _best(
        self, candidates: list[dict[str, Any]], picked: list[dict[str, Any]], seed: int
    ) -> list[dict[str, Any]]:
        if not candidates:
            raise DataError("Space", ["no setting is left that the constraints allow"])
        view = self.view(candidates, [*self.pending, *picked])
        order = ranked(view, self.score(view, np.random.default_rng(seed)))
        return [candidates[int(i)] for i in order[:_BEST]]

    def sample(self, rng: np.random.Generator) -> list[dict[str, Any]]:
        """Allowed settings all over the space."""
        return self.space.sample(rng.random((POOL, len(self.space.knobs))))

    def around(
        self, centres: list[dict[str, Any]], step: float, rng: np.random.Generator
    ) -> list[dict[str, Any]]:
        """Neighbours of the centres: about half of the knobs turned, the others kept."""
        u = self.space.scale(self.space.alternatives(None, centres))
        near = np.repeat(u, _AROUND, axis=0)
        turned = rng.random(near.shape) < max(0.5, 1 / near.shape[1])
        near = np.clip(near + turned * rng.normal(0.0, step, near.shape), 0.0, 1.0)
        return self.space.sample(near)

    def unseen(
        self, settings: list[dict[str, Any]], picked: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Each setting once, none that is taken or picked."""
        out = {self.key(p) for p in picked}
        fresh = {self.key(s): s for s in settings if not self.taken(s)}
        return [s for k, s in fresh.items() if k not in out]


def ranked(view: CandidateView, score: Array) -> NDArray[np.int64]:
    """Candidates from best to worst; equal scores by chance of being feasible, then by doubt."""
    score = np.where(np.isnan(score), -np.inf, score)
    return np.asarray(np.lexsort((-view.uncertainty(), -view.likely(), -score)), dtype=np.int64)
