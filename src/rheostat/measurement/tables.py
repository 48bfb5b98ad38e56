"""A table written by hand, such as profiles, a queue or a list of nodes: all or nothing.

A log may have odd rows: they are left out and noted.  Where a decision follows from every row, the
same oddities are errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from rheostat.core.files import ordinary_file
from rheostat.core.jobs import Note
from rheostat.errors import DataError
from rheostat.measurement.checks import ROW
from rheostat.measurement.parquet import MAGIC, gather, scan
from rheostat.measurement.runs.delimited import read_delimited


def read_table(path: str | Path) -> pl.DataFrame:
    r"""The rows of a CSV (also packed by gzip) or parquet file, as they stand.

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
        frame, notes = read_delimited(path)
        frame = frame.drop(ROW)
        if notes:
            raise DataError(str(path), [_said(note) for note in notes])
    if not frame.height:
        raise DataError(str(path), ["has columns but no rows"])
    return frame


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
