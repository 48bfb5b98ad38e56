"""Cells that say a speed with its unit, as ``27.97it/s``, ``1.37s/it`` or ``420.1 img/s``.

tqdm prints iterations per second, and seconds per iteration where that is below one, in one column.
"""

from __future__ import annotations

import re

import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.core.vocabulary import VOCABULARY

SECONDS = {"s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6,
           "min": 60.0}  # fmt: skip
PIECES = {
    "iteration": r"its?|iters?|iterations?|steps?|batch(es)?|updates?",
    "sample": r"samples?|imgs?|images?|examples?|seqs?|sequences?|frames?",
    "run": r"runs?|jobs?|epochs?|requests?|reqs?|queries|ops?|tasks?|files?",
}
_TIME = "|".join(sorted(SECONDS, key=len, reverse=True))
_PIECE = "|".join(f"(?P<{name}>{words})" for name, words in PIECES.items())
RATE = re.compile(rf"\s*(?P<number>[\d.,]+)\s*({_PIECE})\s*(/|per)\s*(?P<time>{_TIME})\s*", re.I)
PACE = re.compile(rf"\s*(?P<number>[\d.,]+)\s*(?P<time>{_TIME})\s*(/|per)\s*({_PIECE})\s*", re.I)


def seconds_of_pieces(cells: pl.Series) -> tuple[pl.Series, str] | None:
    """Seconds of each piece of work, and what a piece is; None for cells of no, or two, kinds.

    A cell without a digit (OOM, -) is a run without a speed.

    >>> seconds, piece = seconds_of_pieces(pl.Series(["4it/s", "1.25s/it", "OOM", None]))
    >>> seconds.to_list(), piece
    ([0.25, 1.25, None, None], 'iteration')
    >>> seconds_of_pieces(pl.Series(["4it/s", "2 img/s"])), seconds_of_pieces(pl.Series(["OOM"]))
    (None, None)
    """
    said = [None if c is None or not re.search(r"\d", c) else _one(c) for c in cells]
    pieces = {s[1] for s in said if s is not None}
    unread = any(s is None and c and re.search(r"\d", c) for c, s in zip(cells, said, strict=True))
    if len(pieces) != 1 or unread:
        return None
    values = [None if s is None else s[0] for s in said]
    return pl.Series(cells.name, values, pl.Float64), pieces.pop()


def _one(cell: str) -> tuple[float, str] | None:
    rate = RATE.fullmatch(cell)
    match = rate or PACE.fullmatch(cell)
    if match is None:
        return None
    try:
        number = float(match["number"].replace(",", ""))
    except ValueError:
        return None
    if not number > 0:
        return None
    time = SECONDS[match["time"].lower()]
    return (time / number if rate else number * time), next(p for p in PIECES if match[p])


def speeds_in(frame: pl.DataFrame) -> dict[str, tuple[pl.Series, str]]:
    """Columns of speeds: seconds of a piece, and what it is."""
    texts = [c for c in frame.columns if frame[c].dtype == pl.String]
    return {c: s for c in texts if (s := seconds_of_pieces(frame[c])) is not None}


def timed_by_speed(runs: JobTable) -> JobTable:
    """The runs with ``runtime_s``, of one piece of work, where one column of speeds says it.

    >>> from rheostat.core.vocabulary import table
    >>> timed_by_speed(table({"Throughput": ["4 it/s", "8 it/s"]})).numpy("runtime_s").tolist()
    [0.25, 0.125]
    """
    known = {} if "runtime_s" in runs.columns else speeds_in(runs.frame)
    if len(known) != 1:
        return runs
    ((name, (seconds, piece)),) = known.items()
    timed = runs.with_columns([VOCABULARY["runtime_s"]], runtime_s=seconds)
    others = [c for c in timed.columns if c != name]
    return timed.select(others).noted(Note(f"runtime_s is that of one {piece}, from {name}"))
