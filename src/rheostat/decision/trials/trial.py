"""A randomised trial: a small share of jobs run at another setting than asked for, drawn by chance.

What a log cannot tell, a trial does: chance has no reason to give larger problems more nodes.  Each
job takes part with a known probability that may depend on what is seen at submission (large jobs,
where most is to be saved, more often) but on nothing else; the draw itself depends on the job's
number and the seed alone, so that the same list gives the same plan.

Notation
--------
n  jobs      p : (n,) probability of taking part, mean ``share``, at most a half
factor of a job that takes part: one of ``factors`` that changes its setting, equally likely

References
----------
Fisher, R. A.: The design of experiments (1935).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment
from rheostat.core.outcome import Array
from rheostat.errors import DataError

FACTORS = (0.25, 4.0)
"""A quarter and four times what was asked for: far apart, so that few jobs tell much."""
WEIGHT = 1.5
"""Probability goes with this power of the knob."""
MOST = 0.5


@dataclass(frozen=True)
class Trial:
    """The plan: ``table`` has job_id, KNOB_requested, KNOB, probability and takes_part per job."""

    table: JobTable
    knob: str
    share: float
    factors: tuple[float, ...]

    @property
    def taking_part(self) -> int:
        """Jobs that run at another setting than asked for."""
        return int(self.table.frame["takes_part"].sum())


def plan_trial(
    jobs: JobTable,
    share: float = 0.05,
    knob: str = "nodes",
    *,
    factors: Sequence[float] = FACTORS,
    low: float = 1,
    high: float = 256,
    seed: int = 0,
) -> Trial:
    """Which of ``jobs`` run at another setting, and at which.

    Parameters
    ----------
    jobs : JobTable
        Jobs to come, with job_id and ``knob``.
    share : float
        Expected share of jobs that take part.
    knob : str
        The setting that is turned.
    factors : numbers
        What the setting asked for is multiplied by; whole numbers stay whole.
    low, high : float
        Settings that exist; a job that no factor changes, or without a number, takes no part.
    seed : int
        Of the draw.

    Returns
    -------
    Trial
        A row per job: setting requested, setting to run at, probability, whether it takes part.

    Raises
    ------
    DataError
        ``share`` is not between 0 and 1, a factor is not positive, or a column is missing.

    Examples
    --------
    >>> from rheostat import table
    >>> queue = table({"job_id": list(range(2000)), "nodes": [4, 16] * 1000})
    >>> trial = plan_trial(queue, share=0.05)
    >>> 70 < trial.taking_part < 130, sorted(set(trial.table.frame["nodes"]))
    (True, [1, 4, 16, 64])
    """
    problems = [] if 0 <= share < 1 else [f"share: expected 0 to 1, got {share}"]
    problems += [f"factor: expected above 0, got {f}" for f in factors if not f > 0]
    if problems or not factors:
        raise DataError("trial plan", problems or ["expected at least one factor"])
    jobs.require("job_id", knob)
    asked = jobs.numpy(knob)
    chance = probabilities(asked, share)
    first, second = _uniform(jobs.frame["job_id"], seed, 0), _uniform(jobs.frame["job_id"], seed, 1)
    whole = jobs.frame[knob].dtype.is_integer()
    turned = _drawn(asked, second, factors, (low, high), whole=whole)
    named = jobs.frame["job_id"].is_not_null().to_numpy()
    part = (first < chance) & (turned != asked) & named
    planned = pl.Series(np.where(part, turned, asked), nan_to_null=True)
    value = planned.cast(jobs.frame[knob].dtype)
    return Trial(_table(jobs, knob, value, chance, part), knob, share, tuple(factors))


def probabilities(asked: Array, share: float) -> Array:
    """Probability of each job, (n,): grows with the setting asked for, mean ``share``.

    >>> probabilities(np.array([1.0, 1.0, 4.0, 4.0]), 0.1).round(3)
    array([0.022, 0.022, 0.178, 0.178])
    """
    weight = np.where(asked > 0, asked, np.nan) ** WEIGHT
    weight = np.where(np.isfinite(weight), weight, 0.0)
    chance = np.zeros(len(asked))
    for _ in range(20):  # what the highest probability cuts off goes to the others
        free = chance < MOST
        rest = share * len(asked) - chance[~free].sum()
        total = weight[free].sum()
        if rest <= 0 or total <= 0:
            break
        chance = np.where(free, np.minimum(weight * rest / total, MOST), chance)
    return chance


def _drawn(
    asked: Array, number: Array, factors: Sequence[float], ends: tuple[float, float], *, whole: bool
) -> Array:
    """A setting for each job, equally likely among those that the factors lead to and that differ.

    ``number`` (n,) is uniform in [0, 1).  At the ends fewer are left; where none is, nothing turns.
    """
    each = np.clip(asked[:, None] * np.array(factors), *ends)
    each = np.maximum(np.rint(each), 1) if whole else each
    order = np.argsort(each == asked[:, None], axis=1, kind="stable")
    left = np.maximum((each != asked[:, None]).sum(axis=1), 1)
    place = np.take_along_axis(order, (number * left).astype(np.int64)[:, None], axis=1)
    return np.asarray(np.take_along_axis(each, place, axis=1)[:, 0])


def _uniform(ids: pl.Series, seed: int, which: int) -> Array:
    """A number in [0, 1) for each job that depends on its id, the seed and ``which`` alone."""
    salt = f"{seed}/{which}/".encode()
    digests = (
        blake2b(salt + i.encode(), digest_size=8).digest()
        for i in ids.cast(pl.String).fill_null("")
    )
    number = np.frombuffer(b"".join(digests), dtype=">u8")
    return np.asarray((number >> np.uint64(11)).astype(float) / 2.0**53)


def _table(jobs: JobTable, knob: str, value: pl.Series, chance: Array, part: Array) -> JobTable:
    kept = [c for c in ("job_id", "user", "app", "submit_s", "time_limit_s") if c in jobs.columns]
    asked = f"{knob}_requested"
    added = [
        Column(asked, jobs.schema[knob].unit, Moment.SUBMIT, f"{knob} as submitted"),
        Column(knob, jobs.schema[knob].unit, Moment.SUBMIT, f"{knob} to run at"),
        Column("probability", "", Moment.SUBMIT, "of taking part"),
        Column("takes_part", "", Moment.SUBMIT, "whether the job runs at another setting"),
    ]
    planned = jobs.select(kept).with_columns(
        added,
        **{asked: jobs.frame[knob], knob: value, "probability": chance, "takes_part": part},
    )
    return planned
