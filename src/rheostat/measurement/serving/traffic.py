"""Traces of requests: when they came, how long prompts and answers were; no texts.

Azure's public traces (TIMESTAMP, ContextTokens, GeneratedTokens), Mooncake's (milliseconds),
tables in the house's own names, and in those that logs use for the same.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path

import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.core.storage.files import ordinary_file
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.measurement.checks import rows_where
from rheostat.measurement.dates import iso_seconds
from rheostat.measurement.monitoring.sample_clock import hours_moved
from rheostat.measurement.serving.frames import frame_of, not_found
from rheostat.measurement.serving.named_columns import named_columns
from rheostat.measurement.serving.prefix_text import LISTS, prefix_blocks_of
from rheostat.measurement.serving.recorded_names import (
    in_seconds,
    said_of_answers,
    seconds_of_moment,
    their_name,
)
from rheostat.measurement.serving.recorded_requests import SHARED, is_record, read_recorded
from rheostat.measurement.serving.requests import COLUMNS, is_requests, read_requests

WHAT = "trace of requests"
NAMES = ("submit_s", "prompt_tokens", "output_tokens")
AZURE = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
GAP = re.compile(r"inter[ _-]?arrival|(^|_)gap|since_(the_)?(last|previous)|delta")
"""Headings of the time between a request and the one before."""
LATEST_S = 1e11
"""Seconds since 1970 of the year 5138: larger ones are other units."""
CHANGED = (
    "times go back by an hour, as where summer time ends: both hours count, by the order of the "
    "lines; times of UTC, or with their offset, leave no doubt"
)
MOONCAKE = ("timestamp", "input_length", "output_length")


def is_traffic(names: Collection[str]) -> bool:
    """Whether columns so named are a trace of requests without their texts."""
    return any(set(known) <= set(names) for known in (NAMES, AZURE, MOONCAKE))


def read_traffic(
    path: str | Path, *, columns: Mapping[str, str] | None = None, texts: bool = False
) -> JobTable:
    """Requests in order of arrival, ``submit_s`` from the first one on.

    Parameters
    ----------
    path
        CSV, parquet, or JSON lines; also an OpenAI-style log with times and usage.
    columns
        Our name to the file's, where they differ.
    texts
        Make ``prefix_blocks`` of the texts of prompts, where there are no blocks.

    Returns
    -------
    JobTable
        ``submit_s``, ``prompt_tokens`` and ``output_tokens``; ``predicted_tokens``,
        ``cached_tokens``, ``tool_calls`` and ``prefix_blocks`` (Mooncake's ``hash_ids``) where
        they are there.

    Raises
    ------
    DataError
        The columns are not there, or no row is a request.  Rows without a time or with lengths
        below 1 or not whole are left out and noted.
    """
    path = ordinary_file(path)
    frame, said = _as_it_stands(path, columns)
    for names, seconds in ((AZURE, _instants), (MOONCAKE, _milliseconds)):
        if set(names) <= set(frame.columns):
            frame = frame.select(
                seconds(names[0]), *_beside_lengths(frame),
                prompt_tokens=pl.col(names[1]), output_tokens=pl.col(names[2]),
            )  # fmt: skip
            break
    else:
        frame, summed = _from_gaps(frame, columns or {})
        frame = named_columns(frame, columns)
        if columns and not set(NAMES) <= set(frame.columns):
            frame, said = _by_their_names(frame, path)
        said = (*said, *summed)
        frame = frame.with_columns(_beside_lengths(frame))
        if texts and "prompt_tokens" in frame.columns:
            tokens = frame["prompt_tokens"].cast(pl.Float64, strict=False)
            made = prefix_blocks_of(frame, tokens)
            frame = frame if made is None else frame.with_columns(made.alias("prefix_blocks"))
    if is_requests(frame.columns) and not set(NAMES) <= set(frame.columns):
        logged = read_requests(path, columns=columns, in_order=texts)
        frame, said = logged.frame, logged.notes
    if missing := [c for c in NAMES if c not in frame.columns]:
        raise DataError(str(path), [not_found(missing, frame)])
    numbers = [_seconds(frame.schema["submit_s"]),
               *(pl.col(c).cast(pl.Float64, strict=False) for c in NAMES[1:])]  # fmt: skip
    types = {"prefix_blocks": pl.List, "tool_calls": pl.Boolean}
    shared = [pl.col(c) for c, kind in types.items() if isinstance(frame.schema.get(c), kind)]
    shared += [pl.col(c).cast(pl.Float64, strict=False)
               for c in ("predicted_tokens", "cached_tokens") if c in frame.columns]  # fmt: skip
    return _checked(frame.select(*numbers, *shared), path).noted(*said)


def _as_it_stands(
    path: Path, columns: Mapping[str, str] | None
) -> tuple[pl.DataFrame, tuple[Note, ...]]:
    """A trace, or what a record of answered requests says of those that came."""
    with path.open("rb") as file:
        lists = b'"ttfts"' in file.read(2**20)
    frame = None if lists else frame_of(path, WHAT)
    known = frame is not None and (is_traffic(frame.columns) or columns)
    if known or not is_record(path):
        frame = frame_of(path, WHAT) if frame is None else frame
        return (frame, ()) if known or is_requests(frame.columns) else _by_their_names(frame, path)
    recorded = read_recorded(path)
    shared = [c for c in SHARED if c in recorded.columns]
    return recorded.frame.select(*NAMES, *shared), recorded.notes


def _from_gaps(
    frame: pl.DataFrame, columns: Mapping[str, str]
) -> tuple[pl.DataFrame, tuple[Note, ...]]:
    """Moments in place of the times since the request before, by the heading taken for them.

    >>> gaps = pl.DataFrame({"inter_arrival_ms": [0, 40, 30]})
    >>> _from_gaps(gaps, {"submit_s": "inter_arrival_ms"})[0]["inter_arrival_ms"].to_list()
    [0, 40, 70]
    """
    named = columns.get("submit_s", "")
    gaps = [c for c in frame.columns if GAP.search(c.lower()) and named in ("", c)]
    if len(gaps) != 1 or not frame[gaps[0]].dtype.is_numeric() or (frame[gaps[0]] < 0).any():
        return frame, ()
    said = Note(f"{gaps[0]} is the time since the request before: summed up, row by row")
    return frame.with_columns(pl.col(gaps[0]).cum_sum()), (said,)


def _by_their_names(frame: pl.DataFrame, path: Path) -> tuple[pl.DataFrame, tuple[Note, ...]]:
    """Columns by other names, as timestamp_s and completion_tokens, where all three are there."""
    theirs = {o: t for o in NAMES if (t := their_name(frame.columns, o)) is not None}
    if set(theirs) != set(NAMES):
        return frame, ()
    made, notes = in_seconds(frame.select(theirs.values()), path)
    scale = seconds_of_moment(theirs["submit_s"])
    times = {"submit_s": f" x {scale:g}"} if scale not in (None, 1.0) else {}
    said = ", ".join(f"{o} = {t}{times.get(o, '')}" for o, t in theirs.items() if o != t)
    unit = " (without a unit in its name: seconds)" * (scale is None)
    return made.select(NAMES).with_columns(_beside_lengths(frame)), (
        Note(f"guessed: {said}{unit}"),
        *notes,
    )


def _beside_lengths(frame: pl.DataFrame) -> list[pl.Series]:
    """Whether answers call tools, what was held of prompts, and their blocks, where it is said."""
    made = said_of_answers(frame)
    blocks = next((c for c in LISTS if isinstance(frame.schema.get(c), pl.List)), None)
    if blocks is not None:
        made["prefix_blocks"] = frame[blocks]
    return [values.alias(name) for name, values in made.items()]


def _instants(name: str) -> pl.Expr:
    return iso_seconds(pl.col(name).cast(pl.String)).alias("submit_s")


def _seconds(dtype: pl.DataType) -> pl.Expr:
    """Our ``submit_s``: numbers, or moments as ISO 8601 has them."""
    numbers = pl.col("submit_s").cast(pl.Float64, strict=False)
    if dtype.is_temporal():
        return pl.col("submit_s").dt.timestamp("us") / 1e6
    return pl.coalesce(numbers, _instants("submit_s")) if dtype == pl.String else numbers


def _milliseconds(name: str) -> pl.Expr:
    return (pl.col(name) / 1e3).alias("submit_s")


def _checked(frame: pl.DataFrame, path: Path) -> JobTable:
    good = pl.all_horizontal(
        pl.col("submit_s").is_finite(),
        *(
            pl.col(c).is_finite() & (pl.col(c) >= 1) & (pl.col(c) == pl.col(c).floor())
            for c in NAMES[1:]
        ),
    )
    kept, notes = rows_where(frame, good, "no time, or a length below 1 or not whole")
    if not len(kept):
        raise DataError(str(path), ["no row has a time and lengths of 1 or more whole tokens"])
    if (latest := float(kept["submit_s"].max())) > LATEST_S:  # type: ignore[arg-type]
        got = f"expected seconds, at most {LATEST_S:g}, got {latest:g}"
        hint = "looks like milliseconds: divide by 1000" if latest < 1e3 * LATEST_S else "is none"
        raise DataError(str(path), [f"submit_s: {got}, which {hint}"])
    kept, moved = _in_file_order(kept)
    kept = kept.sort("submit_s", maintain_order=True)
    shifted = kept.with_columns(pl.col("submit_s") - kept["submit_s"][0])
    return table(shifted, COLUMNS, [*notes, *moved])


def _in_file_order(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Requests in order of their lines where a local clock was changed, before they are sorted.

    Those of the two hours that it shows alike would come together, at twice their rate.
    """
    moved = hours_moved(frame["submit_s"].cast(pl.Float64).to_numpy()).clip(0.0)  # no pause is one
    if not moved.any():
        return frame, []
    made = frame.with_columns(pl.col("submit_s") + pl.Series(moved).cum_sum())
    return made, [Note(CHANGED)]
