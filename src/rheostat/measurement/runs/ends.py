"""Which runs of a table ended well, by the words of its site."""

from __future__ import annotations

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.checks import ROW, note_rows

SUCCESS = ("0", "0:0", "0.0", "TRUE")
UNSAID = "is no end that is known: whether those runs completed is not known, write COMPLETED"
FINISHED = ("COMPLETED", "COMPLETE", "CD", "OK", "PASS", "PASSED", "DONE", "SUCCESS", "SUCCESSFUL",
            "SUCCEEDED", "FINISHED", "ENDED")  # fmt: skip

UNFINISHED = ("FAILED", "FAIL", "ERROR", "CANCELLED", "CANCELED", "KILLED", "ABORTED", "TIMEOUT",
              "NODE_FAIL", "OUT_OF_MEMORY", "OOM", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "CRASHED",
              "CRASH", "F", "CA", "TO", "NF", "RUNNING", "PENDING", "FALSE", "0", "1")  # fmt: skip


def with_ends(table: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Flag unfinished runs where the table has a state or, without one, an exit code.

    >>> runs = pl.DataFrame({ROW: [0, 1, 2], "exit_code": [0, 137, None]})
    >>> flagged, notes = with_ends(runs)
    >>> flagged["censored"].to_list()
    [False, True, None]
    """
    if "censored" in table.columns or not {"state", "exit_code"} & set(table.columns):
        return table, []
    by = "state" if "state" in table.columns else "exit_code"
    ended = pl.col(by).cast(pl.String).str.strip_chars().str.to_uppercase()
    known = FINISHED if by == "state" else SUCCESS
    strange = table.filter(~ended.is_in([*known, *UNFINISHED])) if by == "state" else table.clear()
    if strange.height and not table.select(ended.is_in(list(known)).any()).item():
        # in another language all would count as failed
        unsaid = pl.when(ended.is_in(list(UNFINISHED))).then(pl.lit(value=True))
        word = strange["state"].value_counts(sort=True)["state"][0]
        return table.with_columns(censored=unsaid), [
            note_rows(f"{by} {word!r} {UNSAID}", strange[ROW].to_list())
        ]
    table = table.with_columns(censored=~ended.is_in(list(known)))
    rows = table.filter("censored")[ROW].to_list()
    return table, [
        note_rows(f"did not end well by its {by}: counts as unfinished", rows)
    ] if rows else []
