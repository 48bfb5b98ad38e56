"""Traces of requests: when they came, how long prompts and answers were; no texts.

Azure's public traces (TIMESTAMP, ContextTokens, GeneratedTokens), Mooncake's (milliseconds) and
tables in the house's own names.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from rheostat.core.files import ordinary_file
from rheostat.core.jobs import JobTable, Note
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.measurement.serving.requests import COLUMNS

NAMES = ("submit_s", "prompt_tokens", "output_tokens")
AZURE = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
MOONCAKE = ("timestamp", "input_length", "output_length")


def read_traffic(path: str | Path, *, columns: Mapping[str, str] | None = None) -> JobTable:
    """Requests in order of arrival, ``submit_s`` from the first one on.

    Parameters
    ----------
    path
        CSV or parquet.
    columns
        Our name to the file's, where they differ.

    Raises
    ------
    DataError
        The columns are not there, or no row is a request.  Rows without a time or with lengths
        below 1 are left out and noted.
    """
    path = ordinary_file(path)
    frame = _frame(path)
    for names, seconds in ((AZURE, _instants), (MOONCAKE, _milliseconds)):
        if set(names) <= set(frame.columns):
            frame = frame.select(
                seconds(names[0]), prompt_tokens=pl.col(names[1]), output_tokens=pl.col(names[2])
            )
            break
    else:
        theirs = {t: o for o, t in (columns or {}).items() if t in frame.columns and t != o}
        frame = frame.rename(theirs)
    if missing := [c for c in NAMES if c not in frame.columns]:
        raise DataError(str(path), [f"no trace of requests: found no {' and no '.join(missing)}"])
    return _checked(frame.select(pl.col(c).cast(pl.Float64, strict=False) for c in NAMES), path)


def _frame(path: Path) -> pl.DataFrame:
    with path.open("rb") as file:
        parquet = file.read(4) == b"PAR1"
    try:
        return pl.read_parquet(path) if parquet else pl.read_csv(path, infer_schema_length=None)
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as error:
        raise DataError(str(path), [f"is no trace of requests: {error}"[:300]]) from error


def _instants(name: str) -> pl.Expr:
    when = (
        pl.col(name).cast(pl.String).str.slice(0, 26).str.to_datetime(time_unit="us", strict=False)
    )
    return (when.dt.timestamp("us") / 1e6).alias("submit_s")


def _milliseconds(name: str) -> pl.Expr:
    return (pl.col(name) / 1e3).alias("submit_s")


def _checked(frame: pl.DataFrame, path: Path) -> JobTable:
    good = pl.all_horizontal(
        pl.col("submit_s").is_finite(),
        *(pl.col(c).is_finite() & (pl.col(c) >= 1) for c in NAMES[1:]),
    ).fill_null(False)
    held = frame.select(good.alias("good"))["good"]
    bad = (~held).arg_true().to_list()
    if not held.any():
        raise DataError(str(path), ["no row has a time and lengths of 1 or more"])
    kept = frame.filter(held).sort("submit_s", maintain_order=True)
    kept = kept.with_columns(pl.col("submit_s") - pl.col("submit_s").min())
    notes = [Note("no time, or a length below 1", tuple(bad[:20]), len(bad), dropped=True)]
    return table(kept, COLUMNS, notes if bad else [])
