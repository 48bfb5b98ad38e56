"""`StepCost`: how long a training step takes, on a device that was run a lot, little or never.

The additive model gives every row a cost from its graph of operations; `transfer` corrects it by
what was measured on this and on other devices.  Logarithms throughout; draws are the scores that
runs had when they, or for a network that was never run their whole network, were left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheostat._threads import one_thread
from rheostat.core.graph import Graph
from rheostat.core.jobs import JobTable, Moment, Note
from rheostat.core.outcome import DERIVED, Outcome
from rheostat.errors import DataError, NotFitted
from rheostat.prediction.features.model_columns import learnable
from rheostat.prediction.saved_models.from_file import blames_its_file
from rheostat.prediction.step_cost.additive import Array, Codes, fit_additive
from rheostat.prediction.step_cost.rows import ASKED, TrainingRows, without_graph
from rheostat.prediction.step_cost.stacking import (
    PRIOR_NETWORKS,
    PRIOR_RUNS,
    ErrorScores,
    Repeats,
    StackedErrors,
    TreesOnCosts,
    error_scores,
    left_out,
    with_trees,
)
from rheostat.prediction.step_cost.terms import BYTE_PER_S, cost_terms
from rheostat.prediction.step_cost.transfer import Known, TransferGP
from rheostat.prediction.step_cost.unlike import KINDS, Unlike

TARGETS = ("runtime_s", "energy_j", "memory_peak_b")
PER_SECOND = {"energy_j": 100.0, "memory_peak_b": BYTE_PER_S}
"""What stands for a second of the device that the additive model's prior has in mind: its
watts, and the bytes that it moves."""
MOST_ROWS = 1500
"""Configurations learned from; the covariance of more takes too long."""
DECIMALS = 9
"""Linear algebra may differ in the last bit with the batch size; logarithms are rounded here."""
NORMAL_MEDIAN = 0.6745
"""Median absolute deviation of a normal variable of spread 1."""
TIMED = ("runtime_s", "energy_j")
"""Targets for which a roofline stands."""
NOTED = 0.1
"""Share of a step in kinds of operations never timed from which on it is said."""


class StepCost:
    """Predict time, and where they were measured energy and peak memory, of training steps.

    Parameters
    ----------
    targets : sequence of str, optional
        Which to learn; by default those of `TARGETS` that the table has, or power and runtime for
        the energy.
    graphs : mapping of str to Graph, optional
        Graphs by what stands in column ``graph``; named networks and single layers need none.
    n_draws : int
        Draws of the answer.
    seed : int
        Which configurations are learned from where there are more than `MOST_ROWS`.

    Examples
    --------
    >>> from rheostat.core.vocabulary import table
    >>> runs = table({"app": ["LeNet5"] * 4, "device": ["T4"] * 4, "image_px": [32] * 4,
    ...               "batch_size": [8, 16, 32, 64], "runtime_s": [1e-3, 1.1e-3, 1.3e-3, 1.7e-3]})
    >>> model = StepCost().fit(runs)
    >>> [f"{t * 1e3:.1f}" for t in model.predict(runs).quantile("runtime_s", 0.5)]
    ['1.0', '1.1', '1.3', '1.7']
    """

    def __init__(
        self, targets: Sequence[str] | None = None, *, graphs: Mapping[str, Graph] | None = None,
        n_draws: int = 200, seed: int = 0,
    ) -> None:  # fmt: skip
        self.targets = None if targets is None else list(targets)
        self.terms = {name: cost_terms(graph) for name, graph in (graphs or {}).items()}
        self.n_draws = n_draws
        self.seed = seed

    def knowing(self, graphs: Mapping[str, Graph]) -> StepCost:
        """The same model, which knows these graphs besides; itself."""
        self.terms |= {name: cost_terms(graph) for name, graph in graphs.items()}
        return self

    @one_thread()
    def fit(self, jobs: JobTable) -> StepCost:
        """Learn from measured training runs.

        Parameters
        ----------
        jobs : JobTable
            Columns as `TrainingRows.of` reads them, and the targets.

        Returns
        -------
        StepCost
            Itself.

        Raises
        ------
        DataError
            No row has a known graph and a target.
        """
        jobs.refuse_later_than(Moment.SUBMIT, [c for c in ASKED if c in jobs.columns])
        targets = self.targets or [t for t in TARGETS if _held(jobs, t)]
        self.devices_: list[str] = []
        self.apps_: list[str] = []
        self.fits_: dict[str, TransferGP] = {}
        self.trees_: dict[str, TreesOnCosts | None] = {}
        self.runs_: dict[str, StackedErrors] = {}
        self.networks_: dict[str, StackedErrors] = {}
        self.unlike_: dict[str, Unlike] = {}
        self.scores_: dict[str, tuple[ErrorScores, ErrorScores]] = {}
        self.notes_: tuple[Note, ...] = ()
        for target in targets or ["runtime_s"]:
            self._learn(target, jobs)
        self.epoch_overhead_ = self._overhead(jobs)
        return self

    @blames_its_file
    @one_thread()
    def predict(self, jobs: JobTable) -> Outcome:
        """Draws of each target, (n_draws, n); a row whose graph is unknown is abstained on."""
        if not hasattr(self, "fits_"):
            raise NotFitted(self)
        rows = TrainingRows.of(jobs, self.terms)
        where = np.flatnonzero(rows.known)
        draws: dict[str, Array] = {
            name: np.full((self.n_draws, len(rows)), np.nan) for name in self.fits_
        }
        if len(where):
            for name in self.fits_:
                said = self._logarithms(rows.rows(where), name)
                draws[name][:, where] = np.exp(np.round(said, DECIMALS))
        if "runtime_s" in draws:
            draws |= self._of_time(draws["runtime_s"], jobs, rows.batch)
        lost = np.flatnonzero(~rows.known)
        notes = [Note(p, tuple(lost[:20].tolist()), len(lost)) for p in
                 (without_graph(jobs, rows) if len(lost) else [])]  # fmt: skip
        return Outcome(draws, notes=(*notes, *self._never_timed(rows, where)))

    def _logarithms(self, rows: TrainingRows, target: str) -> Array:
        """Draws, (n_draws, n); networks of no family by what families left out say."""
        mean, spread, new = self.posterior(rows, target)
        said = mean + spread * self._standardised(rows, target, new)
        if (unlike := getattr(self, "unlike_", {}).get(target)) is None:
            return np.asarray(said)
        asked = self.coded(rows, target)
        level = (np.arange(self.n_draws) + 0.5) / self.n_draws
        share = unlike.share(asked)
        other = unlike.draws(asked, level)
        return np.asarray((1.0 - share) * said + share * other)

    def _never_timed(self, rows: TrainingRows, where: Codes) -> list[Note]:
        """Kinds of operations that no run had to such an extent."""
        unlike = getattr(self, "unlike_", {}).get("runtime_s")
        if unlike is None or not len(where):
            return []
        share = unlike.never_timed(self.coded(rows.rows(where)))
        return [
            Note(f"up to {100 * own.max():.0f} % of a step is {kind} beyond what any run had of "
                 f"it: its speed is guessed, the interval is wider",
                 tuple(where[own > NOTED][:20].tolist()), int((own > NOTED).sum()))
            for kind, own in zip(KINDS, share.T, strict=True) if own.max() > NOTED
        ]  # fmt: skip

    def posterior(self, rows: TrainingRows, target: str) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Mean and standard deviation of the logarithm, and whether the network was never run."""
        fit = self.fits_[target]
        asked = self.coded(rows, target)
        mean, spread = fit.predict(asked)
        new = asked.app < 0
        parts = [mean, fit.law.predict(asked.terms, asked.device)]
        if (trees := self.trees_[target]) is not None:
            parts.append(trees.predict(asked))
        weights = np.where(new[:, None], self.networks_[target].weights[asked.device],
                           self.runs_[target].weights[asked.device])  # fmt: skip
        mean = (weights.T * np.array(parts)).sum(axis=0)
        return np.round(mean, DECIMALS), np.round(spread, DECIMALS), new

    def _standardised(self, rows: TrainingRows, target: str, new: NDArray[np.bool_]) -> Array:
        """Standardised errors to expect, (n_draws, n): as wide as the device's own were."""
        device = self.coded(rows).device
        runs, networks = (s.quantiles[:, None] * s.widths[device] for s in self.scores_[target])
        return np.asarray(np.where(new, networks, runs))

    def _of_time(self, step_s: Array, jobs: JobTable, batch: Array) -> dict[str, Array]:
        """Time for one sample, and for one pass where the table says how many there are."""
        made = {"sample_s": step_s / batch}
        if "samples" in jobs.columns:
            steps = np.ceil(jobs.numpy("samples") / batch)
            made["epoch_s"] = step_s * steps * np.exp(self.epoch_overhead_)[:, None]
        return made

    def _learn(self, target: str, jobs: JobTable) -> None:
        kept, values, notes = learnable(jobs, (target,))
        rows = TrainingRows.of(kept, self.terms)
        if not rows.known.any():
            raise DataError("training runs", without_graph(kept, rows))
        if not rows.known.all():
            lost = int((~rows.known).sum())
            said = "; ".join(without_graph(kept, rows))
            notes = (*notes, Note(f"rows without a graph were not learnt from: {said}",
                                  count=lost, dropped=True))  # fmt: skip
        self.notes_ = tuple(dict.fromkeys((*self.notes_, *notes)))
        rows, log_y, repeats = _distinct(rows.rows(rows.known), np.log(values[rows.known, 0]))
        if len(rows) > MOST_ROWS:
            few = np.sort(np.random.default_rng(self.seed).permutation(len(rows))[:MOST_ROWS])
            rows, log_y, repeats = rows.rows(few), log_y[few], repeats.of(few)
        self.devices_ = sorted({*self.devices_, *rows.device.tolist()})
        self.apps_ = sorted({*self.apps_, *rows.app.tolist()})
        known = self.coded(rows, target)
        law = fit_additive(known.terms, log_y, known.device, len(self.devices_) + 1)
        fit = TransferGP.of(law, known, log_y).chosen(self.seed, _repeat_spread(repeats))
        trees = with_trees(len(log_y))
        one = np.arange(len(log_y))
        runs = left_out(fit, one, PRIOR_RUNS, self.seed, trees=trees)
        networks = left_out(fit, fit.app, PRIOR_NETWORKS, self.seed, trees=trees)
        self.fits_[target], self.runs_[target], self.networks_[target] = fit, runs, networks
        if target in TIMED:
            self.unlike_[target] = Unlike.of(known, log_y, law, self.seed)
        self.trees_[target] = TreesOnCosts(self.seed).fit(known, log_y) if trees else None
        self.scores_[target] = (
            error_scores(runs, fit.device, one, PRIOR_RUNS, self.n_draws, repeats),
            error_scores(networks, fit.device, fit.app, PRIOR_NETWORKS, self.n_draws, repeats),
        )

    def _overhead(self, jobs: JobTable) -> Array:
        """Quantiles (n_draws,), shuffled, of how much longer a pass takes than its steps, log."""
        if not {"epoch_s", "samples", "runtime_s", "batch_size"} <= set(jobs.columns):
            return np.zeros(self.n_draws)
        steps = np.ceil(jobs.numpy("samples") / jobs.numpy("batch_size"))
        with np.errstate(divide="ignore", invalid="ignore"):
            longer = np.log(jobs.numpy("epoch_s") / (steps * jobs.numpy("runtime_s")))
        longer = longer[np.isfinite(longer)]
        if not len(longer):
            return np.zeros(self.n_draws)
        level = (np.arange(self.n_draws) + 0.5) / self.n_draws
        return np.asarray(np.random.default_rng(self.seed).permutation(np.quantile(longer, level)))

    def coded(self, rows: TrainingRows, target: str = "runtime_s") -> Known:
        """Rows by the numbers of the devices and networks that were learned from.

        What a step is made of is in the unit of the target, on a device of the prior.
        """
        device = _codes(rows.device, self.devices_)
        terms = rows.terms * PER_SECOND.get(target, 1.0)
        return Known(terms, np.where(device < 0, len(self.devices_), device),
                     _codes(rows.app, self.apps_), rows.batch)  # fmt: skip


