"""`LawGP`: past applications teach the law, own runs and context say where this job stands on it.

Runs are grouped by application.  Each application is a curve of runtime and power over the knobs,
drawn from what all of them have in common; the few runs of the asked application pull its curve to
them, and an application never seen takes the curves of those with a similar context.  Repeated runs
of one setting tell how much a run varies by itself.

Notation
--------
n  rows asked     S  draws     D  knob coordinates     c  context numbers
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import ndtri

from rheostat.core.jobs import JobTable, Moment, Note
from rheostat.core.outcome import Outcome
from rheostat.errors import DataError, NotFitted
from rheostat.prediction.features.cold_start import FEWEST_GROUPS, UNLIKE
from rheostat.prediction.features.encode import joined
from rheostat.prediction.features.model_columns import is_category, learnable
from rheostat.prediction.saved_models.from_file import blames_its_file
from rheostat.prediction.scaling_law import jump
from rheostat.prediction.scaling_law.coordinates import Array, Basis, Scale, spread_out
from rheostat.prediction.scaling_law.left_out import left_out, shares, widening
from rheostat.prediction.scaling_law.pooled import Pooled, PooledRuns, fit_pooled

TARGETS = ("runtime_s", "power_w")
TRAINING_APPLICATIONS = 48
"""Applications, those with the most settings first, that form the population."""
OWN = 64
"""Distinct settings of one application that its forecasts know."""
TEACHING = 16
"""Distinct settings of one application that teach the law, and that are left out in turn."""
LANDMARKS, LENGTH, BEYOND = 24, 0.5, 1.15
DECIMALS = 9
OUTSIDE = "outside the settings ever run: no prediction"


class LawGP:
    """Gaussian process with a scaling law learned from other applications.

    Parameters
    ----------
    knobs : sequence of str
        Names of numeric columns that may be turned.
    group_by : sequence of str, optional
        Columns that make runs the same application; None: "app", else "user", where present.
    context : sequence of str
        Numeric or named columns that make applications similar; () for none.
    n_draws : int
        Draws of each prediction.
    seed : int
        Of the draws.

    Examples
    --------
    >>> from rheostat.core.vocabulary import table
    >>> n = np.array([1, 2, 4, 8] * 3 + [1, 4])
    >>> app = ["a"] * 4 + ["b"] * 4 + ["c"] * 4 + ["new"] * 2
    >>> scale = np.repeat([100.0, 300.0, 50.0, 1000.0], [4, 4, 4, 2])
    >>> jobs = table({"app": app, "nodes": n, "runtime_s": scale / n, "power_w": 200.0 * n})
    >>> model = LawGP(("nodes",)).fit(jobs)
    >>> out = model.predict(table({"app": ["new", "new"], "nodes": [8, 512]}))
    >>> bool(100 < out.mean("runtime_s")[0] < 150), np.isnan(out.mean("power_w"))[1], out.support
    (True, np.True_, array([3., 0.]))

    Outside the range of settings ever run it abstains (NaN and a note), and so it does on an
    application never seen where fewer than twelve others ran.  A table without a knob is a
    `DataError`; a knob or context column known later than submission is a `LeakError`.
    """

    def __init__(
        self,
        knobs: Sequence[str] = ("nodes",),
        *,
        group_by: Sequence[str] | None = None,
        context: Sequence[str] = (),
        n_draws: int = 64,
        seed: int = 0,
    ) -> None:
        self.knobs = tuple(knobs)
        self.group_by = None if group_by is None else tuple(group_by)
        self.context = tuple(context)
        self.n_draws = n_draws
        self.seed = seed

    def fit(self, jobs: JobTable) -> LawGP:
        """Learn from finished ``jobs``; row order does not matter."""
        self.by_ = self._grouping(jobs)
        jobs.refuse_later_than(Moment.SUBMIT, (*self.knobs, *self.context, *self.by_))
        jobs.require(*self.knobs, *self.context)
        jobs, values, self.notes_ = learnable(jobs, TARGETS)
        frame = jobs.frame.select(
            _key(jobs.frame, self.by_).alias("key"),
            *[pl.col(k).cast(pl.Float64).alias(f"k{i}") for i, k in enumerate(self.knobs)],
            t=pl.Series(np.log(values[:, 0])),
            p=pl.Series(np.log(values[:, 1])),
        )
        self.features_ = (*self.by_, *self.knobs, *self.context)
        self._learn_context(jobs.frame)
        context = [pl.Series(f"c{i}", v) for i, v in enumerate(self._context(jobs.frame).T)]
        frame = frame.with_columns(*context).drop_nulls(self._columns("k", len(self.knobs)))
        self._learn(frame, self._columns("c", len(context)))
        return self

    def _learn(self, frame: pl.DataFrame, contexts: list[str]) -> None:
        """Gather runs by application and setting, and learn the population."""
        knobs = self._columns("k", len(self.knobs))
        settings = (
            frame.sort(frame.columns)  # sums in a fixed order: the table's must not matter
            .group_by("key", *knobs)
            .agg(
                pl.col("t", "p", *contexts).mean(),
                pl.len().alias("n"),
                pl.col("t").var().fill_null(0).alias("vt"),
                pl.col("p").var().fill_null(0).alias("vp"),
            )
            .sort("key", *knobs)
        )
        spare = settings["n"].to_numpy() - 1
        squares = np.array([(settings[v].to_numpy() * spare).sum() for v in ("vt", "vp")])
        self.repeats_ = np.maximum((squares + 0.01**2) / (spare.sum() + 1), 1e-6)
        values = settings.select(knobs).to_numpy()
        self.scale_ = Scale.of(values)
        self.units_, self.counts_ = _tally(self.scale_.unit(values), settings["n"].to_numpy())
        self.runs_, self.own_context_ = {}, {}
        for (key,), group in settings.group_by("key", maintain_order=True):
            units = self.scale_.unit(group.select(knobs).to_numpy())
            logs = group.select("t", "p").to_numpy().T
            every = PooledRuns(units, logs, group["n"].to_numpy() * 1.0)
            self.runs_[str(key)] = every.at(spread_out(units, OWN))
            self.own_context_[str(key)] = group.select(contexts).mean().to_numpy().ravel()
        self._teach()

    def _teach(self) -> None:
        """Fit the population to the applications with the most settings."""
        order = sorted(self.runs_, key=lambda k: (-len(self.runs_[k].counts), k))
        self.training_keys_ = order[:TRAINING_APPLICATIONS]
        self.pooled_: Pooled = self._population(self.runs_)

    def _population(self, runs: Mapping[str, PooledRuns]) -> Pooled:
        """What the training applications have in common, of these ``runs``."""
        basis = Basis.over(self.units_, self.scale_.numeric, count=LANDMARKS, length=LENGTH)
        context = [self.own_context_[k] for k in self.training_keys_]
        return fit_pooled(
            basis,
            [_thinned(runs[k]) for k in self.training_keys_],
            np.array(context).reshape(len(context), -1),
            repeats=self.repeats_,
            draws=self.n_draws,
            seed=self.seed,
        )

    @staticmethod
    def _columns(letter: str, count: int) -> list[str]:
        return [f"{letter}{i}" for i in range(count)]

    @blames_its_file
    def predict(self, jobs: JobTable) -> Outcome:
        """Draws (S, n) of runtime and power of each row, as one more run would show them."""
        if not hasattr(self, "pooled_"):
            raise NotFitted(self)
        jobs.require(*self.knobs)
        settings = np.column_stack([jobs.numpy(k) for k in self.knobs])
        units = self.scale_.unit(np.nan_to_num(settings, nan=np.inf))
        inside = np.isfinite(settings).all(axis=1) & (np.abs(units) <= BEYOND).all(axis=1)
        answered = inside & ~(unknown := self._unknown(jobs.frame))
        context = self._context(jobs.frame)
        logs = np.full((2, self.n_draws, len(jobs)), np.nan)
        for key, rows in self._askers(jobs.frame, context):
            at = rows[answered[rows]]
            if len(at):
                logs[:, :, at] = self._draws(units[at], key, context[at[0]])
        notes = self.notes_
        for silent, text in ((~inside, OUTSIDE), (inside & unknown, UNLIKE)):
            if silent.any():
                where = np.flatnonzero(silent)
                notes = (*notes, Note(text, tuple(where[:20].tolist()), len(where)))
        t, p = np.exp(logs)
        support = self._support(units) * answered
        return Outcome({"runtime_s": t, "power_w": p}, support, notes)

    def _unknown(self, frame: pl.DataFrame) -> NDArray[np.bool_]:
        """Rows of an application never seen where others are too few to tell how unlike it is."""
        if not self.by_ or len(self.runs_) >= FEWEST_GROUPS:
            return np.zeros(frame.height, dtype=bool)
        return ~_key(frame, self.by_).is_in(list(self.runs_)).to_numpy()

    def _askers(
        self, frame: pl.DataFrame, context: Array
    ) -> Iterator[tuple[str | None, NDArray[np.int64]]]:
        """Rows that share one belief: of one known application, or unknown with one context."""
        keys = _key(frame, self.by_).to_list()
        groups: dict[tuple[str | None, bytes], list[int]] = {}
        for row, key in enumerate(keys):
            known = key in self.runs_
            who = (key, b"") if known else (None, context[row].tobytes())
            groups.setdefault(who, []).append(row)
        for (key, _), rows in groups.items():
            yield key, np.array(rows)

    def _draws(self, units: Array, key: str | None, context: Array) -> Array:
        """Log draws (2, S, n) for one application."""
        runs = None if key is None else self.runs_[key]
        own = context if key is None else self.own_context_[key]
        pooled = self._without(key)
        w, rough = pooled.weights(runs, _prior(pooled, own))
        distinct, back = np.unique(np.round(units, DECIMALS), axis=0, return_inverse=True)
        wider = self._widening(pooled, key, own, distinct)
        draws = []
        for u, k in zip(distinct, wider, strict=True):
            curve = _curve(pooled, w, u)
            middle = curve.mean(axis=1, keepdims=True)
            spread = np.sqrt((k[:, None] * rough.T) ** 2 + self.repeats_[:, None])
            drawn = middle + k[:, None] * (curve - middle) + spread * _jumps(u, self.n_draws)
            draws.append(self._beside_a_jump(u, runs, drawn))
        return np.stack(draws, axis=2)[:, :, back.ravel()]

    def _beside_a_jump(self, unit: Array, runs: PooledRuns | None, drawn: Array) -> Array:
        """Draws (2, S) half of either side's curve where the application's own runs jump."""
        if runs is None:
            return drawn
        noise, steep = self.repeats_[:, None] / runs.counts, self.scale_.proportional
        sides = jump.two_sides(unit, runs.units, runs.logs, noise, steep)
        if sides is None:
            return drawn
        normal = np.concatenate([_jumps(unit, self.n_draws), _jumps(unit + 2.0, self.n_draws)])
        return jump.drawn(sides, self.repeats_, normal[:3])

    def _without(self, key: str | None) -> Pooled:
        """What other applications teach about this one: its own runs count once."""
        others = [k for k in self.training_keys_ if k != key]
        if not others or len(others) == len(self.training_keys_):
            return self.pooled_
        context = np.array([self.own_context_[k] for k in others])
        return self.pooled_.from_others([_thinned(self.runs_[k]) for k in others], context)

    def _widening(self, pooled: Pooled, key: str | None, context: Array, distinct: Array) -> Array:
        """By how much the law's spread is too narrow (n, 2) where its application was not run."""
        wider = np.ones((len(distinct), 2))
        if key is None:
            return wider
        runs = self.runs_[key]
        for rows, left in left_out(distinct, runs.units, TEACHING):
            scores = [self._score(pooled, key, context, i, rest) for i, rest in left]
            at = [i for i, _ in left]
            errors = np.array(scores).reshape(-1, 2)
            wider[rows] = widening(distinct[rows], runs.units[at], errors, shares(left))
        return wider

    def _score(
        self, pooled: Pooled, key: str, context: Array, left: int, others: NDArray[np.int64]
    ) -> Array:
        """Error (2,) of one setting, forecast from ``others``, over its standard deviation."""
        runs = self.runs_[key]
        rest = runs.at(others)
        alone = self.training_keys_ == [key]
        pooled = self._population({key: rest}) if alone else pooled
        w, rough = pooled.weights(rest, _prior(pooled, context))
        curve = _curve(pooled, w, runs.units[left])
        own = self.repeats_ / runs.counts[left]
        variance = curve.var(axis=1) + (rough**2).mean(axis=0) + own
        error = runs.logs[:, left] - curve.mean(axis=1)
        return np.asarray(error / np.sqrt(variance))

    def _grouping(self, jobs: JobTable) -> tuple[str, ...]:
        if self.group_by is not None:
            jobs.require(*self.group_by)
            return self.group_by
        return next(((c,) for c in ("app", "user") if c in jobs.columns), ())

    def _learn_context(self, frame: pl.DataFrame) -> None:
        """Middle and spread of numeric context columns; names are compared as equal or not."""
        self.context_: dict[str, Any] = {}
        for c in self.context:
            if is_category(frame[c]):
                seen = frame[c].cast(pl.String).drop_nulls().value_counts(sort=True)
                self.context_[c] = sorted(seen[c].to_list()[:20])
            else:
                v = frame[c].cast(pl.Float64).drop_nulls().to_numpy()
                spread = float(np.std(v)) if len(v) else 0.0
                self.context_[c] = [float(np.mean(v)) if len(v) else 0.0, spread or 1.0]

    def _context(self, frame: pl.DataFrame) -> Array:
        """Context numbers (n, c); unknown is the middle, a name is one number per level."""
        missing = [c for c in self.context if c not in frame.columns]
        if missing:
            raise DataError("context", [f"column {c} is missing" for c in missing])
        columns = []
        for c, plan in self.context_.items():
            if plan and isinstance(plan[0], str):
                v = frame[c].cast(pl.String).to_numpy()
                columns += [(v == level).astype(float) for level in plan]
            elif plan:
                x = frame[c].cast(pl.Float64).fill_null(plan[0]).to_numpy()
                columns.append(np.clip((x - plan[0]) / plan[1], -5, 5))
        return np.stack(columns, axis=1) if columns else np.zeros((frame.height, 0))

    def _support(self, units: Array) -> Array:
        """Past runs within a sixth of every knob's range."""
        distinct, back = np.unique(np.round(units, DECIMALS), axis=0, return_inverse=True)
        near = (np.abs(distinct[:, None] - self.units_[None]) <= 1 / 3).all(axis=2)
        return np.asarray((near @ self.counts_).astype(float)[back.ravel()])


