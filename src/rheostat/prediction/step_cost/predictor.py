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

from rheostat.core.graph import Graph
from rheostat.core.jobs import JobTable, Moment, Note
from rheostat.core.outcome import Outcome
from rheostat.errors import DataError, NotFitted
from rheostat.prediction.intervals import joint_marginals
from rheostat.prediction.model_columns import learnable
from rheostat.prediction.step_cost.additive import Array, Codes, fit_additive
from rheostat.prediction.step_cost.rows import ASKED, TrainingRows, without_graph
from rheostat.prediction.step_cost.terms import cost_terms
from rheostat.prediction.step_cost.transfer import Known, TransferGP

TARGETS = ("runtime_s", "energy_j", "memory_peak_b")
MOST_ROWS = 1500
"""Configurations learned from; the covariance of more takes too long."""
DECIMALS = 9
"""Linear algebra may differ in the last bit with the batch size; logarithms are rounded here."""
PRIOR_RUNS = 10.0
"""Runs of other devices that stand in for those of a device where its errors are learned."""
NORMAL_MEDIAN = 0.6745
"""Median absolute deviation of a normal variable of spread 1."""
SHARES = (0.5, 0.25, 0.75, 0.0, 1.0)
"""Shares of the additive model alone where a network was never run, the likelier first."""
NETWORK_FOLDS = 5
FEWEST_NETWORKS = 4
"""With fewer networks nothing says how far the residual of one holds for another."""


class StepCost:
    """Predict time, and where they were measured energy and peak memory, of training steps.

    Parameters
    ----------
    targets : sequence of str, optional
        Which to learn; by default those of `TARGETS` that the table has.
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
        targets = self.targets or [t for t in TARGETS if t in jobs.columns]
        self.devices_: list[str] = []
        self.apps_: list[str] = []
        self.fits_: dict[str, TransferGP] = {}
        self.scores_: dict[str, tuple[Array, Array, Array]] = {}
        self.shares_: dict[str, float] = {}
        self.notes_: tuple[Note, ...] = ()
        for target in targets or ["runtime_s"]:
            self._learn(target, jobs)
        self.epoch_overhead_ = self._overhead(jobs)
        return self

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
                mean, spread, new = self.posterior(rows.rows(where), name)
                z = self._standardised(rows.rows(where), name, new)
                draws[name][:, where] = np.exp(np.round(mean + spread * z, DECIMALS))
        if "runtime_s" in draws:
            draws |= self._of_time(draws["runtime_s"], jobs, rows.batch)
        lost = np.flatnonzero(~rows.known)
        notes = [Note(p, tuple(lost[:20].tolist()), len(lost)) for p in
                 (without_graph(jobs, rows) if len(lost) else [])]  # fmt: skip
        return Outcome(draws, notes=tuple(notes))

    def posterior(self, rows: TrainingRows, target: str) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Mean and standard deviation of the logarithm, and whether the network was never run."""
        fit = self.fits_[target]
        asked = self._coded(rows)
        mean, spread = fit.predict(asked)
        new = asked.app < 0
        alone = fit.law.predict(asked.terms, asked.device)
        mean = np.where(new, mean + self.shares_[target] * (alone - mean), mean)
        return np.round(mean, DECIMALS), np.round(spread, DECIMALS), new

    def _standardised(self, rows: TrainingRows, target: str, new: NDArray[np.bool_]) -> Array:
        """Standardised errors to expect, (n_draws, n): as wide as the device's own were."""
        runs, networks, widths = self.scores_[target]
        z = np.where(new, networks[:, None], runs[:, None] * widths[self._coded(rows).device])
        return np.asarray(z)

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
        self.notes_ = (*self.notes_, *notes)
        rows, log_y, repeat = _distinct(rows.rows(rows.known), np.log(values[rows.known, 0]))
        if len(rows) > MOST_ROWS:
            few = np.sort(np.random.default_rng(self.seed).permutation(len(rows))[:MOST_ROWS])
            rows, log_y = rows.rows(few), log_y[few]
        self.devices_ = sorted({*self.devices_, *rows.device.tolist()})
        self.apps_ = sorted({*self.apps_, *rows.app.tolist()})
        known = self._coded(rows)
        law = fit_additive(rows.terms, log_y, known.device, len(self.devices_) + 1)
        self.fits_[target] = TransferGP(law, *known, log_y).chosen(self.seed, repeat)
        self.scores_[target] = self._scores(self.fits_[target])
        self.shares_[target] = _best_share(self.fits_[target])

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

    def _scores(self, fit: TransferGP) -> tuple[Array, Array, Array]:
        """Quantiles of standardised errors, of runs and of networks left out, (n_draws,) each.

        And how wide those of each device's runs are beside all, (devices + 1,): what a few runs say
        counts as much as `PRIOR_RUNS` of the others.
        """
        made = []
        for groups in (np.arange(len(fit.app)), fit.app):
            error, spread = fit.scores(groups)
            made.append(error / spread)
        runs = np.bincount(fit.device, minlength=fit.law.devices)
        total = np.bincount(fit.device, np.abs(made[0]), fit.law.devices)
        widths = (total / np.abs(made[0]).mean() + PRIOR_RUNS) / (runs + PRIOR_RUNS)
        made[1] = np.concatenate([made[1], -made[1]])  # a new network may err to either side
        quantiles = [np.sort(joint_marginals(z[:, None], self.n_draws)[0]) for z in made]
        return quantiles[0], quantiles[1], widths

    def _coded(self, rows: TrainingRows) -> Known:
        device = _codes(rows.device, self.devices_)
        return Known(rows.terms, np.where(device < 0, len(self.devices_), device),
                     _codes(rows.app, self.apps_), rows.batch)  # fmt: skip


