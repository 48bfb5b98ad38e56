"""How far the last digit of a column may be off, and which of energy, power and time decides.

Energy is power times run time.  A column of 0.01 kWh may be off by half of that: where the other
two are finer and agree with it as far as its digits go, they say what it would have said with more.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from rheostat.core.jobs import Note
from rheostat.core.outcome import Array

MATTERS = 0.01
"""Half of a last digit above this share of a value changes what is chosen."""
ALIKE = 0.03
"""Runs of one setting usually differ by this: a coarser column is noted where rows tie in it."""
FINER = 0.5
"""What stands for a column is off by at most this share of what that is off by."""
FAR, MOST = 2.0, 0.75
"""A reading that is off by this factor is wrong, and so many of all have to agree."""
PLACES = 9
"""Digits behind the point that are looked at."""
OF_PART = re.compile(
    r"gpu|cpu|pkg|package|rapl|d?ram|mem(?:ory)?|core|socket|card|accelerator", re.IGNORECASE
)
"""Words of headings of what is a part of a machine: two quantities may be of unlike parts."""
OTHERS = {
    "energy_j": ("power_w", "runtime_s", "power_w x runtime_s"),
    "runtime_s": ("energy_j", "power_w", "energy_j over power_w"),
    "power_w": ("energy_j", "runtime_s", "energy_j over runtime_s"),
}
"""What a quantity is made of, and in words."""
QUANTITIES = ("energy_j", "power_w", "runtime_s")


@dataclass(frozen=True)
class Rounded:
    """How far the digits of the file leave energy, power and run time open, in our units.

    Parameters
    ----------
    half : mapping
        Half of the last digit, by our names; nothing where it is not known.
    headings : mapping
        The column of the file, by our names.
    asked : collection
        Our names that somebody mapped: these stay as they are.
    """

    half: Mapping[str, float]
    headings: Mapping[str, str]
    asked: Collection[str] = ()


EXACT = Rounded({}, {})
"""Where nobody knows how the file wrote its numbers."""


def rounded(
    table: pl.DataFrame,
    frame: pl.DataFrame,
    sources: Mapping[str, str],
    asked: Collection[str] = (),
) -> Rounded:
    """What ``table`` has from columns of ``frame``, and how far their digits leave it open.

    >>> runs = pl.DataFrame({"energy_kWh": [0.01, 0.02]})
    >>> ours = runs.select(energy_j=pl.col("energy_kWh") * 3.6e6)
    >>> rounded(ours, runs, {"energy_j": "energy_kWh"}).half
    {'energy_j': 18000.0}
    """
    half = {}
    for ours, theirs in sources.items():
        if ours in QUANTITIES and table[ours].dtype.is_numeric():
            unit = _last_digit(frame[theirs], table[ours])
            if unit is not None:
                half[ours] = unit / 2
    return Rounded(half, sources, asked)


def _last_digit(theirs: pl.Series, ours: pl.Series) -> float | None:
    """The last digit of the file's column in our unit; None where ours is no multiple of theirs.

    >>> _last_digit(pl.Series([0.5, 0.25]), pl.Series([1800.0, 900.0]))
    36.0
    >>> _last_digit(pl.Series([0.5, 0.25]), pl.Series([2.0, 4.0]))
    """
    if theirs.dtype == pl.String:
        return _place(ours.drop_nulls().cast(pl.Float64).to_numpy())
    if not theirs.dtype.is_numeric():
        return None
    both = pl.DataFrame({"a": theirs.cast(pl.Float64), "b": ours.cast(pl.Float64)})
    both = both.filter(pl.col("a").is_finite() & (pl.col("a") != 0) & pl.col("b").is_finite())
    values, scales = both["a"].to_numpy(), (both["b"] / both["a"]).to_numpy()
    if not len(values) or np.ptp(scales) > 1e-9 * abs(scales[0]):
        return None
    return _place(values) * abs(float(scales[0]))


def _place(values: Array) -> float:
    """The place of the last digit of numbers: 1 of whole ones, .01 of 0.05; 0 beyond `PLACES`.

    >>> _place(np.array([120.0, 5.0])), _place(np.array([0.05, 2.5])), _place(np.array([1 / 3]))
    (1.0, 0.01, 0.0)
    """
    for place in range(PLACES + 1):
        counted = values * 10.0**place
        if (np.abs(counted - np.round(counted)) <= 1e-9 + 1e-14 * np.abs(counted)).all():
            return float(10.0**-place)
    return 0.0


def open_share(table: pl.DataFrame, by: Rounded) -> pl.Series:
    """By which share energy over power times run time may be off by their last digits, each row.

    >>> runs = pl.DataFrame({"energy_j": [100.0], "power_w": [10.0], "runtime_s": [10.0]})
    >>> open_share(runs, Rounded({"energy_j": 50.0, "power_w": 0.5}, {})).to_list()
    [0.55]
    """
    share = pl.repeat(0.0, pl.len())
    for ours, half in by.half.items():
        share = share + (half / pl.col(ours).abs()).fill_null(0.0)
    return table.select(share.alias("share")).to_series()


def finer_of_three(table: pl.DataFrame, by: Rounded) -> tuple[pl.DataFrame, list[Note]]:
    """The table with one of energy, run time and power from the others where these are finer.

    >>> runs = pl.DataFrame({"runtime_s": [78, 73], "power_w": [440, 590],
    ...                      "energy_j": [36e3, 36e3]})
    >>> half = {"runtime_s": 0.5, "power_w": 0.5, "energy_j": 18e3}
    >>> whose = {"energy_j": "energy_kWh", "power_w": "power_W", "runtime_s": "time_s"}
    >>> finer_of_three(runs, Rounded(half, whose))[0]["energy_j"].to_list()
    [34320.0, 43070.0]
    """
    notes = []
    for ours in (q for q in OTHERS if q in by.half):
        made = _from_others(table, ours, by)
        if made is not None:
            table = table.with_columns(pl.coalesce(made, pl.col(ours)).alias(ours))
            notes.append(_instead(table, ours, by))
        elif note := _coarse(table, ours, by):
            notes.append(note)
    return table, notes


def _from_others(table: pl.DataFrame, ours: str, by: Rounded) -> pl.Series | None:
    """A quantity from the other two; None where they are no finer, or say something else."""
    one, other, _ = OTHERS[ours]
    if ours in by.asked or not {ours, one, other} <= {*by.half} or _of_unlike_parts(by):
        return None
    a, b, own = (table[c].cast(pl.Float64).to_numpy() for c in (one, other, ours))
    known = np.flatnonzero((a > 0) & (b > 0) & (own >= 0))
    if not len(known):
        return None
    a, b, own = a[known], b[known], own[known]
    made = a * b if ours == "energy_j" else a / b
    off, half = made * (by.half[one] / a + by.half[other] / b), by.half[ours]
    if half <= MATTERS * np.median(own) or np.median(off) > FINER * half:
        return None
    agrees = _agreeing(made, own, off, half)
    if agrees is None:
        return None
    filled = np.full(table.height, np.nan)
    filled[known[agrees]] = made[agrees]
    return pl.Series(ours, filled).fill_nan(None)


def _agreeing(made: Array, own: Array, off: Array, half: float) -> Array | None:
    """Which values agree with rounded ones, also where digits were cut off; None if too few do.

    Those that do not have to be far off, as where one of a few readings is wrong.

    >>> _agreeing(np.array([1.9, 1.2, 1.6, 9.0]), np.array([2.0, 1, 2, 1]), np.zeros(4), 0.5)
    array([ True,  True,  True, False])
    >>> _agreeing(np.array([1.9, 1.2, 1.6, 1.6]), np.array([2.0, 1, 2, 1]), np.zeros(4), 0.5)
    """
    whole = np.abs(made - own) <= half + off
    cut = (made - own >= -off) & (made - own <= 2 * half + off)
    for agrees in (whole, cut):
        wrong = (made - off > FAR * (own + half)) | (FAR * (made + off) < own - half)
        if (agrees | wrong).all() and agrees.mean() >= MOST:
            return np.asarray(agrees)
    return None


def _of_unlike_parts(by: Rounded) -> bool:
    """Whether headings say that energy and power are of unlike parts of a machine."""
    energy, power = (
        {w.lower() for w in OF_PART.findall(by.headings[q])} for q in ("energy_j", "power_w")
    )
    return energy != power


def _instead(table: pl.DataFrame, ours: str, by: Rounded) -> Note:
    said = OTHERS[ours][2]
    return Note(
        f"{_rounded_to(table, ours, by)}: {said} is finer and agrees with it, and counts instead; "
        f"--column {ours}={by.headings[ours]} takes it as it stands"
    )


def _coarse(table: pl.DataFrame, ours: str, by: Rounded) -> Note | None:
    """That rows tie in a column whose last digit is more than what runs differ by."""
    values = table[ours].drop_nulls()
    if _share(table, ours, by) <= ALIKE or values.n_unique() == len(values):
        return None
    return Note(
        f"{_rounded_to(table, ours, by)}: runs that differ by less look alike; take it with more "
        "digits"
    )


def _rounded_to(table: pl.DataFrame, ours: str, by: Rounded) -> str:
    unit, share = {"_j": "J", "_s": "s", "_w": "W"}[ours[-2:]], _share(table, ours, by)
    step = f"rounded to {2 * by.half[ours]:g} {unit}"
    return f"{by.headings[ours]} is {step}, so off by up to {100 * share:.0f} % of a usual run"


def _share(table: pl.DataFrame, ours: str, by: Rounded) -> float:
    """Half of the last digit as a share of the median."""
    values = table[ours].cast(pl.Float64).drop_nulls()
    usual = values.filter(values > 0).median()
    return by.half[ours] / usual if isinstance(usual, float) else 0.0
