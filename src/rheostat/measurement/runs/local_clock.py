"""Instants of a local clock, which is put back for an hour each autumn and shows it twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise, product

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.checks import ROW, note_rows
from rheostat.measurement.dates import from_serial, instants_of, serial_days
from rheostat.measurement.runs.guess import guess_name
from rheostat.measurement.runs.header_units import split_unit
from rheostat.measurement.runs.mapping import Mapped
from rheostat.measurement.slurm.sacct_clock import time_zone

HOUR_S = 3600.0
SINCE_2000_S = 946_684_800.0
INSTANTS = ("submit_s", "start_s", "end_s")
PUT_BACK = (
    "times run backwards by up to an hour, as where a clock was put back: {} not known; --zone of "
    "`rheostat read` tells them, as do times with their offset (2026-10-25T02:30:00+02:00)"
)
HOUR_OFF = (
    "runtime_s, end less start, is an hour off if the site's clock was changed meanwhile, as in "
    "some countries in that night: --zone of `rheostat read` tells it"
)
WEEK_S, SUNDAY_S, NIGHT_S = 604_800.0, 270_000.0, 46_800.0
"""A week, a Sunday at three at night since 1970, and how far that is from it elsewhere."""
PUT_FORWARD = ((3, (8, 14)), (3, (25, 31)), (9, (24, 30)), (10, (1, 7)))
PUT_BACKWARD = ((4, (1, 7)), (10, (25, 31)), (11, (1, 7)))
"""Month and days of the Sundays on which countries of North America, Europe, Australia and New
Zealand change their clocks."""
LATEST_S = 14_400.0
"""Seconds of the day before which they do."""
REPEATED = "{} in an hour that the clock of {} shows twice: not known which, null"


def read_dates(frame: pl.DataFrame, chosen: Mapped) -> tuple[pl.DataFrame, list[Note]]:
    """The frame with texts that are dates, of columns that are or name an instant, as instants.

    >>> frame = pl.DataFrame({"qsub_time": ["13/09/2026 10:00:00"], "app": ["13/09/2026 10:00:00"]})
    >>> read_dates(frame, Mapped())[0].row(0)
    ('2026-09-13 10:00:00', '13/09/2026 10:00:00')
    """
    mapped = {c: ours for ours, s in chosen.columns.items() for c in s.columns}
    texts = [c for c in frame.columns if frame[c].dtype == pl.String]
    names = [c for c in texts if mapped.get(c, guess_name(c)) in INSTANTS]
    made, said = instants_of({c: frame[c] for c in names})
    frame = frame.with_columns(**made)
    numbers = [c for c in frame.columns if frame[c].dtype.is_numeric() and not split_unit(c)[2]]
    serial = [c for c in numbers if mapped.get(c, guess_name(c)) in INSTANTS]
    if serial and serial_days({c: frame[c] for c in serial}):
        frame = frame.with_columns(from_serial(pl.col(c)) for c in serial)
        said = [*said, f"{', '.join(serial)}: read as days since 1899-12-30, as spreadsheets count"]
    return frame, [Note(words) for words in said]


def instants(
    table: pl.DataFrame, frame: pl.DataFrame, taken: Mapping[str, pl.Expr], zone: str = ""
) -> tuple[pl.DataFrame, list[Note]]:
    """The instants ``taken`` from ``frame``, as far as a clock that was changed lets them be known.

    ``zone`` is that of times without one; "" where nobody said.
    """
    if zone:
        return in_zone(table, frame, taken, zone)
    theirs = {n: taken[n].meta.root_names()[0] for n in INSTANTS if n in taken}
    clocks = [n for n, name in theirs.items() if frame[name].dtype == pl.String]
    table, notes = put_back(table, clocks)
    derived = "runtime_s" not in table.columns and {"start_s", "end_s"} <= set(clocks)
    over = table[ROW].filter(_over_a_change(table)).to_list() if derived else []
    return table, [*notes, note_rows(HOUR_OFF, over)] if over else notes


def without_zeros(table: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Instants of 0 or below as not known beside those of this century, as of jobs that still run.

    >>> log = pl.DataFrame({ROW: [0, 1], "start_s": [1.79e9, 1.79e9], "end_s": [1.8e9, 0.0]})
    >>> known, notes = without_zeros(log)
    >>> known["end_s"].to_list(), notes[0].message
    ([1800000000.0, None], 'end_s is 0 beside dates: not known')
    """
    notes = []
    for name in (n for n in INSTANTS if table.schema.get(n, pl.String).is_numeric()):
        none = (pl.col(name) <= 0).fill_null(value=False)
        rows = table.filter(none)[ROW].to_list()
        latest = table[name].max()
        if rows and isinstance(latest, int | float) and latest > SINCE_2000_S:
            table = table.with_columns(pl.when(~none).then(pl.col(name)).alias(name))
            notes.append(note_rows(f"{name} is 0 beside dates: not known", rows))
    return table, notes


