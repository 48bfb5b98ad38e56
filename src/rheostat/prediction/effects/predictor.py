"""What would this job cost at another setting, as far as the log tells effect from choice?

Runs of the same application are compared with each other, never applications with each other.  A
job's outcome has three parts: the level of its user and application, what its request betrays of
the problem, and what the setting does:

    log t = level + request columns (asked) . l + effect columns (run) . e + sizes . r + noise

Only the third part changes when the setting is turned.  Where jobs ran as they asked, the second
and third cannot be told apart; `identification` says what tells them, and what nothing tells stays
as uncertain as it is.

Notation
--------
n  rows      B  draws      p, s, k, g  effect, request, size and guess columns, q of them together
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Moment, Note
from rheostat.core.outcome import Array, Outcome
from rheostat.errors import NotFitted
from rheostat.prediction.effects.effect_coding import PROBLEM, SIZES, Rows, fit_coding
from rheostat.prediction.effects.hierarchy import Hierarchy, Ints, Prior, learn
from rheostat.prediction.effects.identification import identify
from rheostat.prediction.effects.levels import EffectLevels, centred, drift, fit_levels
from rheostat.prediction.effects.neighbours import beside
from rheostat.prediction.effects.shapes import PARALLEL, logs
from rheostat.prediction.intervals import PERMUTATIONS, row_hash
from rheostat.prediction.model_columns import learnable
from rheostat.prediction.support import fit_support

SIZE_SD, SIZE_SPREAD = 2.0, 0.2
"""Exponents of recorded sizes: of the population before any data, and between applications."""


@dataclass(frozen=True)
class QuantityEffects:
    """One quantity: weights of every application, levels, exponents of perfect scaling.

    ``drift`` is the share of the noise that runs of one time have in common.
    """

    weights: Hierarchy
    levels: EffectLevels
    exponents: Array
    drift: float


class WithinApplication:
    """Predicts jobs at other settings from runs of the same application.

    Parameters
    ----------
    knobs : columns that may be turned.
    targets : quantities to predict, positive.
    group_by : columns that make jobs the same application; None: the application, else the user.
    sizes : columns that tell the size of a problem whatever the setting.
    problem : the column that is the same whenever the problem is.
    n_draws, seed : draws of each prediction, seed.

    A table without submission times holds measured runs: whoever made it chose the settings to
    compare them.  In a log they were chosen for reasons; see `identification_` after a fit.

    Examples
    --------
    >>> from rheostat.core.vocabulary import table
    >>> n = np.tile([1, 2, 4, 8], 10)
    >>> runs = table({"app": ["cfd"] * 40, "nodes": n, "runtime_s": 80.0 / n, "power_w": 300.0 * n})
    >>> model = WithinApplication(("nodes",)).fit(runs)
    >>> out = model.predict(table({"app": ["cfd", "cfd"], "nodes": [4, 64]}))
    >>> out.mean("power_w").round(-1), out.grade.tolist(), model.identification_.by
    (array([1200.,   nan]), [3, 0], 'design')
    """

    def __init__(
        self,
        knobs: Sequence[str] = ("nodes",),
        *,
        targets: Sequence[str] = ("runtime_s", "power_w"),
        group_by: Sequence[str] | None = None,
        sizes: Sequence[str] = SIZES,
        problem: str | None = PROBLEM,
        n_draws: int = 64,
        seed: int = 0,
    ) -> None:
        self.knobs = tuple(knobs)
        self.targets = tuple(targets)
        self.group_by = group_by
        self.sizes = tuple(sizes)
        self.problem = problem
        self.n_draws = n_draws
        self.seed = seed

    def fit(self, jobs: JobTable) -> WithinApplication:
        """Learn from finished jobs."""
        jobs.require(*self.knobs)
        jobs, values, notes = learnable(jobs, self.targets)
        asked = jobs.known_at(Moment.SUBMIT).frame
        order = _steady(asked, values)
        frame, y = asked[order], np.log(values[order])
        self.coding_ = fit_coding(
            frame,
            self.knobs,
            self.targets,
            by=self.group_by,
            sizes=self.sizes,
            problem=self.problem,
        )
        rows = self.coding_.rows(frame)
        self.notes_, self.n_learnt_ = notes, len(y)
        self.least_w_ = self._least_watts(frame, values[order])
        self._fit_guesses(rows)
        self._fit_quantities(rows, y, designed="submit_s" not in frame.columns)
        kept = list(dict.fromkeys([*self.coding_.by, *self.knobs]))
        self.support_ = fit_support(frame.select(kept), self.coding_.by)
        orders = np.random.default_rng([self.seed, 1])
        self.orders_ = np.stack([orders.permutation(self.n_draws) for _ in range(PERMUTATIONS)])
        return self

    def predict(self, jobs: JobTable) -> Outcome:
        """Draws (B, n) of every target, support, grade, and notes on rows it abstains on."""
        if not hasattr(self, "coding_"):
            raise NotFitted(self)
        needed = [*self.coding_.by, *self.knobs, *self.coding_.sizes, *self.coding_.guesses]
        jobs.require(*dict.fromkeys(needed))
        jobs.refuse_later_than(Moment.SUBMIT, needed)
        frame = jobs.known_at(Moment.SUBMIT).frame
        rows = self.coding_.rows(frame)
        support = self.support_.counts(frame)
        grade = self.support_.grade(frame)
        noise = self._noise(frame, rows)
        known = np.where(grade > 0, 0.0, np.nan)
        values = {
            t: np.exp(self._draws(t, rows, *noise[i]) + known) for i, t in enumerate(self.targets)
        }
        return Outcome(values, support, _abstentions(grade == 0), grade)

    def _least_watts(self, frame: pl.DataFrame, values: Array) -> dict[str, float]:
        """The least that any run drew per node (gpu, core, ...): a node that idles draws less."""
        if "power_w" not in self.targets:
            return {}
        power = values[:, self.targets.index("power_w")]
        parallel = [k for k in self.knobs if k in PARALLEL]
        return {k: float(np.nanmin(power / np.exp(logs(frame[k])))) for k in parallel}

    def _fit_guesses(self, rows: Rows) -> None:
        """Slope of each guess on the request, by application: (A + 1, s, g), the last for all."""
        cell = rows.cell
        request, guess = centred(rows.request, cell), centred(rows.guess, cell)
        apps, s = len(self.coding_.apps), request.shape[1]
        common = np.linalg.lstsq(request, guess, rcond=None)[0]
        gram, cross = np.zeros((apps, s, s)), np.zeros((apps, s, guess.shape[1]))
        np.add.at(gram, rows.app, request[:, :, None] * request[:, None, :])
        np.add.at(cross, rows.app, request[:, :, None] * guess[:, None, :])
        pull = GUESS_WORTH * np.eye(s) * np.maximum(np.mean(request**2), 1e-6)
        own = np.linalg.solve(gram + pull, cross + pull @ common)
        self.follow_ = np.concatenate([own, common[None]])

    def _columns(self, rows: Rows, target: str) -> Array:
        """(n, q) effect, request, size and guess columns, guesses less their request's part."""
        plain = rows.guess - np.einsum("ns,nsg->ng", rows.request, self.follow_[rows.app])
        return np.concatenate([rows.effect[target], rows.request, rows.size, plain], axis=1)

    def _fit_quantities(self, rows: Rows, y: Array, *, designed: bool) -> None:
        """Identification from the first target, then weights and levels of every target."""
        rng = np.random.default_rng([self.seed, 0])
        s, k = rows.request.shape[1], rows.size.shape[1]
        request = _group_means(rows.request, rows.problem)
        cell = rows.cell
        lost = np.bincount(
            np.unique(np.stack([rows.app, cell]), axis=1)[0], minlength=len(self.coding_.apps)
        ).astype(float)
        self.fitted_: dict[str, QuantityEffects] = {}
        for i, target in enumerate(self.targets):
            whole = self._columns(rows, target)
            x, p = whole.copy(), rows.effect[target].shape[1]
            x[:, p : p + s] = request
            exponents = self.coding_.exponents(target)
            left = y[:, i] - rows.log_run @ exponents
            flat = centred(np.column_stack([x, left]), cell)
            if i == 0:
                asked, size = centred(rows.request, cell), flat[:, p + s : p + s + k]
                plain = centred(left, cell)
                self.identification_ = identify(
                    rows, asked, size, plain, self.coding_.sizes, designed=designed
                )
            even = _even(flat, rows.problem, cell)
            prior = self._prior(target, x.shape[1], p, s)
            hierarchy = self._learn(even, rows, prior, lost, rng)
            if self.identification_.by == "trial" and self.coding_.problem is None:
                even = _less_neighbours(even, flat, hierarchy, rows, p)
                hierarchy = self._learn(even, rows, prior, lost, rng)
            point = hierarchy.weights[:, :-1].mean(axis=0)
            rest = centred(left - np.einsum("nq,nq->n", whole, point[rows.app]), cell)
            common = 0.0 if designed else drift(rest, cell)
            apart = np.sqrt(_problem_variances(rest, rows.problem, cell)[1])
            hierarchy = replace(hierarchy, noise=np.hypot(hierarchy.noise, apart))
            levels = fit_levels(whole, left, cell, rows.app, point, hierarchy.noise[:-1], common)
            self.fitted_[target] = QuantityEffects(hierarchy, levels, exponents, common)

    def _learn(
        self, even: Array, rows: Rows, prior: Prior, lost: Array, rng: np.random.Generator
    ) -> Hierarchy:
        x, y = even[:, :-1], even[:, -1]
        return learn(x, y, rows.app, rows.user, prior, lost, draws=self.n_draws, rng=rng)

    def _prior(self, target: str, q: int, p: int, s: int) -> Prior:
        """Effects as the shapes have them, requests as the log can be told, sizes wide."""
        first = np.zeros(s, dtype=bool)
        first[self.coding_.first_requests] = True
        mean, sd, between = self.identification_.selection(target, first)
        rest = q - p - s
        curves = [h.curve(target) for h in self.coding_.shapes]
        scale = np.concatenate([c.scale for c in curves])
        middle = np.concatenate([c.mean for c in curves])
        return Prior(
            np.concatenate([middle, mean, np.zeros(rest)]),
            np.concatenate([scale, sd, np.full(rest, SIZE_SD)]),
            np.concatenate([scale * 0.7, between, np.full(rest, SIZE_SPREAD)]),
            np.concatenate([np.zeros(p), np.ones(s), 2 + np.arange(rest)]).astype(np.int64),
        )

    def _draws(self, target: str, rows: Rows, shared: Array, own: Array) -> Array:
        """Log of a quantity, (B, n)."""
        fitted = self.fitted_[target]
        levels, place = fitted.levels, fitted.levels.place(rows.cell, rows.app)
        away = self._columns(rows, target) - levels.x[place]
        moved = np.empty((self.n_draws, len(place)))
        for app in np.unique(rows.app):
            here = rows.app == app
            moved[:, here] = fitted.weights.weights[:, app] @ away[here].T
        moved += levels.y[place] + rows.log_run @ fitted.exponents
        noise = fitted.weights.noise[rows.app]
        moved += np.hypot(levels.sd[place], np.sqrt(fitted.drift) * noise) * shared
        moved += np.sqrt(1 - fitted.drift) * noise * own
        return np.round(moved, DECIMALS)

    def _noise(self, frame: pl.DataFrame, rows: Rows) -> list[tuple[Array, Array]]:
        """Standard normal draws per target, each (B, n): common to a level, and of each job.

        They depend on the job, not on the setting, so that settings of one job share them.
        """
        from scipy.stats import norm

        scores = norm.ppf((np.arange(self.n_draws) + 0.5) / self.n_draws)[self.orders_].T
        group = row_hash(np.stack([rows.cell, rows.app], axis=1).astype(float))
        job = [rows.cell[:, None].astype(float), rows.log_asked, rows.size, rows.guess]
        if "job_id" in frame.columns:
            job.append(_numbers(frame["job_id"])[:, None])
        mine = row_hash(np.concatenate(job, axis=1))
        return [
            (
                scores[:, (group // PERMUTATIONS**i) % PERMUTATIONS],
                scores[:, (mine // PERMUTATIONS**i) % PERMUTATIONS],
            )
            for i in range(len(self.targets))
        ]


DECIMALS = 9
"""Linear algebra may differ in the last bits with the number of rows."""
GUESS_WORTH = 10.0
"""Runs that the slope of all applications weighs in the slope of one."""


def _numbers(ids: pl.Series) -> Array:
    """A number for each id: itself, or a checksum of its text, (n,)."""
    if ids.dtype.is_numeric():
        return ids.cast(pl.Float64).fill_null(-1.0).to_numpy()
    text = ids.cast(pl.String).fill_null("")
    return np.array([float(crc32(t.encode())) for t in text])


def _steady(frame: pl.DataFrame, values: Array) -> Ints:
    """An order of the rows that does not depend on the order they came in."""
    when = [frame["submit_s"].to_numpy()] if "submit_s" in frame.columns else []
    return np.lexsort((*values.T, *when))


def _group_means(values: Array, group: Ints) -> Array:
    """Each row's mean over its group."""
    _, code = np.unique(group, return_inverse=True)
    return np.asarray(values - centred(values, code))


def _even(flat: Array, problem: Ints, cell: Ints) -> Array:
    """Rows less the part that runs of one problem have in common by chance.

    Generalised least squares with a random effect of the problem; the last column of ``flat`` is
    the outcome.
    """
    _, code, count = np.unique(problem, return_inverse=True, return_counts=True)
    within, between = _problem_variances(flat[:, -1] - _fitted_values(flat), problem, cell)
    keep = 1 - np.sqrt(within / (within + count * between))
    return np.asarray(flat - keep[code][:, None] * (flat - centred(flat, code)))


def _problem_variances(rest: Array, problem: Ints, cell: Ints) -> tuple[float, float]:
    """Variance of ``rest`` (n,) between runs of one problem, and what problems add to it.

    The means of cells are taken away, and with them a part of what the few problems of a cell add.
    """
    _, first, code, count = np.unique(
        problem, return_index=True, return_inverse=True, return_counts=True
    )
    if count.max() == 1:
        return 1.0, 0.0
    inside, runs = centred(rest, code), np.bincount(cell)
    within = max(float(inside @ inside) / max(len(rest) - len(count), 1), 1e-9)
    free = len(rest) - float((count**2 / runs[cell[first]]).sum())
    excess = float(rest @ rest) - within * (len(rest) - len(runs))
    return within, max(excess / max(free, 1.0), 0.0)


def _less_neighbours(
    even: Array, flat: Array, hierarchy: Hierarchy, rows: Rows, effects: int
) -> Array:
    """Rows of a trial less what the runs beside them in time say, and weighed by how much that is.

    ``flat`` has ``effects`` columns of the setting, then what requests and sizes betray, and last
    the outcome.
    """
    point = hierarchy.weights[:, :-1].mean(axis=0)[rows.app]
    part = flat[:, :-1] * point
    betrayed = part[:, effects:].sum(axis=1)
    off, surer = beside(
        flat[:, -1] - part[:, :effects].sum(axis=1), betrayed, rows.cell, rows.turned
    )
    lighter = even.copy()
    lighter[:, -1] -= off
    return np.asarray(lighter * surer[:, None])


def _fitted_values(flat: Array) -> Array:
    x, y = flat[:, :-1], flat[:, -1]
    return np.asarray(x @ np.linalg.lstsq(x, y, rcond=None)[0])


def _abstentions(rows: Array) -> tuple[Note, ...]:
    if not rows.any():
        return ()
    where = tuple(np.flatnonzero(rows)[:20].tolist())
    return (
        Note("no run of any application near this setting: no prediction", where, int(rows.sum())),
    )
