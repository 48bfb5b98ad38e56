"""How many jobs must take part in a trial, and what did the trial say?

Notation
--------
n  jobs that take part      s  spread of log runtime at equal requests, within users' applications
L : root mean square of log (setting / request) over them
a  spread of the exponents between jobs: codes scale differently, and each differently at its sizes
exponent : of runtime in the setting, averaged over the jobs that take part; from n jobs its
standard error is sqrt(s^2 + a^2 L^2) / (L sqrt n)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.jobs import Column, JobTable, Moment, Note
from rheostat.core.outcome import Array, Predictor
from rheostat.decision.placebo import clustered, left, numbered
from rheostat.decision.trials.found_trial import as_ran
from rheostat.decision.trials.trial import Trial, plan_trial
from rheostat.measurement.tables import with_numbers
from rheostat.prediction.features.requested_settings import as_requested, requested

Codes = NDArray[np.int64]
Exponent = tuple[float, float, float]
ACCURACY = 0.05
"""An exponent this well known tells the runtime at a quarter of the nodes to 7 %."""
SPREAD = 0.5
"""Assumed where no past runs are given: two in three runtimes within a factor of 1.6."""
APART = 0.4
"""Assumed: a log does not tell it.  From no gain with nodes to perfect division of work, mostly."""
FEWEST_RUNS = 30
LEVEL = 0.9


@dataclass(frozen=True)
class TrialSize:
    """Jobs that a trial needs.

    Parameters
    ----------
    needed : int
        Jobs that must take part for the exponent of runtime, averaged over them, to be known to
        ``accuracy`` with 90 % confidence.
    expected : int
        Jobs that take part as planned.
    share : float
        Share of jobs that has ``needed`` of them take part.
    accuracy : float
        Half the interval of the exponent.
    reached : float
        The accuracy of the trial as planned.
    spread : float
        Standard deviation of log runtime at equal requests.
    measured : bool
        Whether ``spread`` is that of past runs; else it is assumed.
    """

    needed: int
    expected: int
    share: float
    accuracy: float
    reached: float
    spread: float
    measured: bool


def trial_size(trial: Trial, past: JobTable | None = None, accuracy: float = ACCURACY) -> TrialSize:
    """Jobs needed for what a trial is to tell.

    Parameters
    ----------
    trial : Trial
        As planned.
    past : JobTable, optional
        Runs of the past, with the knob, runtime_s and app or user.
    accuracy : float
        Half the 90 % interval of the exponent.

    Returns
    -------
    TrialSize

    Examples
    --------
    >>> from rheostat import plan_trial, table
    >>> plan = plan_trial(table({"job_id": list(range(2000)), "nodes": [16] * 2000}), share=0.05)
    >>> size = trial_size(plan)
    >>> size.needed, size.expected, size.measured
    (314, 111, False)
    """
    frame = trial.table.frame.filter(pl.col("takes_part"))
    turned = np.log((frame[trial.knob] / frame[f"{trial.knob}_requested"]).to_numpy())
    lever = float(np.sqrt(np.mean(turned**2))) if len(turned) else math.log(max(trial.factors))
    known = None if past is None else _spread(past, trial.knob)
    spread = SPREAD if known is None else known
    z = NormalDist().inv_cdf(0.5 + LEVEL / 2)
    one = z * math.hypot(spread / lever, APART)
    needed = max(math.ceil((one / accuracy) ** 2), 1)
    reached = one / math.sqrt(len(turned)) if len(turned) else math.inf
    share = trial.share * needed / len(turned) if len(turned) else math.nan
    return TrialSize(needed, len(turned), share, accuracy, reached, spread, known is not None)


def trial_for(log: JobTable, knob: str, share: float = 0.05) -> TrialSize | None:
    """The trial that a log which cannot answer asks for; None where its jobs cannot be numbered.

    Parameters
    ----------
    log : JobTable
        Past jobs; those to come are taken to be like them.
    knob : str
        The setting that would be turned.
    share : float
        Share of the jobs that would take part.

    Returns
    -------
    TrialSize or None
    """
    if "job_id" not in log.columns or not log.frame[knob].dtype.is_numeric():
        return None
    high = float(log.frame[knob].max() or 0)  # type: ignore[arg-type]
    return trial_size(plan_trial(log, share, knob, high=high), log)


def _spread(past: JobTable, knob: str) -> float | None:
    """Standard deviation of log runtime at equal requests, within users' applications."""
    if "runtime_s" not in past.columns or (frame := numbered(past, knob)) is None:
        return None
    good = frame.filter((pl.col("runtime_s") > 0) & (pl.col("_asked") > 0))
    if len(good) < FEWEST_RUNS:
        return None
    y, x = (np.log(good[c].to_numpy().astype(float)) for c in ("runtime_s", "_asked"))
    app, cell = (good[c].to_numpy().astype(np.int64) for c in ("_app", "_cell"))
    rest = left(y, x[:, None], app, cell)
    free = len(rest) - len(np.unique(cell)) - len(np.unique(app))
    return float(np.sqrt((rest**2).sum() / free)) if free > 0 else None


