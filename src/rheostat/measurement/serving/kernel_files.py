"""Files of kernel tables as frames: only what is asked for is read, and every fault is named.

Source: github.com/ai-dynamo/aiconfigurator, systems/data (Apache-2.0): one row for each measured
kernel, its shape, latency (ms) and, for some GPUs, power (W).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from rheostat.errors import DataError
from rheostat.measurement.serving.frames import unreadable

WHAT = "kernel table of AIConfigurator (parquet)"
OPTIONAL = {"framework": pl.String, "version": pl.String, "power": pl.Float64,
            "window_size": pl.Float64}  # fmt: skip
TEXTS = ("device", "framework", "version", "op_name", "gemm_dtype", "moe_dtype", "kv_cache_dtype",
         "nccl_dtype", "allreduce_dtype")  # fmt: skip
BITS = {"bfloat16": 16, "float16": 16, "fp8": 8, "int8": 8, "fp8_block": 8, "int8_wo": 8,
        "nvfp4": 4, "mxfp4": 4, "w4a8_mxfp4_mxfp8": 4, "w4a16_mxfp4": 4, "int4_wo": 4}  # fmt: skip
"""Bits of a weight by format; of formats with as many the first that has tables stands for all."""
WEIGHT_B = {16: 2.0, 8: 1.0, 4: 0.5625}
ENGINE = "vllm"
LEAST = 20
"""Rows of one engine and format that make a table."""


def kernel_frame(files: Sequence[Path], needed: Sequence[str], notes: list[str]) -> pl.DataFrame:
    """Rows of all files with a latency above 0; every file that is no parquet in one `DataError`.

    Parameters
    ----------
    files
        Parquet files of one kind of kernel.
    needed
        Columns beside ``device`` and ``latency`` (ms), which become ``seconds``.
    notes
        Gets a line for each file of another layout, if others of its kind have the columns.
    """
    frames: list[pl.DataFrame] = []
    problems: list[str] = []
    other: list[str] = []
    for path in files:
        try:
            lacking = _missing(path, ("device", "latency", *needed))
            if lacking:
                other.append(f"{path.name}: expected a {WHAT}, columns missing: {lacking}")
            else:
                frames.append(_read(path, ("device", "latency", *needed)))
        except (pl.exceptions.PolarsError, OSError) as error:
            problems += [f"{path.name}: {p}" for p in unreadable(path, WHAT, error).problems]
    if problems or not frames:
        raise DataError("kernel tables", problems + other)
    notes += [f"left out: {said}" for said in other]
    return pl.concat(frames).with_columns(seconds=pl.col("latency") / 1e3)


def _missing(path: Path, needed: Sequence[str]) -> str:
    schema = pl.read_parquet_schema(path)
    return ", ".join(c for c in needed if c not in schema)


def _read(path: Path, needed: Sequence[str]) -> pl.DataFrame:
    schema = pl.read_parquet_schema(path)
    there = [*needed, *(c for c in OPTIONAL if c in schema)]
    absent = [pl.lit(None, t).alias(c) for c, t in OPTIONAL.items() if c not in schema]
    types = [pl.col(c).cast(pl.String) if c in TEXTS else pl.col(c).cast(pl.Float64).fill_nan(None)
             for c in there]  # fmt: skip
    frame = pl.read_parquet(path, columns=there).with_columns(*types, *absent)
    frame = frame.drop_nulls(needed).filter(pl.col("latency").is_between(0, 1e9, closed="right"))
    return frame.select(*needed, *OPTIONAL)


def by_format(frame: pl.DataFrame, column: str) -> Iterator[tuple[str, int, str, pl.DataFrame]]:
    """Device, bits of a weight, which engine and format, and their rows.

    The engine is vLLM where it has the format, since that is what most runs are of.
    """
    order = {name: k for k, name in enumerate(BITS)}
    rows = frame.filter(pl.col(column).is_in(list(BITS))).with_columns(
        pl.col("framework").fill_null("unknown engine"), pl.col("version").fill_null(""),
        bits=pl.col(column).replace_strict(BITS, return_dtype=pl.Int64),
        place=pl.col(column).replace_strict(order, return_dtype=pl.Int64),
    ).with_columns(other=pl.col("framework").str.to_lowercase() != ENGINE)  # fmt: skip
    for (device, bits), some in rows.group_by("device", "bits", maintain_order=True):
        tables = some.group_by("place", "other", "framework", "version").len()
        tables = tables.filter(pl.col("len") >= LEAST)
        if not len(tables):
            continue
        first = (
            tables.sort("other", "version", descending=[False, True])
            .sort("place", maintain_order=True)
            .row(0, named=True)
        )
        keys = ("place", "framework", "version")
        chosen = some.filter(*(pl.col(k) == first[k] for k in keys))
        said = (first["framework"], first["version"], list(BITS)[first["place"]])
        yield str(device), int(str(bits)), " ".join(filter(None, said)), chosen


def median(values: pl.Series) -> float:
    """The median; NaN where there is nothing."""
    value = values.median()
    return float(value) if isinstance(value, (int, float)) else float("nan")
