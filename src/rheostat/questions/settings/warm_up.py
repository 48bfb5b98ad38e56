"""First runs of settings, which took longer than those after them: left out, as nothing was warm.

Caches and compiled code are there from the second run on.  A setting that ran once ran cold, so
that it does not compare with one that ran again.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.explanation.number_words import setting_words
from rheostat.questions import listener
from rheostat.recipes import nodecount

ALIKE = 0.3
"""Later runs differ by at most that part of what the first one took longer."""
NAMED = 3
COUNTED = "from ="
"""How a column's meaning begins where ``--column censored==false`` says that all runs count."""


def without_first_runs(
    jobs: JobTable, own: JobTable, knobs: Sequence[str]
) -> tuple[JobTable, JobTable]:
    """Both without the first run of each setting of ``own``, where these took longer.

    Those are left where the later runs are as unlike, or where it is said that all runs count.
    """
    first = nodecount.warm_up(own, knobs)
    if first is None or all_count(own) or not _later_alike(own, knobs, first[2]):
        return jobs, own
    rows = _first_rows(own, knobs)
    gone = own.frame[rows]
    kept = own.rows([i for i in range(len(own)) if i not in {*rows}])
    once = kept.frame.select(knobs).unique()
    lost = gone.select(knobs).join(once, on=knobs, how="anti", nulls_equal=True).to_dicts()
    listener.note(_words(first, len(rows), len(own), [setting_words(s) for s in lost]))
    return _without(jobs, gone), kept


def all_count(own: JobTable) -> bool:
    """Whether it is said that all runs count, as ``--column censored==false`` does."""
    return "censored" in own.columns and own.schema["censored"].meaning.startswith(COUNTED)


def _first_rows(own: JobTable, knobs: Sequence[str]) -> list[int]:
    """The row of the first run of each setting, by its start where that is known."""
    frame = own.frame.with_row_index("__at")
    frame = frame.sort("start_s") if "start_s" in own.columns else frame
    firsts = frame.group_by(list(knobs), maintain_order=True).first()["__at"]
    return sorted(firsts.to_list())


def _later_alike(own: JobTable, knobs: Sequence[str], factor: float) -> bool:
    """Whether runs behind the first ones differ by much less than these do from them."""
    later = own.rows([i for i in range(len(own)) if i not in {*_first_rows(own, knobs)}]).frame
    took = pl.col("runtime_s")
    spread = later.group_by(list(knobs)).agg(ratio=took.max() / took.min())["ratio"].median()
    return isinstance(spread, float) and spread - 1 <= ALIKE * (factor - 1)


def _without(jobs: JobTable, gone: pl.DataFrame) -> JobTable:
    """The table without rows that are equal to those, each as often as it is there."""
    names = gone.columns
    count = [pl.int_range(pl.len()).over(names).alias("__nth")]
    out = jobs.frame.select(names).with_columns(count).with_row_index("__at")
    out = out.join(gone.with_columns(count), on=[*names, "__nth"], how="semi", nulls_equal=True)
    left_out = {*out["__at"].to_list()}
    return jobs.rows([i for i in range(len(jobs)) if i not in left_out])


def _words(first: tuple[int, int, float], gone: int, runs: int, lost: Sequence[str]) -> str:
    slow, of, factor = first
    said = (
        f"left out the first run of each setting, {gone} of {runs} runs: those of {slow} of {of} "
        f"settings took {factor:.2g} times what the later ones took, as runs that warm up do"
    )
    if lost:
        more = f" and {len(lost) - NAMED} more" if len(lost) > NAMED else ""
        said += f"; {'; '.join(lost[:NAMED])}{more} ran no second time: run it again to compare it"
    return f"{said}; --column censored==false counts all runs"
