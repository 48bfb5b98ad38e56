"""What stands in one column together: ``ISL/OSL`` = ``1000/1000``, a placement ``TP4-DP2``."""

from __future__ import annotations

import re

import polars as pl

from rheostat.measurement.serving.energy_names import plain

_LENGTH = r"(_?(len(gth)?s?|tok(en)?s?|seq(uence)?_len(gth)?))?"
HEADING = re.compile(
    rf"(isl|in(put)?|prompt){_LENGTH}_(per_|and_)?(osl|out(put)?|answer|completion){_LENGTH}"
)
IN_OUT = ("in", "out")
"""Headings that are lengths where both are there, with numbers."""
CELL = r"^\s*(\d+(?:\.\d+)?)\s*[/x:|,;+-]\s*(\d+(?:\.\d+)?)\s*$"


def with_lengths(frame: pl.DataFrame) -> pl.DataFrame:
    """A table with ``prompt_tokens`` and ``output_tokens``, where one column or a pair holds both.

    Parameters
    ----------
    frame : DataFrame
        As it was read; cells that hold no two numbers have no lengths.

    Examples
    --------
    >>> runs = with_lengths(pl.DataFrame({"ISL/OSL": ["1000/128", "n/a"]}))
    >>> runs.select("prompt_tokens", "output_tokens").rows()
    [(1000.0, 128.0), (None, None)]
    >>> with_lengths(pl.DataFrame({"in": [1000], "out": [128]})).columns
    ['prompt_tokens', 'output_tokens']
    """
    if set(IN_OUT) <= {c.lower() for c in frame.columns if frame[c].dtype.is_numeric()}:
        ours = dict(zip(IN_OUT, ("prompt_tokens", "output_tokens"), strict=True))
        named = {c: ours[c.lower()] for c in frame.columns if c.lower() in IN_OUT}
        return frame if set(ours.values()) & set(frame.columns) else frame.rename(named)
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


SPLIT = r"(?i)(?:^|[^a-z]){0}[ =:_-]*(\d{{1,4}})(?:$|[^\d.])"
"""A number after ``tp``, ``pp``, ``dp`` or ``ep``; another split may follow it."""
SPLITS = ("tp", "pp", "dp", "ep")


def with_splits(frame: pl.DataFrame) -> pl.DataFrame:
    """A table with ``tp``, ``pp``, ``dp`` and ``ep``, where one column of words holds them.

    Parameters
    ----------
    frame : DataFrame
        By our names; nothing is taken where one of these is there, or cells contradict each other.

    Examples
    --------
    >>> with_splits(pl.DataFrame({"layout": ["TP4PP2", "tp=2, dp=2"]})).rows()
    [('TP4PP2', 4, 2, 1), ('tp=2, dp=2', 2, 1, 2)]
    """
    if set(SPLITS) & set(frame.columns):
        return frame
    words = [c for c, t in frame.schema.items() if t == pl.String and c != "app"]
    parts = {c: {s: frame[c].str.extract(SPLIT.format(s)).cast(pl.Int64) for s in SPLITS}
             for c in words}  # fmt: skip
    own = [pl.DataFrame(part) for part in parts.values()
           if part["tp"].is_not_null().all() and len(frame)]  # fmt: skip
    if not own or any(not o.equals(own[0]) for o in own):
        return frame
    said = own[0].select(c for c in SPLITS if own[0][c].is_not_null().any()).fill_null(1)
    return frame.with_columns(said)
