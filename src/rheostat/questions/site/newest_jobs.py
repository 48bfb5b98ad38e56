"""The newest ended jobs of a log, which questions of a site's last weeks are about."""

from __future__ import annotations

import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.errors import DataError, QuestionError

DAY_S = 86_400.0


def newest(log: JobTable, days: float, most: int) -> JobTable:
    """Ended jobs that were submitted in so many last days of a log, the newest ``most``.

    A log without submissions is taken in the order of its rows.

    >>> from rheostat.core.vocabulary import table
    >>> log = {"job_id": [1, 2, 3], "submit_s": [90_000.0, 0.0, 80_000.0], "runtime_s": [5.0] * 3}
    >>> newest(table(log), 1, 50).frame["job_id"].to_list()
    [3, 1]
    """
    if not days > 0:
        raise QuestionError("site", [f"expected more than 0 days, got {days:g}"])
    log.require("runtime_s")
    frame = log.frame.with_row_index("row_").filter(pl.col("runtime_s").is_not_null())
    if "submit_s" in log.columns:
        last = log.frame["submit_s"].max()
        frame = frame.filter(pl.col("submit_s") > last - pl.lit(days * DAY_S)).sort("submit_s")
    if not len(frame):
        raise DataError("log", [f"no job of its last {days:g} days has ended"])
    return log.rows(frame["row_"].tail(most).to_numpy())
