"""What will this training run take on that device?  Black box and white box, wired from parts.

The mechanisms are `rheostat.prediction.step_cost`; here are the questions that people ask: a
network by its name, a table, a request that is killed no more often than said.  What the published
poster has, boosted trees and a graph network, stands with `benchmarks/dnn.py`, which compares them.

References
----------
Vallabhajosyula, Ramnath: estimating resources of deep learning by black-box and white-box models
(poster, ISC 2025; authors inferred).  Its features, network and loss are not public.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array, Outcome
from rheostat.core.vocabulary import table
from rheostat.measurement.training_columns import COLUMNS
from rheostat.prediction.architectures.named import architecture, training_step
from rheostat.prediction.step_cost import StepCost
from rheostat.prediction.step_cost.additive import Codes
from rheostat.prediction.step_cost.next_runs import next_runs
from rheostat.prediction.step_cost.rows import ASKED, PIXELS, TrainingRows


def one_run(network: str, **sizes: Any) -> JobTable:
    """A table of one training run; sizes that are None are left out.

    An unknown network, or images too small for it, is a `DataError`.

    >>> one_run("resnet-50", batch_size=32, device="T4", samples=None).columns
    ('app', 'batch_size', 'device')
    """
    wanted = {"image": "image_px", "batch": "batch_size", "classes": "classes"}
    known = {ours: sizes[theirs] for ours, theirs in wanted.items() if sizes.get(theirs)}
    training_step(network, **{"image": PIXELS, "batch": 1, **known})
    given = {name: [value] for name, value in sizes.items() if value is not None}
    return table({"app": [architecture(network)], **given}, COLUMNS)


def nearest_runs(model: StepCost, jobs: JobTable, target: str) -> Array:
    """The trivial baseline, (n,): the median of runs on this device at the nearest batch size.

    A device that was never run has the median of all.
    """
    fit, rows = model.fits_[target], TrainingRows.of(jobs, model.terms)
    places = {name: i for i, name in enumerate(model.devices_)}
    made = []
    for device, batch in zip(rows.device.tolist(), rows.batch, strict=True):
        same = fit.device == places.get(device, -1)
        there = same if same.any() else np.ones(len(fit.device), dtype=bool)
        away = np.abs(np.log(fit.batch / batch)) + np.where(there, 0.0, np.inf)
        made.append(np.median(fit.log_y[away <= away.min() + 1e-9]))
    return np.exp(made)


def request(outcome: Outcome, risk: float, *, epochs: float = 1.0) -> dict[str, Array]:
    """What to ask a scheduler for, so that a run is killed with probability ``risk``.

    Parameters
    ----------
    outcome : Outcome
        Of `StepCost.predict`.
    risk : float
        Probability that the run needs more, above 0 and below 1.
    epochs : float
        Passes over the data.

    Returns
    -------
    dict of str to array
        ``time_limit_s`` where a pass over the data is known, ``memory_b`` where memory was learned.
    """
    asked: Mapping[str, tuple[str, float]] = {
        "time_limit_s": ("epoch_s", epochs), "memory_b": ("memory_peak_b", 1.0),
    }  # fmt: skip
    return {name: outcome.quantile(quantity, 1.0 - risk) * times
            for name, (quantity, times) in asked.items() if quantity in outcome}  # fmt: skip


def least_run(model: StepCost) -> str:
    """The device with the fewest configurations."""
    fit = next(iter(model.fits_.values()))
    runs = np.bincount(fit.device, minlength=len(model.devices_))[: len(model.devices_)]
    return model.devices_[int(np.argmin(runs))]


def to_measure(
    model: StepCost, jobs: JobTable, device: str, count: int, wanted: JobTable | None = None
) -> tuple[list[dict[str, Any]], Array]:
    """What to measure next on ``device``, so that predictions there are least wrong.

    Parameters
    ----------
    model : StepCost
        Fitted on ``jobs``; its first target counts.
    jobs : JobTable
        Runs of any device; their configurations are the candidates.
    device : str
        Where to measure, a device of the table or a new one.
    count : int
        How many.
    wanted : JobTable, optional
        Rows of ``jobs`` whose configurations are to be predicted on ``device``; all by default.

    Returns
    -------
    rows : list of dict
        Columns of each configuration, none of which was run there; empty where none is left.
    error : array, (len(rows) + 1,)
        Expected relative error of the wanted predictions now, and after each run.
    """
    sizes = [c for c in ASKED if c in jobs.columns and c != "device"]
    done = jobs.frame.filter(pl.col("device") == device).select(sizes).unique()
    every = jobs.frame.select(sizes).unique(maintain_order=True)
    left = every.join(done, on=sizes, how="anti", nulls_equal=True, maintain_order="left")
    asked = (jobs if wanted is None else wanted).frame.select(sizes).unique(maintain_order=True)
    frame = pl.concat([left, asked]).with_columns(device=pl.lit(device))
    rows = TrainingRows.of(table(frame, COLUMNS), model.terms)
    candidate = np.arange(len(rows)) < len(left)
    target, fit = next(iter(model.fits_.items()))
    there = np.flatnonzero(rows.known)
    if not candidate[there].any() or candidate[there].all():
        return [], np.zeros(0)
    covariance = fit.covariance(model.coded(rows.rows(there), target))
    chosen, error = next_runs(covariance, ~candidate[there], fit.noise, count,
                              may=candidate[there])  # fmt: skip
    return frame[there[chosen]].rows(named=True), error


def left_out_errors(model: StepCost, target: str) -> dict[str, float]:
    """Median relative errors of the fitted runs, each or its whole network left out.

    The third is that of the trivial baseline: the median of the other runs on the device with the
    same batch size.
    """
    fit = model.fits_[target]
    errors = {"run": model.runs_[target].error, "network": model.networks_[target].error}
    errors["baseline"] = _trivial(fit.device, fit.batch, fit.log_y)
    return {name: float(np.median(np.abs(np.expm1(-e)))) for name, e in errors.items()}


def _trivial(device: Codes, batch: Array, log_y: Array) -> Array:
    errors = np.empty(len(log_y))
    for i in range(len(log_y)):
        others = (device == device[i]) & (batch == batch[i]) & (np.arange(len(log_y)) != i)
        errors[i] = log_y[i] - np.median(log_y[others] if others.any() else log_y)
    return errors
