"""Kernel tables of AIConfigurator: what a GPU reaches in matrix products, and the watts it draws.

Source: github.com/ai-dynamo/aiconfigurator, systems/data (Apache-2.0): parquet files of measured
kernels, one row each with shape (m, n, k), latency (ms) and, for some GPUs, power (W).

Few rows of input (m <= 16) read the weights once each and show the memory's rate; many (m >= 4096)
the arithmetic's.  Power of short kernels is read from two levels by turns, so medians are taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from rheostat.core.file_kinds import describe_file
from rheostat.errors import DataError
from rheostat.measurement.serving.frames import frame_of

NEEDED = ("device", "gemm_dtype", "m", "n", "k", "latency")
WEIGHT_B = 2.0
LARGE = (50e6, 800e6)
"""Bytes of weights of the products looked at: a layer's, neither in caches nor of a vocabulary."""
FEW, MANY, TINY = 16, 4096, 1e6


@dataclass(frozen=True)
class KernelRates:
    """What one type of GPU reaches in 16-bit matrix products; watts are NaN where not measured."""

    device: str
    memory_b_per_s: float
    flop_per_s: float
    idle_w: float
    moving_w: float
    computing_w: float


def read_kernels(directory: str | Path) -> list[KernelRates]:
    """Rates of every GPU that a directory has tables of matrix products of.

    Parameters
    ----------
    directory
        With files ``*gemm_perf.parquet``, in folders below it too.

    Returns
    -------
    list of KernelRates
        One for each device; medians over files (engines, versions) and shapes.

    Raises
    ------
    DataError
        No such file is there, or one has not the columns.
    """
    folder = Path(directory)
    if not folder.is_dir():
        what = f"expected a folder of kernel tables, got {describe_file(folder)}"
        raise DataError(str(directory), [what])
    files = sorted(folder.rglob("*gemm_perf.parquet"))
    if not files:
        raise DataError(str(directory), ["no kernel table: expected files *gemm_perf.parquet"])
    every = pl.concat([_products(f) for f in files])
    if not len(every):
        raise DataError(str(directory), ["kernel tables have no 16-bit products (bfloat16)"])
    return [
        _rates(str(device), rows)
        for (device,), rows in every.group_by("device", maintain_order=True)
    ]


def _products(path: Path) -> pl.DataFrame:
    """16-bit products of a file: device, m, bytes and operations per second, bytes, watts."""
    frame = frame_of(path, "kernel table")
    if missing := [c for c in NEEDED if c not in frame.columns]:
        raise DataError(str(path), [f"no kernel table: {', '.join(missing)} missing"])
    frame = frame.filter(pl.col("gemm_dtype") == "bfloat16", pl.col("latency") > 0)
    watts = pl.col("power") if "power" in frame.columns else pl.lit(None, dtype=pl.Float64)
    m, n, k = (pl.col(c).cast(pl.Float64) for c in ("m", "n", "k"))
    seconds = pl.col("latency").cast(pl.Float64) / 1e3
    return frame.select(
        pl.col("device").cast(pl.String), m, elements=n * k, b_per_s=WEIGHT_B * n * k / seconds,
        flop_per_s=2 * m * n * k / seconds, watts=watts.cast(pl.Float64),
    )  # fmt: skip


def _rates(device: str, rows: pl.DataFrame) -> KernelRates:
    large = rows.filter((pl.col("elements") * WEIGHT_B).is_between(*LARGE))
    few, many = large.filter(pl.col("m") <= FEW), large.filter(pl.col("m") >= MANY)
    if not len(few) or not len(many):
        raise DataError(device, ["kernel tables have no 16-bit products of 50 to 800 MB of weights "
                                 f"with m <= {FEW} and m >= {MANY}"])  # fmt: skip
    tiny = rows.filter(pl.col("elements") < TINY, pl.col("m") <= FEW)
    return KernelRates(
        device, _median(few["b_per_s"]), _median(many["flop_per_s"]),
        _number(tiny["watts"].quantile(0.1)), _median(few["watts"]), _median(many["watts"]),
    )  # fmt: skip


def _median(values: pl.Series) -> float:
    return _number(values.median())


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else float("nan")
