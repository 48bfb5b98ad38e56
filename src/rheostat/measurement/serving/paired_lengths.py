"""Prompt and answer lengths that stand in one column, as ``ISL/OSL`` = ``1000/1000``."""

from __future__ import annotations

import re

import polars as pl

from rheostat.measurement.serving.energy_names import plain

_LENGTH = r"(_?(len(gth)?s?|tok(en)?s?|seq(uence)?_len(gth)?))?"
HEADING = re.compile(
    rf"(isl|in(put)?|prompt){_LENGTH}_(per_|and_)?(osl|out(put)?|answer|completion){_LENGTH}"
)
CELL = r"^\s*(\d+(?:\.\d+)?)\s*[/x:|,;+-]\s*(\d+(?:\.\d+)?)\s*$"


def with_lengths(frame: pl.DataFrame) -> pl.DataFrame:
    """A table with ``prompt_tokens`` and ``output_tokens``, where one column holds both.

    Parameters
    ----------
    frame : DataFrame
        As it was read; cells that hold no two numbers have no lengths.

    Examples
    --------
    >>> runs = with_lengths(pl.DataFrame({"ISL/OSL": ["1000/128", "n/a"]}))
    >>> runs.select("prompt_tokens", "output_tokens").rows()
    [(1000.0, 128.0), (None, None)]
    """
    pairs = [c for c in frame.columns if HEADING.fullmatch(plain(c))]
    if len(pairs) != 1 or frame[pairs[0]].dtype != pl.String:
        return frame
    cells = pl.col(pairs[0])
    numbers = {
        name: cells.str.extract(CELL, k + 1).cast(pl.Float64)
        for k, name in enumerate(("prompt_tokens", "output_tokens"))
        if name not in frame.columns
    }
    return frame.with_columns(**numbers)
