"""Justus et al. 2018: one dense or convolutional layer, measured on six GPUs.

Source: github.com/CDECatapult/ml-performance-prediction (Apache-2.0), median, shortest and longest
time in ms.  ``optimizer`` is none where the layer was only evaluated, not trained.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.errors import DataError
from rheostat.measurement.serving.frames import csv_frame
from rheostat.measurement.training_columns import number, training_table

NEEDED = {"device", "batchsize", "precision", "timeUsed_median", "opt_None", "act_None"}
DENSE = {"dim_input": "input_size", "dim_output": "width"}
CONVOLUTION = {"matsize": "image_px", "kernelsize": "kernel_px", "channels_in": "channels_in",
               "channels_out": "channels_out", "strides": "stride", "padding": "padding",
               "use_bias": "use_bias"}  # fmt: skip
TIMES = {"runtime_s": "timeUsed_median", "runtime_min_s": "timeUsed_min",
         "runtime_max_s": "timeUsed_max", "runtime_std_s": "timeUsed_std"}  # fmt: skip


def is_justus(columns: set[str]) -> bool:
    """Whether these are the columns of either table."""
    return columns >= NEEDED and (columns >= set(DENSE) or columns >= set(CONVOLUTION))


def read_justus(path: str | Path) -> JobTable:
    """Layers, one row each.

    Parameters
    ----------
    path : path
        CSV of dense or of convolutional layers, plain or gzip.

    Returns
    -------
    JobTable
        ``app`` is dense or convolution; ``runtime_s`` the median time of one step of the layer.

    Raises
    ------
    DataError
        The file is neither table.
    """
    frame = csv_frame(path, "table of layers by Justus et al.")
    layer = DENSE if set(DENSE) <= set(frame.columns) else CONVOLUTION
    needed = {*NEEDED, *layer, *TIMES.values()}
    if missing := sorted(needed - set(frame.columns)):
        raise DataError(str(path), [f"no table of layers: {', '.join(missing)} missing"])
    made = frame.select(
        device=pl.col("device").cast(pl.String).str.to_uppercase(),
        app=pl.lit("dense" if layer is DENSE else "convolution"),
        batch_size=pl.col("batchsize").cast(pl.Int64, strict=False),
        **{ours: pl.col(theirs).cast(pl.Int64, strict=False) for theirs, ours in layer.items()},
        optimizer=_one_of(frame, "opt_"),
        activation=_one_of(frame, "act_"),
        precision_bits=pl.col("precision").cast(pl.Int64, strict=False),
        **({"gpu_index": pl.col("gpu")} if "gpu" in frame.columns else {}),
        **{ours: number(theirs, 1e-3) for ours, theirs in TIMES.items()},
    )
    return training_table(made)


def _one_of(frame: pl.DataFrame, prefix: str) -> pl.Expr:
    """The name behind ``prefix`` of the one column that is 1; null where there is none."""
    columns = [c for c in frame.columns if c.startswith(prefix)]
    return pl.coalesce(
        pl.when(pl.col(c).cast(pl.Float64, strict=False) == 1).then(pl.lit(_name(c, prefix)))
        for c in columns
    )


def _name(column: str, prefix: str) -> str:
    return column.removeprefix(prefix).replace("None", "none")
