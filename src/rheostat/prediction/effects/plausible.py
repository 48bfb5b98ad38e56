"""Which forecasts of a job at another setting are not believed, whoever asks for them?

A forecast that contradicts physics points at the log, not at the machine, unless chance or a
designed measurement chose the settings: fewer nodes that take far less time, or time that falls
faster than with the square of the nodes (beyond what caches do).  Less power per node than any run
ever drew, which is more than an idle node draws, contradicts physics whoever chose the settings.

Where only a recorded size tells effect from choice, the log is as well described by a form in
which the request moves along with the setting (at equal sizes, jobs as they were seen to run) as by
one in which it stays.  Where the two disagree by more than their intervals, one of them is wrong,
and neither is advised by.

Notation
--------
n  rows      B  draws      more : (n,) amount over the amount asked for, as nodes
change : (B, n) log of a quantity less its log at the setting asked for
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.jobs import Note
from rheostat.core.outcome import Array
from rheostat.prediction.effects.shapes import PARALLEL, logs

Mask = NDArray[np.bool_]
LESS_TIME = 0.65
"""Fewer nodes and less than this share of the time: no sweep of nodes that we know shows it (the
thirteen of SPEChpc at most 0.70, beyond the count at which a code is fastest)."""
IDLE = 0.8
"""A node that draws less than this share of the least that any run drew per node is below idle."""
STEEPEST = 2.0
"""Time falls at most with this power of the nodes."""
BY_DESIGN = ("trial", "repeats", "design")
IMPOSSIBLE = "forecast contradicts physics: no prediction"
DISAGREE = "two forms of the forecast disagree by more than their intervals: no prediction"
BEFORE = "the setting tells what the run before took, which it cannot cause: no prediction"
UNTOLD = "nothing tells effect from choice in this application: no prediction"
BEYOND = "farther from the request than any job of the trial: no prediction"
FAILED = "jobs that the trial turned this way failed: no prediction"
UNSIZED = "the size of its problem is not recorded: no prediction"
UNSEEN = "no run of any application near this setting: no prediction"
REASONS = (IMPOSSIBLE, DISAGREE, BEFORE, UNTOLD, BEYOND, FAILED, UNSIZED)
LEVEL = 0.9
SMALL_CHANGE = 0.05
"""Log change by which a placebo may move an advised change unsaid."""


def least_watts(frame: pl.DataFrame, knobs: Sequence[str], power_w: Array) -> dict[str, float]:
    """The least that any run drew per node (gpu, core, ...): a node that idles draws less.

    ``power_w`` (n, 1) are the watts of the runs, (n, 0) where none are known.
    """
    if not power_w.shape[1]:
        return {}
    parallel = [k for k in knobs if k in PARALLEL]
    return {k: float(np.nanmin(power_w[:, 0] / np.exp(logs(frame[k])))) for k in parallel}


def backwards(change: Array, more: Array) -> Mask:
    """(n,): times that fall with fewer nodes, or too steeply with more.

    >>> backwards(np.log([[0.64, 0.66, 0.24, 0.26]]), np.array([0.5, 0.5, 2.0, 2.0])).tolist()
    [True, False, True, False]
    """
    slower = np.exp(change).mean(axis=0)
    return np.asarray(
        ((more < 1) & (slower < LESS_TIME)) | ((more > 1) & (slower < more**-STEEPEST))
    )


def beyond(turned: Array, ends: Array) -> Mask:
    """(n,): rows whose knobs are turned, (n, knobs) in logarithm, farther than ``ends`` (2, knobs).

    A knob that no job of the trial turned, with both ends 0, is left to the log.
    """
    return np.asarray(
        (((turned < ends[0] - SMALL) | (turned > ends[1] + SMALL)) & ends.any(0)).any(1)
    )


def below_idle(power_w: Array, amount: Array, least_w: float) -> Mask:
    """(n,): fewer watts (B, n) for each of ``amount`` (n,) than a node that idles draws."""
    return np.asarray(power_w.mean(axis=0) < IDLE * least_w * amount)


def disagreeing(change: Array, other: Array) -> Mask:
    """(n,): rows of which the intervals of two forms of the change have nothing in common.

    >>> one = np.array([[-0.1, -0.1], [0.1, 0.1]])
    >>> disagreeing(one, one + np.array([0.1, 0.3])).tolist()
    [False, True]
    """
    tails = (1 - LEVEL) / 2, (1 + LEVEL) / 2
    low, high = np.quantile(change, tails, axis=0)
    other_low, other_high = np.quantile(other, tails, axis=0)
    return np.asarray((low > other_high + SMALL) | (other_low > high + SMALL))


def unsized_words(sizes: Sequence[str], blank: Mask) -> str:
    """What it means that the runs where ``blank`` (n,) miss a recorded size.

    >>> unsized_words(["memory_b"], np.array([True, False, False])).split(": ")[0]
    '1 of 3 runs have no memory_b'
    """
    return (
        f"{int(blank.sum()):,} of {len(blank):,} runs have no {' and '.join(sizes)}: nothing is "
        "learnt from those, and a job without it gets no advice"
    )


def notes(reasons: Mapping[str, Mask]) -> tuple[Note, ...]:
    """A note for each reason that keeps the forecast of any row back."""
    return tuple(
        Note(said, tuple(np.flatnonzero(rows)[:20].tolist()), int(rows.sum()))
        for said, rows in reasons.items()
        if rows.any()
    )


SMALL = 1e-6
