"""A trial that a log holds without saying so: jobs that ran at another setting, drawn by chance.

Either the log has what was asked for beside what was received, or a column names the jobs whose
setting was drawn.  Chance knows neither users nor applications nor sizes: where any of them tells
which jobs ran otherwise, or at what, users or the scheduler had reasons, and it is no trial.

Notation
--------
n  jobs      s : (n,) stratum, jobs that asked for the same      y : (n,) log of received over asked

References
----------
Westfall, P., Young, S.: Resampling-based multiple testing (1993): the largest of several statistics
under permutations within strata.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.jobs import Column, JobTable, Moment, Note
from rheostat.core.outcome import Array
from rheostat.prediction.features.requested_settings import DRAWN, requested

Codes = NDArray[np.int64]
NAMED = re.compile(
    r"(^|_)(randomi[sz]ed|random|trial|experiment|explor(ed|ation|e)?|drawn|takes_?part)(_|$)"
)
YES, NO = ("1", "true", "yes", "y", "t"), ("0", "false", "no", "n", "f", "")
WHO = ("app", "user", "group", "account", "partition", "qos")
SIZES = ("memory_b", "cores", "cores_per_node", "tasks", "tasks_per_node", "time_limit_s")
FEWEST, NAMED_FEWEST = 300, 30
"""Jobs that ran otherwise, from which on the test tells chance from reasons."""
MOST_TURNED = 0.5
TAKEN = "taken as a randomised trial"
NOT_DRAWN = "there were reasons; if chance drew them, --trial PLAN"
PERMUTATIONS = 400
CHANCE, NAMED_CHANCE, STATED_CHANCE = 0.1, 0.02, 0.005
"""Least p with which jobs that nobody named, jobs that a column names, and jobs of a log that has
what was asked for beside what was given, pass for drawn."""
ROUNDING = 1e-12
"""Of the largest there can be: what is less is nought but for rounding."""
ARM = "trial_arm"
"""Drawn by the hash of our own trial: nothing to test."""
MOST_ROWS = 20_000
"""The newest so many jobs are tested."""


def with_found_trial(log: JobTable, knob: str) -> JobTable:
    """The log with KNOB_requested where it holds a randomised trial, and a note on what was found.

    Parameters
    ----------
    log : JobTable
        With ``knob`` as asked for; KNOB_alloc, where there is one, is what jobs received.
    knob : str
        The setting.

    Returns
    -------
    JobTable
        As it is where nothing ran otherwise; else ``knob`` is what jobs ran at, whoever chose it.
        KNOB_requested of the log itself stays where jobs that ran otherwise may have been drawn,
        and goes where users or others had reasons.

    Examples
    --------
    >>> from rheostat import table
    >>> rng = np.random.default_rng(0)
    >>> asked, part = rng.choice([2, 8], 9000), rng.random(9000) < 0.1
    >>> log = table({"app": rng.choice(["a", "b"], 9000), "submit_s": np.arange(9e3),
    ...              "nodes": asked, "nodes_alloc": np.where(part, asked * 2, asked)})
    >>> found = with_found_trial(log, "nodes")
    >>> (found.frame["nodes"] != found.frame["nodes_requested"]).sum() - int(part.sum())
    0
    """
    if knob not in log.columns or "submit_s" not in log.columns:
        return log
    if requested(knob) in log.columns:
        return log if ARM in log.columns else _stated(log, knob)
    given = f"{knob}_alloc"
    recorded = given in log.columns and log.frame[given].count() > 0
    submitted, log = log.frame[knob], as_ran(log, knob)
    if every := next((c for c in log.columns if NAMED.search(c.lower()) and _of_all(log, c)), ""):
        return _all_drawn(log, knob, every)
    named = next((c for c in log.columns if NAMED.search(c.lower()) and _flags(log, c)), None)
    if named is None and not recorded:
        return log
    flagged = np.ones(len(log), dtype=bool) if named is None else _flagged(log, named)
    asked, ran = (c.cast(pl.Float64).to_numpy() for c in (submitted, log.frame[knob]))
    asked = asked if recorded else _usual(log, asked, flagged)
    return _judged(log, knob, named, np.where(flagged, _moved(ran, asked), 0.0), asked)


def as_ran(log: JobTable, knob: str) -> JobTable:
    """The log with ``knob`` as jobs received it, where KNOB_alloc says so.

    >>> from rheostat import table
    >>> as_ran(table({"nodes": [2, 8], "nodes_alloc": [4, None]}), "nodes").frame["nodes"].to_list()
    [4, 8]
    """
    if (name := f"{knob}_alloc") not in log.columns:
        return log
    got = pl.col(name).cast(log.frame[knob].dtype)
    ran = pl.when(got > 0).then(got).otherwise(pl.col(knob))
    return log.with_columns([log.schema[knob]], **{knob: ran})


def _all_drawn(log: JobTable, knob: str, named: str) -> JobTable:
    """A log of which a column says that chance drew every job's setting, within applications."""
    columns = [c for c in _tellers(log) if c in (*WHO[1:], "memory_b")]
    ran = log.frame[knob].cast(pl.Float64).to_numpy()
    apps = log.frame["app"] if "app" in log.columns else pl.Series([""] * len(log))
    known = apps.cast(pl.String).fill_null("").to_numpy()
    sure, column = reasons(log, columns, _moved(ran, np.ones(len(log))), known)
    said = f"column {named} names all {len(log):,} jobs as drawn"
    if sure < NAMED_CHANCE:
        why = f"{column} tells at what {knob} (p = {sure:.2g})"
        return log.noted(Note(f"{said}; {why}: {NOT_DRAWN}"))
    made = log.with_columns([Column(DRAWN, "", Moment.SUBMIT, "by chance")], **{DRAWN: True})
    return made.noted(Note(f"{said}; {_tested(columns, f'at what {knob}', sure)}: {TAKEN}"))


