"""Meters that say one and the same reading for minutes while they, or others, change.

Power scatters from sample to sample by more than a thousandth.  A reading with decimals that comes
again exactly, many times over minutes, is the last one that a sensor took.  It is no sign where the
meter is coarse, is seldom brought up to date, or where nothing is in use.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from rheostat.core.jobs import Note
from rheostat.core.outcome import Array

FEWEST, LEAST_S = 60, 120.0
"""Samples and seconds of one reading, at least, before it is a sign."""
FINE = 1000.0
"""Of its smallest steps a reading has so many at least: coarser ones repeat on their own."""
OWN, CHANGING = 20, 0.5
"""Other steps of a device by which it is judged, and the share of them that change."""
LIMIT_W, ABOVE = 5.0, 0.005
"""Limits of power are whole multiples, and a device at its limit goes above it by no such share."""
DIGITS, COARSE = 6, 10.0
"""Decimals of a reading, and of its last one so many in a step of a meter with levels."""


@dataclass(frozen=True)
class WatchedPower:
    """A device's seconds, watts and shares in use (NaN where not known), in order of time."""

    name: str
    t: Array
    watts: Array
    busy: Array


def stuck_meters(frame: pl.DataFrame) -> list[Note]:
    """Notes on stretches of one reading, of samples as `PowerSamples` has them.

    >>> t = [2.0 * k for k in range(200)]
    >>> rows = [("a", s, 300.25 + s % 7, None) for s in t]
    >>> rows += [("b", s, 71.32 if s > 60 else 70 + s % 7 / 9, None) for s in t]
    >>> samples = pl.DataFrame(rows, schema=["device", "t", "reading", "busy"], orient="row")
    >>> [note.message[:55] for note in stuck_meters(samples)]
    ['b: reads exactly 71.32 W from 62 s to 398 s after its f']
    """
    every = [_series(part) for part in frame.partition_by("device", maintain_order=True)]
    notes = []
    for one in every:
        for first, last in _stretches(one):
            others = [o for o in every if o is not one]
            if beside := _changes_beside(one, first, last, others):
                notes.append(_note(one, first, last, beside))
    return notes


def _series(part: pl.DataFrame) -> WatchedPower:
    known = part.drop_nulls(["t", "reading"]).unique("t", maintain_order=True).sort("t")
    t, watts = (known[c].to_numpy().astype(float) for c in ("t", "reading"))
    busy = known["busy"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return WatchedPower(part["device"][0], t, watts, busy)


def _stretches(one: WatchedPower) -> list[tuple[int, int]]:
    """First and last places of readings that repeat long enough, finely, and not at rest."""
    ends = np.flatnonzero(np.diff(one.watts) != 0)
    spans = zip([0, *(ends + 1)], [*ends, len(one.t) - 1], strict=True)
    long = [(a, b) for a, b in spans if b + 1 - a >= FEWEST and one.t[b] - one.t[a] >= LEAST_S]
    step = _step(one.watts) if long else 1.0
    fine = [(a, b) for a, b in long if step < 1.0 and one.watts[a] >= FINE * step]
    return [
        (int(a), int(b))
        for a, b in fine
        if not ((one.busy[a : b + 1] == 0).all() or _at_limit(one.watts[a], one.watts))
    ]


def _at_limit(reading: float, watts: Array) -> bool:
    """Whether a reading may be that of a device held at its power limit.

    >>> _at_limit(300.0, np.array([61.3, 300.0])), _at_limit(71.32, np.array([61.3, 71.32]))
    (True, False)
    >>> _at_limit(300.0, np.array([61.3, 312.4]))
    False
    """
    return reading % LIMIT_W == 0 and float(watts.max()) <= reading * (1 + ABOVE)


def _step(watts: Array) -> float:
    """The decimal place of the finest reading, or the coarser step that all readings are by.

    >>> _step(np.array([71.3, 70.25, 69.1])), _step(np.array([300.0, 310.0]))
    (0.01, 1.0)
    >>> round(_step(np.array([71.32, 75.62, 79.92, 92.82])), 6)
    4.3
    """
    seen = np.unique(watts)
    places = (k for k in range(DIGITS) if np.allclose(seen, np.round(seen, k), rtol=0, atol=1e-7))
    place = float(10.0 ** -next(places, DIGITS))
    if len(seen) <= 2 or (least := float(np.diff(seen).min())) < COARSE * place:
        return place
    off = (seen - seen[0]) / least
    return least if (np.abs(off - np.round(off)) * least <= place).all() else place


def _changes_beside(one: WatchedPower, first: int, last: int, others: list[WatchedPower]) -> str:
    """What changes from sample to sample beside a stretch; "" where nothing is known to."""
    own = np.concatenate([np.diff(one.watts[: first + 1]), np.diff(one.watts[last:])])
    if len(own) >= OWN:
        return "its other readings" if np.mean(own != 0) >= CHANGING else ""
    for other in others:
        during = (other.t >= one.t[first]) & (other.t <= one.t[last])
        steps = np.diff(other.watts[during])
        if len(steps) >= OWN and np.mean(steps != 0) >= CHANGING:
            return f"those of {other.name}"
    return ""


def _note(one: WatchedPower, first: int, last: int, beside: str) -> Note:
    since, until = (one.t[k] - one.t[0] for k in (first, last))
    share = one.busy[first : last + 1].mean()
    known = bool(np.isfinite(share))
    used = f", {100 * share:.0f} % in use" if known else ""
    rests = "" if known else ", or the device rests"
    joules = one.watts[first] * (until - since)
    return Note(
        f"{one.name}: reads exactly {one.watts[first]:g} W from {since:.4g} s to {until:.4g} s "
        f"after its first sample{used}, while {beside} change from one to the next: its sensor "
        f"seems to be stuck{rests}: {joules:.6g} J of its energy hang on that reading and are not "
        "measured; compare another meter",
        count=last + 1 - first,
    )
