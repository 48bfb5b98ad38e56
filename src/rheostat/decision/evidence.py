"""How does a log vary the knob?  Asked before any advice, beside what tells effect from choice.

A setting that differs between applications alone says what applications are, not what the setting
does.

Notation
--------
n  jobs      k : (n,) log of the knob (the knob itself where it is not positive everywhere)
"""

from __future__ import annotations

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
            f"{self.two_settings:.0%} of {self.applications:,} applications, with "
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