def _best_share(fit: TransferGP) -> float:
    """The share of the additive model that is most right on networks left out."""
    networks = np.unique(fit.app)
    if len(networks) < FEWEST_NETWORKS:
        return 1.0
    joint, _ = fit.scores(fit.app)
    alone = np.empty(len(joint))
    for held in np.array_split(networks, min(NETWORK_FOLDS, len(networks))):
        out = np.isin(fit.app, held)
        if out.all():
            return SHARES[0]
        law = fit_additive(fit.terms[~out], fit.log_y[~out], fit.device[~out], fit.law.devices,
                           fit.law.parameters)  # fmt: skip
        alone[out] = fit.log_y[out] - law.predict(fit.terms[out], fit.device[out])
    return min(SHARES, key=lambda s: float(np.abs(joint + s * (alone - joint)).mean()))


def _codes(names: NDArray[np.str_], known: Sequence[str]) -> Codes:
    place: dict[Any, int] = {name: i for i, name in enumerate(known)}
    return np.array([place.get(n, -1) for n in names.tolist()], dtype=np.int64)


def _distinct(rows: TrainingRows, log_y: Array) -> tuple[TrainingRows, Array, float]:
    """Repeated runs of one configuration as one row with their median, and how far they spread."""
    keys = np.column_stack([rows.terms, rows.batch, _codes(rows.device, sorted(set(rows.device))),
                            _codes(rows.app, sorted(set(rows.app)))])  # fmt: skip
    _, first, back = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(back.reshape(-1), kind="stable")
    repeats = np.split(log_y[order], np.searchsorted(back.reshape(-1)[order],
                                                     np.arange(1, len(first))))  # fmt: skip
    median = np.array([np.median(v) for v in repeats])
    away = [np.abs(v - m) * np.sqrt(len(v) / (len(v) - 1)) for v, m in
            zip(repeats, median, strict=True) if len(v) > 1]  # fmt: skip
    spread = float(np.median(np.concatenate(away))) / NORMAL_MEDIAN if away else 0.0
    return rows.rows(first), median, spread
