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
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Array, Outcome
from rheostat.errors import NotFitted
from rheostat.prediction.effects import failed_runs, plausible, unlike_jobs
from rheostat.prediction.effects.believed import (
    Believed,
    Changed,
    at_end,
    contradiction,
    examine,
    exponent_by_chance,
    moved_by_chance,
)
from rheostat.prediction.effects.by_request import fit_by_request
from rheostat.prediction.effects.effect_coding import PROBLEM, SIZES, Rows, fit_coding
from rheostat.prediction.effects.effect_prior import effect_prior
from rheostat.prediction.effects.hierarchy import Hierarchy, Prior, learn
from rheostat.prediction.effects.identification import Identification, identify, several
from rheostat.prediction.effects.job_noise import job_noise
from rheostat.prediction.effects.levels import centred, drift, fit_levels, mean_errors
from rheostat.prediction.effects.places import kept_apart
from rheostat.prediction.effects.problem_levels import fit_problem_levels
from rheostat.prediction.effects.quantity_effects import TIMED, QuantityEffects
from rheostat.prediction.effects.shapes import PARALLEL, logs
from rheostat.prediction.effects.weighed_rows import (
    cells_of,
    even,
    group_means,
    guess_slopes,
    less_neighbours,
    requests_and_sizes,
    steady,
    unlike_runs,
)
from rheostat.prediction.features.model_columns import learnable
from rheostat.prediction.features.requested_settings import all_drawn, requested
from rheostat.prediction.features.support import fit_support
from rheostat.prediction.intervals import PERMUTATIONS
from rheostat.prediction.saved_models.from_file import blames_its_file


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

    identification_: Identification

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
        failed = failed_runs.of(jobs)
        jobs, values, notes = learnable(jobs, self.targets, self.knobs)
        asked = jobs.known_at(Moment.SUBMIT).frame
        order = steady(asked, values)
        frame, y = asked[order], np.log(values[order])
        self.notes_, self.n_learnt_ = notes, len(y)
        power = values[order][:, [t == "power_w" for t in self.targets]]
        self.least_w_ = plausible.least_watts(frame, self.knobs, power)
        rows, believed = self._believed(frame, y[:, 0], jobs)
        y, grown = at_end(believed, y, rows.seen)
        self.follow_ = guess_slopes(rows, len(self.coding_.apps))
        self._fit_quantities(rows, self.coding_.as_asked(frame), y, believed, grown)
        self.identification_ = replace(self.identification_, drawn=all_drawn(frame))
        if self.identification_.by == "size" and (blank := self.coding_.unsized(asked)).any():
            self.fit(jobs.rows(~blank))  # where nothing else tells
            self._say(plausible.unsized_words(self.coding_.sizes, blank))
            return self
        self._ask_chance(frame, rows, y[:, 0])
        self.failing_, said = failed_runs.failing(failed, rows, self.coding_)
        self._say(*said)
        kept = list(dict.fromkeys([*self.coding_.by, *self.knobs]))
        self.support_ = fit_support(frame.select(kept), self.coding_.by)
        orders = np.random.default_rng([self.seed, 1])
        self.orders_ = np.stack([orders.permutation(self.n_draws) for _ in range(PERMUTATIONS)])
        return self

    def _believed(
        self, frame: pl.DataFrame, y: Array, jobs: JobTable
    ) -> tuple[Rows, Believed | None]:
        """Rows of a log, coded by the records that stand the tests; None for measured runs."""
        settings: Any = {"by": self.group_by, "sizes": self.sizes, "problem": self.problem}
        self.coding_ = fit_coding(frame, self.knobs, self.targets, **settings)
        rows = self.coding_.rows(frame)
        if all_drawn(frame) or "submit_s" not in frame.columns or rows.log_run.shape[1] == 0:
            return rows, None
        names = (*self.coding_.sizes, *self.coding_.guesses)
        gone = moved_by_chance(rows, names)
        apart, words = kept_apart(frame, rows, y, self.coding_)
        if gone or apart:
            settings["by"] = (*self.coding_.by, *apart)
            self.coding_ = fit_coding(frame, self.knobs, self.targets, **settings, without=gone)
            rows = self.coding_.rows(frame)
        words += [f"{g} is left out: it changes with the setting that chance drew" for g in gone]
        if self.coding_.problem and (said := self._outranked(rows, y, frame, jobs)):
            words.append(f"{self.coding_.problem} is not believed: {said}")
            self.coding_ = replace(self.coding_, problem=None)
            rows = self.coding_.rows(frame)
        coding = self.coding_
        when = frame["submit_s"].cast(pl.Float64).fill_null(strategy="forward").to_numpy()
        examined = examine(rows, y, len(coding.apps), coding.problem, coding.sizes, words, when)
        known = examined.late * examined.rows.problem
        self.coding_ = replace(coding, problems=coding.named(frame, known))
        seen = np.where(examined.late, self.coding_.rows(frame).seen, -1)
        return replace(examined.rows, seen=seen), examined

    def _ask_chance(self, frame: pl.DataFrame, rows: Rows, y: Array) -> None:
        """Refuse to answer where the jobs of a trial contradict what is forecast of them."""
        by_chance = exponent_by_chance(rows, y)
        if self.identification_.by != "trial" or by_chance is None:
            return
        said = contradiction(*self._turned_changes(frame.filter(rows.turned)), by_chance)
        if said:
            self.identification_ = replace(self.identification_, conflict=f"the forecast: {said}")

    def _say(self, *words: str) -> None:
        """Add to what the log's records leave in doubt."""
        said = self.identification_
        self.identification_ = replace(said, doubts=(*said.doubts, *words))

    def _turned_changes(self, turned: pl.DataFrame) -> tuple[Array, Array]:
        """Forecast log changes (B, n) of jobs that chance turned, and by how much (n,)."""
        at = self.coding_.rows(turned)
        change = self._change(self.targets[0], at, self.coding_.as_asked(turned))
        return change, (at.log_run - at.log_asked)[:, 0]

    def _outranked(self, rows: Rows, y: Array, frame: pl.DataFrame, jobs: JobTable) -> str:
        """How a trial contradicts what one problem's runs say by themselves; "" where it does not.

        Those alone forecast the jobs that chance turned, and both exponents are of these jobs.
        """
        by_chance = exponent_by_chance(rows, y)
        if by_chance is None:
            return ""
        plain = {k: v for k, v in vars(self).items() if not k.endswith("_")}
        asked = [pl.col(k) == pl.col(requested(k)).fill_null(pl.col(k)) for k in self.knobs
                 if requested(k) in frame.columns]  # fmt: skip
        alone = WithinApplication(**plain).fit(jobs.rows(pl.all_horizontal(asked)))
        if alone.identification_.by != "repeats":
            return ""
        return contradiction(*alone._turned_changes(frame.filter(rows.turned)), by_chance)

    @blames_its_file
    def predict(self, jobs: JobTable) -> Outcome:
        """Draws (B, n) of every target, support, grade, and notes on rows it abstains on."""
        if not hasattr(self, "coding_"):
            raise NotFitted(self)
        needed = [*self.coding_.by, *self.knobs, *self.coding_.sizes, *self.coding_.guesses]
        jobs.require(*dict.fromkeys(needed))
        jobs.refuse_later_than(Moment.SUBMIT, needed)
        frame = jobs.known_at(Moment.SUBMIT).frame
        rows = self.coding_.rows(frame)
        support = self.fitted_[self.targets[0]].support(rows, self.support_.counts(frame))
        grade = self.support_.grade(frame)
        *noise, (_, other) = job_noise(frame, rows, self.orders_, len(self.targets) + 1)
        of = dict(zip(self.targets, noise, strict=True))
        values = {t: np.exp(self._draws(t, rows, *of[t])) for t in self.targets}
        for t, fitted in self.fitted_.items():
            if fitted.grown is not None:
                values[t] *= np.exp(fitted.grown.since_end(frame, rows.seen))
        home, by = self.coding_.as_asked(frame), self.identification_.by
        if "runtime_s" in values and (by != "design" or "submit_s" in frame.columns):
            change = self._change("runtime_s", rows, home)
            turned, exponent = rows.log_run - rows.log_asked, self.coding_.exponents("runtime_s")[0]
            more = np.any(turned[:, [k in PARALLEL for k in self.knobs]] > 0, axis=1)
            off = unlike_jobs.own_change(change, turned[:, 0], more, exponent, self.unlike_, other)
            own = self.unlike_ * unlike_jobs.room(change.mean(axis=0), turned[:, 0], exponent)
            for t in TIMED & values.keys():
                change = self.fitted_[t].own_change(rows, own, of[t][1], other, off)
                values[t] *= np.exp(change)
        unlike = self._not_believed(frame, rows, home, values)
        unlike = {m: w & (grade > 0) for m, w in unlike.items()} | {plausible.UNSEEN: grade == 0}
        silent = np.any(list(unlike.values()), axis=0)
        values = {t: np.where(silent, np.nan, v) for t, v in values.items()}
        return Outcome(values, support, plausible.notes(unlike), grade)

    def _not_believed(
        self, frame: pl.DataFrame, rows: Rows, home: Rows, values: dict[str, Array]
    ) -> dict[str, plausible.Mask]:
        """Rows (n,) whose forecast nobody is told, by the reason; see `plausible`."""
        by, nodes = self.identification_.by, [k for k in self.knobs if k in PARALLEL][:1]
        wrong = apart = np.zeros(frame.height, dtype=bool)
        for t in self.targets if by == "size" else ():
            held = self._change(t, rows, home)
            begin = rows.effect[t].shape[1]
            moved = self.fitted_[t].moved(
                rows.app, self.coding_.at_run(frame) - rows.request, begin
            )
            apart = apart | plausible.disagreeing(held, held + moved)
        for k in nodes:
            amount = np.exp(logs(frame[k]))
            if "power_w" in values:
                wrong = wrong | plausible.below_idle(values["power_w"], amount, self.least_w_[k])
            if "runtime_s" in values and by not in plausible.BY_DESIGN:
                asked = frame[requested(k)] if requested(k) in frame.columns else frame[k]
                more = amount / np.exp(logs(asked.fill_null(frame[k])))
                wrong = wrong | plausible.backwards(self._change("runtime_s", rows, home), more)
        turned = np.abs(rows.log_run - rows.log_asked)[:, 0]
        before = np.abs(self.placebo_[rows.app]) * turned > plausible.SMALL_CHANGE
        return {
            plausible.IMPOSSIBLE: wrong,
            plausible.DISAGREE: apart & ~wrong,
            plausible.BEFORE: before & ~wrong & ~apart,
            plausible.UNTOLD: ~self.identified_[rows.app] & (turned > 0),
            plausible.BEYOND: plausible.beyond(rows.log_run - rows.log_asked, self.turned_to_),
            plausible.FAILED: failed_runs.there(self.failing_, rows),
            plausible.UNSIZED: self.coding_.unsized(frame) & (by == "size"),
        }

    def _change(self, target: str, rows: Rows, home: Rows) -> Array:
        """Log of a quantity less its log at the setting asked for, the request as it is, (B, n)."""
        fitted = self.fitted_[target]
        away = (rows.log_run - home.log_run) @ fitted.exponents
        moved = fitted.moved(rows.app, rows.effect[target] - home.effect[target])
        return away + moved + fitted.by_request.of(rows) + self._left_open(target, rows)

    def _left_open(self, target: str, rows: Rows) -> Array:
        """What the error that records leave open makes of a quantity at another setting, (B, n)."""
        turned = (rows.log_run - rows.log_asked)[:, 0] * (target in TIMED)
        return -self.open_[:, None] * turned

    def _columns(self, rows: Rows, target: str) -> Array:
        """(n, q) effect, request, size and guess columns; of guesses, what those do not tell."""
        asked = requests_and_sizes(rows)
        plain = rows.guess - np.einsum("ns,nsg->ng", asked, self.follow_[rows.app])
        return np.concatenate([rows.effect[target], rows.request, rows.size, plain], axis=1)

    def _fit_quantities(
        self, rows: Rows, home: Rows, y: Array, believed: Believed | None, grown: Sequence[Changed]
    ) -> None:
        """Identification from the first target, then weights and levels of every target."""
        rng, designed = np.random.default_rng([self.seed, 0]), believed is None
        normal = np.random.default_rng([self.seed, 4]).standard_normal(self.n_draws)
        s, k = rows.request.shape[1], rows.size.shape[1]
        request = group_means(rows.request, rows.problem)
        cell, lost = rows.cell, cells_of(rows, len(self.coding_.apps))
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
                how: Any = {"designed": designed, "believed": believed,
                            "record": self.coding_.problem}  # fmt: skip
                sizes = self.coding_.sizes
                self.identification_ = identify(rows, asked, size, plain, sizes, **how)
                self._fit_doubts(rows, believed)
            tried = self.identification_.by == "trial" and target in TIMED
            by_request = fit_by_request(rows, flat, normal, by_trial=tried)
            left = left - by_request.mean_of(rows)
            flat[:, -1] = centred(left, cell)
            level = even(flat, rows.problem, cell)
            prior = effect_prior(self.coding_, self.identification_, target, x.shape[1], p, s)
            hierarchy = self._learn(level, rows, prior, lost, rng)
            if self.identification_.by == "trial" and self.coding_.problem is None:
                away = rows.effect[target] - home.effect[target]
                own = unlike_jobs.of_turned(hierarchy, rows, away, exponents[0])
                own = own * (target in TIMED)
                level = less_neighbours(level, flat, hierarchy, rows, p, own)
                hierarchy = self._learn(level, rows, prior, lost, rng)
            point = hierarchy.weights[:, :-1].mean(axis=0)
            if i == 0:
                self.unlike_ = unlike_jobs.of_problems(left, x, point, p, rows, exponents[0])
            rest, alike = (
                centred(left - np.einsum("nq,nq->n", c, point[rows.app]), cell) for c in (whole, x)
            )
            common = 0.0 if designed else drift(rest, cell)
            noise, (apart, between) = hierarchy.noise, unlike_runs(rest, alike, rows.problem, cell)
            hierarchy = replace(hierarchy, noise=np.hypot(noise, apart))
            variance = hierarchy.noise[rows.app] ** 2
            error = mean_errors(cell, variance, common, rows.problem, between)
            levels = fit_levels(whole, left, cell, rows.app, point, error)
            ran = left - levels.of(x, rows.cell, rows.app, point)
            problems = fit_problem_levels(ran, request, rows.seen, noise[rows.app], between)
            parts = hierarchy, levels, exponents, common, by_request, problems, grown[i]
            fitted, of_rows = QuantityEffects(*parts), (whole, left, rows, target)
            self.fitted_[target] = fitted.at_settings(*of_rows) if designed else fitted

    def _fit_doubts(self, rows: Rows, believed: Believed | None) -> None:
        """What the records leave open, a draw (B,), and what is doubted by application (A + 1,)."""
        by, apps = self.identification_.by, len(self.coding_.apps)
        open_to = self.identification_.misled / 2 if by == "repeats" else 0.0
        normal = np.random.default_rng([self.seed, 3]).standard_normal(self.n_draws)
        self.open_ = open_to * (1 + normal)
        self.placebo_ = np.zeros(apps + 1)
        self.identified_ = np.ones(apps + 1, dtype=bool)
        self.turned_to_ = np.zeros((2, len(self.knobs)))
        if by == "trial":
            turned = rows.log_run - rows.log_asked  # 0 of all jobs that ran as they asked
            self.turned_to_ = np.stack([turned.min(axis=0), turned.max(axis=0)])
        if believed is not None and by in ("size", "repeats"):
            self.placebo_[:apps] = believed.placebo
        if by == "repeats":
            _, first = np.unique(rows.problem, return_index=True)
            self.identified_ = np.bincount(rows.app[first[several(rows)]], minlength=apps + 1) >= 2

    @property
    def doubted_(self) -> dict[str, float]:
        """Exponents of the run before in the next setting, where that is more than chance."""
        pairs = zip(self.coding_.apps, self.placebo_, strict=False)
        return {app: float(e) for app, e in pairs if e}

    def _learn(
        self, level: Array, rows: Rows, prior: Prior, lost: Array, rng: np.random.Generator
    ) -> Hierarchy:
        x, y = level[:, :-1], level[:, -1]
        return learn(x, y, rows.app, rows.user, prior, lost, draws=self.n_draws, rng=rng)

    def _draws(self, target: str, rows: Rows, shared: Array, own: Array) -> Array:
        """Log of a quantity, (B, n)."""
        fitted = self.fitted_[target]
        levels, place = fitted.levels, fitted.levels.place(rows.cell, rows.app)
        columns, noise = self._columns(rows, target), fitted.weights.noise[rows.app]
        level, spread = levels.y[place], np.hypot(levels.sd[place], np.sqrt(fitted.drift) * noise)
        noise = np.sqrt(1 - fitted.drift) * noise
        if fitted.problems is not None:
            columns = fitted.problems.as_asked(columns, rows.seen, rows.effect[target].shape[1])
            of_problem, spread, noise = fitted.problems.placed(rows.seen, spread, noise)
            level = level + of_problem
        moved = fitted.moved(rows.app, columns - levels.x[place])
        beside, spread, noise = fitted.beside(rows, spread, noise)
        moved += beside + level + rows.log_run @ fitted.exponents + fitted.by_request.of(rows)
        moved += self._left_open(target, rows) + spread * shared + noise * own
        return np.round(moved, DECIMALS)


DECIMALS = 9
"""Linear algebra may differ in the last bits with the number of rows."""