def _tested(columns: Sequence[str], what: str, sure: float) -> str:
    if not columns:
        return "no column of users, applications or sizes that could be tested"
    return f"none of {', '.join(columns)} tells {what} (p = {sure:.2f})"


def _moved(ran: Array, asked: Array) -> Array:
    """Log of received over asked; 0 where one of them is not known."""
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.log(ran / asked)
    return np.where(np.isfinite(y), y, 0.0)


def _stated(log: JobTable, knob: str) -> JobTable:
    """A log with what was asked for beside what was given."""
    ran, asked = (log.frame[c].cast(pl.Float64).to_numpy() for c in (knob, requested(knob)))
    y = _moved(ran, asked)
    count = int((y != 0).sum())
    if not NAMED_FEWEST <= count <= MOST_TURNED * len(log):
        return log
    columns = _tellers(log)
    sure, column = reasons(log, columns, y, asked)
    if sure >= STATED_CHANCE:
        return log
    said = f"{count:,} of {len(log):,} jobs ran at other {knob} than {requested(knob)}; {column}"
    return log.select([c for c in log.columns if c != requested(knob)]).noted(
        Note(f"{said} tells which or at what (p = {sure:.2g}): {NOT_DRAWN}")
    )


def _tellers(log: JobTable) -> list[str]:
    """What chance would not know."""
    return [c for c in (*WHO, *SIZES) if c in log.columns and log.frame[c].n_unique() > 1]


def _judged(log: JobTable, knob: str, named: str | None, y: Array, asked: Array) -> JobTable:
    turned = y != 0
    count = int(turned.sum())
    if count < NAMED_FEWEST or count > MOST_TURNED * len(log):
        return log
    jobs = f"{count:,} of {len(log):,} jobs ran at other {knob} than asked for"
    if named is None and count < FEWEST:
        few = f"{jobs}: fewer than {FEWEST} do not tell chance from reasons"
        return log.noted(Note(f"{few}; if chance drew them, --trial PLAN"))
    if named is not None:
        jobs += f" and are named by column {named}"
    columns = _tellers(log)
    sure, column = reasons(log, columns, y, asked)
    if sure < (CHANCE if named is None else NAMED_CHANCE):
        said = f"{jobs}; {column} tells which or at what (p = {sure:.2g})"
        return log.noted(Note(f"{said}: {NOT_DRAWN}"))
    said = f"{jobs}; {_tested(columns, 'which or at what', sure)}"
    kind = log.frame[knob].dtype
    ran = log.frame[knob].cast(pl.Float64).to_numpy()
    stay = (y == 0) & np.isfinite(asked)
    values = pl.Series(np.where(stay, ran, asked), nan_to_null=True)
    values = values.round().cast(kind) if kind.is_integer() else values
    kept = Column(requested(knob), log.schema[knob].unit, Moment.SUBMIT, f"{knob} as submitted")
    made = log.with_columns([kept], **{requested(knob): values})
    return made.noted(Note(f"{said}; what is recorded nowhere is not tested: {TAKEN}", (), count))


