"""How far the law is from runs that it did not learn from: errors, intervals, and pictures of them.

The runs are dealt into `FOLDS` parts; each is predicted by a law fitted to the others.  Of a large
table `MOST` runs are looked at, drawn at random: so many make a law of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array, Outcome
from rheostat.core.report import Chart, Section
from rheostat.core.units import plain_name, unit_of
from rheostat.decision.accuracy import Accuracy, accuracy, accuracy_facts
from rheostat.explanation.choices.checked_forecasts import accuracy_words, calibration_chart
from rheostat.prediction.serving_law import ServingLaw
from rheostat.prediction.serving_law.measured_rows import QUANTITIES

FOLDS, MOST, LEVEL = 5, 300, 0.9


def out_of_fold(
    runs: JobTable, kernels: Mapping[str, Mapping[str, float]] | None = None, seed: int = 0
) -> tuple[JobTable, Outcome]:
    """Runs, and what laws that had not seen them predict of them.

    Parameters
    ----------
    runs
        Measured configurations, two for each of the `FOLDS` parts at least.
    kernels
        Prior medians from kernel tables.
    seed
        Of the draw of the runs and of their parts.

    Returns
    -------
    The runs that were looked at, n of them, and draws of each quantity, (d, n).
    """
    order = np.random.default_rng(seed).permutation(len(runs))[:MOST]
    runs = runs.rows(np.sort(order))
    part = np.random.default_rng(seed).permutation(len(runs)) % FOLDS
    draws: dict[str, Array] = {}
    for fold in range(FOLDS):
        held = np.flatnonzero(part == fold)
        law = ServingLaw(kernels=kernels, seed=seed).fit(runs.rows(part != fold))
        said = law.predict(runs.rows(held))
        for name in QUANTITIES:
            draws.setdefault(name, np.full((law.n_draws, len(runs)), np.nan))[:, held] = said[name]
    return runs, Outcome(draws)


def calibration_sections(
    runs: JobTable, kernels: Mapping[str, Mapping[str, float]] | None = None, seed: int = 0
) -> tuple[list[Section], dict[str, Any]]:
    """Sections and facts of a report; one that says why where runs are too few."""
    whole = np.all([_positive(runs, q) for q in QUANTITIES[:2]], axis=0)
    runs = runs.rows(whole)
    if len(runs) < 2 * FOLDS:
        few = f"Not known from {len(runs)} runs: {2 * FOLDS} are needed to hold some back."
        return [Section("Calibration", (few,))], {}
    looked, outcome = out_of_fold(runs, kernels, seed)
    names = [q for q in QUANTITIES if _positive(looked, q).any()]
    measured = accuracy(outcome, looked, names, LEVEL)
    said = (
        f"{len(looked)} of {len(runs)} runs, each predicted by a law fitted to four fifths of "
        "them, itself left out.",
        *(accuracy_words(q, a) for q, a in measured.items()),
    )
    sections = [Section("Calibration", said, None, calibration_chart(measured))]
    sections += [_against(looked, outcome, q, measured[q]) for q in names]
    return sections, accuracy_facts(measured)


def _against(runs: JobTable, outcome: Outcome, name: str, checked: Accuracy) -> Section:
    """Predicted against measured, with intervals."""
    here = np.flatnonzero(_positive(runs, name) & np.isfinite(outcome.mean(name)))
    low, high = outcome.interval(name, LEVEL)
    x, y = runs.numpy(name)[here], outcome.quantile(name, 0.5)[here]
    ends = [float(min(x.min(), y.min())), float(max(x.max(), y.max()))] if len(here) else []
    points = {"name": "runs", "x": x.tolist(), "y": y.tolist(), "size": 5.0,
              "low": low[here].tolist(), "high": high[here].tolist()}  # fmt: skip
    equal = {"name": "as measured", "line": True, "x": ends, "y": ends}
    chart = Chart("scatter", (points, equal), ("measured", "predicted"), log=True,
                  units=(unit_of(name), unit_of(name)))  # fmt: skip
    said = f"The {100 * LEVEL:.0f} % intervals hold {100 * checked.coverage:.0f} % of these runs."
    return Section(f"Predicted against measured: {plain_name(name)}", (said,), None, chart)


def _positive(runs: JobTable, name: str) -> np.ndarray:
    if name not in runs.columns:
        return np.zeros(len(runs), dtype=bool)
    values = runs.numpy(name)
    return np.asarray(np.isfinite(values) & (values > 0))
