"""Iteration logs of CODES: when each rank of each job finished each iteration."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import polars as pl

from rheostat.core.jobs import Note
from rheostat.core.outcome import Array
from rheostat.core.storage.file_kinds import describe_file
from rheostat.errors import DataError
from rheostat.measurement.checks import note_rows
from rheostat.measurement.lines import Records

LINE = (
    r"^ITERATION (\d{1,9}) node (\d{1,9}) job (\d{1,9}) rank (\d{1,9}) time ([\d.eE+-]{1,40})\s*$"
)
NAMES = ("iteration", "terminal", "job", "rank", "time_s")
NS = 1e-9
LOOKED_AT = 1000
"""Lines of a file among which there must be a mark, for it to be a log."""
SILENT = 3
"""Iterations at the end of a run that a rank may be behind because the run was stopped."""


def looks_like_log(path: Path) -> bool:
    """Whether a file, plain or gzip, has a mark among its first lines."""
    with suppress(DataError):
        return any(re.match(LINE, text) for _, text in islice(Records(path), LOOKED_AT))
    return False


def read_iteration_log(*paths: str | Path) -> tuple[pl.DataFrame, list[Note]]:
    r"""Marks ``ITERATION i node n job j rank r time ns``, plain or gzip.

    Parameters
    ----------
    *paths
        ``iteration-logs/pe=0.txt`` of a run, or one per process of a parallel simulation; rows in
        notes are counted through all of them.

    Returns
    -------
    frame
        Columns iteration, terminal, job, rank and time_s (since the start of the run), ordered by
        job, iteration and rank.
    notes
        Lines that are no mark, and marks that are there twice, left out.

    Raises
    ------
    DataError
        No line is a mark.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "log"
    >>> _ = file.write_text("ITERATION 0 node 5 job 0 rank 1 time 2500000.0\n")
    >>> read_iteration_log(file)[0].rows()
    [(0, 5, 0, 1, 0.0025)]
    """
    records = [Records(path) for path in paths]
    rows: list[tuple[int, str]] = []
    for lines in records:
        begin = rows[-1][0] + 1 if rows else 0
        rows += [(begin + row, text) for row, text in lines]
    frame = pl.DataFrame(
        {"row": [r for r, _ in rows], "text": [t for _, t in rows]},
        schema={"row": pl.Int64, "text": pl.String},
    )
    parts = [pl.col("text").str.extract(LINE, k + 1) for k in range(len(NAMES))]
    kinds = (pl.Int64, pl.Int64, pl.Int64, pl.Int64, pl.Float64)
    frame = frame.with_columns(
        p.cast(kind, strict=False).alias(n) for p, n, kind in zip(parts, NAMES, kinds, strict=True)
    )
    good = frame.filter(pl.col("time_s").is_finite() & (pl.col("time_s") >= 0))
    if not good.height:
        got = f"{frame.height} lines of {describe_file(paths[0])}; a table is named iterations.csv"
        expected = "lines ITERATION i node n job j rank r time ns"
        raise DataError(str(paths[0]), [f"expected {expected}, got none in {got}"])
    notes = [n for lines in records for n in lines.notes]
    if odd := sorted(set(frame["row"]) - set(good["row"])):
        notes.append(note_rows("the line is no iteration mark", odd, dropped=True))
    once = good.unique(["job", "iteration", "rank"], keep="first")
    if twice := sorted(set(good["row"]) - set(once["row"])):
        notes.append(note_rows("the mark is there before", twice, dropped=True))
    ordered = once.sort("job", "iteration", "rank").select(*NAMES[:4], pl.col("time_s") * NS)
    return ordered, notes


@dataclass(frozen=True, eq=False)
class ApplicationMarks:
    """When an application finished its iterations, as far as most of its ranks say.

    Parameters
    ----------
    iteration, time_s
        Iterations that half of the ranks or more finished, ascending, up to the last that all
        ranks finished which had not fallen silent more than `SILENT` iterations before the end.
    missing
        Marks of single ranks that are not there in these iterations.
    after
        Iterations behind these of which fewer ranks have marks, beyond `SILENT`.
    """

    iteration: Array
    time_s: Array
    missing: int
    after: int


def application_marks(finished: pl.DataFrame, job: int) -> ApplicationMarks:
    """When an application finished each iteration: the median over its ranks.

    Ranks of one application differ by 0.1 to 1 % within an iteration, so one series per
    application holds what can be known of all of them, and those that are there stand for a few
    whose marks are not.

    Parameters
    ----------
    finished
        What `read_iteration_log` returns.
    job
        Number of the job.
    """
    own = finished.filter(pl.col("job") == job)
    last = own.group_by("rank").agg(pl.col("iteration").max())["iteration"].to_numpy()
    end = int(last[last >= last.max() - SILENT].min())
    done = (
        own.filter(pl.col("iteration") <= end)
        .group_by("iteration")
        .agg(pl.col("time_s").median(), pl.len().alias("ranks"))
        .filter(2 * pl.col("ranks") >= len(last))
        .sort("iteration")
    )
    missing = done.height * len(last) - int(done["ranks"].sum())
    iteration = done["iteration"].to_numpy()
    after = int((own["iteration"].unique() > (iteration.max() if done.height else -1)).sum())
    when = np.asarray(done["time_s"].to_numpy(), float)
    return ApplicationMarks(iteration, when, missing, max(after - SILENT, 0))
