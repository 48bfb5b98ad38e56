"""How many parameters a language model has, where its name says so."""

from __future__ import annotations

import re

import polars as pl

SIZE = re.compile(r"(?<![a-z0-9.])(?:(\d+)x)?(\d+(?:\.\d+)?)b(?![a-z0-9])")
ACTIVE = re.compile(r"(?<![a-z0-9.])a(\d+(?:\.\d+)?)b(?![a-z0-9])")


def params_of(name: str) -> tuple[float | None, float | None]:
    """All parameters of a model and those used for one token; None where the name is silent.

    A mixture written as 8x7B is silent: its experts share layers.

    >>> params_of("Qwen/Qwen3-30B-A3B-Instruct-2507")
    (30000000000.0, 3000000000.0)
    >>> params_of("meta-llama/Llama-3.1-8B"), params_of("deepseek-ai/DeepSeek-R1")
    ((8000000000.0, 8000000000.0), (None, None))
    """
    plain = name.lower().replace("_", "-")
    size, active = SIZE.search(plain), ACTIVE.search(plain)
    if size is None or size[1]:
        return None, None
    params = float(size[2]) * 1e9
    return params, float(active[1]) * 1e9 if active else params


def with_params(frame: pl.DataFrame) -> pl.DataFrame:
    """``params`` and ``active_params``, where they are missing, from the column ``app``."""
    sizes = [params_of(str(name)) for name in frame["app"]]
    for k, column in enumerate(("params", "active_params")):
        named = pl.Series(column, [s[k] for s in sizes], dtype=pl.Float64)
        if column in frame.columns:
            named = frame[column].cast(pl.Float64).fill_null(named)
        frame = frame.with_columns(named)
    return frame
