"""What will this job cost at this setting?  Any regressor, lifted to a `Predictor`.

A surrogate learns log runtime and log power from past jobs and answers with draws instead of one
number.  It looks only at columns known when it is asked, spreads its draws as wide as its own past
errors were, and abstains where nothing similar has been run.

Notation
--------
n  rows      t  targets      K  draws      N  nodes
y : (n, t) log targets less e log N, where e is the target's exponent under perfect scaling
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.jobs import JobTable, Moment, Note
from rheostat.core.outcome import Array, Outcome
from rheostat.errors import NotFitted
from rheostat.prediction.features.cold_start import (
    UNLIKE,
    KnownGroups,
    equal_shares,
    fit_regulars,
    group_folds,
)
from rheostat.prediction.features.encode import Encoder, fit_encoder
from rheostat.prediction.features.knob_dependent_columns import followers
from rheostat.prediction.features.model_columns import choose_features, learnable
from rheostat.prediction.features.support import Support, fit_support
from rheostat.prediction.intervals import (
    Calibration,
    Ints,
    bounded_spreads,
    calibrate,
    fit_spread,
)
from rheostat.prediction.saved_models.from_file import blames_its_file
from rheostat.prediction.surrogate.loss_sampling import draw
from rheostat.prediction.surrogate.regressors import (
    make_regressor,
    shaped,
    takes_nan,
    takes_weights,
)

EXPONENTS = {"runtime_s": -1.0, "power_w": 1.0, "power_max_w": 1.0, "node_hours": 0.0}
"""How a job that scales perfectly would follow its node count; the model learns the departure."""
BLOCKS = (0.6, 0.8)
"""Fit on the first 60 %, learn the spread on the next fifth, calibrate on the newest fifth."""
FEWEST_FOR_BLOCKS = 100
FEWEST_KNOWN = 20
HIDDEN_FOLDS, HIDDEN = 5, 2
"""Groups are dealt into five folds; two of them (one if slow) are hidden in turn."""
ATTENTION = ("xgboost", "attention")
"""What ``method="attention"`` means: these trees, fed by this embedding."""


DECIMALS = 9
"""Linear algebra may differ in the last bit with the batch size; log targets are rounded here."""


@dataclass(frozen=True)
class Stage:
    """An encoder and a regressor fitted on the same rows."""

    encoder: Encoder
    regressor: Any

    def predict(self, frame: pl.DataFrame) -> tuple[Array, Array]:
        """Log targets (n, t) and the matrix they were computed from."""
        x = self.encoder.transform(frame)
        mu = np.asarray(self.regressor.predict(x), dtype=float).reshape(len(x), -1)
        return np.round(mu, DECIMALS), x


class Surrogate:
    """A learned model of job outcomes with calibrated intervals.

    Parameters
    ----------
    method : str or scikit-learn regressor
        "forest", "boosting", "xgboost", "lightgbm", "tabnet", "attention" (an attention embedding
        feeding trees), or any regressor.
    targets : sequence of str
        Quantities to predict, positive, in SI units; derived ones (energy) need not be named.
    embedding : str, optional
        "tabnet" or "attention": learned features beside the plain ones.
    features : sequence of str, optional
        Columns to look at; None takes all that are known at ``asked_at`` and can teach.
    asked_at : Moment
        When predictions will be asked for; columns known later are refused.
    sample : object, optional
        How to choose the rows to learn from; None takes all (see `prediction.loss_sampling`).
    min_support : int
        Fewest similar past runs for an answer; 0 answers everywhere.
    group_by : sequence of str, optional
        Columns that make runs similar; None: the application, else the user.
    turned : str, optional
        The column to be turned afterwards; features=None then leaves out the columns that only
        follow it (cores, time limit).  None: predict jobs as submitted.
    scaled : bool
        Learn the departure from perfect scaling with the node count instead of the totals.
    n_draws : int
        Draws of each prediction.
    seed : int
        Of everything that is drawn.

    Examples
    --------
    >>> from rheostat.core.vocabulary import table
    >>> n = np.tile([1, 2, 4, 8], 10)
    >>> past = table({"nodes": n, "runtime_s": 80.0 / n, "power_w": 300.0 * n})
    >>> model = Surrogate("forest").fit(past)
    >>> out = model.predict(table({"nodes": [4, 64]}))
    >>> out.mean("power_w").round(), out.support
    (array([1200.,   nan]), array([30.,  0.]))
    >>> out.notes[0].message
    'outside the support of the past runs: no prediction'

    A feature known later than ``asked_at`` raises `LeakError`; a table that lacks a feature raises
    `DataError` naming all that are missing; a category never seen is predicted as an average one.
    """

    def __init__(  # noqa: PLR0913 - options of one model, all but the method by keyword
        self,
        method: Any = "forest",
        *,
        targets: Sequence[str] = ("runtime_s", "power_w"),
        embedding: str | None = None,
        features: Sequence[str] | None = None,
        asked_at: Moment = Moment.SUBMIT,
        sample: Any = None,
        min_support: int = 3,
        group_by: Sequence[str] | None = None,
        turned: str | None = "nodes",
        scaled: bool = True,
        n_draws: int = 64,
        seed: int = 0,
    ) -> None:
        self.method = method
        self.targets = tuple(targets)
        self.embedding = embedding
        self.features = features
        self.asked_at = asked_at
        self.sample = sample
        self.min_support = min_support
        self.group_by = group_by
        self.turned = turned
        self.scaled = scaled
        self.n_draws = n_draws
        self.seed = seed

    def fit(self, jobs: JobTable) -> Surrogate:
        """Learn from finished ``jobs``; row order does not matter, submit time does."""
        jobs, values, notes = learnable(jobs, self.targets)
        self.features_, followed = self._choose(jobs)
        rng = np.random.default_rng(self.seed)
        frame, y, weights = self._ordered(jobs, values, rng)
        self.support_: Support = fit_support(frame, self.group_by)
        self.regulars_: KnownGroups = fit_regulars(frame)
        self.calibration_ = self._calibrate(frame, y, weights, rng)
        self.stage_ = self._stage(frame, y, weights, rng)
        self.notes_, self.n_learnt_ = (*notes, *followed), len(y)
        return self

    @blames_its_file
    def predict(self, jobs: JobTable) -> Outcome:
        """Draws (K, n) of every target, support (n,), and notes on rows it abstains on."""
        frame = self._asked(jobs)
        if not frame.height:
            return Outcome({t: np.empty((self.n_draws, 0)) for t in self.targets}, np.zeros(0))
        support = self.support_.counts(frame)
        mu, x = self.stage_.predict(frame)
        new = self.regulars_.is_new(frame)
        draws = self.calibration_.draws(mu, x, self.support_.group(frame), new)
        unknown = self._unknown(frame)
        answered = (support >= self.min_support) & ~unknown
        scale = np.where(answered, 0.0, np.nan)[:, None] + self._log_nodes(frame)
        values = {t: np.exp(draws[i] + scale[:, i]) for i, t in enumerate(self.targets)}
        grade = np.where(answered, self.support_.grade(frame), 0)
        return Outcome(values, support, _abstentions(~answered & ~unknown, unknown), grade)

    @blames_its_file
    def predict_log(self, jobs: JobTable) -> Array:
        """Point prediction of the log targets, (n, t), also outside the support."""
        frame = self._asked(jobs)
        return self.stage_.predict(frame)[0] + self._log_nodes(frame)

    def _unknown(self, frame: pl.DataFrame) -> NDArray[np.bool_]:
        """Rows of a group never seen where groups are too few to tell how unlike they are, (n,)."""
        known = self.calibration_.new_group_marginals is not None or not self.support_.groups
        if known or not self.min_support:
            return np.zeros(frame.height, dtype=bool)
        return self.support_.group(frame) < 0

    def _choose(self, jobs: JobTable) -> tuple[tuple[str, ...], tuple[Note, ...]]:
        """Features, and a note on those left out because they only follow the knob."""
        names = choose_features(jobs, self.asked_at, self.targets, self.features)
        if self.features is not None or self.turned is None or self.turned not in names:
            return names, ()
        follow = followers(jobs.frame, self.turned, names)
        note = Note(f"not used as features, they only follow {self.turned}: {', '.join(follow)}")
        return tuple(c for c in names if c not in follow), (note,) if follow else ()

    def _asked(self, jobs: JobTable) -> pl.DataFrame:
        if not hasattr(self, "stage_"):
            raise NotFitted(self)
        jobs.require(*self.features_)
        jobs.refuse_later_than(self.asked_at, self.features_)
        return jobs.frame.select(self.features_)

    def _ordered(
        self, jobs: JobTable, values: Array, rng: np.random.Generator
    ) -> tuple[pl.DataFrame, Array, Array | None]:
        """Features, log targets and weights, oldest first, in whatever order the rows came."""
        weighted = "weight" in jobs.columns
        frame = jobs.frame.with_columns(**{f"#{i}": v for i, v in enumerate(values.T)})
        keys = [*self.features_, *(f"#{i}" for i in range(values.shape[1]))]
        keys += ["weight"] if weighted else []
        when = ["submit_s"] if "submit_s" in jobs.columns else []
        frame = frame.select(list(dict.fromkeys([*keys, *when]))).sort(keys)
        frame = frame[rng.permutation(frame.height)]
        if "submit_s" in frame.columns:
            frame = frame.sort("submit_s", maintain_order=True)
        y = np.log(frame.select([f"#{i}" for i in range(values.shape[1])]).to_numpy())
        features = frame.select(self.features_)
        self.exponents_ = self._exponents(features)
        weights = frame["weight"].cast(pl.Float64).to_numpy() if weighted else None
        return features, y - self._log_nodes(features), weights

    def _exponents(self, frame: pl.DataFrame) -> Array:
        """Exponent of the node count in each target, (t,); 0 where nodes are no usable feature."""
        usable = self.scaled and "nodes" in frame.columns and frame["nodes"].dtype.is_numeric()
        usable = usable and frame["nodes"].null_count() == 0 and bool((frame["nodes"] > 0).all())
        return np.array([EXPONENTS.get(t, 0.0) if usable else 0.0 for t in self.targets])

    def _log_nodes(self, frame: pl.DataFrame) -> Array:
        """What to add to the learnt log targets, (n, t); NaN where the node count is missing."""
        if not self.exponents_.any():
            return np.zeros((frame.height, len(self.targets)))
        nodes = frame["nodes"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        return np.log(np.where(nodes > 0, nodes, np.nan))[:, None] * self.exponents_

    def _stage(
        self,
        frame: pl.DataFrame,
        y: Array,
        weights: Array | None,
        rng: np.random.Generator,
        kind: Any = None,
    ) -> Stage:
        seed = int(rng.integers(2**31))
        own = self._regressor(seed)
        regressor = own if kind is None else make_regressor(kind, seed)
        encoder = fit_encoder(frame, y, impute=not takes_nan(own))
        x = encoder.cross_fitted(frame, y, rng)
        if self.sample is not None:
            kept, extra = draw(self.sample.chances(x, y, rng), rng, weights=self.sample.weights)
            x, y = x[kept], y[kept]
            weights = _times(None if weights is None else weights[kept], extra)
        weighted = weights is not None and takes_weights(regressor)
        return Stage(
            encoder,
            regressor.fit(
                x, shaped(regressor, y), **({"sample_weight": weights} if weighted else {})
            ),
        )

    def _regressor(self, seed: int) -> Any:
        kind, embedding = ATTENTION if self.method == "attention" else (self.method, self.embedding)
        if embedding is None:
            return make_regressor(kind, seed)
        from rheostat.prediction.surrogate.embedded_regressor import EmbeddedRegressor
        from rheostat.prediction.surrogate.embedding import make_embedding

        return EmbeddedRegressor(
            make_embedding(embedding, seed), make_regressor(kind, seed), random_state=seed
        )

    def _quick(self) -> str | None:
        """The regressor that shows where errors are large: its own, or a forest if that is slow."""
        return "forest" if self._slow() else None

    def _slow(self) -> bool:
        """Whether fitting trains a network: then fewer fits go into the calibration."""
        return self.embedding is not None or self.method in ("attention", "tabnet")

    def _calibrate(
        self, frame: pl.DataFrame, y: Array, weights: Array | None, rng: np.random.Generator
    ) -> Calibration:
        """Errors on newer rows of models that saw only older ones; on folds where rows are few."""
        groups, n = self.support_.group(frame), len(y)
        if n < FEWEST_FOR_BLOCKS:
            residuals = self._fold_errors(frame, y, weights, rng)
            return calibrate(residuals, groups, n_draws=self.n_draws, rng=rng)
        a, b = (int(share * n) for share in BLOCKS)
        early, x, _ = self._error(
            frame, y, weights, np.arange(a), np.arange(a, b), rng, self._quick()
        )
        spread = fit_spread(x, early, int(rng.integers(2**31)))
        late, x, new = self._error(frame, y, weights, np.arange(b), np.arange(b, n), rng)
        known = ~new if (~new).sum() >= FEWEST_KNOWN else np.ones(len(new), dtype=bool)
        return calibrate(
            late[known],
            groups[b:][known],
            spreads=bounded_spreads(spread, x[known], y.shape[1]),
            spread=spread,
            new_group_residuals=self._hidden_groups(frame, y, weights, rng),
            n_draws=self.n_draws,
            rng=rng,
        )

    def _hidden_groups(
        self, frame: pl.DataFrame, y: Array, weights: Array | None, rng: np.random.Generator
    ) -> Array | None:
        """Errors on groups of jobs the model was not shown; None where groups are too few."""
        fold, group = group_folds(frame, HIDDEN_FOLDS, rng)
        if fold[0] < 0:
            return None
        errors = []
        for f in range(1 if self._slow() else HIDDEN):
            shown, hidden = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
            residuals = self._error(frame, y, weights, shown, hidden, rng)[0]
            errors.append(equal_shares(residuals, group[hidden]))
        return np.concatenate(errors)

    def _error(
        self,
        frame: pl.DataFrame,
        y: Array,
        weights: Array | None,
        old: Ints,
        new: Ints,
        rng: np.random.Generator,
        kind: Any = None,
    ) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Residuals of a model fitted on rows ``old`` at rows ``new``, their matrix, new groups."""
        known = None if weights is None else weights[old]
        stage = self._stage(frame[old], y[old], known, rng, kind)
        mu, x = stage.predict(frame[new])
        return y[new] - mu, x, fit_regulars(frame[old]).is_new(frame[new])

    def _fold_errors(
        self, frame: pl.DataFrame, y: Array, weights: Array | None, rng: np.random.Generator
    ) -> Array:
        folds = min(len(y), 5)
        if folds < 3:
            return np.empty((0, y.shape[1]))
        fold, errors = rng.permutation(np.arange(len(y)) % folds), np.empty_like(y)
        for f in range(folds):
            errors[fold == f] = self._error(
                frame, y, weights, np.flatnonzero(fold != f), np.flatnonzero(fold == f), rng
            )[0]
        return errors


def _times(a: Array | None, b: Array | None) -> Array | None:
    """Product of two sets of weights, either of which may be absent."""
    if a is None or b is None:
        return b if a is None else a
    return a * b


def _abstentions(beyond: NDArray[np.bool_], unknown: NDArray[np.bool_]) -> tuple[Note, ...]:
    """Notes on rows without an answer: beyond what ran, or of a group never seen."""
    outside = "outside the support of the past runs: no prediction"
    notes = []
    for rows, said in ((beyond, outside), (unknown, UNLIKE)):
        where = np.flatnonzero(rows)
        if where.size:
            notes.append(Note(said, tuple(where[:20].tolist()), where.size))
    return tuple(notes)
