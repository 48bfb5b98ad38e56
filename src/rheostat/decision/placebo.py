"""Does the setting of a job predict what it cannot cause?  A placebo test of a log.

The run that the same user made of the same application before cannot be changed by the setting of
the next one.  Where the next setting nevertheless tells how long that earlier run took, at the
setting it had, both have a cause that the log hides, mostly the size of the problem.  A placebo
that passes proves nothing: problems that are never run twice leave no such trace.

Notation
--------
n  pairs of runs, one after the other, of one user and application
x : (n,) log of the later setting     z : log of the earlier one, and what is recorded of both sizes
y : (n,) log of the earlier outcome   exponent : of y in x at equal z, within applications

References
----------
Lipsitch, M., Tchetgen Tchetgen, E., Cohen, T.: Negative controls: a tool for detecting confounding
and bias in observational studies. Epidemiology 21 (2010).
Liang, K.-Y., Zeger, S.: Longitudinal data analysis using generalized linear models. Biometrika 73
(1986): the variance by clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array

FEWEST_PAIRS, FEWEST_APPLICATIONS = 8, 5
"""Pairs with which an application counts, and applications with which the test says something."""
NEGLIGIBLE = 0.01
"""Exponents so small that they change no advice, however surely they are not zero."""
OUTCOMES = ("runtime_s", "power_w")
SIZES = ("memory_b",)


@dataclass(frozen=True)
class Placebo:
    """What the next setting tells of the run before.

    Parameters
    ----------
    knob, outcome : str
    pairs, applications : int
        What the figure rests on.
    exponent, low, high : float
        Of the earlier outcome in the later setting, with its 95 % interval.
    """

    knob: str
    outcome: str
    pairs: int
    applications: int
    exponent: float
    low: float
    high: float

    @property
    def passes(self) -> bool:
        """Whether the interval reaches an exponent that is negligible."""
        return self.low <= NEGLIGIBLE and self.high >= -NEGLIGIBLE


def placebos(
    jobs: JobTable, knob: str, outcomes: Sequence[str] = OUTCOMES, *, sizes: Sequence[str] = SIZES
) -> tuple[Placebo, ...]:
    """Placebo tests of a log, one for each outcome that can be tested.

    Parameters
    ----------
    jobs : JobTable
        A log with submit_s, ``knob`` and app or user.
    knob : str
        A positive number.
    outcomes : sequence of str
        Quantities of the earlier run.
    sizes : sequence of str
        Columns that record the size of a problem; at equal sizes they explain nothing more.

    Returns
    -------
    tuple of Placebo
        Empty where the log has too few runs that follow one another.
    """
    frame = None if "submit_s" not in jobs.columns else numbered(jobs, knob)
    if frame is None:
        return ()
    recorded = [c for c in sizes if c in frame.columns and frame[c].count()]
    tests = (_placebo(frame, knob, q, recorded) for q in outcomes if q in frame.columns)
    return tuple(t for t in tests if t is not None)


def untested(jobs: JobTable, knob: str) -> str:
    """What a log lacks for a test of ``knob``.

    >>> from rheostat import table
    >>> log = table({"submit_s": range(20), "app": ["cfd"] * 20, "nodes": [1, 2] * 10})
    >>> untested(log, "nodes")
    'it takes 5 applications of which a user ran 8 pairs one after the other, this log has 1'
    """
    if "submit_s" not in jobs.columns:
        return "submission times are not recorded"
    frame = numbered(jobs, knob)
    if frame is None:
        return f"it takes applications or users, and {knob} as a number"
    pairs = frame.filter(pl.col("_cell").is_first_distinct().not_()).group_by("_app").len()
    enough = int((pairs["len"] >= FEWEST_PAIRS).sum())
    if enough >= FEWEST_APPLICATIONS:
        return f"what is recorded of runs and of their sizes leaves nothing of {knob} to test"
    return (
        f"it takes {FEWEST_APPLICATIONS} applications of which a user ran {FEWEST_PAIRS} pairs one "
        f"after the other, this log has {enough}"
    )


def numbered(jobs: JobTable, knob: str) -> pl.DataFrame | None:
    """Runs, in order of time where it is known, with numbers of their application and its user.

    Columns ``_app``, ``_cell`` and, for what was asked for, ``_asked``; None where a log names no
    applications and no users, or ``knob`` is no number.
    """
    who = [c for c in ("app", "user") if c in jobs.columns]
    if not who or knob not in jobs.columns:
        return None
    timed = "submit_s" in jobs.columns
    frame = jobs.frame.sort("submit_s", maintain_order=True) if timed else jobs.frame
    asked = f"{knob}_requested"
    asked = asked if asked in frame.columns else knob
    if not frame[knob].dtype.is_numeric() or not frame[asked].dtype.is_numeric():
        return None
    return frame.with_columns(
        pl.col(who[0]).cast(pl.String).fill_null("").rank("dense").alias("_app"),
        pl.concat_str(pl.col(who).cast(pl.String).fill_null(""), separator="\0")
        .rank("dense")
        .alias("_cell"),
        pl.col(asked).fill_null(pl.col(knob)).alias("_asked"),
    )


def _placebo(frame: pl.DataFrame, knob: str, outcome: str, sizes: Sequence[str]) -> Placebo | None:
    before = [pl.col(c).shift(1).over("_cell").alias(f"_{c}_before")
              for c in dict.fromkeys((outcome, knob, *sizes))]  # fmt: skip
    used = ["_asked", f"_{outcome}_before", f"_{knob}_before",
            *(c for s in sizes for c in (s, f"_{s}_before"))]  # fmt: skip
    pairs = frame.with_columns(before).filter(pl.all_horizontal(pl.col(used) > 0))
    pairs = pairs.filter(pl.len().over("_app") >= FEWEST_PAIRS)
    logs = np.log(pairs.select(used).to_numpy().astype(float))
    app, cell = (pairs[c].to_numpy().astype(np.int64) for c in ("_app", "_cell"))
    x, y = logs[:, 0], logs[:, 1]
    given = np.column_stack([logs[:, 2:], logs[:, 2] ** 2])
    rest = left(x, given, app, cell), left(y, given, app, cell)
    groups = len(np.unique(app))
    if groups < FEWEST_APPLICATIONS or not (rest[0] ** 2).sum() > 1e-9:
        return None
    slope, error = clustered(*rest, app)
    from scipy.stats import t

    half = float(t.ppf(0.975, groups - 1)) * error
    return Placebo(knob, outcome, len(pairs), groups, slope, slope - half, slope + half)


def left(values: Array, given: Array, app: NDArray[np.int64], cell: NDArray[np.int64]) -> Array:
    """What ``given`` and the user do not explain of ``values``, in each application by itself."""
    left = np.empty(len(values))
    for a in np.unique(app):
        here = app == a
        users = (cell[here][:, None] == np.unique(cell[here])).astype(float)
        columns = np.column_stack([users, given[here]])
        weights = np.linalg.lstsq(columns, values[here], rcond=None)[0]
        left[here] = values[here] - columns @ weights
    return left


def clustered(x: Array, y: Array, group: NDArray[np.int64]) -> tuple[float, float]:
    """Slope of ``y`` on ``x`` through zero and its standard error, rows of a group not independent.

    >>> x, y = np.array([1.0, -1.0, 1.0, -1.0]), np.array([2.0, -2.0, 4.0, -4.0])
    >>> clustered(x, y, np.array([0, 0, 1, 1]))
    (3.0, 1.0)
    """
    total = float(x @ x)
    slope = float(x @ y) / total
    _, code = np.unique(group, return_inverse=True)
    sums = np.bincount(code, x * (y - slope * x))
    size = len(sums)
    return slope, float(np.sqrt((sums**2).sum() * size / (size - 1))) / total
