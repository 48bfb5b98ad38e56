"""PROFET: training steps of 15 convolutional networks on four GPU types of a cloud.

Source: github.com/ddps-lab/profet (MIT), epoch and batch latency in seconds.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.errors import DataError
from rheostat.measurement.serving.frames import csv_frame
from rheostat.measurement.training_columns import number, training_table

NEEDED = {"instance_name", "dataset", "model", "optimizer", "batchsize", "batch_latency"}
DATA_SETS = {32: (10, 50_000), 64: (100, 5_000), 128: (100, 5_000), 224: (1000, 2_000),
             256: (1000, 2_000)}  # fmt: skip
"""Classes and training images of each image size, as the measuring program sets them."""
DEVICES = {"g3s": "M60", "g4dn": "T4", "p2": "K80", "p3": "V100"}
IMAGE_PX = pl.col("dataset").cast(pl.String).str.extract(r"^(\d+)").cast(pl.Int64)


def is_profet(columns: set[str]) -> bool:
    """Whether these are the columns of the table."""
    return columns >= NEEDED


def read_profet(path: str | Path) -> JobTable:
    """Training steps, one row per network, image size, batch, GPU and repetition.

    Parameters
    ----------
    path : path
        CSV, plain or gzip.

    Returns
    -------
    JobTable
        ``runtime_s`` is one training step; ``device`` is M60, T4, K80 or V100.

    Raises
    ------
    DataError
        The file is no such table.
    """
    frame = csv_frame(path, "table of PROFET")
    if missing := sorted(NEEDED - set(frame.columns)):
        raise DataError(str(path), [f"no table of PROFET: {', '.join(missing)} missing"])
    instance = pl.col("instance_name").cast(pl.String)
    family = instance.str.split(".").list.first()
    made = frame.select(
        device=family.replace_strict(DEVICES, default=instance),
        instance=instance,
        app=pl.col("model").cast(pl.String),
        image_px=IMAGE_PX,
        batch_size=pl.col("batchsize").cast(pl.Int64, strict=False),
        classes=_of_data_set(0),
        samples=_of_data_set(1),
        optimizer=pl.col("optimizer").cast(pl.String),
        runtime_s=number("batch_latency"),
        **({"epoch_s": number("epoch_latency")} if "epoch_latency" in frame.columns else {}),
        **({"experiment": pl.col("exp_name")} if "exp_name" in frame.columns else {}),
    )
    return training_table(made)


def _of_data_set(place: int) -> pl.Expr:
    values = {px: facts[place] for px, facts in DATA_SETS.items()}
    return IMAGE_PX.replace_strict(values, default=None, return_dtype=pl.Int64)
