"""Which columns does a model lean on, and how sure is that?

Three views, each a number per table column with an interval over resampled rows.  *Permutation*:
how much worse the error gets when one column is shuffled among held-out jobs.  *Attention*: where
the network looks.  *Shapley*: how far a column moves predictions away from their mean, each row's
prediction shared out exactly among the columns [Lundberg2020]_.

Notation
--------
n  rows      k  table columns      b  resamples      v : (n, k) a row's share of each column

References
----------
.. [Lundberg2020] Lundberg et al.: From local explanations to global understanding with explainable
   AI for trees. Nature Machine Intelligence 2, 2020.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array
from rheostat.errors import DataError
from rheostat.prediction.features.model_columns import target_values
from rheostat.prediction.surrogate.surrogate import Surrogate

RESAMPLES = 200


@dataclass(frozen=True)
class Importance:
    """Importance of each column, largest first, with a 90 % interval; ``unit`` says of what."""

    method: str
    target: str
    unit: str
    names: tuple[str, ...]
    values: Array
    low: Array
    high: Array


def permutation_importance(
    model: Surrogate, held_out: JobTable, target: str = "runtime_s", *, repeats: int = 5,
    seed: int = 0,
) -> Importance:  # fmt: skip
    """Rise of the absolute log error when a column of ``held_out`` is shuffled.

    0.7 means errors grow by a factor of two.  Columns that say the same thing stand in for each
    other: shuffle one and little is lost.  Rows without a positive target do not count.
    """
    rng = np.random.default_rng(seed)
    i = _place(model, target)
    truth = target_values(held_out, (target,))[:, 0]
    rows = np.isfinite(truth) & (truth > 0)
    jobs, truth = held_out.rows(rows), np.log(truth[rows])
    base = np.abs(model.predict_log(jobs)[:, i] - truth)
    rises = [
        np.mean([_shuffled_error(model, jobs, c, truth, i, rng) for _ in range(repeats)], axis=0)
        - base
        for c in model.features_
    ]
    return _ranked(
        "permutation", target, "rise of |log error|", model.features_, np.column_stack(rises), rng
    )


def attention_importance(model: Surrogate, jobs: JobTable, *, seed: int = 0) -> Importance:
    """Share of the network's attention on each column, averaged over ``jobs``.

    Raises `DataError` for a model without a network.
    """
    regressor = model.stage_.regressor
    network = getattr(regressor, "embedding_", regressor)
    if not hasattr(network, "masks"):
        raise DataError("attention_importance", ["expected tabnet, attention or an embedding"])
    x = model.stage_.encoder.transform(jobs.frame.select(model.features_))
    names, shares = _by_source(model.stage_.encoder.sources, network.masks(x))
    rng = np.random.default_rng(seed)
    return _ranked("attention", "all", "share of attention", names, shares, rng)


def shap_importance(
    model: Surrogate, jobs: JobTable, target: str = "runtime_s", *, seed: int = 0
) -> Importance:
    """Mean absolute Shapley value of each column in log units, for models made of trees.

    The learned features of an embedding appear together as "embedding".
    """
    x = model.stage_.encoder.transform(jobs.frame.select(model.features_))
    sources = model.stage_.encoder.sources
    regressor = model.stage_.regressor
    if hasattr(regressor, "embedding_"):
        z = regressor.embedding_.transform(x)
        x, sources = np.hstack([z, x]), (*(["embedding"] * z.shape[1]), *sources)
        regressor = regressor.regressor_
    values = _shapley(regressor, x, _place(model, target))
    names, shares = _by_source(sources, values)
    rng = np.random.default_rng(seed)
    return _ranked("shapley", target, "mean |log units|", names, np.abs(shares), rng)


def _place(model: Surrogate, target: str) -> int:
    if target not in model.targets:
        raise DataError("importance", [f"target: one of {', '.join(model.targets)}, got {target}"])
    return model.targets.index(target)


def _shuffled_error(
    model: Surrogate, jobs: JobTable, column: str, truth: Array, i: int, rng: np.random.Generator
) -> Array:
    """Absolute log errors with one column shuffled, in the node count's own scaling too."""
    frame = jobs.frame
    mixed = frame.with_columns(frame[column][rng.permutation(len(jobs))])
    return np.abs(model.predict_log(JobTable(mixed, jobs.schema))[:, i] - truth)


def _shapley(regressor: Any, x: Array, i: int) -> Array:
    """Shapley values (n, k) of target ``i``, by the library's own exact tree routine."""
    kind = type(regressor).__module__.split(".")[0]
    if kind == "xgboost":
        xgboost = require("xgboost", extra="trees")
        values = regressor.get_booster().predict(xgboost.DMatrix(x), pred_contribs=True)
        own = values[:, i] if values.ndim == 3 else values
        return np.asarray(own[:, :-1], dtype=float)
    boosters = [getattr(e, "booster_", None) for e in getattr(regressor, "estimators_", [])]
    boosters = getattr(regressor, "models", boosters)
    if boosters and boosters[0] is not None:
        return np.asarray(boosters[i].predict(x, pred_contrib=True))[:, :-1]
    return _shap(regressor, x, i)


def _shap(regressor: Any, x: Array, i: int) -> Array:
    with warnings.catch_warnings():  # plotting styles that the package sets up when imported
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        shap = require("shap", extra="attribution")
    try:
        explainer = shap.TreeExplainer(regressor)
    except (TypeError, shap.utils._exceptions.InvalidModelError) as error:
        raise DataError("shap_importance", [f"not made of trees: {regressor}"]) from error
    values = np.asarray(explainer.shap_values(x, check_additivity=False))
    return values[:, :, i] if values.ndim == 3 else values


def _by_source(sources: Sequence[str], values: Array) -> tuple[tuple[str, ...], Array]:
    """Sum the matrix columns that come from one table column."""
    names = tuple(dict.fromkeys(sources))
    place = np.array([names.index(s) for s in sources])
    return names, np.stack([values[:, place == j].sum(axis=1) for j in range(len(names))], axis=1)


def _ranked(
    method: str, target: str, unit: str, names: Sequence[str], shares: Array,
    rng: np.random.Generator,
) -> Importance:  # fmt: skip
    """Means over rows, largest first, with 5 and 95 % quantiles over resampled rows."""
    n = len(shares)
    means = np.stack([shares[rng.integers(0, n, n)].mean(axis=0) for _ in range(RESAMPLES)])
    value = shares.mean(axis=0)
    order = np.argsort(-value, kind="stable")
    low, high = np.quantile(means, [0.05, 0.95], axis=0)
    chosen = tuple(names[j] for j in order)
    return Importance(method, target, unit, chosen, value[order], low[order], high[order])
