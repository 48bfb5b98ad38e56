"""Whether watts of a serving table are of one GPU or of all, where no heading says so.

Notation
--------
P ~ G^s  watts by GPUs at one batch: s is about 1 where P is of all of them, and 0 or less of one
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from rheostat.measurement.serving.derived_times import number

MOST_W, MOST_OLDER_W = 1600.0, 850.0
"""No GPU draws more; none of those that were sold before 2024."""
OLDER = re.compile(
    r"(?i)\b(h[12]00|h20|a100|a[1-6]0g?|l4|l40s?|v100|p100|t4|rtx.*|mi[123]\d\d?x?)(?![0-9])"
)
GROWS, FLAT = 0.5, 0.1


def watts_are_of(frame: pl.DataFrame, name: str) -> str | None:
    """``W/gpu`` or ``W/deployment``, where only one of them can be; else None.

    >>> runs = {"gpu_model": ["H100"] * 2, "gpus": [2, 2], "power_w": [900.0, 1210.0]}
    >>> watts_are_of(pl.DataFrame(runs), "power_w")
    'W/deployment'
    >>> runs = {"gpu_model": ["H100"] * 2, "gpus": [1, 4], "batch_cap": [8, 8]}
    >>> watts_are_of(pl.DataFrame({**runs, "power_w": [610.0, 580.0]}), "power_w")
    'W/gpu'
    """
    if not {"gpus", "gpu_model"} <= set(frame.columns):
        return None
    scale = 1e3 if name.endswith("kw") else 1.0
    known = frame.select(
        pl.col("gpu_model").cast(pl.String), g=number("gpus"), p=number(name) * scale,
        b=number("batch_cap") if "batch_cap" in frame.columns else pl.lit(0.0),
        app=pl.col("app").cast(pl.String) if "app" in frame.columns else pl.lit(""),
    ).filter((pl.col("p") > 0) & (pl.col("g") >= 1))  # fmt: skip
    most = [MOST_OLDER_W if OLDER.search(m or "") else MOST_W for m in known["gpu_model"]]
    if (known["p"] > pl.Series(most)).any():
        return "W/deployment"
    slopes = [
        float(np.polyfit(np.log(own["g"]), np.log(own["p"]), 1)[0])
        for _, own in known.group_by("gpu_model", "app", "b")
        if own["g"].n_unique() > 1
    ]
    if not slopes:
        return None
    slope = float(np.median(slopes))
    return "W/deployment" if slope > GROWS else "W/gpu" if slope < FLAT else None
