"""How long GPUs take to add up what each has computed: all-reduce, by their number.

A message of few elements takes `seconds`, one of many its bytes over `b_per_s`: alpha + bytes /
bandwidth.  Sizes in the tables are elements (an 8-bit message takes as long as a 16-bit one of half
as many).  Engines send short messages by a kernel of their own: where any table of one is there, it
alone says how long these take; long ones take the fastest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from rheostat.measurement.serving.kernel_files import kernel_frame, median

FEW, MANY, ELEMENT_B = 8192, 16e6, 2.0


@dataclass(frozen=True)
class Join:
    """An all-reduce among some GPUs: time of a short message, and bytes per second of long ones.

    ``seconds`` is NaN where only other devices have a table of an engine's kernel.
    """

    seconds: float
    b_per_s: float


def read_joins(files: Sequence[Path], notes: list[str]) -> dict[str, dict[int, Join]]:
    """All-reduces of 16-bit messages of each device, by the number of GPUs.

    Parameters
    ----------
    files
        Of NCCL (``*nccl_perf.parquet``) and of engines (``*custom_allreduce_perf.parquet``).
    notes
        Gets a line for each file that is left out.
    """
    parts = []
    for dtype, engine in (("nccl_dtype", False), ("allreduce_dtype", True)):
        some = [f for f in files if ("custom_allreduce" in f.name) == engine]
        if some:
            frame = kernel_frame(some, (dtype, "op_name", "num_gpus", "message_size"), notes)
            parts.append(frame.rename({dtype: "dtype"}).with_columns(engine=pl.lit(engine)))
    rows = pl.concat(parts).filter(
        pl.col("op_name") == "all_reduce", pl.col("dtype").is_in(["half", "bfloat16", "float16"])
    )
    shape = ("device", "num_gpus", "message_size", "engine")
    fastest = rows.group_by(*shape).agg(pl.col("seconds").min()).sort(*shape)
    made: dict[str, dict[int, Join]] = {}
    for (device, gpus), some_rows in fastest.group_by("device", "num_gpus", maintain_order=True):
        short = some_rows.filter(
            pl.col("message_size") <= FEW, pl.col("engine") == fastest["engine"].any()
        )
        long = some_rows.filter(pl.col("message_size") >= MANY)
        long = long.group_by("message_size").agg(pl.col("seconds").min())
        if len(long):
            rate = long["message_size"] * ELEMENT_B / long["seconds"]
            made.setdefault(str(device), {})[int(float(str(gpus)))] = Join(
                median(short["seconds"]), median(rate)
            )
    return made
