"""Read PM100: 231,238 jobs of Marconi100 with their power, May to October 2020.

The idea: one row per job, power as a list with one value per 20 s.  The list is reduced to its
mean and maximum while it streams past.  It is the power of the *whole job* (summed over its
nodes): node count alone explains most of its variance, so judge a model on
`rheostat.measurement.repairs.per_node_power` as well.

References
----------
Antici, F. et al.: PM100: a job power consumption dataset of a large-scale production HPC system
(SC-W 2023).  Data: doi 10.5281/zenodo.10127767; columns: PM100-data, documentation/job_features.md.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment, Note
from rheostat.measurement.parquet import (
    INSTANT,
    SERIES,
    Field,
    number,
    read_fields,
    scan,
    text,
    unread,
)

SAMPLE_S = 20.0
GIB = 2.0**30
NODE = "node_power_consumption"


def seconds(source: str) -> pl.Expr:
    """An instant as seconds since 1970."""
    return pl.col(source).dt.epoch("us").cast(pl.Float64) / 1e6


def shared_fields(instant: Callable[[str], pl.Expr] = seconds) -> list[Field]:
    """The fields that PM100 and tables borrowing its column names have in common."""

    def when(name: str, source: str, *, required: bool = False) -> Field:
        return Field(name, source, instant(source), INSTANT, required)

    return [
        number("job_id", "job_id", required=True),
        text("user", "user_id"),
        text("group", "group_id"),
        text("partition", "partition"),
        text("qos", "qos"),
        number("priority", "priority"),
        when("submit_s", "submit_time", required=True),
        when("eligible_s", "eligible_time"),
        when("start_s", "start_time"),
        when("end_s", "end_time"),
        number("nodes", "num_nodes_req", required=True),
        number("nodes_alloc", "num_nodes_alloc"),
        number("cores", "num_cores_req"),
        number("cores_alloc", "num_cores_alloc"),
        number("cores_per_task", "cores_per_task"),
        number("tasks", "num_tasks"),
        number("gpus", "num_gpus_req"),
        number("gpus_alloc", "num_gpus_alloc"),
        Field("shared", "shared", pl.col("shared").cast(pl.String), described=SHARED, kind="any"),
        number("runtime_s", "run_time", 1.0, required=True),
        text("state", "job_state"),
        text("exit_code", "derived_ec"),
        Field("censored", "job_state", pl.col("job_state").cast(pl.String) != "COMPLETED", "any"),
    ]


SHARED = Column("shared", "", Moment.SUBMIT, "whether nodes may be shared with other jobs")


def fields() -> list[Field]:
    """What is read from PM100 and how."""
    watts = pl.col(NODE).list
    return [
        *shared_fields(),
        number("memory_b", "mem_req", GIB),
        number("memory_alloc_b", "mem_alloc", GIB),
        number("time_limit_s", "time_limit", 60.0),
        Field("power_w", NODE, watts.mean(), SERIES, required=True),
        Field("power_max_w", NODE, watts.max().cast(pl.Float64), SERIES, required=True),
        Field("power_samples", NODE, watts.len(), SERIES, described=SAMPLES),
    ]


SAMPLES = Column("power_samples", "", Moment.END, "power samples of the job, one per 20 s")
TOTAL = Note(
    "power_w is the power of the whole job, summed over its nodes (per_node_power divides); "
    "energy_j is power_w times runtime_s"
)


def read_pm100(path: str | Path) -> JobTable:
    """Read ``job_table.parquet`` of PM100.

    Runs that did not complete are kept and marked ``censored``: their runtime_s is where they were
    cut (`rheostat.measurement.repairs.complete_only` leaves them out).
    Memory is GiB in the file and bytes here, limits minutes and seconds.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    JobTable
        A row per job, SI units; mean and maximum power of the whole job in W.

    Raises
    ------
    DataError
        The file is cut, empty, or columns are missing or of another type: all named at once.
    """
    wanted = fields()
    _, types = scan(path)
    left = unread(wanted, list(types), "placement, or known only at the end")
    energy = (pl.col("power_w") * pl.col("runtime_s")).alias("energy_j")
    return read_fields(path, wanted, notes=[TOTAL, *left], derived=[energy])
