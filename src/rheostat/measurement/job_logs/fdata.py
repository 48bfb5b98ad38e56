"""Read F-DATA: the jobs of Fugaku, a month a file, March 2021 to April 2024.

What it calls average *node* power is the power of the whole job, energy is in watt-hours, the
memory limit is per node and 2^64 means none, frequencies are in MHz.  The 384 numbers of the
embedding are most of the file and are not read.

References
----------
Antici, F. et al.: F-DATA: a Fugaku workload dataset (Scientific Data 2025), doi
10.5281/zenodo.11467483; columns: francescoantici/F-DATA, docs/feature_list.md.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment, Note
from rheostat.measurement.checks import note_rows
from rheostat.measurement.job_logs.pm100 import seconds
from rheostat.measurement.parquet import Field, gather, number, read_fields, scan, text, unread

NO_LIMIT = 2.0**60
WH = 3600.0
ENVIRONMENT = Column("environment", "", Moment.SUBMIT, "job environment asked for")
FLOPS = Column("flops_per_s", "1/s", Moment.END, "floating point operations per second, measured")
WIDTH = Column("bytes_per_s", "B/s", Moment.END, "memory traffic per second, measured")
TOTAL = Note(
    "avgpcon is the power of the whole job despite its description as node power: power_w is it; "
    "econ is watt-hours: energy_j is 3600 times it"
)


def read_fdata(path: str | Path) -> JobTable:
    """Read one month (``YY_MM.parquet``) of F-DATA.

    memory_b is the limit per node times the nodes asked for, null where there was no limit.
    ``censored`` is true for jobs that did not end as "completed".

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    JobTable
        A row per job, SI units.

    Raises
    ------
    DataError
        The file is cut, damaged, of another format, or lacks columns; all named at once.
    """
    _, types = scan(path)
    wanted = _fields(types)
    left = unread(wanted, list(types), "counters and sizes known at the end, embedding")
    return read_fields(path, wanted, notes=[TOTAL, *_unlimited(path, types), *left])


def _fields(types: pl.Schema) -> list[Field]:
    def when(name: str, source: str, *, required: bool = False) -> Field:
        textual = types.get(source) == pl.String
        instant = pl.col(source).str.to_datetime(time_unit="us", time_zone="UTC", strict=False)
        expr = instant.dt.epoch("us").cast(pl.Float64) / 1e6 if textual else seconds(source)
        return Field(name, source, expr, "text" if textual else "an instant", required)

    per_node = pl.when(pl.col("mszl").cast(pl.Float64) < NO_LIMIT).then(pl.col("mszl"))
    ended = pl.col("exit state").cast(pl.String)
    return [
        text("job_id", "jid"),
        text("user", "usr"),
        text("app", "jnam"),
        when("submit_s", "adt", required=True),
        when("start_s", "sdt"),
        when("end_s", "edt"),
        number("nodes", "nnumr", required=True),
        number("nodes_alloc", "nnuma"),
        number("cores", "cnumr"),
        number("cores_alloc", "cnumat"),
        Field("memory_b", "mszl", per_node.cast(pl.Float64) * pl.col("nnumr")),
        number("time_limit_s", "elpl"),
        number("priority", "pri"),
        number("frequency_hz", "freq_req", 1e6),
        Field("environment", "jobenv_req", pl.col("jobenv_req"), "any", described=ENVIRONMENT),
        number("runtime_s", "duration", required=True),
        number("power_w", "avgpcon", required=True),
        number("power_max_w", "maxpcon"),
        number("energy_j", "econ", WH),
        Field("flops_per_s", "flops", pl.col("flops"), described=FLOPS),
        Field("bytes_per_s", "mbwidth", pl.col("mbwidth"), described=WIDTH),
        text("exit_code", "ec"),
        Field("state", "exit state", ended.str.to_uppercase(), "any"),
        Field("censored", "exit state", ended.str.to_lowercase() != "completed", "any"),
    ]


def _unlimited(path: str | Path, types: pl.Schema) -> list[Note]:
    if "mszl" not in types or not types["mszl"].is_numeric():
        return []
    limit = gather(path, pl.scan_parquet(path).select(pl.col("mszl").cast(pl.Float64)))["mszl"]
    rows = (limit >= NO_LIMIT).arg_true()
    return (
        [note_rows("mszl is 2^64 (no limit): memory_b null", rows.to_list())] if len(rows) else []
    )
