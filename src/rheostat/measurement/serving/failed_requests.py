"""Runs in which requests failed: their times and rates are of those that were answered.

A server that refuses what it cannot serve looks fast and thrifty.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.checks import ROW, note_rows
from rheostat.measurement.serving.energy_names import plain

MOST = 0.01
"""A share of failed requests up to which a run counts: what it tells is of the other 99 %."""
_REQUESTS = r"(_?(requests?|reqs?|queries|prompts|samples|responses))"
FAILED = re.compile(
    rf"((num|n|total|number_of|count)_)?((failed|errored|error|timed_out|rejected|dropped){_REQUESTS}?"
    rf"|errors|failures|request_(errors|failures))(_(count|total|num))?"
)
DONE = re.compile(
    rf"((num|n|total|number_of)_)?((completed|successful|succeeded|success|finished|ok|answered)"
    rf"{_REQUESTS}?)(_(count|total))?"
)
SENT = re.compile(
    rf"((num|n|total|number_of)_)(prompts|requests|reqs)(_(sent|total))?|requests_(sent|total)"
    rf"|(sent|attempted|submitted){_REQUESTS}"
)
RATE = re.compile(
    r"(request_)?(success|ok|(failure|error|failed))(_request)?_(rate|ratio|pct|percent|share)(_pct)?"
)
OVER = (
    "more than 1 % of the requests failed ({}): left out, as times and rates are of the others; "
    "--column failed==0 counts all runs"
)
OF_HOW_MANY = "requests failed, of how many is not said: counts, though times are of the others"
UNDER = "at most 1 % of the requests failed ({}): counts all the same"


def failed_share(frame: pl.DataFrame) -> pl.Series | None:
    """The share of each run's requests that failed, where headings tell; null where cells do not.

    A column ``failed`` that says 0 for all runs is the user's word, or the tool's, for none; yet
    where more were sent than answered, those failed that lack.

    >>> failed_share(pl.DataFrame({"num_prompts": [100], "completed": [18]})).to_list()
    [0.82]
    >>> failed_share(pl.DataFrame({"completed": [98], "errors": [2]})).to_list()
    [0.02]
    >>> failed_share(pl.DataFrame({"success_rate (%)": [97.0, 100.0]})).round(2).to_list()
    [0.03, 0.0]
    """
    failed, done, sent = (_of(frame, p) for p in (FAILED, DONE, SENT))
    shares = []
    if sent is not None and done is not None:
        shares.append((sent - done) / sent)
    if failed is not None and (sent is not None or done is not None):
        shares.append(failed / (sent if sent is not None else done + failed))
    if not shares and (rate := _rate(frame)) is not None:
        shares.append(rate)
    if not shares:
        return None
    of = frame.select(pl.max_horizontal(*(s.alias(str(i)) for i, s in enumerate(shares))))
    return of.to_series().fill_nan(None).alias("share")


def answered(
    frame: pl.DataFrame, *, stated: bool = False
) -> tuple[pl.DataFrame, list[Note], str | None]:
    """Runs that answered their requests, notes of others, and why none is left.

    ``stated`` is whether the user said how many failed, which is none.

    >>> runs = pl.DataFrame({"num_requests": [400, 400], "failed_requests": [0, 100]})
    >>> kept, notes, problem = answered(runs)
    >>> len(kept), notes[0].message.split(":")[0], problem
    (1, 'more than 1 % of the requests failed (25 %)', None)
    """
    share = None if stated else failed_share(frame)
    if share is None:
        return frame, [] if stated else _of_unknown(frame), None
    over = (share > MOST).fill_null(value=False)
    under = ((share > 0) & ~over).fill_null(value=False)
    rows = _rows(frame)
    if over.all() and len(frame):
        return frame, [], OVER.format(f"{_percent(share.to_list())} in every run")
    notes = [
        note_rows(text.format(_percent(share.filter(of).to_list())), rows.filter(of), dropped=gone)
        for of, text, gone in ((over, OVER, True), (under, UNDER, False))
        if of.any()
    ]
    return frame.filter(~over), notes, None


def _of_unknown(frame: pl.DataFrame) -> list[Note]:
    """A note where requests failed and nothing says how many there were."""
    failed = _of(frame, FAILED)
    some = (failed > 0).fill_null(value=False) if failed is not None else None
    return (
        [note_rows(OF_HOW_MANY, _rows(frame).filter(some))]
        if some is not None and some.any()
        else []
    )


def _rows(frame: pl.DataFrame) -> pl.Series:
    """The numbers of the rows in the file."""
    return frame[ROW] if ROW in frame.columns else pl.Series(range(len(frame)))


def _percent(shares: Sequence[float]) -> str:
    """The largest share alone, or from which to which.

    >>> _percent([0.82]), _percent([0.02, 0.5])
    ('82 %', '2 to 50 %')
    """
    low, high = (f"{100 * s:.2g}" for s in (min(shares), max(shares)))
    return f"{high} %" if low == high else f"{low} to {high} %"


def _of(frame: pl.DataFrame, pattern: re.Pattern[str]) -> pl.Series | None:
    """The only column of amounts with such a heading."""
    named = [c for c in frame.columns if pattern.fullmatch(plain(c))]
    return _numbers(frame[named[0]]) if len(named) == 1 else None


def _rate(frame: pl.DataFrame) -> pl.Series | None:
    """Shares that failed by a rate of them or of the others, in percent where one is above 1."""
    for name in frame.columns:
        if (match := RATE.fullmatch(re.sub(r"_+$", "", plain(name)))) is None:
            continue
        if (values := _numbers(frame[name])) is None:
            continue
        percent = "%" in name or match[0].endswith(("pct", "percent")) or (values.max() or 0) > 1  # type: ignore[operator]
        share = values / 100 if percent else values
        return share if match[3] else 1 - share
    return None


def _numbers(values: pl.Series) -> pl.Series | None:
    """The cells as numbers, unless none is."""
    cells = values.cast(pl.String).str.strip_chars(" %").cast(pl.Float64, strict=False)
    return cells if cells.count() else None
