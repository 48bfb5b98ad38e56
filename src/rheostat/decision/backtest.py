"""What would the advice have changed, had it been followed last month?

The model learns from jobs that had ended before a moment, and advises those submitted after it.
What it says about the setting that really ran is checked against what was measured; what it says
about the advised setting is a prediction and is reported as one, because that setting never ran.
Only where the truth is known (a generated trace) is the true change given as well.

References
----------
Bergmeir, C., Benitez, J.: On the use of cross-validation for time series predictor evaluation
(2012): why the split is by time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from rheostat.core.front import Constraint, Objective, Rule
from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Array, Outcome, Predictor
from rheostat.core.space import Knob, Space
from rheostat.core.units import parse_duration
from rheostat.decision.accuracy import Accuracy, accuracy, measured
from rheostat.decision.decide import RUNTIME_ENERGY, Advice, decide
from rheostat.decision.totals import Change
from rheostat.errors import DataError
from rheostat.prediction.out_of_core.dask_cluster import Spread, here

Truth = Callable[[JobTable], Outcome]
FAR_OFF = 2.0
"""Factor by which forecasts of the settings that ran may add up to other than what was measured."""


@dataclass(frozen=True)
class Backtest:
    """Advice for recent jobs by a model of the past, and how far it can be trusted.

    ``accuracy`` compares predictions at the setting that ran with what was measured.  ``by_user``
    has a row per user: jobs, changed, predicted totals and changes.  ``true`` holds the change that
    the advice would really have made, where the truth is known; otherwise it is None.
    ``far_off`` has forecast over measured totals of the settings that ran, of the quantities where
    that is beyond `FAR_OFF`: the totals of ``advice`` leave those out.
    """

    advice: Advice
    accuracy: Mapping[str, Accuracy]
    by_user: pl.DataFrame
    learnt: int
    unfinished: int
    edge_s: float
    true: Mapping[str, Change] | None
    far_off: Mapping[str, float] = field(default_factory=dict)


def backtest(  # noqa: PLR0913 - what is wanted, all but five by keyword
    jobs: JobTable,
    model: Predictor,
    knobs: Space | Knob | Iterable[Knob],
    rule: Rule | None = None,
    limits: Constraint | Iterable[Constraint] = (),
    *,
    split: float | str = 0.8,
    objectives: Sequence[str | Objective] = RUNTIME_ENERGY,
    truth: Truth | None = None,
    spread: Spread = here,
) -> Backtest:
    """Fit ``model`` on the past, advise the recent jobs, check what can be checked.

    Parameters
    ----------
    jobs : JobTable
        With submit_s; with end_s, runs that had not ended when the recent part begins are unseen.
    model : Predictor
        Is fitted here.
    knobs, rule, limits, objectives
        As for `decide`.
    split : float or str
        Share of jobs, by submit time, that is the past; or how long the recent part is: "30d".
    truth : callable, optional
        The true outcome of any row at its setting, where it is known.
    spread : callable
        Where blocks of jobs are judged, as for `decide`.

    Returns
    -------
    Backtest
        The advice for the recent jobs; errors and coverage for the settings that ran; the true
        change where ``truth`` is given.

    Raises
    ------
    DataError
        There is no submit_s, or one of the two parts is empty.
    """
    past, recent, unfinished = divided(jobs, split)
    model.fit(past)
    advice = decide(recent, model, knobs, rule, limits, objectives=objectives, spread=spread)
    names = [q for q in ("runtime_s", "power_w", "energy_j") if q in recent.columns]
    ran = model.predict(recent.known_at(Moment.SUBMIT))
    ratios: dict[str, float] = {q: _over_measured(ran, recent, q) for q in names if q in ran}
    far_off = {q: r for q, r in ratios.items() if r > FAR_OFF or r < 1 / FAR_OFF}
    kept = {q: t for q, t in advice.totals.items() if q not in far_off}
    return Backtest(
        replace(advice, totals=kept),
        accuracy(ran, recent, [n for n in names if n in ran]),
        changes_by(advice, "user"),
        len(past),
        unfinished,
        float(recent.frame["submit_s"].min()),  # type: ignore[arg-type]
        None if truth is None else _true_change(recent, advice, truth),
        far_off,
    )


def _over_measured(ran: Outcome, recent: JobTable, quantity: str) -> float:
    """Total of the forecasts of what ran over that of what was measured, NaN without any."""
    forecast, truth = ran.mean(quantity), measured(recent, quantity)
    both = np.isfinite(forecast) & np.isfinite(truth)
    total = float(truth[both].sum())
    return float(forecast[both].sum()) / total if total else float("nan")


def divided(jobs: JobTable, split: float | str) -> tuple[JobTable, JobTable, int]:
    """(past, recent, runs of the past left out because they had not ended yet)."""
    if not isinstance(split, str):
        past, recent = jobs.split_by_time(split)
    else:
        jobs.require("submit_s")
        edge = float(jobs.frame["submit_s"].max()) - parse_duration(split)  # type: ignore[arg-type]
        past = jobs.rows(pl.col("submit_s") <= edge)
        recent = jobs.rows(pl.col("submit_s") > edge)
    if not len(past) or not len(recent):
        raise DataError(
            "split",
            [f"expected jobs before and after the split, got {len(past)} and {len(recent)}"],
        )
    ended = past.rows(end_s(past) <= float(recent.frame["submit_s"].min()))  # type: ignore[arg-type]
    if not len(ended):
        raise DataError("split", ["no job had ended before the recent part begins"])
    return ended, recent, len(past) - len(ended)


def end_s(jobs: JobTable) -> Array:
    """(n,) when each job ended; where the log does not say, as if it had not waited.

    >>> from rheostat import table
    >>> end_s(table({"submit_s": [5.0, 6.0], "runtime_s": [2.0, 3.0], "end_s": [None, 12.0]}))
    array([ 7., 12.])
    """
    ways = {
        "end_s": pl.col("end_s"),
        "runtime_s": pl.col("submit_s") + pl.col("runtime_s"),
        "submit_s": pl.col("submit_s"),
    }
    known = [way.cast(pl.Float64) for name, way in ways.items() if name in jobs.columns]
    ended = jobs.frame.select(pl.coalesce(known)).to_series()
    return ended.fill_null(np.nan).to_numpy()


def changes_by(advice: Advice, column: str) -> pl.DataFrame:
    """What an advice changes for each group of jobs, as ``user`` or ``app``.

    Parameters
    ----------
    advice : Advice
        A setting for every job.
    column : str
        The column that names the groups.

    Returns
    -------
    polars.DataFrame
        One row per group, largest predicted energy first; one row in all without that column.
        Columns: the group, jobs, changed, and per quantity the sums as requested and as advised
        and the relative change, null where no job has a prediction.
    """
    frame = advice.table.frame
    group = pl.col(column) if column in frame.columns else pl.lit("all").alias(column)
    quantities = [q for q in ("runtime_s", "energy_j") if f"{q}_advised" in frame.columns]
    both = {q: pl.col(f"{q}_advised") + 0 * pl.col(f"{q}_requested") for q in quantities}
    sums = [both[q].sum().alias(f"{q}_advised") for q in quantities]
    sums += [
        (pl.col(f"{q}_requested") + 0 * pl.col(f"{q}_advised")).sum().alias(f"{q}_requested")
        for q in quantities
    ]
    grouped = frame.group_by(group).agg(
        pl.len().alias("jobs"), (pl.col("status") == "advised").sum().alias("changed"), *sums
    )
    ratios = [
        (pl.col(f"{q}_advised") / pl.col(f"{q}_requested") - 1).fill_nan(None).alias(f"{q}_change")
        for q in quantities
    ]
    order = [f"{q}_requested" for q in reversed(quantities)][:1] or ["jobs"]
    return grouped.with_columns(ratios).sort([*order, column], descending=[True, False])


def _true_change(recent: JobTable, advice: Advice, truth: Truth) -> dict[str, Change]:
    """The change of totals that following the advice would really have made."""
    turned = {k: advice.table.frame[k] for k in advice.knobs}
    asked = recent.known_at(Moment.SUBMIT)
    before, after = truth(asked), truth(asked.with_columns((), **turned))
    counted = advice.table.frame["status"].is_in(["advised", "kept"]).to_numpy()
    changes = {}
    for q in ("runtime_s", "power_w", "energy_j"):
        if q not in before or q not in after:
            continue
        a, b = (float(np.sum(o.mean(q)[counted])) for o in (after, before))
        ratio = a / b - 1.0 if b else float("nan")
        changes[q] = Change(b, a, (ratio, ratio, ratio))
    return changes
