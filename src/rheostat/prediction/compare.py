"""Is one way of predicting better than another, on jobs that came later?

Every method learns from the past and is marked on the recent jobs: relative and log error, share of
variance explained, coverage of its 90 % intervals, time to fit.  Total power follows the node count
by itself, so power per node is marked too; users who never ran before are marked apart.  Intervals
come from resampling the recent jobs.

Notation
--------
n  recent jobs      e : (n,) log(prediction / truth)      b  resamples
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Array, Outcome
from rheostat.prediction.features.model_columns import learnable

PER_NODE = "power_per_node_w"
METRICS = ("mape", "median_abs_log_error", "r2_log", "coverage")


@dataclass(frozen=True)
class Row:
    """Scores of one method on one quantity and one group of jobs; each is (value, low, high).

    ``jobs`` counts the jobs marked, ``abstained`` the share it gave no answer for; coverage is NaN
    for a method that gives one number instead of draws.
    """

    method: str
    quantity: str
    group: str
    jobs: int
    abstained: float
    scores: Mapping[str, tuple[float, float, float]]
    fit_s: float


def compare(
    methods: Mapping[str, Any],
    past: JobTable,
    recent: JobTable,
    *,
    targets: Sequence[str] = ("runtime_s", "power_w"),
    level: float = 0.9,
    resamples: int = 200,
    seed: int = 0,
) -> list[Row]:
    """Fit each method on ``past``, score it on the finished jobs of ``recent``.

    Groups are "all", and where there are users: "known users" and "new users".  Every method is
    scored on the same jobs that it answered; read the share it abstained on beside the scores.

    Parameters
    ----------
    methods : mapping of str to Predictor
        Models to be fitted, by name.
    past, recent : JobTable
        Jobs to learn from, and finished later jobs to judge on.
    targets : sequence of str
        Quantities to judge.
    level : float
        Level of the intervals whose coverage is counted.
    resamples : int
        Resamples of the recent jobs for the intervals of the scores.
    seed : int
        Of the resampling.

    Returns
    -------
    list of Row
        One per method, quantity and group of jobs; scores are (value, low, high).
    """
    recent, _, _ = learnable(recent, targets)
    groups = _groups(past, recent)
    rows = []
    for name, method in methods.items():
        began = time.perf_counter()
        fitted = method.fit(past)
        seconds = time.perf_counter() - began
        outcome = fitted.predict(recent.known_at(Moment.SUBMIT))
        for quantity, truth, draws in _quantities(recent, outcome, targets):
            for group, mask in groups.items():
                rng = np.random.default_rng(seed)
                there = mask & np.isfinite(draws).any(axis=0)
                scores = _scores(truth[there], draws[:, there], level, resamples, rng)
                gone = float(1 - there.sum() / max(mask.sum(), 1))
                rows.append(Row(name, quantity, group, int(mask.sum()), gone, scores, seconds))
    return rows


def _groups(past: JobTable, recent: JobTable) -> dict[str, NDArray[np.bool_]]:
    groups = {"all": np.ones(len(recent), dtype=bool)}
    if "user" in recent.columns and "user" in past.columns:
        seen = past.frame["user"].cast(pl.String).unique().to_list()
        known = recent.frame["user"].cast(pl.String).is_in(seen).fill_null(value=False).to_numpy()
        groups |= {"known users": known, "new users": ~known}
    return groups


def _quantities(
    recent: JobTable, outcome: Outcome, targets: Sequence[str]
) -> list[tuple[str, Array, Array]]:
    quantities = [(t, Outcome.measured(recent, t)[t][0], outcome[t]) for t in targets]
    if "power_w" in targets and "nodes" in recent.columns:
        nodes = recent.numpy("nodes")
        quantities.append((PER_NODE, recent.numpy("power_w") / nodes, outcome["power_w"] / nodes))
    return quantities


def _scores(
    truth: Array, draws: Array, level: float, resamples: int, rng: np.random.Generator
) -> dict[str, tuple[float, float, float]]:
    """Each metric with its 5 and 95 % quantile over resampled jobs; NaN without jobs."""
    n = len(truth)
    if not n:
        return dict.fromkeys(METRICS, (np.nan, np.nan, np.nan))
    guess = np.nanmedian(draws, axis=0)
    held = np.full(n, np.nan)
    if len(draws) > 1:
        low, high = np.nanquantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
        held = ((truth >= low) & (truth <= high)).astype(float)
    picks = rng.integers(0, n, (resamples, n))
    result = {}
    for name, values in zip(METRICS, _metrics(truth, guess, held, np.arange(n)[None]), strict=True):
        result[name] = (float(values[0]), np.nan, np.nan)
    for name, values in zip(METRICS, _metrics(truth, guess, held, picks), strict=True):
        low, high = np.quantile(values, [0.05, 0.95])
        result[name] = (result[name][0], float(low), float(high))
    return result


def _metrics(truth: Array, guess: Array, held: Array, picks: NDArray[np.int64]) -> list[Array]:
    """The four metrics of each resample, (b,) each."""
    relative = np.abs(guess / truth - 1)[picks].mean(axis=1)
    error = np.log(guess / truth)
    log_error = np.median(np.abs(error)[picks], axis=1)
    spread = np.log(truth)[picks]
    variance = ((spread - spread.mean(axis=1, keepdims=True)) ** 2).mean(axis=1)
    left = (error[picks] ** 2).mean(axis=1)
    explained = 1 - np.divide(left, variance, out=np.full(len(picks), np.nan), where=variance > 0)
    return [relative, log_error, explained, held[picks].mean(axis=1)]
