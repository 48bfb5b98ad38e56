"""What planning believes about run times: users, the truth, or a model that learns as time goes.

Users ask for far more than they need, and backfilling can only fill holes with jobs it believes
to be short.  Three kinds of estimate: those of the users; the truth, which no site has; and learned
ones, made at submission from jobs that have already ended *in the simulation*.  A learned estimate
may be too short: a job that outlives it is given the next longer one at the next event.

References
----------
Tsafrir, Etsion, Feitelson, "Backfilling using system-generated predictions rather than user runtime
estimates", IEEE TPDS 2007: the mean of a user's last two run times, and the steps of correction.
Gaussier, Glesser, Reis, Trystram, "Improving backfilling by using machine learning to predict
running times", SC 2015.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.core.jobs import Column, JobTable, Moment, Note
from rheostat.decision.policies.batch_policy import OVERDUE, BatchPolicy
from rheostat.errors import DataError
from rheostat.simulation.policies.dispatch import schedule, scores, zero
from rheostat.simulation.policies.start_plan import StartPlan
from rheostat.simulation.workload import Array, Estimates, Workload, users

EVERY_S = 7 * 86_400.0  # estimates are made for a simulated week of submissions
REFIT = 4  # weeks; a model is fitted anew
LEAST = 200  # ended jobs before the first fit
MOST = 20_000  # of the latest ended jobs, to fit on
KEPT = "estimates of a saved model: clairvoyant if it was fitted on these jobs"
HISTORY = tuple(
    Column(name, unit, Moment.SUBMIT, meaning)
    for name, unit, meaning in (
        ("last_run_s", "s", "run time of the user's last job that has ended"),
        ("before_run_s", "s", "run time of the one before it"),
        ("mean_run_s", "s", "mean run time of the user's jobs that have ended"),
        ("ask_s", "s", "run time asked for"),
        ("procs", "", "processors"),
    )
)
KINDS = ("forest", "xgboost", "lightgbm", "tabnet", "attention")
NAMES = f"user, perfect, last2, boost, {', '.join(KINDS)}, the file of a model, or seconds"


def scheduled(
    jobs: JobTable, load: Workload, rule: BatchPolicy, size: int, estimates: Estimates
) -> StartPlan:
    """Starts under these estimates.

    ``"user"`` is what was asked for; ``"perfect"`` the true run time; ``"last2"`` the mean of the
    user's last two jobs that have ended; ``"boost"`` quantile boosting on the user's history; a
    `Predictor` of ``runtime_s``, or the name of a `Surrogate`'s kind, is fitted anew every four
    simulated weeks on jobs that have ended; the file of a saved model is used as it is; an array
    holds seconds, one per row of ``jobs``.  Learned ones need a fixed order and no conservative
    backfilling.
    """
    if isinstance(estimates, np.ndarray | list):
        return _given(np.asarray(estimates, float), jobs, load, rule, size)
    if estimates in ("user", "perfect"):
        known = load.ask_s if estimates == "user" else load.run_s
        start, passes, cpu = schedule(jobs, load, rule, size, known)
        seen = rule.semantics == "cqsim" or estimates == "perfect" or load.unasked > 0
        return StartPlan(start, known, passes, cpu, seen)
    model = learner(estimates)
    if not rule.order.fixed or rule.backfill == "conservative" or rule.semantics == "cqsim":
        raise DataError(
            f"estimates with {rule.name}",
            ["learned estimates need a fixed order, EASY or none, and textbook semantics"],
        )
    return _learned(jobs, load, rule, size, model)


def overdue_of(asked: str | None, estimates: Any) -> str:
    """What becomes of overdue jobs: as ``asked``, else past; learned estimates are extended.

    >>> overdue_of(None, "user"), overdue_of("", "last2"), overdue_of("now", "last2")
    ('past', 'extend', 'now')
    """
    given = isinstance(estimates, np.ndarray | list) or estimates in ("user", "perfect")
    return asked or ("past" if given else "extend")


def learner(estimates: Any) -> Any:
    """The model that an estimate's name stands for; None is the mean of the last two."""
    if hasattr(estimates, "predict"):
        return estimates
    if estimates == "last2":
        return None
    if estimates == "boost":
        from rheostat.simulation.policies.quantile_boosting import QuantileBoosting

        return QuantileBoosting()
    if estimates in KINDS:
        from rheostat.prediction.surrogate.surrogate import Surrogate

        # no knob is turned here: the request and the size may be learned from
        return Surrogate(estimates, targets=("runtime_s",), turned=None, scaled=False)
    if Path(str(estimates)).is_file():
        from rheostat.prediction.saved_models.persist import PREDICTORS, load

        return SavedEstimate(load(estimates, PREDICTORS))
    raise DataError(f"estimates {estimates}", [f"expected {NAMES}"])