def _over_a_change(table: pl.DataFrame) -> pl.Series:
    """Which runs go over a night in which some country changes its clocks.

    >>> times = {"start_s": [1_792_879_200.0], "end_s": [1_792_900_800.0]}  # 25 October 2026
    >>> _over_a_change(pl.DataFrame(times)).to_list()
    [True]
    >>> _over_a_change(pl.DataFrame(times).select(pl.all() - WEEK_S)).to_list()
    [False]
    """
    begin, end = ((pl.col(c) - SUNDAY_S) / WEEK_S for c in ("start_s", "end_s"))
    last = (end + NIGHT_S / WEEK_S).floor()
    date = pl.from_epoch((last * WEEK_S + SUNDAY_S).cast(pl.Int64, strict=False))
    changes = pl.any_horizontal(
        (date.dt.month() == month) & date.dt.day().is_between(*days)
        for month, days in (*PUT_FORWARD, *PUT_BACKWARD)
    )
    over = (last > (begin - NIGHT_S / WEEK_S).floor()) & changes
    return table.select(over.fill_null(value=False)).to_series()


def in_such_a_night(shown_s: float, nights: Sequence[tuple[int, tuple[int, int]]]) -> bool:
    """Whether what a clock shows, in seconds since 1970, is early on a Sunday of those.

    >>> in_such_a_night(1_792_897_190.0, PUT_BACKWARD)  # 2026-10-25 02:59:50
    True
    """
    at = datetime.fromtimestamp(shown_s, UTC)
    early = at.weekday() == 6 and shown_s % 86_400 <= LATEST_S
    return early and any(at.month == month and a <= at.day <= b for month, (a, b) in nights)


def put_back(table: pl.DataFrame, clocks: Sequence[str]) -> tuple[pl.DataFrame, list[Note]]:
    """Where ``clocks`` run backwards by up to an hour, start and end are not known; rows stay.

    >>> runs = pl.DataFrame({ROW: [0, 1], "start_s": [9000.0, 100.0], "end_s": [7200.0, 900.0]})
    >>> mended, notes = put_back(runs, ["start_s", "end_s"])
    >>> mended["end_s"].to_list(), notes[0].count
    ([None, 900.0], 1)
    """
    there = [n for n in INSTANTS if n in clocks and table[n].dtype.is_numeric()]
    steps = [pl.col(a) - pl.col(b) for a, b in pairwise(there)]
    if not steps:
        return table, []
    short = pl.any_horizontal((step > 0) & (step <= HOUR_S) for step in steps)
    back = table.select(short.fill_null(value=False)).to_series()
    if not back.any():
        return table, []
    late = [n for n in there if n != "submit_s"]
    known = pl.when(~back).then(pl.col(late))
    said = PUT_BACK.format(" and ".join(late))
    return table.with_columns(known), [note_rows(said, table[ROW].filter(back))]


def in_zone(
    table: pl.DataFrame, frame: pl.DataFrame, taken: Mapping[str, pl.Expr], zone: str
) -> tuple[pl.DataFrame, list[Note]]:
    """The instants that ``frame`` has without a zone, as those of the clock of ``zone``.

    In the hour that it shows twice the reading counts with which a run does not end before it
    starts, and lasts as long as stated; where both do, the instant is not known.

    Raises
    ------
    DataError
        No such zone.
    """
    time_zone(zone)
    there = [n for n in INSTANTS if n in taken and table[n].dtype.is_numeric()]
    here = [n for n in there if _local(frame[taken[n].meta.root_names()[0]])]
    local = {
        n: pl.from_epoch((pl.col(n) * 1e6).cast(pl.Int64, strict=False), time_unit="us")
        for n in here
    }
    if not here:
        return table, []
    first, second = (
        table.select(
            v.dt.replace_time_zone(zone, ambiguous=which, non_existent="null").dt.epoch("us") / 1e6
            for v in local.values()
        )
        for which in ("earliest", "latest")
    )
    twice = pl.any_horizontal(pl.Series(first[n] != second[n]) for n in here)
    length = table["runtime_s"] if "runtime_s" in table.columns else None
    made = first.to_dict(as_series=False)
    unsure: dict[str, list[int]] = {n: [] for n in here}
    for row in table.select(twice.fill_null(value=False)).to_series().arg_true():
        pairs = [{first[n][row], second[n][row]} for n in here]
        fits = _fitting(here, pairs, None if length is None else length[row])
        for at, name in enumerate(here):
            values = {fit[at] for fit in fits}
            made[name][row] = values.pop() if len(values) == 1 else None
            unsure[name] += [row] if values else []
    unclear = [note_rows(REPEATED.format(n, zone), table[ROW].gather(rows))
            for n, rows in unsure.items() if rows]  # fmt: skip
    mended = (pl.Series(n, v, dtype=pl.Float64) for n, v in made.items())
    return table.with_columns(*mended), [Note(f"times read as those of {zone}"), *unclear]


def _local(values: pl.Series) -> bool:
    """Whether instants are of a clock without a zone."""
    if values.dtype == pl.String:
        read = pl.col(values.name).str.to_datetime(strict=False, time_unit="us")
        values = values.to_frame().select(read).to_series()
    return isinstance(values.dtype, pl.Datetime) and values.dtype.time_zone is None


def _fitting(
    names: Sequence[str], readings: Sequence[set[float | None]], length: float | None
) -> list[tuple[float | None, ...]]:
    """Of all combinations of readings those in which time runs forwards, and as long as stated."""
    every = list(product(*readings))

    def off(times: tuple[float | None, ...]) -> tuple[int, float]:
        known = dict(zip(names, times, strict=True))
        back = sum(a is not None and b is not None and b < a for a, b in pairwise(times))
        start, end = known.get("start_s"), known.get("end_s")
        if start is None or end is None or length is None:
            return back, 0.0
        return back, abs(end - start - length)

    least = min(map(off, every))
    return [times for times in every if off(times) == least]
