"""`ProductLaw`: energy per token as a sum of products of powers, found and fitted from the runs.

The grammar is small enough to be searched whole: each term is a product of the variables below at
one of a few powers, times a coefficient above 0.  Terms are taken up one after the other, the one
that leaves the least errors first, all coefficients fitted anew each time by non-negative least
squares relative to the fit before, which is that of the logarithms; as many are kept as have the
least Bayesian information criterion.

Notation
--------
T, P   tensor and pipeline parallel degrees       B  batch cap       S  tokens of a prompt, 1e3
W      bytes of the active weights, 1e9           H  rated joules per 1e9 bytes of memory traffic

    E = sum_k c_k T^a P^b B^c W^d H^e S^f,  c_k >= 0
    BIC = n log(mean of sqrt(1 + (ln(E / y) / SCATTER)^2) - 1) + terms log n
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
from scipy.optimize import nnls

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Outcome
from rheostat.errors import NotFitted
from rheostat.prediction.features.model_columns import learnable
from rheostat.prediction.serving_law.configurations import Array, Configurations

TARGET = "energy_per_token_j"
POWERS: Mapping[str, tuple[float, ...]] = {
    "T": (0.0, 0.25, 0.5, 0.75, 1.0), "P": (0.0, 0.5, 1.0), "B": (-1.0, -0.75, -0.5, -0.25, 0.0),
    "W": (0.0, 0.25, 0.5, 0.75, 1.0), "H": (0.0, 1.0), "S": (0.0, 1.0),
}  # fmt: skip
MOST_TERMS, REPEATS, SCATTER = 8, 10, 0.2
FARTHEST = 30.0
"""A fit below the thirtieth part of a run weighs no more than that: a start may be far off."""
ROUNDING = 1e-9
"""Of a run: a term that is nowhere more than this is what rounding left."""
Term = tuple[float, ...]


class ProductLaw:
    """Energy per token by a closed form whose terms are found; one value per row, no interval.

    >>> from rheostat.core.vocabulary import table
    >>> batch = [1, 2, 4, 8, 16, 32, 64, 128]
    >>> runs = table({"app": ["m"] * 8, "params": [8e9] * 8, "gpu_model": ["H100"] * 8,
    ...               "gpus": [1] * 8, "batch_cap": batch,
    ...               "energy_per_token_j": [3.0 / b + 0.1 for b in batch]})
    >>> print(ProductLaw().fit(runs).as_text())
    E = 0.1 + 3 B^-1
    """

    def fit(self, jobs: JobTable) -> ProductLaw:
        """Find terms and coefficients."""
        kept, values, _ = learnable(jobs, (TARGET,))
        variables = variables_of(kept)
        varying = {k for k, v in variables.items() if np.ptp(v) > 0}
        choices = [POWERS[k] if k in varying else (0.0,) for k in POWERS]
        terms: list[Term] = list(product(*choices))
        parts = np.column_stack([_product(variables, t) for t in terms])
        rows, self.coefficients_ = _selected(parts, values[:, 0])
        self.terms_ = [terms[k] for k in rows]
        return self

    def predict(self, jobs: JobTable) -> Outcome:
        """One draw per row."""
        if not hasattr(self, "terms_"):
            raise NotFitted(self)
        variables = variables_of(jobs)
        parts = [
            c * _product(variables, t) for t, c in zip(self.terms_, self.coefficients_, strict=True)
        ]
        return Outcome({TARGET: np.sum(parts, axis=0)[None]})

    def as_text(self) -> str:
        """The equation."""
        if not hasattr(self, "terms_"):
            raise NotFitted(self)
        parts = []
        for term, c in zip(self.terms_, self.coefficients_, strict=True):
            powers = [k if p == 1 else f"{k}^{p:g}" for k, p in zip(POWERS, term, strict=True) if p]
            parts.append(" ".join([f"{c:.3g}", *powers]))
        return "E = " + " + ".join(parts)


def variables_of(jobs: JobTable) -> dict[str, Array]:
    """The variables of each row, (n,) each; prompts of unknown length are of a thousand tokens."""
    c = Configurations.of(jobs)
    known = "prompt_tokens" in jobs.columns
    prompt = jobs.numpy("prompt_tokens") / 1e3 if known else np.ones(len(c))
    return {
        "T": c.gpus / c.pp, "P": c.pp, "B": c.batch, "W": c.weight_b * c.active / 1e9,
        "H": c.power_w / c.memory_b_per_s * 1e9, "S": prompt,
    }  # fmt: skip


def _product(variables: Mapping[str, Array], term: Term) -> Array:
    powers = zip(POWERS, term, strict=True)
    return np.asarray(np.prod([variables[k] ** p for k, p in powers], axis=0))


def _selected(parts: Array, y: Array) -> tuple[list[int], Array]:
    """Columns of ``parts`` (n, terms) of the least BIC on the greedy path, and coefficients."""
    n, columns = parts.shape
    chosen: list[int] = []
    fit, best = y, (np.inf, chosen, np.zeros(0))
    while len(chosen) < min(MOST_TERMS, n - 1, columns):
        left = [k for k in range(columns) if k not in chosen]
        trust = (1 + (np.log(fit / y) / SCATTER) ** 2) ** -0.25 / fit
        errors = [_misfit(trust[:, None] * parts[:, [*chosen, k]], trust * y) for k in left]
        chosen = [*chosen, left[int(np.argmin(errors))]]
        numbers, fit = _coefficients(parts[:, chosen], y, fit)
        loss = np.mean(np.sqrt(1 + (np.log(fit / y) / SCATTER) ** 2) - 1)
        bic = n * np.log(max(loss, 1e-20)) + len(chosen) * np.log(n)
        if bic < best[0]:
            best = (float(bic), chosen, numbers)
    _, rows, numbers = best
    real: Array = np.any(numbers[None] * parts[:, rows] > ROUNDING * y[:, None], axis=0)
    return [k for k, v in zip(rows, real, strict=True) if v], numbers[real]


def _misfit(parts: Array, y: Array) -> float:
    """Of the best non-negative coefficients; infinite where columns differ too little for any."""
    try:
        return float(nnls(parts, y)[1])
    except RuntimeError:
        return np.inf


def _coefficients(parts: Array, y: Array, fit: Array) -> tuple[Array, Array]:
    """Non-negative coefficients of least squares relative to the fit itself, and that fit (n,)."""
    numbers = np.zeros(parts.shape[1])
    for _ in range(REPEATS):
        trust = (1 + (np.log(fit / y) / SCATTER) ** 2) ** -0.25  # a run far off counts less
        numbers, _ = nnls((trust / fit)[:, None] * parts, trust * y / fit)
        fit = np.maximum(parts @ numbers, y / FARTHEST)
    return numbers, np.asarray(fit)
