"""A table written by hand, such as profiles, a queue or a list of nodes: all or nothing.

A log may have odd rows: they are left out and noted.  Where a decision follows from every row, the
same oddities are errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from rheostat.core.jobs import Note
from rheostat.core.storage.files import ordinary_file
from rheostat.errors import DataError
from rheostat.measurement.checks import MOST_COUNT, MOST_INSTANT, ROW
from rheostat.measurement.parquet import MAGIC, gather, scan
from rheostat.measurement.runs.delimited import read_delimited


def read_table(path: str | Path, notes: list[Note] | None = None) -> pl.DataFrame:
    r"""The rows of a CSV (also packed by gzip) or parquet file, as they stand.

    Parameters
    ----------
    path : path
        The file.
    notes : list of Note, optional
        Takes what is to be said of whole columns, as commas read as decimal ones; without it that
        is refused, too.

    Returns
    -------
    DataFrame
        Numbers and texts.

    Raises
    ------
    DataError
        No such file, neither CSV nor parquet, no rows, a row of another length, a cell that is no
        number in a column of numbers; all of these at once.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "nodes.csv"
    >>> _ = file.write_text("node,app\nn1,lbm\nn2,\n")
    >>> read_table(file).rows()
    [('n1', 'lbm'), ('n2', None)]
    """
    path = ordinary_file(path)
    with path.open("rb") as file:
        start = file.read(len(MAGIC))
    if start == MAGIC:
        frame = gather(path, scan(path)[0])
    else:
        frame, said = read_delimited(path)
        frame = frame.drop(ROW)
        if wrong := [note for note in said if note.rows or notes is None]:
            raise DataError(str(path), [_said(note) for note in wrong])
        if notes is not None:
            notes += said
    if not frame.height:
        raise DataError(str(path), ["has columns but no rows"])
    return frame


def with_numbers(
    frame: pl.DataFrame, where: str, *, counts: Iterable[str] = (), numbers: Iterable[str] = ()
) -> pl.DataFrame:
    """The table with those of the named columns that it has as numbers; NaN and blanks are null.

    Parameters
    ----------
    frame : DataFrame
        As `read_table` gives it.
    where : str
        What an error names, such as the file.
    counts, numbers : iterable of str
        Columns of whole numbers from 0 (int64), and of numbers (float64).

    Returns
    -------
    DataFrame
        Other columns as they are.

    Raises
    ------
    DataError
        Cells that are text, infinite or beyond any count or amount; of all columns at once.

    Examples
    --------
    >>> with_numbers(pl.DataFrame({"nodes": ["4", "a"]}), "plan.csv", counts=["nodes"])
    Traceback (most recent call last):
    ...
    rheostat.errors.DataError: plan.csv: nodes: expected whole numbers from 0, got 'a' in row 2
    """
    wanted = {**dict.fromkeys(numbers, False), **dict.fromkeys(counts, True)}
    made, problems = {}, []
    for name, whole in wanted.items():
        if name not in frame.columns:
            continue
        values = _floats(frame[name])
        good = values.abs() <= (MOST_COUNT if whole else MOST_INSTANT)
        if whole:
            good &= (values >= 0) & (values == values.floor())
        odd = ~good.fill_null(value=False) & _stated(frame[name])
        if odd.any():
            at = int(odd.arg_max() or 0)
            kind = "whole numbers from 0" if whole else "numbers"
            got = f"{frame[name].gather([at]).to_list()[0]!r}"[:100]
            problems.append(f"{name}: expected {kind}, got {got} in {rows_said([at + 1])}")
        made[name] = values.cast(pl.Int64, strict=False) if whole else values
    if problems:
        raise DataError(where, problems)
    return frame.with_columns(**made)


def _floats(values: pl.Series) -> pl.Series:
    """As float64; null is what is no number, such as a date or a list."""
    if values.dtype.is_numeric() or values.dtype in (pl.String, pl.Categorical):
        return values.cast(pl.Float64, strict=False).fill_nan(None)
    return pl.repeat(None, len(values), dtype=pl.Float64, eager=True)


def _stated(values: pl.Series) -> pl.Series:
    """Which cells say something: NaN does not."""
    there = values.is_not_null()
    return there & values.is_not_nan() if values.dtype.is_float() else there


def _said(note: Note) -> str:
    if not note.count:
        return note.message
    return f"{note.message}: {rows_said([r + 1 for r in note.rows], note.count)}"


def rows_said(rows: Sequence[int], count: int | None = None, most: int = 5) -> str:
    """The rows of a table that something is said of, from 1 on; a long list is cut.

    >>> rows_said([3]), rows_said([1, 2, 3, 4, 5, 6, 7])
    ('row 3', 'rows 1, 2, 3, 4, 5 and 2 more')
    """
    count = len(rows) if count is None else count
    more = f" and {count - most} more" if count > most else ""
    return f"row{'s' * (count > 1)} {', '.join(map(str, rows[:most]))}{more}"