def _held(jobs: JobTable, target: str) -> bool:
    parts = DERIVED[target][0] if target in DERIVED else (target,)
    return target in jobs.columns or set(parts) <= set(jobs.columns)


def _codes(names: NDArray[np.str_], known: Sequence[str]) -> Codes:
    place: dict[Any, int] = {name: i for i, name in enumerate(known)}
    return np.array([place.get(n, -1) for n in names.tolist()], dtype=np.int64)


def _distinct(rows: TrainingRows, log_y: Array) -> tuple[TrainingRows, Array, Repeats]:
    """Repeated runs of one configuration as one row with their median."""
    keys = np.column_stack([rows.terms, rows.batch, _codes(rows.device, sorted(set(rows.device))),
                            _codes(rows.app, sorted(set(rows.app)))])  # fmt: skip
    _, first, back = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    which = back.reshape(-1)
    repeats = [log_y[which == i] for i in range(len(first))]
    median = np.array([np.median(v) for v in repeats])
    return rows.rows(first), median, Repeats(which, log_y - median[which])


def _repeat_spread(repeats: Repeats) -> float:
    """Standard deviation of runs of one configuration, from those that were run again."""
    count = np.bincount(repeats.which)[repeats.which]
    away = np.abs(repeats.away) * np.sqrt(count / np.maximum(count - 1, 1))
    again = count > 1
    return float(np.median(away[again])) / NORMAL_MEDIAN if again.any() else 0.0
