"""One row a job: its steps, hosts and ranks, and rows that two exports hold, are no jobs."""

from __future__ import annotations

import re
from collections.abc import Mapping

import polars as pl

from rheostat.core.jobs import Column, Note
from rheostat.core.vocabulary import VOCABULARY
from rheostat.measurement.checks import ROW, note_rows
from rheostat.measurement.runs.rank_rows import ranks_together
from rheostat.measurement.runs.running_clock import samples_together

MEASURED = ("runtime_s", "power_w", "energy_j")
SUMMED = ("power_w", "energy_j")
MOMENTS = ("submit_s", "start_s", "end_s")
STEP = r"^(\d+(?:_\d+)?)\.(?:batch|extern|interactive|\d+)$"
"""The name of a step of Slurm, and the job's."""
HOST = re.compile(r"(host|node|server)(_?name|_?id)?|compute_?node", re.IGNORECASE)
"""A column that names the host of a row."""
MOSTLY = 0.9
"""Of the jobs of several rows: where so many have equal energies these are of the whole job."""


def one_row_a_job(
    table: pl.DataFrame, headings: Mapping[str, str]
) -> tuple[pl.DataFrame, list[Note], list[Column]]:
    """The table with a row for each job, what is said of the others, and the columns it gained."""
    kept, steps = without_steps(table)
    kept, twice = listed_twice(kept)
    kept, hosts = hosts_together(kept)
    kept, sampled = samples_together(kept)
    kept, ranks = ranks_together(kept, headings)
    gained = [VOCABULARY[c] for c in kept.columns if c not in table.columns]
    return kept, [*steps, *twice, *hosts, *sampled, *ranks], gained


def without_steps(table: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """The table without steps of jobs that have a row of their own, as Slurm lists them.

    >>> runs = pl.DataFrame({ROW: [0, 1, 2], "job_id": ["7", "7.batch", "8.0"]})
    >>> without_steps(runs)[0]["job_id"].to_list()
    ['7', '8.0']
    """
    if "job_id" not in table.columns or table["job_id"].dtype != pl.String:
        return table, []
    job = pl.col("job_id").str.strip_chars().str.extract(STEP)
    step = job.is_in(table["job_id"].str.strip_chars().implode()).fill_null(value=False)
    gone = table.filter(step)[ROW].to_list()
    said = "a step of a job that has a row of its own: no job"
    return table.filter(~step), [note_rows(said, gone, dropped=True)] if gone else []


def hosts_together(table: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """The table with one row for the hosts of a job, each of which had a row.

    Energy and power are summed, unless each row has that of the whole job.

    >>> log = {ROW: [0, 1, 2], "job_id": [7, 7, 8], "host": ["a", "b", "a"], "start_s": [0, 0, 9]}
    >>> hosts_together(pl.DataFrame({**log, "energy_j": [5.0, 6.0, 2.0]}))[0].rows()
    [(0, 7, 'a,b', 0, 11.0, 2), (2, 8, 'a', 9, 2.0, 1)]
    """
    key = [c for c in ("job_id", *MOMENTS) if c in table.columns]
    host = next((c for c in table.columns if HOST.fullmatch(c)), "")
    if len(key) < 2 or key[0] != "job_id" or not host or host in key:
        return table, []
    if table[host].dtype != pl.String or not table.select(key).is_duplicated().any():
        return table, []
    if table.select(*key, host).is_duplicated().any():
        return table, []
    groups = table.group_by(key, maintain_order=True)
    rest = [c for c in table.columns if c not in (*key, host)]
    joined = groups.agg(pl.col(host).str.join(","), *(_of_job(table, key, c) for c in rest),
                        _hosts=pl.len().cast(pl.Int64))  # fmt: skip
    counted = {"nodes": pl.col("_hosts")} if "nodes" not in table.columns else {}
    whole = joined.with_columns(**counted).drop("_hosts").select(*table.columns, *counted)
    gone = table.filter(~pl.struct(key).is_first_distinct())[ROW]
    said = f"another host of a job that has a row: {len(whole):,} jobs"
    summed = [c for c in SUMMED if c in rest]
    said += f"; {' and '.join(summed)} of its rows together" if summed else ""
    said += "; nodes counts its hosts" if counted else ""
    return whole, [note_rows(said, gone, dropped=True)]


def _of_job(table: pl.DataFrame, key: list[str], column: str) -> pl.Expr:
    """What a column is of a job of several rows: the same, the sum, the mean, or not known."""
    name = pl.col(column)
    if column in SUMMED and not _equal(table, key, column):
        return pl.when(name.is_not_null().all()).then(name.sum()).alias(column)
    same = name.n_unique() == 1
    if column == ROW or not table[column].dtype.is_float():
        return pl.when(same | pl.lit(column == ROW)).then(name.first()).alias(column)
    return pl.when(same).then(name.first()).otherwise(name.mean()).alias(column)


def _equal(table: pl.DataFrame, key: list[str], column: str) -> bool:
    """Whether the rows of a job have one value."""
    several = table.group_by(key).agg(pl.len(), values=pl.col(column).n_unique())
    several = several.filter(pl.col("len") > 1)
    return bool((several["values"] == 1).sum() > MOSTLY * len(several))


def listed_twice(table: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Rows that equal an earlier one in every column, measured ones among them.

    Where each of the others is a job of its own that says when it ran, they are that job again and
    go; else, as tasks of an array that share its number, they are other runs.

    >>> log = {ROW: [0, 1], "job_id": [7, 7], "end_s": [9, 9], "runtime_s": [5.0, 5.0]}
    >>> log = pl.DataFrame(log)
    >>> len(listed_twice(log)[0]), len(listed_twice(log.drop("job_id"))[0])
    (1, 2)
    """
    measured = [c for c in MEASURED if c in table.columns]
    if not measured:
        return table, []
    first = pl.struct(pl.all().exclude(ROW)).is_first_distinct()
    again = ~first & pl.any_horizontal(pl.col(measured).is_not_null())
    if not (rows := table.filter(again)[ROW].to_list()):
        return table, []
    said = "equal to an earlier row in every column"
    if "job_id" in table.columns and set(MOMENTS) & set(table.columns):
        left = table.filter(~again)["job_id"]
        if not left.is_null().any() and left.is_unique().all():
            return table.filter(~again), [note_rows(f"{said}: the same job", rows, dropped=True)]
    return table, [note_rows(f"{said}: counted as another run", rows)]
