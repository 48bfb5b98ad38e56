"""The logs that EcoSched's authors released, as tables: what ran when, and what it took."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl

from rheostat.decision.coschedule.shared_node import Waiting
from rheostat.errors import DataError


def measured_runs(folder: str | Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """(runs, logs) of the released logs as tables: executed_jobs.csv and policy_outcomes.csv.

    The makespan of a log is its last end of a job, which five of the totals printed are not; null
    for sequential logs, whose jobs are not in the table.
    """
    folder = Path(folder)
    runs = pl.read_csv(folder / "executed_jobs.csv").with_columns(
        app=pl.col("job").str.replace(r"#\d+$", ""), end_s="end_t_s", domain="numa",
        gpu_ids=pl.col("gpu_ids").str.json_decode(pl.List(pl.Int64)),
    )  # fmt: skip
    logs = pl.read_csv(folder / "policy_outcomes.csv").with_columns(
        printed_s="makespan_s", energy_j="gpu_energy_j", gpus=pl.lit(4)
    )
    last = runs.group_by("log").agg(makespan_s=pl.col("end_s").max())
    logs = logs.drop("makespan_s").join(last, on="log", how="left")
    return runs, logs


def recorded_rows(runs: pl.DataFrame, log: str) -> list[dict[str, Any]]:
    """Jobs of one log in the order of their starts."""
    mine = runs.filter(pl.col("log") == log)
    return mine.sort(pl.col("end_s") - pl.col("runtime_s"), maintain_order=True).to_dicts()


def queue_in_log(text: str, heading: str) -> list[Waiting]:
    """The queue as a released log prints it below ``heading`` (its names before the arrows)."""
    block = re.search(rf"{re.escape(heading)}\n(.*?)\n\n", text, re.DOTALL)
    if not block:
        raise DataError("log", [f"has no {heading!r}"])
    names = [line.split("->")[0].strip() for line in block[1].splitlines()]
    return [Waiting(n, re.sub(r"#\d+$", "", n)) for n in names]
