"""Read the Adastra MI250 table: PM100's column names, other meanings.

What is called power is energy: each list holds one number of joules.  Dividing by the runtime
gives watts.  The memory and CPU lists are fixed watts times elapsed time (140 W, 74.26 W), so they
say nothing about power and everything about the runtime: they are refused.  ``time_limit`` is an
instant, the clock has no zone and is that of France, memory is in MiB.

References
----------
Data: doi 10.5281/zenodo.14007065.  The facts above were read off the ten rows that a public
notebook displays (huynguyentuank22/PM100-data, EDA.ipynb) and off ExaDigiT/RAPS' loader, which
divides by time too; every one is checked against the file when it is read, and noted.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.errors import DataError
from rheostat.measurement.checks import note_rows
from rheostat.measurement.job_logs.pm100 import NODE, seconds, shared_fields
from rheostat.measurement.parquet import SERIES, Field, gather, number, read_fields, scan, unread

MIB = 2.0**20
EPOCH = 1e9  # a limit of more than 30 years is an instant
LEAKS = ("mem_power_consumption", "cpu_power_consumption")
JOULES = Note(
    "node_power_consumption holds joules: energy_j is that value, power_w is it over runtime_s"
)


def read_adastra(path: str | Path, zone: str = "Europe/Paris") -> JobTable:
    """Read ``AdastaJobsMI250_15days.parquet``; ``zone`` is where its clock without a zone stood.

    ``time_limit_s`` is known only where the file's instant lies after the start; the rows where it
    does not (it then is the submission) are null and noted.

    Parameters
    ----------
    path : path
        The file.
    zone : str
        Time zone of the clock.

    Returns
    -------
    JobTable
        A row per job, SI units; energy in J as measured.

    Raises
    ------
    DataError
        As `read_pm100`; also when the energy lists have several elements (that is PM100 itself).
    """
    _, types = scan(path)
    naive = getattr(types.get("submit_time"), "time_zone", None) is None
    wanted = _fields(_instant(zone) if naive else seconds)
    left = unread(wanted, [t for t in types if t not in LEAKS], "placement, or known at the end")
    notes = [JOULES, *_several(path, types), *_limits(path, types), *_leaks(path, types), *left]
    if naive:
        notes.append(Note(f"instants carry no zone: read as {zone}"))
    watts = pl.when(pl.col("runtime_s") > 0).then(pl.col("energy_j") / pl.col("runtime_s"))
    return read_fields(path, wanted, notes=notes, derived=[watts.alias("power_w")])


def _instant(zone: str) -> Callable[[str], pl.Expr]:
    """Local time to seconds since 1970; the hour that comes twice is taken as the first one."""

    def convert(source: str) -> pl.Expr:
        local = pl.col(source).dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")
        return local.dt.epoch("us").cast(pl.Float64) / 1e6

    return convert


def _fields(instant: Callable[[str], pl.Expr]) -> list[Field]:
    limit, start = pl.col("time_limit").cast(pl.Float64), instant("start_time")
    until = pl.when(limit < EPOCH).then(limit * 60).when(limit > start).then(limit - start)
    return [
        *shared_fields(instant),
        number("memory_b", "mem_req", MIB),
        number("memory_alloc_b", "mem_alloc", MIB),
        Field("time_limit_s", "time_limit", until),
        Field("energy_j", NODE, pl.col(NODE).list.first().cast(pl.Float64), SERIES, required=True),
    ]


def _several(path: str | Path, types: pl.Schema) -> list[Note]:
    """Rows whose energy list is not one number; most of them: this is not Adastra's table."""
    if not isinstance(types.get(NODE), pl.List):
        return []
    lengths = gather(path, pl.scan_parquet(path).select(pl.col(NODE).list.len()))[NODE]
    odd = (lengths.fill_null(0) != 1).arg_true()
    if len(odd) > 0.5 * len(lengths):
        raise DataError(
            str(path),
            [f"{NODE} has several values in {len(odd)} of {len(lengths)} rows, expected one "
             "number of joules: read it as pm100 instead"],
        )  # fmt: skip
    return [note_rows(f"{NODE} is not one number", odd.to_list())] if len(odd) else []


def _limits(path: str | Path, types: pl.Schema) -> list[Note]:
    if "time_limit" not in types or not types["time_limit"].is_numeric():
        return []
    limits = gather(path, pl.scan_parquet(path).select("time_limit"))["time_limit"]
    instants = int((limits >= EPOCH).sum())
    if not instants:
        return []
    notes = (
        "time_limit is an instant (epoch seconds), not minutes: time_limit_s is what lies between"
    )
    return [Note(f"{notes} the start and it, null where it is not after the start", (), instants)]


def _leaks(path: str | Path, types: pl.Schema) -> list[Note]:
    """Say that the two columns are refused, with the share of rows in which they give time away."""
    have = [c for c in LEAKS if isinstance(types.get(c), pl.List)]
    if not have or not types.get("run_time", pl.String()).is_numeric():
        return []
    ratios = [(pl.col(c).list.first() / pl.col("run_time")).alias(c) for c in have]
    rates = gather(path, pl.scan_parquet(path).filter(pl.col("run_time") > 60).select(ratios))
    facts = []
    for c in have:
        rate = rates[c].drop_nulls().to_numpy()
        middle = float(np.median(rate)) if len(rate) else 0.0
        same = float(np.mean(np.abs(rate - middle) < 0.02 * middle)) if middle else 0.0
        facts.append(f"{c} ({middle:.4g} W in {same:.0%} of the rows)" if middle else c)
    return [
        Note(f"refused, constant watts times elapsed time leak the runtime: {'; '.join(facts)}")
    ]