@dataclass(frozen=True)
class TrialResult:
    """What a trial said of an exponent, beside what the log alone says.

    ``by_trial`` and ``by_log`` are exponents (value, low, high) of runtime in the setting that ran,
    averaged over the jobs that chance turned, and in the setting that was asked for, with 90 %
    intervals; their difference is what requests betray of the problem.  ``by_forecast`` is the
    exponent of the forecasts that advice is made of, averaged over the ``forecast`` jobs of these
    that have one, and ``beside`` what the trial says of those alone.
    """

    knob: str
    turned: int
    applications: int
    by_trial: Exponent
    by_log: Exponent
    by_forecast: Exponent | None = None
    forecast: int = 0
    beside: Exponent | None = None

    @property
    def agrees(self) -> bool:
        """Whether what chance showed and what is forecast have any exponent in common."""
        if self.by_forecast is None:
            return True
        (_, low, high), (_, least, most) = self.beside or self.by_trial, self.by_forecast
        return low <= most and least <= high


def with_trial(log: JobTable, plan: JobTable, knob: str) -> JobTable:
    """A log with what the jobs of a trial had asked for, as the plan keeps it.

    Parameters
    ----------
    log : JobTable
        Runs with job_id and ``knob``; KNOB_alloc, where there is one, is what jobs received.
    plan : JobTable
        As `plan_trial` made it.
    knob : str
        The setting that was turned.

    Returns
    -------
    JobTable
        The log with KNOB_requested, and a note on jobs that did not run as planned.

    Examples
    --------
    >>> from rheostat import table
    >>> plan = table({"job_id": [1, 2], "nodes": [2, 8], "nodes_requested": [8, 8],
    ...               "takes_part": [True, False]})
    >>> log = with_trial(table({"job_id": [1, 2, 3], "nodes": [2, 8, 4]}), plan, "nodes")
    >>> log.frame["nodes_requested"].to_list()
    [8, 8, 4]
    """
    asked = f"{knob}_requested"
    plan.require("job_id", knob, asked)
    log.require("job_id", knob)
    kind = "counts" if log.frame[knob].dtype.is_integer() else "numbers"
    planned = with_numbers(plan.frame, "plan of a trial", **{kind: (knob, asked)})
    wanted = planned.select(pl.col("job_id").cast(pl.String), asked, pl.col(knob).alias("_planned"))
    own = log.frame[asked if asked in log.columns else knob].alias("_own")
    log = log if asked in log.columns else as_ran(log, knob)
    ids = log.frame.select(pl.col("job_id").cast(pl.String), knob, own)
    joined = ids.join(wanted.unique("job_id"), on="job_id", how="left", maintain_order="left")
    part = pl.col("_planned") != pl.col(asked)
    known = joined[asked].cast(log.frame[knob].dtype).fill_null(joined["_own"])
    other = joined.select((part & (pl.col(knob) != pl.col("_planned"))).fill_null(value=False))
    rows = np.flatnonzero(other.to_series().to_numpy())
    column = Column(asked, log.schema[knob].unit, Moment.SUBMIT, f"{knob} as submitted")
    made = log.with_columns([column], **{asked: known})
    if not rows.size:
        return made
    message = "of the trial did not run as planned: users who had reasons may make it less sure"
    return made.noted(Note(message, tuple(rows[:20].tolist()), int(rows.size)))