def reasons(
    log: JobTable, columns: Sequence[str], y: Array, asked: Array, seed: int = 0
) -> tuple[float, str]:
    """Chance that no column tells ``y`` at equal requests, and the column that tells most.

    The largest of all statistics, each in its standard deviations under permutations of ``y``
    within strata, is compared with the largest of each permutation.
    """
    newest = slice(-MOST_ROWS, None)
    s = np.unique(asked[newest], return_inverse=True)[1].astype(np.int64)
    outcomes = [left(v[newest], s) for v in (y, (y != 0).astype(float))]
    tests = [_column(log.frame[c][newest], s) for c in columns]
    if not tests:
        return 1.0, ""
    rng, order = np.random.default_rng(seed), np.argsort(s, kind="stable")
    values = np.empty((PERMUTATIONS + 1, len(tests) * len(outcomes)))
    for k in range(PERMUTATIONS + 1):
        place = np.empty_like(order)
        place[order] = np.lexsort((rng.random(len(s)), s)) if k else order
        drawn = [v[place] for v in outcomes]
        values[k] = [_statistic(test, v) for test in tests for v in drawn]
    spread = values[1:].std(axis=0)
    most_there_is = np.array([_most(test, v) for test in tests for v in outcomes])
    tells = spread > ROUNDING * most_there_is  # not where requests tell the column already
    apart = (values - values[1:].mean(axis=0)) / np.where(tells, spread, np.inf)
    most = apart.max(axis=1)
    chance = (1 + int((most[1:] >= most[0]).sum())) / (PERMUTATIONS + 1)
    return chance, columns[int(apart[0].argmax()) // len(outcomes)]


def left(values: Array, s: Codes) -> Array:
    """What is left of ``values`` when the mean of each stratum is taken off."""
    rest = values - (np.bincount(s, values) / np.bincount(s))[s]
    return np.where(np.abs(rest) > ROUNDING * np.abs(values).max(), rest, 0.0)


def _column(values: pl.Series, s: Codes) -> Codes | Array:
    """Numbers of the groups of a column of names, ranks of a column of numbers less their means."""
    if not values.dtype.is_numeric():
        return np.unique(values.cast(pl.String).fill_null("").to_numpy(), return_inverse=True)[1]
    rank = values.fill_null(strategy="mean").rank().to_numpy().astype(float)
    return left(rank, s)


def _statistic(column: Codes | Array, y: Array) -> float:
    """Spread of the groups' means, weighed by their sizes; size of the correlation of numbers."""
    if column.dtype.kind == "i":
        return float((np.bincount(column, y) ** 2 / np.bincount(column)).sum())
    return abs(float(column @ y))


def _most(column: Codes | Array, y: Array) -> float:
    """The largest that `_statistic` can be."""
    return float(y @ y if column.dtype.kind == "i" else np.sqrt((column @ column) * (y @ y)))


def _flags(log: JobTable, name: str) -> bool:
    """Whether a column says yes or no of every job, and yes of some."""
    values = set(_texts(log, name).unique().to_list())
    return values <= {*YES, *NO} and bool(values & set(YES))


def _of_all(log: JobTable, name: str) -> bool:
    """Whether a column says yes of every job."""
    return bool(_texts(log, name).is_in(YES).all())


def _flagged(log: JobTable, name: str) -> NDArray[np.bool_]:
    return np.asarray(_texts(log, name).is_in(YES).to_numpy())


def _texts(log: JobTable, name: str) -> pl.Series:
    return log.frame[name].cast(pl.String).fill_null("").str.strip_chars().str.to_lowercase()


def _usual(log: JobTable, asked: Array, flagged: NDArray[np.bool_]) -> Array:
    """What jobs named as drawn would have asked for: the median of their user's application.

    Right where the setting was drawn whatever was asked; where it was a multiple of it,
    applications tell the setting, and the test finds that.
    """
    keys = [c for c in ("app", "user") if c in log.columns]
    own = pl.when(~pl.Series(flagged)).then(pl.Series(asked))
    frame = log.frame.select(*keys, own=own, asked=pl.Series(asked))
    usual = frame.select(pl.col("own").median().over(keys) if keys else pl.col("own").median())
    typical = usual.to_series().fill_null(frame["asked"]).to_numpy()
    return np.where(flagged, typical, asked)
