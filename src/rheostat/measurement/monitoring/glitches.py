"""Readings of power that no device drew, and series that add up the others.

A controller that cannot read its sensor says what its register holds: nothing, less than nothing,
or all bits set.  Such a reading is left out and counted.  One that is merely odd stays, and what
it comes to is said.
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.jobs import Note
from rheostat.core.outcome import Array

ALL_BITS = np.array([*(2.0**b - 1 for b in (15, 16, 31, 32)), 65534.0, 6553.5, 3276.7, 655.35])
"""What registers of 15 to 32 bits hold at most, also in tenths and hundredths of a watt."""
ODD = 10.0
"""By this factor a lone reading lies above the next lower one."""
ADDED, FEWEST = 0.01, 2
"""How far a series may be from the sum of the others, and how many others there have to be."""
NAMED_SUM = re.compile(r"(grand[ _-]?)?(total|sum|sums|overall|gesamt|summe|somme|suma|totale)")


def undrawn(watts: Array) -> NDArray[np.bool_]:
    """Which readings of a device, in the order of time, it cannot have drawn.

    A lone zero between readings is none; zeros that follow each other are a device that is off.

    >>> undrawn(np.array([300.0, 0.0, 310.0, 65535.0, -5.0, 300.0, 0.0, 0.0])).nonzero()[0].tolist()
    [1, 3, 4]
    """
    beside = np.minimum(np.roll(watts, 1), np.roll(watts, -1))
    lone_zero = (watts == 0) & (beside > 0)
    lone_zero[[0, -1]] = False
    full = np.isin(watts, ALL_BITS) & (watts > ODD * np.median(watts))
    return np.asarray((watts < 0) | lone_zero | full, dtype=np.bool_)


def without_glitches(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Samples of devices without those that `undrawn` names, and what is said of them.

    Parameters
    ----------
    frame : DataFrame
        Columns ``device``, ``t`` (s) and ``reading`` (W).

    Returns
    -------
    DataFrame and list of Note
        The rows that are left, in order of devices and time.
    """
    parts, notes = [], []
    for part in frame.partition_by("device", maintain_order=True):
        known = part.drop_nulls(["t", "reading"]).unique("t", maintain_order=True).sort("t")
        watts = known["reading"].to_numpy()
        away = undrawn(watts) if len(watts) > FEWEST else np.zeros(len(watts), dtype=bool)
        odd = pl.col("t").is_in(known["t"].to_numpy()[away].tolist()).fill_null(value=False)
        parts.append(part.filter(~odd))
        notes += _left_out(part["device"][0], watts[away])
        notes += _odd(part["device"][0], watts[~away])
    return pl.concat(parts), notes


def _left_out(device: str, watts: Array) -> list[Note]:
    if not len(watts):
        return []
    said = ", ".join(f"{w:g}" for w in dict.fromkeys(watts.tolist()))
    return [Note(f"{device}: readings that it cannot have drawn are left out ({said} W), as of a "
                 "sensor that did not answer", count=len(watts))]  # fmt: skip


def _odd(device: str, watts: Array) -> list[Note]:
    """A note on one reading far above all others, which counts."""
    if len(watts) <= FEWEST:
        return []
    second, most = np.sort(watts)[-2:]
    if not 0 < ODD * second < most:
        return []
    return [Note(f"{device}: one reading of {most:g} W counts, all others are at most "
                 f"{second:g} W: leave its line out if it is none", count=1)]  # fmt: skip


def without_sums(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note], bool]:
    """Samples without a series that adds up the others, and whether what is left adds up.

    What is always the same may be their sum by chance, unless it is called so.  A series that is
    called a sum and is none stays, and then nothing is added up.

    >>> rows = [(d, t, w + t) for t in range(3) for d, w in (("a", 3), ("b", 4), ("T", 7 + t))]
    >>> samples = pl.DataFrame(rows, schema=["device", "t", "reading"], orient="row")
    >>> left, notes, adds = without_sums(samples)
    >>> left["device"].unique(maintain_order=True).to_list(), adds
    (['a', 'b'], True)
    """
    known = frame.drop_nulls(["t", "reading"]).unique(["t", "device"])
    names = frame["device"].unique(maintain_order=True).to_list()
    if len(names) <= FEWEST:
        return frame, [], not any(map(_is_sum, names))
    table = known.pivot("device", index="t", values="reading").drop_nulls()
    whole = table.select(pl.sum_horizontal(names)).to_series()
    for name in names if table.height > FEWEST else ():
        rest = whole - table[name]
        varies = _is_sum(name) or table[name].n_unique() > FEWEST
        if varies and ((table[name] - rest).abs() <= ADDED * rest).all() and (rest > 0).any():
            said = f"{name} is the sum of the other {len(names) - 1} at each moment: left out"
            return frame.filter(pl.col("device") != name), [Note(said)], True
    return frame, [], not any(map(_is_sum, names))


def _is_sum(name: str) -> bool:
    return NAMED_SUM.fullmatch(name.strip().lower()) is not None
