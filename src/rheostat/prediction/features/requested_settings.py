"""What a job asked for, kept beside what it runs at.

Users have reasons for what they ask; a setting that is turned for them changes what the job runs
at, not those reasons.  Every forecast of a job at another setting therefore keeps its request in
KNOB_requested.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment

DRAWN = "settings_drawn"
"""A column that is true where chance drew the setting of every job of a log."""


def all_drawn(frame: pl.DataFrame) -> bool:
    """Whether chance drew the setting of every job."""
    return DRAWN in frame.columns and bool(frame[DRAWN].all())


def requested(knob: str) -> str:
    """Name of the column with what was asked for of a knob.

    >>> requested("nodes")
    'nodes_requested'
    """
    return f"{knob}_requested"


def as_requested(jobs: JobTable, names: Sequence[str]) -> JobTable:
    """Jobs at the settings they asked for, which ``KNOB_requested`` keeps whatever is turned.

    A job of a trial ran at another setting than it asked for; advice is about what it asked for.

    Parameters
    ----------
    jobs : JobTable
        Rows with the columns ``names``.
    names : sequence of str
        Knobs.

    Returns
    -------
    JobTable
        The same rows; every knob and its KNOB_requested hold what was asked for.

    Examples
    --------
    >>> from rheostat import table
    >>> ran = table({"nodes": [4, 8], "nodes_requested": [16, None]})
    >>> as_requested(ran, ["nodes"]).frame.rows()
    [(16, 16), (8, 8)]
    """
    for name in names:
        kept = requested(name)
        known = [kept] if kept in jobs.columns else []
        value = jobs.frame.select(pl.coalesce(*known, name).alias(name))[name]
        column = Column(kept, jobs.schema[name].unit, Moment.SUBMIT, f"{name} as submitted")
        jobs = jobs.with_columns([column], **{name: value, kept: value})
    return jobs