def trial_result(log: JobTable, knob: str, model: Predictor | None = None) -> TrialResult | None:
    """What the jobs of a trial tell, within users' applications.

    Parameters
    ----------
    log : JobTable
        With ``knob``, KNOB_requested, runtime_s and app or user, see `with_trial`.  Runs that were
        cut off tell no run time and are left out.
    knob : str
        The setting that was turned.
    model : Predictor, optional
        Fitted; gives the exponent that advice from it rests on.

    Returns
    -------
    TrialResult or None
        None where fewer than two applications had jobs in the trial.
    """
    asked = f"{knob}_requested"
    log.require(knob, asked, "runtime_s")
    log = log.finished()
    frame = numbered(log, knob)
    if frame is None:
        return None
    good = frame.filter(pl.all_horizontal(pl.col(knob, asked, "runtime_s") > 0))
    values = np.log(good.select(knob, asked, "runtime_s").to_numpy().astype(float))
    turned, request, y = values[:, 0] - values[:, 1], values[:, 1], values[:, 2]
    app, cell = (good[c].to_numpy().astype(np.int64) for c in ("_app", "_cell"))
    groups = len(np.unique(app[turned != 0]))
    if groups < 2:
        return None
    jobs, one = np.arange(len(app)), np.zeros(len(app), dtype=np.int64)
    asked_for = np.column_stack([request, request**2])
    by_trial = _exponent(turned, y, asked_for, app, cell, jobs)
    by_log = _exponent(request, y, turned[:, None], one, cell, app)
    count = int((turned != 0).sum())
    result = TrialResult(knob, count, groups, by_trial, by_log)
    return result if model is None else _beside_forecast(result, log, model)


def _beside_forecast(result: TrialResult, log: JobTable, model: Predictor) -> TrialResult:
    """With what ``model`` forecasts for the jobs that chance turned, weighed as above.

    Some may have no forecast, as where jobs failed: the trial is then asked of the others alone.
    """
    knob = result.knob
    moved = log.frame.select(
        pl.all_horizontal(pl.col(knob, requested(knob), "runtime_s") > 0)
        & (pl.col(knob) != pl.col(requested(knob)))
    ).to_series()
    at = np.flatnonzero(moved.fill_null(value=False).to_numpy())
    exponent, known = _forecast_exponent(log.rows(at), knob, model)
    if exponent is None:
        return result
    result = replace(result, by_forecast=exponent, forecast=int(known.sum()))
    if known.all():
        return result
    others = np.ones(len(log), dtype=bool)
    others[at[~known]] = False
    alone = trial_result(log.rows(others), knob)
    return replace(result, beside=None if alone is None else alone.by_trial)


def _forecast_exponent(
    turned_jobs: JobTable, knob: str, model: Predictor
) -> tuple[Exponent | None, NDArray[np.bool_]]:
    """The exponent that ``model`` forecasts, and which of the jobs (n,) have a forecast."""
    good = turned_jobs.known_at(Moment.SUBMIT)
    asked = as_requested(good, [knob])
    ran = asked.with_columns((), **{knob: good.frame[knob]})
    after, before = (np.log(model.predict(jobs)["runtime_s"]) for jobs in (ran, asked))
    turned = np.log(good.numpy(knob) / asked.numpy(knob))
    known = np.isfinite(after + before).all(axis=0)
    if not known.any():
        return None, known
    turned, change = turned[known], (after - before)[:, known]
    each = change @ turned / float(turned @ turned)
    low, high = np.quantile(each, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return (float(each.mean()), float(low), float(high)), known


def _exponent(
    x: Array, y: Array, given: Array, alike: Codes, cell: Codes, cluster: Codes
) -> tuple[float, float, float]:
    """Slope of ``y`` on ``x`` within cells, at equal ``given``, with its 90 % interval.

    What ``given`` explains is learned in each group of ``alike`` by itself: who is drawn, and which
    way the setting turns, goes with what was asked for.
    """
    from scipy.stats import t

    rest = [left(v, given, alike, cell) for v in (x, y)]
    slope, error = clustered(rest[0], rest[1], cluster)
    half = float(t.ppf(0.5 + LEVEL / 2, len(np.unique(cluster)) - 1)) * error
    return slope, slope - half, slope + half
