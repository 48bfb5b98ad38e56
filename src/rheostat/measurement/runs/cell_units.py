"""Cells that say their own unit, as ``350 W``, ``0.31 kWh`` or ``35 s``, read in base units.

A column is read so where its name speaks of an amount and has no unit, and every cell that is not
empty is a number with a unit of the same kind.  A time may also mix these with ``hh:mm:ss``, and
energy may be spelled as Slurm does, ``2.70K`` for 2,700 joules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from rheostat.core.jobs import Note
from rheostat.core.units import parse_duration, parse_quantity
from rheostat.errors import DataError
from rheostat.measurement.runs.header_units import split_unit
from rheostat.measurement.slurm.spelling import amount, seconds

AMOUNT = re.compile(r"power|energy|consum|time|elapsed|duration|wall|freq|clock|cap", re.IGNORECASE)
UNITS = ("s", "W", "J", "Hz")
MEMORY = re.compile(r"mem|\bram\b|speicher|m[eé]moire", re.IGNORECASE)
"""Bytes: ``16 GiB``, or ``16G`` as schedulers write it, by 1024."""
WORDS = re.compile(
    r"\b(?:(s)ec(?:ond)?|(m)in(?:ute)?|(h)(?:ou)?r|(d)ay)(?:\(s\)|s)?(?!\w|\()", re.I
)
"""``4251 second(s)`` of LSF, ``1 hour 5 mins``: the first letter is the unit."""
LONG = re.compile(r"(?<=[\d\s])watts?$|(?<=[\d\s])joules?$", re.IGNORECASE)
"""``23.1 Watt``, ``2040 Joules``."""
ISO = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")
"""``PT1H2M3S``, a length of time by ISO 8601."""
DAYS = re.compile(r"^\s*(\d+) days?,? (?=\d+:\d)")
"""``0 days 00:04:25`` of pandas, ``1 day, 2:03:04`` of Python."""
HOURS = re.compile(r"[ _]*[(\[]\s*h{1,2}:m{1,2}\s*[)\]]$", re.IGNORECASE)
ENERGY = re.compile(r"energy|consum|joule", re.IGNORECASE)
_N = r"\d[\d.,]*(?:[eE][-+]?\d+)?"
SPREAD = (
    rf"^\s*\(?([-+]?{_N})\s*([A-Za-zµ]*)\s*(?:(?:±|\+/?-|\+-)\s*{_N}\s*%?\)?|\({_N}\s*%?\))"
    r"\s*([A-Za-zµ]*)\s*$"
)
"""A mean and what it varies by: ``41.2 ± 0.4 s``, ``41.2 s ± 1 %``, ``41.2 (0.4)``, ``41.2(4)``."""
AROUND_SPREAD = re.compile(r"\s*(?:±|\+/?-|[()%])\s*")
"""Between a mean and what it varies by."""
PLAIN = rf"^\s*[-+]?{_N}\s*[A-Za-zµ]*\s*$"
BRACKETS = r"\d\s*[A-Za-zµ]*\s*\("
PLAIN_NUMBERS = "write decimals with a point, thousands without a separator: 9.852 or 9852"
THOUSANDS = "cells as sacct writes ConsumedEnergy, 2.70K for 2,700: read in J"


def in_base_units(frame: pl.DataFrame, keep: Sequence[str] = ()) -> tuple[pl.DataFrame, list[Note]]:
    """Columns of cells with units as numbers in s, W, J, Hz or B, and a note for each.

    Columns to ``keep`` whose cells all have one unit stay in it: those are knobs, and values for
    them are typed as they stand in the file.

    >>> frame, notes = in_base_units(pl.DataFrame({"Power": ["350 W", "1.2 kW"]}))
    >>> frame["Power"].to_list(), notes[0].message
    ([350.0, 1200.0], 'Power: cells with units, read in W')
    """
    frame, notes = _means(_hours_and_minutes(frame))
    for name in [c for c in frame.columns if frame[c].dtype == pl.String]:
        memory = MEMORY.search(name) is not None
        if not (memory or AMOUNT.search(name)) or split_unit(name)[2]:
            continue
        if name in keep and (own := _own_unit(frame[name])) is not None:
            frame = frame.with_columns(own[0])
            notes.append(Note(f"{name}: cells in {own[1]}, and so are its values in --knob"))
            continue
        for unit in ("B",) if memory else UNITS:
            values = _numbers(frame[name], unit)
            if values is not None:
                frame = frame.with_columns(values)
                notes.append(Note(f"{name}: cells with units, read in {unit}"))
                break
        else:
            if ENERGY.search(name) and (values := _slurm_joules(frame[name])) is not None:
                frame = frame.with_columns(values)
                notes.append(Note(f"{name}: {THOUSANDS}"))
    return frame, notes


def _hours_and_minutes(frame: pl.DataFrame) -> pl.DataFrame:
    """Cells ``9:03`` under a heading that says ``(h:mm)`` as seconds: elsewhere they are minutes.

    >>> runs = pl.DataFrame({"Runtime (h:mm)": ["9:03", None]})
    >>> _hours_and_minutes(runs)["Runtime [s]"].to_list()
    [32580.0, None]
    """
    for name in [c for c in frame.columns if HOURS.search(c) and frame[c].dtype == pl.String]:
        parts = frame[name].str.extract_groups(r"^\s*(\d+):([0-5]\d)\s*$").struct.unnest()
        parts = parts.cast(pl.Float64)
        read = parts["1"] * 3600 + parts["2"] * 60
        if read.null_count() == frame[name].null_count():
            frame = frame.with_columns(read.alias(name)).rename({name: HOURS.sub(" [s]", name)})
    return frame


def _means(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Columns of means and their spreads as the means; a spread in brackets only of an amount.

    >>> _means(pl.DataFrame({"time [s]": ["41.2 ± 0.4", "39.8 +- 0.2"]}))[0].to_series().to_list()
    [41.2, 39.8]
    >>> _means(pl.DataFrame({"time [s]": ["1,041.2(4)", "39.8 ± 1 %"]}))[0].to_series().to_list()
    [1041.2, 39.8]
    """
    notes = []
    for name in [c for c in frame.columns if frame[c].dtype == pl.String]:
        cells = frame[name].drop_nulls()
        some = cells.str.contains(SPREAD)
        named = AMOUNT.search(name) or split_unit(name)[2]
        if not some.any() or not (some | cells.str.contains(PLAIN)).all():
            continue
        if not named and cells.str.contains(BRACKETS).any():
            continue
        means = pl.col(name).str.replace(SPREAD, "$1 $2$3").str.strip_chars()
        if cells.str.contains(r",\d{3}\.").any():  # elsewhere it may be a decimal comma
            means = means.str.replace_all(r",(\d{3}\b)", "$1")
        frame = frame.with_columns(means)
        numbers = frame[name].cast(pl.Float64, strict=False)
        frame = frame.with_columns(numbers) if numbers.count() == cells.len() else frame
        notes.append(Note(f"{name}: means with their spreads; the spreads are not read"))
    return frame, notes


