"""How many parameters a language model has, where its name says so."""

from __future__ import annotations

import re

import polars as pl

SIZE = re.compile(r"(?:(?<![a-z0-9.])|(?<=[a-z]{3}))(?:(\d+)x)?(\d+(?:\.\d+)?)b(?![a-z0-9])")
"""Behind a word, too (``llama8b``), but not behind a letter or two (``A3B``, ``E4B``)."""
MIXTURES = {
    r"8x7b": (46.7e9, 12.9e9), r"8x22b": (141e9, 39e9), r"gpt-oss-120b": (117e9, 5.1e9),
    r"gpt-oss-20b": (20.9e9, 3.6e9), r"deepseek-(v2-lite|coder-v2-lite)": (15.7e9, 2.4e9),
    r"deepseek-(coder-)?v2": (236e9, 21e9), r"deepseek-(v3|r1)": (671e9, 37e9),
    r"llama-4-scout(-17b)?": (109e9, 17e9), r"llama-4-maverick(-17b)?": (400e9, 17e9),
    r"kimi-k2": (1.04e12, 32e9), r"glm-4\.[56](-air|v)": (106e9, 12e9),
    r"glm-4\.[567](?!-flash|v)": (355e9, 32e9), r"minimax-m1": (456e9, 45.9e9),
    r"minimax-m2": (230e9, 10e9),
    r"phi-3\.5-moe": (41.9e9, 6.6e9), r"dbrx": (132e9, 36e9),
}  # fmt: skip
"""All and active parameters by their makers, of mixtures whose names say neither or one of both."""
SHARED = 0.22
"""Share of the parameters outside the experts in a model of one, as Mixtral 8x22B says."""
ACTIVE = re.compile(r"(?<![a-z0-9.])a(\d+(?:\.\d+)?)b(?![a-z0-9])")


def params_of(model: str) -> tuple[float | None, float | None]:
    """All parameters of a model and those used for one token; None where the name is silent.

    Of a mixture written as 8x7B the experts, of which a token is taken to use two, share the other
    layers.

    >>> params_of("Qwen/Qwen3-30B-A3B-Instruct-2507")
    (30000000000.0, 3000000000.0)
    >>> params_of("meta-llama/Llama-3.1-8B"), params_of("our-assistant")
    ((8000000000.0, 8000000000.0), (None, None))
    >>> params_of("openai/gpt-oss-120b"), params_of("DeepSeek-R1-Distill-Llama-70B")
    ((117000000000.0, 5100000000.0), (70000000000.0, 70000000000.0))
    >>> [round(p / 1e9, 1) for p in params_of("mistralai/Mixtral-8x7B") + params_of("own-4x8B")]
    [46.7, 12.9, 26.7, 14.2]
    """
    plain = model.lower().replace("_", "-")
    size, active = SIZE.search(plain), ACTIVE.search(plain)
    if known := _mixture(plain, size):
        return known
    if size is None:
        return None, None
    params = float(size[2]) * 1e9
    if size[1]:
        each = (1 - SHARED) * params
        return SHARED * params + int(size[1]) * each, SHARED * params + min(2, int(size[1])) * each
    return params, float(active[1]) * 1e9 if active else params


def _mixture(plain: str, size: re.Match[str] | None) -> tuple[float, float] | None:
    """Both sizes of a model of `MIXTURES`; a size behind such a name is that of a distilled one."""
    for name, known in MIXTURES.items():
        family = re.search(rf"(?<![a-z0-9.]){name}(?![0-9])", plain)
        if family and (size is None or size.start() < family.end()):
            return known
    return None


def with_params(frame: pl.DataFrame) -> pl.DataFrame:
    """``params`` and ``active_params``, where they are missing, from the column ``app``."""
    sizes = [params_of(str(name)) for name in frame["app"]]
    for k, column in enumerate(("params", "active_params")):
        named = pl.Series(column, [s[k] for s in sizes], dtype=pl.Float64)
        if column in frame.columns:
            named = frame[column].cast(pl.Float64).fill_null(named)
        frame = frame.with_columns(named)
    return frame
