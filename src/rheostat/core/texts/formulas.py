"""Names of others in a spreadsheet: shown, never run, and read back as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

FORMULA = ("=", "+", "-", "@")
"""Spreadsheets run text that begins with one of these; an apostrophe before it keeps it text."""
MARKED = r"^'([=+\-@].)"


def without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """The table for a CSV file: text that a spreadsheet would run begins with an apostrophe.

    Parameters
    ----------
    frame : DataFrame
        Any; text that is a number, and ``-`` alone, are no formulas.

    Returns
    -------
    DataFrame
        `unmarked` takes the apostrophes away again.

    Examples
    --------
    >>> import polars as pl
    >>> without_formulas(pl.DataFrame({"app": ["=1+1", "-2", "lbm"]}))["app"].to_list()
    ["'=1+1", '-2', 'lbm']
    """
    import polars as pl

    text = pl.col(pl.String)
    runs = text.str.contains(r"^[=+\-@].") & text.cast(pl.Float64, strict=False).is_null()
    return frame.with_columns(pl.when(runs).then("'" + text).otherwise(text).name.keep())


def unmarked(values: pl.Series) -> pl.Series:
    """Text of a CSV file without the apostrophes that `without_formulas` put before it.

    >>> import polars as pl
    >>> unmarked(pl.Series(["'=1+1", "'quoted'", "-O3"])).to_list()
    ['=1+1', "'quoted'", '-O3']
    """
    return values.str.replace(MARKED, "$1")
