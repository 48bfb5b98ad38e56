"""What every reader promises: impossible rows are left out and counted, nothing is repaired.

Rows in = rows out + rows noted as dropped.  A row that is dropped for one reason is not counted
for a second one, so the sum holds.  Null is "not known"; only a value that cannot be true (an end
before its start, a negative duration) costs a row its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from rheostat.core.jobs import Column, JobTable, Note
from rheostat.core.vocabulary import table

LISTED = 20
ROW = "__row"

AMOUNTS = ("nodes", "nodes_alloc", "cores", "cores_alloc", "gpus", "gpus_alloc", "tasks",
           "memory_b", "time_limit_s", "power_w", "power_max_w", "energy_j")  # fmt: skip


def note_rows(message: str, rows: Iterable[int], *, dropped: bool = False) -> Note:
    """A note that counts all ``rows`` and lists the first 20.

    >>> note_rows("odd", range(100)).count, len(note_rows("odd", range(100)).rows)
    (100, 20)
    """
    rows = tuple(int(r) for r in rows)
    return Note(message, rows[:LISTED], len(rows), dropped)


def impossible(names: Sequence[str]) -> list[tuple[str, pl.Expr]]:
    """(reason, expression that is true where a row cannot be) for the columns there are."""
    have, col = set(names), pl.col
    rules = [("runtime_s is negative", col("runtime_s") < 0, {"runtime_s"}),
             ("start before submission", col("start_s") < col("submit_s"), {"start_s", "submit_s"}),
             ("end before start", col("end_s") < col("start_s"), {"end_s", "start_s"})]  # fmt: skip
    rules += [(f"{a} is negative", col(a) < 0, {a}) for a in AMOUNTS]
    return [(reason, expr) for reason, expr, needs in rules if needs <= have]


def drop_impossible(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Rows that can be, and one note per reason for those that cannot.

    ``frame`` has the source's row number in `ROW`; it is removed here.
    """
    rules = impossible(frame.columns)
    if not rules:
        return frame.drop(ROW), []
    reason = pl.coalesce(pl.when(bad).then(pl.lit(i)) for i, (_, bad) in enumerate(rules))
    marked = frame.with_columns(__why=reason)
    gone = marked.filter(pl.col("__why").is_not_null())
    notes = []
    for i, (text, _) in enumerate(rules):
        rows = gone.filter(pl.col("__why") == i)[ROW]
        if rows.len():
            notes.append(note_rows(text, rows.to_list(), dropped=True))
    return marked.filter(pl.col("__why").is_null()).drop("__why", ROW), notes


def as_jobs(
    frame: pl.DataFrame, columns: Iterable[Column] = (), notes: Iterable[Note] = ()
) -> JobTable:
    """A table without impossible rows, with notes on what was dropped and what is null."""
    kept, dropped = drop_impossible(frame)
    return table(kept, columns, (*notes, *dropped, *null_notes(kept)))


def null_notes(frame: pl.DataFrame) -> list[Note]:
    """One note that names the columns with nulls and how many they have."""
    counts = frame.null_count().row(0)
    holes = [f"{c} {n}" for c, n in zip(frame.columns, counts, strict=True) if n]
    return [Note(f"not known (null): {', '.join(holes)}")] if holes else []