class SavedEstimate:
    """A model that was fitted before and is not fitted again."""

    def __init__(self, model: Any) -> None:
        self.predict = model.predict

    def fit(self, jobs: JobTable) -> SavedEstimate:
        """Leave it as it is."""
        return self


def _given(
    seconds: Array, jobs: JobTable, load: Workload, rule: BatchPolicy, size: int
) -> StartPlan:
    rows = len(jobs)
    if seconds.shape != (rows,) or not (seconds[load.row] >= 0).all():
        raise DataError("estimates", [f"expected {rows} seconds >= 0, got shape {seconds.shape}"])
    start, passes, cpu = schedule(jobs, load, rule, size, seconds[load.row])
    return StartPlan(start, seconds[load.row], passes, cpu, rule.semantics == "cqsim")


def _learned(jobs: JobTable, load: Workload, rule: BatchPolicy, size: int, model: Any) -> StartPlan:
    """Run week by week; before each, estimate what will be submitted in it."""
    from rheostat.simulation.engine import queue_index as depth
    from rheostat.simulation.engine import static_priority as fixed
    from rheostat.simulation.engine.jit import compiled_score

    user = users(jobs, load)
    recent = np.full((user.max() + 1, 2), np.nan)
    score = compiled_score(rule.order.score if model is None else zero)
    learn = (user, recent, load.ask_s, score, model is None)
    weekly = Weekly(model, jobs, load, user)
    planned = load.ask_s.copy()
    rank = scores(rule, load, planned)
    job = (load.submit_s, load.run_s, load.procs, planned, planned.copy(), rank)
    start, (lists, at) = np.full(len(load), np.nan), fixed.fresh(len(load), size)
    index = depth.index(load.procs, rank)
    ties = (rule.ties == "batch", rule.ends == "expected")
    late = (OVERDUE.index(overdue_of(rule.overdue, model)), planned, load.ask_s)
    begin = time.process_time()
    for edge in weekly.edges():
        easy = rule.backfill == "easy"
        fixed.run_fixed(job, start, lists, index, at, edge, easy, ties, late, learn)
        coming, seconds = weekly.coming(edge, start)
        planned[coming] = job[4][coming] = seconds
        rank[coming] = scores(rule, load, planned)[coming]
    spent = time.process_time() - begin
    notes = (Note(KEPT),) if isinstance(model, SavedEstimate) else ()
    return StartPlan(start, planned, int(at[fixed.PASSES]), spent, load.unasked > 0, notes)


class Weekly:
    """Estimates of a week's submissions by a model that saw ended jobs only; None makes none."""

    def __init__(self, model: Any, jobs: JobTable, load: Workload, user: Array) -> None:
        self.model, self.jobs, self.load, self.user = model, jobs, load, user
        self._age = REFIT

    def edges(self) -> list[float]:
        """Moments at which the simulation pauses; the last is never reached."""
        first, last = self.load.submit_s[0], self.load.submit_s[-1]
        weeks = np.arange(first, last, EVERY_S)[1:].tolist() if self.model is not None else []
        return [*weeks, np.inf]

    def coming(self, now: float, start: Array) -> tuple[Array, Array]:
        """(jobs submitted in the week from ``now``, their estimates in s), both (k,)."""
        load = self.load
        ended = np.flatnonzero(start + load.run_s <= now)
        coming = np.flatnonzero((load.submit_s >= now) & (load.submit_s < now + EVERY_S))
        few = LEAST if not isinstance(self.model, SavedEstimate) else 0
        if not np.isfinite(now) or len(ended) < few or not len(coming):
            return np.empty(0, np.int64), np.empty(0)
        ended = ended[np.argsort(start[ended] + load.run_s[ended], kind="stable")]
        if self._age >= REFIT:
            self.model.fit(self._with_history(ended, ended[-MOST:]))
            self._age = 0
        self._age += 1
        asked = self._with_history(ended, coming).known_at(Moment.SUBMIT)
        seconds, ask = self.model.predict(asked).mean("runtime_s"), load.ask_s[coming]
        return coming, np.where(np.isfinite(seconds), np.clip(seconds, 1.0, ask), ask)

    def _with_history(self, ended: Array, rows: Array) -> JobTable:
        """``rows`` with what their users' jobs took that ended before them, in order of ends."""
        from rheostat.simulation.engine.user_history import history

        history_s = history(self.user, self.load.run_s, ended, rows)
        values = (*history_s.T.copy(), self.load.ask_s[rows], self.load.procs[rows].astype(float))
        named = {c.name: v for c, v in zip(HISTORY, values, strict=True)}
        return self.jobs.rows(self.load.row[rows]).with_columns(HISTORY, **named)
