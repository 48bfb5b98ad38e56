"""At which rate decoding attention reads the caches of its requests, where they are large."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from rheostat.measurement.serving.kernel_files import by_format, kernel_frame, median

LARGE_B = 1e9
"""Bytes of keys and values in one layer from which on the rate no longer grows."""
SHAPE = ("batch_size", "isl", "step", "num_key_value_heads", "head_dim")


def read_caches(files: Sequence[Path], notes: list[str]) -> dict[str, tuple[str, float]]:
    """Of each device which engine, and bytes of 16-bit cache read per second.

    Rows with a window read less than their context; they are left out.  Some engines' tables show
    more than the memory's rate, since their requests share one cache: who knows the maker's rate
    has to judge.
    """
    frame = kernel_frame(files, (*SHAPE, "kv_cache_dtype"), notes)
    cached = 2.0 * pl.col("batch_size") * (pl.col("isl") + pl.col("step"))
    wide = cached * pl.col("num_key_value_heads") * pl.col("head_dim") * 2.0
    whole = pl.col("window_size").fill_null(0) == 0
    large = frame.with_columns(read_b=wide).filter(whole, pl.col("read_b") >= LARGE_B)
    return {
        device: (source, median(rows["read_b"] / rows["seconds"]))
        for device, bits, source, rows in by_format(large, "kv_cache_dtype")
        if bits == 16
    }
