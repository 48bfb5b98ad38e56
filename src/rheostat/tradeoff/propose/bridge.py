"""BoTorch behind our types: draws as a BoTorch model, and its acquisition over either.

A BoTorch acquisition asks a model one thing, its posterior at some inputs.  Joint draws of any
`Predictor` at known rows are such a posterior: the input is then the row's number.

Notation
--------
N  rows      s  draws      m  outputs: negated objectives, then, per limit, what is left under it
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat.core.outcome import Array


def drawn_model(outputs: Array) -> tuple[Any, Any]:
    """A BoTorch model over row numbers with posterior draws ``outputs`` (s, N, m), and its sampler.

    The sampler returns each draw exactly once, in order, so that nothing is lost to resampling.
    """
    torch = require("torch", extra="search")
    ensemble = require("botorch.models.ensemble", extra="search")
    base = require("botorch.sampling.base", extra="search")
    values = torch.tensor(outputs, dtype=torch.double)

    class Drawn(ensemble.EnsembleModel):  # type: ignore[misc,name-defined]
        _num_outputs = values.shape[-1]

        def forward(self, X: Any) -> Any:
            return values[:, X[..., 0].long()].movedim(0, -3)  # (..., q, 1) to (..., s, q, m)

    class EachDraw(base.MCSampler):  # type: ignore[misc,name-defined]
        def forward(self, posterior: Any) -> Any:
            return posterior.values.movedim(-3, 0)

        def _update_base_samples(self, posterior: Any, base_sampler: Any) -> None:
            """Nothing to carry over: there is no chance in this sampler."""

    return Drawn().eval(), EachDraw(torch.Size([len(values)]))


def noisy_hypervolume(
    model: Any,
    reference: Array,
    baseline: Any,
    *,
    objective: Any,
    constraints: Sequence[Callable[[Any], Any]] = (),
    sampler: Any = None,
    pending: Any = None,
) -> Any:
    """BoTorch's qLogNEHVI; ``reference`` (m,) is ours, to be minimised, and negated here.

    Without a ``sampler`` (a model of draws brings its own) the posterior is sampled 64 times.
    """
    normal = require("botorch.sampling.normal", extra="search")
    torch = require("torch", extra="search")
    logei: Any = require("botorch.acquisition.multi_objective.logei", extra="search")
    # It would compile a C++ kernel at first use: minutes of silence, and a lock left by a killed
    # process stalls every later one. The Python path gives the same numbers, 3 times slower.
    logei._load_attempted = True
    return logei.qLogNoisyExpectedHypervolumeImprovement(
        model,
        ref_point=(-reference).tolist(),
        X_baseline=baseline,
        sampler=sampler or normal.SobolQMCNormalSampler(torch.Size([64]), seed=0),
        objective=objective,
        constraints=list(constraints) or None,
        X_pending=pending,
        prune_baseline=sampler is None,
        cache_root=False if sampler is not None else None,
    )


def first_outputs(m: int) -> Any:
    """The objective that is the first ``m`` outputs as they are."""
    objective = require("botorch.acquisition.multi_objective.objective", extra="search")
    return objective.IdentityMCMultiOutputObjective(outcomes=list(range(m)))


def computed(function: Callable[[Any], Any]) -> Any:
    """An objective computed from the outputs, (..., outputs) to (..., m)."""
    objective = require("botorch.acquisition.multi_objective.objective", extra="search")
    return objective.GenericMCMultiOutputObjective(lambda samples, X=None: function(samples))


def finite(values: Array, far: float) -> Array:
    """``values`` with everything not finite at ``-far``: no answer is no gain."""
    return np.where(np.isfinite(values), values, -far)
