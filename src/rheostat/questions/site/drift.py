"""`site_drift`: does a model that is in use still say what comes? Week by week, with a reason."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Array, Outcome, Predictor
from rheostat.core.report import Grid, Report, Section
from rheostat.core.units import format_moment, plain_name
from rheostat.decision.replacement import FEWEST_GROUPS, FEWEST_JOBS, NEGLIGIBLE
from rheostat.errors import DataError
from rheostat.explanation.number_words import share
from rheostat.prediction.saved_models.persist import PREDICTORS, load
from rheostat.questions import inputs, listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.recipes.nodecount import targets_in

LEVEL = 0.9
TOLERANCE = 0.05
"""Intervals that hold so much less than they say are no cause for an alarm."""
WORSE = 1.5
"""Times the error of a usual week before, and the error that the forecasts say of themselves."""
WEEK_S = 7 * 86_400.0
MOST_JOBS = 50_000
PREVIOUS = "{}.previous"
"""Beside a model in use: the last one that newest jobs confirmed, or that a person accepted."""
COLUMNS = ("week", "quantity", "jobs", "groups", "error", "coverage", "coverage_high", "alarm")


@dataclass(frozen=True, kw_only=True, repr=False)
class SiteDriftAnswer(Answer):
    """Error and coverage of a model's forecasts by week, and what is wrong in the newest one.

    Parameters
    ----------
    weeks : DataFrame
        A row per week and quantity, the newest last: jobs, users' applications (``groups``), median
        relative ``error``, ``coverage`` of 90 % intervals with the upper end of its 95 % interval,
        and whether it is an ``alarm``.
    alarms : tuple of str
        Reasons, of the newest week alone; by the model in use, and by the last confirmed one.
    """

    schema: ClassVar[str] = "rheostat.site.drift/1"
    weeks: pl.DataFrame
    alarms: tuple[str, ...]

    def report(self) -> Report:
        """Alarm or none, and the weeks."""
        return Report("", [Section("drift", self.beside()),
                           Section("weeks", (), self.grids()[0])], self.facts())  # fmt: skip

    def beside(self) -> tuple[str, ...]:
        """The alarms, or that there is none."""
        newest = self.weeks.filter(pl.col("week") == pl.col("week").max())
        judged = newest["alarm"].is_not_null().any()
        none = "No alarm." if judged else "The newest week has too few jobs to tell."
        return self.alarms or (none,)

    def facts(self) -> Mapping[str, Any]:
        """Alarms and weeks as data."""
        return {"alarms": list(self.alarms), "weeks": self.weeks.to_dicts()}

    def grids(self) -> tuple[Grid, ...]:
        """A row per week and quantity."""
        units = {"error": "share", "coverage": "share", "coverage_high": "share"}
        return (Grid(COLUMNS, tuple(self.weeks.rows()), tuple(units.get(c, "") for c in COLUMNS)),)


@question
def site_drift(jobs: inputs.Jobs, model: inputs.Model) -> SiteDriftAnswer:
    """Say by week how right a model was on jobs that ended, and raise an alarm with its reason.

    An alarm is raised where the newest week's 90 % intervals held clearly less than 85 %, beyond
    what chance between users' applications explains, or where half of its forecasts were off by 1.5
    times what was usual before and what the forecasts say of themselves. Jobs that the model
    learned from flatter it, so the last confirmed model that `refit` keeps beside a saved one is
    asked as well: what changed since is an alarm until it holds again or a person accepts it.

    Parameters
    ----------
    jobs : JobTable or path
        A log; of the newest 50,000 jobs those that have ended and were not cut off.
    model : Predictor or path
        Fitted or saved; of a path the file ``NAME.previous`` beside it is asked, too.

    Returns
    -------
    SiteDriftAnswer
        With ``weeks`` and ``alarms``.

    Raises
    ------
    DataError
        The log does not say when jobs were submitted, none has ended, or none has a forecast.

    Examples
    --------
    >>> import rheostat as rh
    >>> from rheostat.measurement.synthetic.world import World
    >>> log = World(seed=1).jobs(600)
    >>> answer = rh.site.drift(log, rh.fit(log, method="lightgbm").model)
    >>> answer.alarms
    ()
    """
    log = ended_jobs(inputs.opened(jobs), "site drift")
    fitted = inputs.fitted(log, model, "auto", 0)
    with listener.working(f"forecasting {len(log):,} jobs"):
        outcome = fitted.predict(log.known_at(Moment.SUBMIT))
    submitted = log.numpy("submit_s")
    age = np.floor((submitted.max() - submitted) / WEEK_S).astype(np.int64)
    rows, alarms = [], []
    for name in (q for q in targets_in(log) if q in outcome):
        checked = _checked(log, outcome[name], log.numpy(name)).with_columns(age=age)
        weeks = [_week(part, name, float(submitted.max())) for part in _by_age(checked)]
        _judge(weeks)
        rows += weeks
        if weeks and weeks[-1]["alarm"]:
            alarms.append(_reason(weeks, checked.filter(pl.col("age") == pl.col("age").min())))
    if not rows:
        problem = "the model forecasts for no job what the log records: fit it to this site's jobs"
        raise DataError("site drift", [problem])
    if isinstance(model, Path | str) and (kept := confirmed_beside(Path(model))):
        newest = log.rows(np.flatnonzero(age == age.min()))
        times = missed(newest, kept.predict(newest.known_at(Moment.SUBMIT)))
        alarms += contradictions(times, Path(PREVIOUS.format(model)))
    frame = pl.DataFrame(rows, schema_overrides={"alarm": pl.Boolean}).select(COLUMNS)
    return SiteDriftAnswer(weeks=frame.sort("week", maintain_order=True), alarms=tuple(alarms))


def ended_jobs(log: JobTable, asked: str) -> JobTable:
    """The newest jobs that ended and were not cut off, at most 50,000, by submission."""
    log.require("submit_s", "runtime_s")
    good = (pl.col("runtime_s") > 0) & pl.col("submit_s").is_finite()
    if "censored" in log.columns:
        good &= ~pl.col("censored").fill_null(value=True)
    newest = log.frame.with_row_index("row_").filter(good).sort("submit_s")["row_"]
    if not len(newest):
        raise DataError(asked, ["no job has ended by itself: nothing can be checked"])
    return log.rows(newest.tail(MOST_JOBS).to_numpy())


def _checked(log: JobTable, draws: Array, true: Array) -> pl.DataFrame:
    """For each job: measured over forecast, whether its interval held, and who ran what."""
    low, middle, high = np.quantile(draws, [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2], axis=0)
    known = np.isfinite(middle) & np.isfinite(true) & (middle > 0)
    ratio = np.divide(true, middle, out=np.full(len(true), np.nan), where=known)
    group = who_ran(log)
    app = log.frame["app"].cast(pl.String).fill_null("") if "app" in log.columns else group
    held = (low <= (1 + NEGLIGIBLE) * true) & (true <= (1 + NEGLIGIBLE) * high)
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = np.median(np.abs(draws / middle - 1), axis=0)
    return pl.DataFrame({
        "ratio": pl.Series(ratio).fill_nan(None), "held": held, "group": group, "app": app,
        "expected": pl.Series(expected).fill_nan(None),
    })  # fmt: skip


def missed(log: JobTable, outcome: Outcome) -> dict[str, float]:
    """Quantities whose intervals held clearly fewer jobs than they should.

    Each with how many times the forecast half of the jobs exceed.
    """
    times = {}
    for name in (q for q in targets_in(log) if q in outcome):
        part = _checked(log, outcome[name], log.numpy(name)).filter(pl.col("ratio").is_not_null())
        if len(part) < FEWEST_JOBS:
            continue
        _, high, groups = _coverage(part)
        if groups >= FEWEST_GROUPS and high < LEVEL - TOLERANCE:
            times[name] = float(part["ratio"].median())  # type: ignore[arg-type]
    return times


def confirmed_beside(model: Path) -> Predictor | None:
    """The last confirmed model beside one in use; None where that has just been accepted."""
    kept = Path(PREVIOUS.format(model))
    if not kept.exists() or (model.exists() and kept.read_bytes() == model.read_bytes()):
        return None
    confirmed: Predictor = load(kept, PREDICTORS)
    return confirmed


def contradictions(times: Mapping[str, float], kept: Path) -> tuple[str, ...]:
    """What the last confirmed model finds changed in the newest jobs, in words.

    >>> contradictions({"power_w": 60.0}, Path("model.rheo.previous"))[0].partition(": half")[0]
    'Alarm: power of the newest jobs lies outside the intervals of model.rheo.previous'
    """
    return tuple(
        f"Alarm: {plain_name(q)} of the newest jobs lies outside the intervals of {kept.name}: "
        f"half of them exceed {ratio:.2g} times the forecast of this last model that was "
        "confirmed. Unless a meter, a clock or a unit is wrong, accept it: rheostat site refit "
        "--accept."
        for q, ratio in times.items()
    )


def who_ran(log: JobTable) -> pl.Series:
    """A text for each job that names its user and application, as far as they are known."""
    who = [log.frame[c].cast(pl.String).fill_null("") for c in ("user", "app") if c in log.columns]
    unknown = pl.Series([""] * len(log))
    return pl.select(pl.concat_str(who, separator="\0")).to_series() if who else unknown


def _by_age(checked: pl.DataFrame) -> list[pl.DataFrame]:
    """The weeks, the newest last, without jobs that have no forecast."""
    known = checked.filter(pl.col("ratio").is_not_null())
    return [known.filter(pl.col("age") == a) for a in known["age"].unique().sort(descending=True)]


def _week(part: pl.DataFrame, name: str, last_s: float) -> dict[str, Any]:
    coverage, high, groups = _coverage(part)
    begin = last_s - (part["age"][0] + 1) * WEEK_S
    return {
        "week": format_moment(begin, "%Y-%m-%d"), "quantity": name, "jobs": len(part),
        "groups": groups, "error": float((1 / part["ratio"] - 1).abs().median()),  # type: ignore[arg-type]
        "coverage": coverage, "coverage_high": high, "alarm": None,
        "expected": part["expected"].median(),
    }  # fmt: skip


def _coverage(part: pl.DataFrame) -> tuple[float, float, int]:
    """Share that intervals held, the end of its interval, and groups: their jobs err together."""
    from scipy.stats import t

    count, mean = len(part), float(part["held"].mean())  # type: ignore[arg-type]
    sums = part.group_by("group").agg((pl.col("held") - mean).sum().alias("s"))["s"]
    groups = len(sums)
    if groups < 2:
        return mean, math.nan, groups
    spread = math.sqrt(float((sums**2).sum()) * groups / (groups - 1)) / count
    spread = max(spread, math.sqrt(LEVEL * (1 - LEVEL) / count))
    return mean, min(1.0, mean + float(t.ppf(0.975, groups - 1)) * spread), groups


def _judge(weeks: list[dict[str, Any]]) -> None:
    """Mark each week that has enough jobs: an alarm, or none."""
    for k, week in enumerate(weeks):
        if week["jobs"] < FEWEST_JOBS or week["groups"] < FEWEST_GROUPS:
            continue
        usual = max(_usual(weeks[:k]), week["expected"], NEGLIGIBLE)
        week["alarm"] = week["coverage_high"] < LEVEL - TOLERANCE or week["error"] > WORSE * usual


def _usual(before: Sequence[Mapping[str, Any]]) -> float:
    """The median error of the weeks before; infinite where there are fewer than three."""
    errors = [w["error"] for w in before if w["jobs"] >= FEWEST_JOBS]
    return float(np.median(errors)) if len(errors) >= 3 else math.inf


def _reason(weeks: Sequence[Mapping[str, Any]], newest: pl.DataFrame) -> str:
    """What the intervals held, how far off forecasts were, and whose jobs were missed most."""
    week = weeks[-1]
    missed = newest.filter(~pl.col("held"), pl.col("ratio").is_not_null())
    said = (
        f"Alarm: {plain_name(week['quantity'])} in the week from {week['week']}: 90 % intervals "
        f"held {share(week['coverage'])} of {week['jobs']:,} jobs, half of the forecasts within "
        f"{share(week['error'])}"
    )
    usual = _usual(weeks[:-1])
    said += f" ({share(usual)} before)." if math.isfinite(usual) else "."
    if not len(missed):
        return said
    app, count = missed["app"].value_counts(sort=True).row(0)
    ratio = float(missed.filter(pl.col("app") == app)["ratio"].median())  # type: ignore[arg-type]
    return (
        f"{said} Of the {len(missed):,} missed {count:,} are of {app or 'no known application'}, "
        f"which took {ratio:.2g} times what was forecast."
    )
