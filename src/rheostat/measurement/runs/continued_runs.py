"""Attempts of one run that each go on from a checkpoint of the one before: the run is their sum.

A table of preempted runs has a row for each attempt, with the step at which it began and the one
at which it ended.  The last attempt, which alone completed, took the time of its own part.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import groupby
from typing import Any

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.checks import ROW, note_rows

UNITS = ("step", "iter", "iteration", "epoch", "update", "timestep")
FIRST = {"start", "first", "from", "begin", "initial", "resume", "resumed", "at"}
LAST = {"end", "last", "to", "stop", "final", "until"}
Attempt = dict[str, Any]
RUN = re.compile(
    r"(run|job|experiment|exp|trial|case|sim|simulation|chain)(_?(id|name|no|number))?"
)
JOINED = (
    "goes on from a checkpoint of the attempt before ({} to {}): times and energies of a run's "
    "attempts were added up"
)
PART = (
    "begins at {} above 0, so its time is that of a part of a run: counts as unfinished; a column "
    "run_id says which attempts are one run, --column censored==false counts all rows as runs"
)  # fmt: skip


def with_continued(
    table: pl.DataFrame, knobs: Collection[str] = ()
) -> tuple[pl.DataFrame, list[Note]]:
    """One row for the attempts of a run, where a column says of which run each of them is.

    Without such a column an attempt that goes on from a checkpoint is flagged as no whole run.

    >>> attempts = {ROW: [0, 1], "run_id": ["a", "a"], "start_step": [0, 40],
    ...     "end_step": [40, 100], "runtime_s": [5.0, 7.0], "censored": [True, False]}
    >>> runs, notes = with_continued(pl.DataFrame(attempts))
    >>> runs["runtime_s"].to_list(), runs["censored"].to_list()
    ([12.0], [False])
    >>> with_continued(pl.DataFrame(attempts).drop("run_id"))[0]["censored"].to_list()
    [True, True]
    """
    ends = _first_and_last(table, knobs)
    if ends is None or not _above_0(table, ends[0]):
        return table, []
    ids = [c for c in table.columns if RUN.fullmatch(c.lower()) and c not in knobs
           and table[c].is_duplicated().any()]  # fmt: skip
    of_run = [*ids, *(k for k in knobs if k in table.columns)]
    table, notes = _joined(table, of_run, ends) if ids else (table, [])
    if not (later := _above_0(table, ends[0])):
        return table, notes
    known = pl.col("censored") if "censored" in table.columns else pl.lit(False)
    part = pl.col(ROW).is_in(later)
    said = note_rows(PART.format(ends[0]), later)
    return table.with_columns(censored=known | part), [*notes, said]


def _first_and_last(table: pl.DataFrame, knobs: Collection[str]) -> tuple[str, str] | None:
    """The columns of the steps at which attempts began and ended, of one unit and one each."""
    numbers = [c for c in table.columns if table[c].dtype.is_numeric() and c not in knobs]
    first, last = ({c: u for c in numbers if (u := _unit(c, words))} for words in (FIRST, LAST))
    if len(first) != 1 or list(first.values()) != list(last.values()):
        return None
    return next(iter(first)), next(iter(last))


def _unit(heading: str, others: Collection[str]) -> str:
    """What a heading counts, where all its other words are among those given.

    >>> _unit("start_step", FIRST), _unit("resumed_from_iteration", FIRST), _unit("step", FIRST)
    ('step', 'iteration', '')
    """
    words = heading.lower().replace("global_", "").split("_")
    units = [w.removesuffix("s") for w in words if w.removesuffix("s") in UNITS]
    rest = [w for w in words if w.removesuffix("s") not in UNITS]
    return units[0] if len(units) == 1 and rest and set(rest) <= set(others) else ""


def _above_0(table: pl.DataFrame, first: str) -> list[int]:
    """Rows that began later than most runs: at neither 0 nor 1."""
    return table.filter(pl.col(first) > 1)[ROW].to_list()


def _joined(
    table: pl.DataFrame, of_run: Sequence[str], ends: tuple[str, str]
) -> tuple[pl.DataFrame, list[Note]]:
    """The last attempt of each run with the times and energies of all."""
    runs: list[Attempt] = []
    rows: list[int] = []
    ordered = table.sort(*of_run, ROW, maintain_order=True).to_dicts()
    for _, attempts in groupby(ordered, key=lambda r: tuple(r[c] for c in of_run)):
        for parts in _from_0(sorted(attempts, key=lambda r: r[ends[1]] or 0), ends[0]):
            rows += [p[ROW] for p in parts[1:]]
            runs.append(_sum(parts) | {ends[0]: parts[0][ends[0]]})
    if not rows:
        return table, []
    said = note_rows(JOINED.format(*ends), sorted(rows))
    return pl.DataFrame(runs, schema=table.schema).sort(ROW), [said]


def _from_0(attempts: Sequence[Attempt], first: str) -> list[list[Attempt]]:
    """Attempts in their order, parted before each that begins the run anew.

    >>> [len(p) for p in _from_0([{"at": 0}, {"at": 9}, {"at": 0}, {"at": None}], "at")]
    [2, 1, 1]
    """
    parts: list[list[Attempt]] = []
    for one in attempts:
        if not parts or not (one[first] or 0) > 1:
            parts.append([])
        parts[-1].append(one)
    return parts


def _sum(parts: Sequence[Attempt]) -> Attempt:
    """The last attempt with the time and energy of all and their mean power over time.

    >>> _sum([{"runtime_s": 1.0, "power_w": 300.0}, {"runtime_s": 2.0, "power_w": 150.0}])
    {'runtime_s': 3.0, 'power_w': 200.0}
    """
    if len(parts) == 1:
        return parts[0]
    summed = [c for c in parts[0] if c == "runtime_s" or c.endswith("energy_j")]
    whole = {c: _total([p[c] for p in parts]) for c in summed}
    took = whole.get("runtime_s")
    for power in (c for c in parts[0] if c.endswith("power_w")):
        joules = _total([_times(p[power], p.get("runtime_s")) for p in parts])
        whole[power] = joules / took if took and joules is not None else None
    return parts[-1] | whole


def _times(power_w: float | None, runtime_s: float | None) -> float | None:
    return None if power_w is None or runtime_s is None else power_w * runtime_s


def _total(amounts: Sequence[float | None]) -> float | None:
    """None where one is not known: what is known of the others is no sum."""
    known = [a for a in amounts if a is not None]
    return sum(known) if len(known) == len(amounts) else None
