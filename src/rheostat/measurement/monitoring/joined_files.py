"""Files of several hosts put one behind the other: the clock goes back where the next begins."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl

from rheostat.core.jobs import Note
from rheostat.core.outcome import Array

FEWEST = 5
"""Samples of a part, at least."""
HOUR_S = 3600.0
"""So far back goes a clock without a zone when summer time ends."""


def parts_told_apart(device: list[str], t: pl.Series) -> tuple[list[str], list[Note]]:
    """Names of devices with the part of the file that they are in, where parts overlap in time.

    >>> t = pl.Series([*range(6), *range(6)], dtype=pl.Float64)
    >>> names, notes = parts_told_apart(["GPU 0"] * 12, t)
    >>> names[5:7], len(notes)
    (['GPU 0 of part 1', 'GPU 0 of part 2'], 1)
    """
    seconds = t.to_numpy()
    starts = _starts(device, seconds)
    if not starts:
        return device, []
    bounds = [0, *starts, len(seconds)]
    spans = [seconds[a:b][np.isfinite(seconds[a:b])] for a, b in pairwise(bounds)]
    if any(len(s) < FEWEST for s in spans) or not _overlap(spans):
        return device, []
    number = np.searchsorted(starts, np.arange(len(seconds)), side="right") + 1
    said = f"the clock goes back {len(starts)} times: taken as {len(spans)} files of other hosts"
    return [f"{d} of part {k}" for d, k in zip(device, number, strict=True)], [
        Note(f"{said}, one behind the other")
    ]


def _starts(device: list[str], seconds: Array) -> list[int]:
    """Places where a device's clock goes back, by more than one sample and no hour."""
    last: dict[str, float] = {}
    starts = []
    for place, (name, now) in enumerate(zip(device, seconds, strict=True)):
        if np.isfinite(now):
            back = last.get(name, now) - now
            if back > 0 and not np.isclose(back, HOUR_S, rtol=0.05):
                starts.append(place)
                last.clear()
            last[name] = float(now)
    return starts


def _overlap(spans: list[Array]) -> bool:
    """Whether each part goes on while another one does."""
    ends = [(float(s.min()), float(s.max())) for s in spans]
    return all(
        any(low < h and high > w for j, (w, h) in enumerate(ends) if j != i)
        for i, (low, high) in enumerate(ends)
    )