def _thinned(runs: PooledRuns) -> PooledRuns:
    """Settings that teach the law; all of few."""
    return runs.at(spread_out(runs.units, TEACHING))


def _key(frame: pl.DataFrame, by: Sequence[str]) -> pl.Series:
    """One name per application; runs without a name share one."""
    if not by or any(c not in frame.columns for c in by):
        return pl.Series("key", [""] * frame.height, dtype=pl.String)
    return joined(frame, by).fill_null("").alias("key")


def _tally(units: Array, counts: Array) -> tuple[Array, Array]:
    """Distinct settings and how many runs each has."""
    distinct, back = np.unique(np.round(units, DECIMALS), axis=0, return_inverse=True)
    runs = np.bincount(back.ravel(), weights=counts, minlength=len(distinct))
    return distinct, np.asarray(runs, dtype=float)


def _prior(pooled: Pooled, context: Array) -> Array:
    """Log weights of the population's components for one application."""
    return np.asarray(pooled.prior(context[None])[0])


def _curve(pooled: Pooled, weights: Array, unit: Array) -> Array:
    """Log runtime and power (2, S) of drawn curves at one setting.

    One setting at a time: a product of matrices rounds differently in company.
    """
    f = pooled.basis(unit[None])[0]
    return np.stack([weights[:, : len(f)] @ f, weights[:, len(f) :] @ f])


def _jumps(unit: Array, draws: int) -> Array:
    """Normal quantiles (2, S) in an order that belongs to a setting, whatever else is asked."""
    code = np.round(unit * 1e6).astype(np.int64) + 2**40
    rng = np.random.default_rng(code.tolist())
    at = np.stack([rng.permutation(draws), rng.permutation(draws)])
    return np.asarray(ndtri((at + 0.5) / draws))