def seconds_of_cell(text: str) -> float | None:
    """Seconds in ``hh:mm:ss``, ``D-HH``, ``1 day, 02:03:04`` or ``1h30m``; None if it is no time.

    >>> seconds_of_cell("00:01:30"), seconds_of_cell("35 s"), seconds_of_cell("soon")
    (90.0, 35.0, None)
    >>> [seconds_of_cell(text) for text in ("4251 second(s)", "1 hour 5 mins", "80 ms", "2 hrs")]
    [4251.0, 3900.0, 0.08, 7200.0]
    >>> seconds_of_cell("4h38"), seconds_of_cell("438")
    (16680.0, None)
    >>> seconds_of_cell("0 days 00:04:25.5"), seconds_of_cell("1 day, 2:03:04")
    (265.5, 93784.0)
    >>> seconds_of_cell("PT1H2M3.5S"), seconds_of_cell("P1DT2H")
    (3723.5, 93600.0)
    """
    if (iso := ISO.fullmatch(text.strip())) and any(iso.groups()):
        return sum(
            float(n or 0) * s for n, s in zip(iso.groups(), (86400, 3600, 60, 1), strict=True)
        )
    clock = seconds(DAYS.sub(r"\1-", text))
    if clock is not None:
        return clock
    return _number(text, "s")


