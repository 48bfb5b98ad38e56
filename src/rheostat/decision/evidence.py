"""How does a log vary the knob?  Asked before any advice, beside what tells effect from choice.

A setting that differs between applications alone says what applications are, not what the setting
does.

Notation
--------
n  jobs      k : (n,) log of the knob (the knob itself where it is not positive everywhere)

References
----------
.. [VanderWeele2017] VanderWeele, T., Ding, P.: Sensitivity analysis in observational research:
   introducing the E-value. Annals of Internal Medicine 167 (2017).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable


@dataclass(frozen=True)
class Variation:
    """Of one knob in a log.

    Parameters
    ----------
    knob : str
    applications : int
        Applications, or users where the log names no applications.
    two_settings : float
        Share of them that ran at two settings or more.
    two_settings_jobs : float
        Share of the jobs that are of these.
    within : float
        Share of the variance of the knob (of its logarithm where positive) that lies within
        applications; NaN where the knob never varies.
    """

    knob: str
    applications: int
    two_settings: float
    two_settings_jobs: float
    within: float

    def words(self) -> str:
        """One sentence."""
        inside = "" if np.isnan(self.within) else (
            f", and {self.within:.0%} of the variance of {self.knob} lies within applications"
        )  # fmt: skip
        return (
            f"{self.two_settings:.0%} of {self.applications:,} "
            f"application{'s' * (self.applications != 1)}, with "
            f"{self.two_settings_jobs:.0%} of the jobs, ran at two settings of {self.knob} or "
            f"more{inside}."
        ).replace("%", " %")


def variation(jobs: JobTable, knob: str) -> Variation | None:
    """How ``knob`` varies within and between applications; None where a log names none.

    Parameters
    ----------
    jobs : JobTable
        A log with ``knob`` and app, or else user.
    knob : str
        A numeric column.

    Returns
    -------
    Variation or None

    Examples
    --------
    >>> from rheostat import table
    >>> found = variation(table({"app": ["a", "a", "b", "b"], "nodes": [1, 4, 2, 2]}), "nodes")
    >>> found.two_settings, found.within
    (0.5, 1.0)
    >>> variation(table({"app": ["a", "a", "b"], "nodes": [1, 1, 64]}), "nodes").within
    0.0
    """
    by = next((c for c in ("app", "user") if c in jobs.columns), None)
    if by is None or knob not in jobs.columns or not jobs.frame[knob].dtype.is_numeric():
        return None
    frame = jobs.frame.select(pl.col(by).cast(pl.String), pl.col(knob).cast(pl.Float64))
    frame = frame.drop_nulls().filter(pl.col(knob).is_finite())
    if not len(frame):
        return None
    if (frame[knob] > 0).all():
        frame = frame.with_columns(pl.col(knob).log())
    groups = frame.group_by(by).agg(
        pl.len().alias("n"), pl.col(knob).n_unique().alias("settings"), pl.col(knob).var(ddof=0)
    )
    several = groups.filter(pl.col("settings") > 1)
    total = float(np.var(frame[knob].to_numpy()))
    inside = float((groups["n"] * groups[knob]).sum()) / len(frame)
    return Variation(
        knob,
        len(groups),
        len(several) / len(groups),
        float(several["n"].sum()) / len(frame),
        inside / total if total > 0 else float("nan"),
    )


def e_value(change: tuple[float, float, float]) -> tuple[float, float]:
    """How strong an unseen cause would have to be to undo a change [VanderWeele2017]_.

    A cause that goes with the setting by a factor of at least the E-value, and moves the quantity
    by at least that factor too, beyond everything recorded, could explain the change away; a weaker
    one could not.

    Parameters
    ----------
    change : (mean, low, high)
        Relative change of a sum, -0.2 is 20 % less.

    Returns
    -------
    tuple of float
        E-value of the mean, and of the end of the interval nearest to no change (1: that end is no
        change already).

    Examples
    --------
    >>> [round(v, 2) for v in e_value((-0.2, -0.3, -0.1))], e_value((-0.1, -0.3, 0.1))[1]
    ([1.81, 1.46], 1.0)
    """
    mean, low, high = change
    nearest = high if high < 0 else low if low > 0 else 0.0
    return _of_ratio(mean), _of_ratio(nearest)


def _of_ratio(change: float) -> float:
    """E-value of a ratio of means, 1 + ``change``."""
    if math.isnan(change):
        return math.nan
    ratio = max(1 + change, 1 / (1 + change)) if change > -1 else math.inf
    return ratio + math.sqrt(ratio * (ratio - 1))
