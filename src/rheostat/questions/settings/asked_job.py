"""Which job does `front` ask about, and from how many of its kind does the forecast learn?"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rheostat.core.jobs import JobTable, Moment
from rheostat.errors import DataError, QuestionError
from rheostat.questions import inputs, listener
from rheostat.recipes.nodecount import own_runs

OWN_RUNS = "; if its jobs are runs of one problem, at several settings: --format runs"
"""What reads a log as a table, of which every run is taken as measured."""


def asked_row(jobs: JobTable, job: str, where: Sequence[str]) -> int:
    """The row of the job asked about: its last one, where an id occurs more than once.

    Of several jobs of a log that hold ``where`` the newest, and it is said which that is.  In a
    table of runs of one application any row stands for it; so does a job alone.

    >>> from rheostat import table
    >>> log = table({"job_id": [7, 8, 9], "app": ["a", "a", "b"], "submit_s": [50.0, 20.0, 60.0]})
    >>> asked_row(log, "", ["app=a"]), asked_row(log, "9", [])
    (0, 2)
    """
    if not job and not where:
        runs = own_runs(jobs, 0, None)
        if len(jobs) > 1 and (runs is None or len(runs) < len(jobs)):
            said = "name a job: --job ID or --where column=value"
            raise QuestionError("front", [said + OWN_RUNS * _undated(jobs)])
        return 0
    conditions = [*([f"job_id={job}"] if job else []), *where]
    rows = [set(inputs.rows_with(jobs, text)) for text in conditions]
    keep = sorted(set.intersection(*rows))
    if not keep:
        raise DataError(" and ".join(conditions), [f"no such row among {len(jobs)}"])
    if job:
        return keep[-1]
    if "submit_s" not in jobs.columns:
        return keep[0]
    when = jobs.numpy("submit_s")
    newest = max(keep, key=lambda row: (when[row], row))
    if len(keep) > 1:
        named = f"job {jobs.frame['job_id'][newest]}" if "job_id" in jobs.columns else "a job"
        of = f"the newest of {len(keep):,} with {' and '.join(where)}"
        listener.note(f"{named} is asked about, {of}; --job ID names another")
    return newest


def _undated(jobs: JobTable) -> bool:
    """Whether no job says when it was submitted, so that none comes before another."""
    return "submit_s" not in jobs.columns or not jobs.frame["submit_s"].count()


def alike_by(jobs: JobTable, where: Sequence[str], knobs: Sequence[str]) -> tuple[str, ...]:
    """Columns of ``where`` that make jobs alike: no knob, and known when a job is submitted."""
    fixed = [inputs.condition(jobs, text)[0] for text in where]
    return tuple(c for c in fixed if c not in knobs and jobs.schema[c].known <= Moment.SUBMIT)


def ended_so(jobs: JobTable, where: Sequence[str]) -> JobTable:
    """Measured runs of which ``where`` says how they ended: those alone; a log stays whole.

    What is known when a job has ended cannot make a job alike that is yet to run.
    """
    late = [t for t in where if jobs.schema[inputs.condition(jobs, t)[0]].known > Moment.SUBMIT]
    if late and "submit_s" in jobs.columns:
        listener.note(
            f"{' and '.join(late)} finds the job, and its forecast is that of any job of its "
            "application: what is known at the end of a job tells nothing before it runs"
        )
        return jobs
    return inputs.only(jobs, late)


def tell_learnt(past: JobTable, job: JobTable, by: Sequence[str]) -> None:
    """Say from how many jobs like this one the forecast learns."""
    alike = [pl.col(c).eq_missing(pl.lit(job.frame[c][0])) for c in by if c in job.columns]
    if not alike:
        return
    count = past.frame.select(pl.all_horizontal(alike).sum()).item()
    listener.note(
        f"the forecast learns from {count:,} jobs of the same {' and '.join(by)} among the "
        f"{len(past):,} that had ended when this one was submitted"
    )
