"""How many parameters a language model has, where its name says so."""

from __future__ import annotations

import re

import polars as pl

SIZE = re.compile(r"(?<![a-z0-9.])(?:(\d+)x)?(\d+(?:\.\d+)?)b(?![a-z0-9])")
MIXTURES = {"8x7b": (46.7e9, 12.9e9), "8x22b": (141e9, 39e9)}
"""All and active parameters of Mixtral, by its makers."""
SHARED = 0.22
"""Share of the parameters outside the experts in a model of one, as Mixtral 8x22B says."""
ACTIVE = re.compile(r"(?<![a-z0-9.])a(\d+(?:\.\d+)?)b(?![a-z0-9])")


def params_of(name: str) -> tuple[float | None, float | None]:
    """All parameters of a model and those used for one token; None where the name is silent.

    Of a mixture written as 8x7B the experts, of which a token is taken to use two, share the other
    layers.

    >>> params_of("Qwen/Qwen3-30B-A3B-Instruct-2507")
    (30000000000.0, 3000000000.0)
    >>> params_of("meta-llama/Llama-3.1-8B"), params_of("deepseek-ai/DeepSeek-R1")
    ((8000000000.0, 8000000000.0), (None, None))
    >>> [round(p / 1e9, 1) for p in params_of("mistralai/Mixtral-8x7B") + params_of("own-4x8B")]
    [46.7, 12.9, 26.7, 14.2]
    """
    plain = name.lower().replace("_", "-")
    size, active = SIZE.search(plain), ACTIVE.search(plain)
    if size is None:
        return None, None
    if known := MIXTURES.get(size[0]):
        return known
    params = float(size[2]) * 1e9
    if size[1]:
        each = (1 - SHARED) * params
        return SHARED * params + int(size[1]) * each, SHARED * params + min(2, int(size[1])) * each
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