def _own_unit(cells: pl.Series) -> tuple[pl.Series, str] | None:
    """The numbers in the unit that most cells have; None where some have none, or of another kind.

    >>> _own_unit(pl.Series(["900 MHz", "1110 MHz"]))[0].to_list()
    [900, 1110]
    >>> numbers, unit = _own_unit(pl.Series(["1.2 GHz", "1800000 kHz", "2.4 GHz"]))
    >>> numbers.to_list(), unit
    ([1.2, 1.8, 2.4], 'GHz')
    >>> _own_unit(pl.Series(["1 s", "2"]))
    """
    parts = cells.str.extract_groups(
        r"^\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*([A-Za-z]+)\s*$"
    ).struct.unnest()
    units = parts["2"].filter(cells.is_not_null()).value_counts(sort=True)["2"].to_list()
    numbers = parts["1"].cast(pl.Float64, strict=False)
    if not units or None in units:
        return None
    base = next((u for u in UNITS if _number(f"1 {units[0]}", u) is not None), "")
    factors = {u: _number(f"1 {u}", base) if base else None for u in units}
    if None in factors.values():
        return None
    shares = {u: float(f or 0.0) / float(factors[units[0]] or 1.0) for u, f in factors.items()}
    if len(units) > 1:
        numbers = (numbers * parts["2"].replace_strict(shares, default=None)).round(9)
    whole = bool((numbers.drop_nulls() % 1 == 0).all())
    return (numbers.cast(pl.Int64) if whole else numbers).alias(cells.name), units[0]


def _numbers(cells: pl.Series, unit: str) -> pl.Series | None:
    values = [None if c is None else _number(c, unit) for c in cells]
    said = [v for c, v in zip(cells, values, strict=True) if c is not None]
    if not said or None in said:
        return None
    return pl.Series(cells.name, values, pl.Float64)


def _slurm_joules(cells: pl.Series) -> pl.Series | None:
    """Joules in cells as ``2.70K``, ``850`` or nothing; None where one says something else."""
    values = [None if c is None else amount(c, base=1000) for c in cells]
    if any(v is None for c, v in zip(cells, values, strict=True) if c is not None):
        return None
    return pl.Series(cells.name, values, pl.Float64) if cells.count() else None


def _number(text: str, unit: str) -> float | None:
    """In the base unit; None for what has no unit, or another.

    >>> _number("-1.5 kJ", "J"), _number("3", "J")
    (-1500.0, None)
    """
    if unit in ("W", "J") and text.strip().startswith("-"):  # a meter that failed
        value = _number(text.strip()[1:], unit)
        return None if value is None else -value
    plain = amount(text.upper()) if unit == "B" else None
    if plain is not None and (plain == 0 or not text.strip()[-1].isdigit()):
        return plain
    text = LONG.sub(lambda word: word[0][0].upper(), text)
    if unit == "s":
        text = WORDS.sub(lambda word: word[0][0].lower(), text)
    ends = r"([A-Za-z]|\d ?(h|min|m) ?[0-5]\d)$" if unit == "s" else r"[A-Za-z]$"
    if not re.search(ends, text.strip()):
        return None
    try:
        return parse_duration(text) if unit == "s" else parse_quantity(text, unit)
    except DataError:
        return None
