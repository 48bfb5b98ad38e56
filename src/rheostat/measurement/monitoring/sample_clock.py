"""The clock of samples in seconds, in the order of their lines where summer time begins or ends.

A local clock shows an hour twice each autumn.  Sorted by what it shows the two hours would lie in
each other: half of the time and of the energy would be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from rheostat.core.jobs import Note
from rheostat.core.outcome import Array
from rheostat.measurement.checks import note_rows
from rheostat.measurement.dates import instants_of, since_1970
from rheostat.measurement.monitoring.joined_files import rows_of_each
from rheostat.measurement.monitoring.sample_columns import devices
from rheostat.measurement.runs.header_units import split_unit
from rheostat.measurement.runs.local_clock import HOUR_S, PUT_BACKWARD, PUT_FORWARD, in_such_a_night
from rheostat.measurement.slurm.sacct_clock import time_zone

LATE, SOME_S = 1.5, 60.0
"""Steps and seconds within which the next sample comes where a clock was changed."""
A_DAY_S = 86_400.0
RARE_S = 1800.0
"""Samples so far apart may have one moment of the two hours twice, and one may be lacking."""
AN_HOUR = (
    "the clock goes {} by an hour, as where summer time {}: {}; start and end are of the clock "
    "before; --zone of `rheostat read` (Europe/Paris) tells them, and UTC that no clock was changed"
)
BY_ORDER = "the clock of {} shows these moments twice: the order of the lines says which of the two"
NO_MOMENT = "the clock of {} never shows these moments: left out; is it of another zone?"


def seconds_of(
    cells: Mapping[str, list[str]], clock: Sequence[str], zone: str = ""
) -> tuple[pl.Series, list[Note]]:
    """Seconds since 1970, or since the first where the clock counts so; midnight is passed.

    >>> shown = ["01:59:40", "01:59:50", "03:00:00", "03:00:10"]  # summer time begins
    >>> cells = {"time": [f"2026-03-29 {moment}" for moment in shown]}
    >>> seconds_of(cells, ["time"])[0].diff().to_list()
    [None, 10.0, 10.0, 10.0]
    """
    text = pl.Series([" ".join(parts) for parts in zip(*(cells[c] for c in clock), strict=True)])
    numbers = text.cast(pl.Float64, strict=False)
    if len(clock) == 1 and numbers.is_not_null().any():
        factor = split_unit(clock[0], timed=True)[3] if since_1970(numbers)[0] == 1.0 else 1.0
        return numbers * since_1970(numbers)[0] * factor, []
    text = text.str.replace(r"^(\d{4}-\d\d-\d\d)_(\d)", "$1 $2")
    text = text.str.replace(r"^(\d{4})/(\d\d)/", "$1-$2-").str.replace(
        r"^(\d{4})(\d\d)(\d\d) ", "$1-$2-$3 ")  # fmt: skip
    daily = text.str.contains(r"^\d\d:\d\d").all()
    text = "1970-01-01 " + text if daily else text
    made, said = instants_of({"t": text})
    at = made.get("t", text)
    at = _moments(at) if at.dtype == pl.String else at
    notes = [Note(words) for words in said]
    if daily:
        seconds = at.dt.epoch("us") / 1e6
        passed = (seconds.diff() < -43_200.0).fill_null(value=False).cum_sum()
        return seconds + 86_400.0 * passed, notes
    if getattr(at.dtype, "time_zone", None) is not None:
        return at.dt.epoch("us") / 1e6, notes
    seconds, more = in_zone(devices(cells), at, zone) if zone else summer_time(devices(cells), at)
    return seconds, [*notes, *more]


def summer_time(device: Sequence[str], at: pl.Series) -> tuple[pl.Series, list[Note]]:
    """Moments of a clock that nobody named, without the hours by which summer time moved it.

    It does so where samples go on as usual but for one hour, at a full hour, in a night in which
    some country changes its clocks.
    """
    seconds = (at.dt.epoch("us") / 1e6).to_numpy()
    moved = _of_each(device, hours_moved, seconds)
    notes = []
    for way, sign, season, kept in (
        ("back", 1.0, "ends", "the hour that it shows twice counts twice"),
        ("on", -1.0, "begins", "the hour that it leaves out counts for nothing"),
    ):
        places = np.flatnonzero(np.sign(moved) == sign)
        if len(places):
            notes.append(note_rows(AN_HOUR.format(way, season, kept), places))
    hours = _of_each(device, np.cumsum, moved)
    return pl.Series(np.where(np.isfinite(seconds), seconds + hours, np.nan)).fill_nan(None), notes


def hours_moved(seconds: Array) -> Array:
    """By how much what a clock shows has to be moved from here on, for each sample of a device.

    >>> shown = np.array([-30.0, -20, -10, -3600, -3590, -3580]) + 1_792_897_200  # 25 October 2026
    >>> hours_moved(shown).tolist(), hours_moved(shown + 86_400).sum().item()
    ([0.0, 0.0, 0.0, 3600.0, 0.0, 0.0], 0.0)
    """
    known = np.flatnonzero(np.isfinite(seconds))
    shown, moved = seconds[known], np.zeros(len(seconds))
    steps = np.diff(shown)
    if not (steps > 0).any():
        return moved
    near = LATE * float(np.median(steps[steps > 0])) + SOME_S
    full = shown[1:] % HOUR_S <= near
    back = full & (steps <= 0) & (steps + HOUR_S > 0) & (steps + HOUR_S <= near)
    on = full & (steps > HOUR_S) & (steps - HOUR_S <= near) & (near <= RARE_S)
    before = -np.inf
    for k in np.flatnonzero(back | on):
        nights = PUT_BACKWARD if back[k] else PUT_FORWARD
        if shown[k] - before > A_DAY_S and in_such_a_night(float(shown[k]), nights):
            moved[known[k + 1]] = HOUR_S if back[k] else -HOUR_S
            before = shown[k]  # lines out of order may step back again
    return moved


def in_zone(device: Sequence[str], at: pl.Series, zone: str) -> tuple[pl.Series, list[Note]]:
    """Moments of the clock of a zone; those that it shows twice by the order of the lines."""
    time_zone(zone)
    first, second = (
        (at.dt.replace_time_zone(zone, ambiguous=which, non_existent="null").dt.epoch("us") / 1e6)
        for which in ("earliest", "latest")
    )
    never = (at.is_not_null() & first.is_null()).arg_true()
    notes = [note_rows(NO_MOMENT.format(zone), never)] if len(never) else []
    twice = (first != second).fill_null(value=False).arg_true()
    if not len(twice):
        return first, notes
    seconds = _of_each(device, _in_order, first.to_numpy(), second.to_numpy())
    notes.append(note_rows(BY_ORDER.format(zone), twice))
    return pl.Series(seconds).fill_nan(None), notes


def _in_order(first: Array, second: Array) -> Array:
    """Of two readings of each moment of a device the earlier one, but for where time went back.

    Where a log begins in such an hour and goes on behind it, it is the one that goes on.

    >>> first = np.array([7000.0, 7190, 3600, 3700, 10_800])
    >>> _in_order(first, np.array([10_600.0, 10_790, 7200, 7300, 10_800])).tolist()
    [7000.0, 7190.0, 7200.0, 7300.0, 10800.0]
    """
    seconds, known = first.copy(), np.flatnonzero(np.isfinite(first))
    steps = np.diff(first[known])
    usual = float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.0
    least = 0.0 if usual >= RARE_S else -usual / 2
    for last, now in pairwise(known):
        if second[now] > first[now] and first[now] - seconds[last] <= least:
            seconds[now] = second[now]
    run = int(np.cumprod(second[known] > first[known]).sum())
    lead = known[:run]
    whole = 0 < run < len(known) and (seconds[lead] == first[lead]).all()
    if whole and second[lead[-1]] < seconds[known[run]]:
        seconds[lead] = second[lead]
    return seconds


def _of_each(device: Sequence[str], what: Callable[..., Array], *values: Array) -> Array:
    """The values of each device, made of its own in the order of the lines."""
    made = np.zeros(len(device))
    for own in rows_of_each(device).values():
        made[own] = what(*(v[own] for v in values))
    return made


def counted(device: Iterable[str], every_s: float) -> pl.Series:
    """Seconds of samples that have no clock: one a step of each device."""
    frame = pl.DataFrame({"device": list(device)})
    return frame.select(t=pl.int_range(pl.len()).over("device") * every_s).to_series()


def _moments(text: pl.Series) -> pl.Series:
    """Moments as Polars knows them, missing where they are none: it raises where all are none.

    >>> _moments(pl.Series(["soon"])).null_count()
    1
    """
    try:
        return text.str.to_datetime(strict=False, time_unit="us")
    except pl.exceptions.ComputeError:
        return pl.Series([None] * len(text), dtype=pl.Datetime("us"))
