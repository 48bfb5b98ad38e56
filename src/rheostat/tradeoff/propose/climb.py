"""Climb BoTorch's acquisition by its gradient, where knobs are ranges and the model is a GP.

Each combination of the discrete knobs is fixed in turn and the ranges are climbed; the best of all
is taken.  Worth it for few combinations: a climb costs about a second.

Notation
--------
D  inputs of the Gaussian process (see `rheostat.prediction.gp.encode`)     X : (..., q, D)
Y : (..., q, t) its targets, on log axes where it learnt them so
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rheostat._optional import require
from rheostat.core.outcome import DERIVED, Array
from rheostat.core.space import Space
from rheostat.prediction.gp import GaussianProcess, encode, quietly
from rheostat.tradeoff.propose.bridge import computed, noisy_hypervolume

if TYPE_CHECKING:
    from rheostat.tradeoff.propose.modelled import Modelled

_COMBINATIONS = 8
_RESTARTS, _RAW, _ITERATIONS = 4, 64, 60


def climbable(searcher: Modelled) -> bool:
    """Whether the gradient can be used: a GP, no predicates, few discrete combinations."""
    model, space = searcher.model, searcher.space
    if not isinstance(model, GaussianProcess) or space.constraints or space.finite:
        return False
    discrete = math.prod(len(k.values) for k in space.knobs if k.finite)
    needed = {o.name for o in searcher.objectives} | {x.quantity for x in searcher.limits}
    return discrete <= _COMBINATIONS and all(reachable(n, model.targets) for n in needed)


def reachable(name: str, given: tuple[str, ...]) -> bool:
    """Whether a quantity is learnt or follows from what is."""
    parts = DERIVED[name][0] if name in DERIVED else ()
    return name in given or (bool(parts) and all(p in given or _one_step(p, given) for p in parts))


def _one_step(name: str, given: tuple[str, ...]) -> bool:
    return name in DERIVED and all(p in given for p in DERIVED[name][0])


def climb(searcher: Modelled, n: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    """``n`` settings, found one after the other, each given the ones before."""
    torch = require("torch", extra="search")
    optim = require("botorch.optim", extra="search")
    models = require("botorch.models", extra="search")
    gp = searcher.model
    assert isinstance(gp, GaussianProcess)
    view = searcher.view(searcher.sample(rng), [])
    names = tuple(o.name for o in searcher.objectives)
    signs = torch.tensor([o.sign for o in searcher.objectives])

    def costs(samples: Any) -> Any:
        y = torch.stack([quantity(n, samples, gp) for n in names], dim=-1)
        return -(torch.log(y) if view.log else signs * y)

    with quietly(int(rng.integers(2**31))):
        acquisition = noisy_hypervolume(
            models.ModelListGP(*gp.models_.values()),
            view.reference,
            _inputs(searcher.space, searcher.front.alternatives),
            objective=computed(costs),
            constraints=[
                lambda s, x=x: quantity(x.quantity, s, gp) / x.most - 1.0  # type: ignore[misc]
                for x in searcher.limits
            ],
            pending=_pending(searcher),
        )
        best, _ = optim.optimize_acqf_mixed(
            acquisition,
            bounds=torch.tensor([[0.0], [1.0]], dtype=torch.double).expand(
                2, _width(searcher.space)
            ),
            q=n,
            num_restarts=_RESTARTS,
            raw_samples=_RAW,
            fixed_features_list=combinations(searcher.space),
            options={"batch_limit": _RESTARTS, "maxiter": _ITERATIONS},
        )
    return [decode(searcher.space, x) for x in best.numpy()]


def quantity(name: str, samples: Any, gp: GaussianProcess) -> Any:
    """A quantity from posterior samples (..., q, t) of the Gaussian process, (..., q)."""
    torch = require("torch", extra="search")
    if name in gp.targets:
        values = samples[..., gp.targets.index(name)]
        return torch.exp(values) if gp.logged_[name] else values
    parts, law = DERIVED[name]
    return law(*(quantity(p, samples, gp) for p in parts))


def combinations(space: Space) -> list[dict[int, float]]:
    """Inputs to be held fixed, one dictionary per combination of the discrete knobs.

    >>> from rheostat.core.space import Knob
    >>> combinations(Space((Knob("cap_w", low=1, high=2), Knob("compiler", ["gcc", "icx"]))))
    [{1: 1.0, 2: 0.0}, {1: 0.0, 2: 1.0}]
    """
    options: list[list[Mapping[int, float]]] = []
    start = 0
    for knob in space.knobs:
        width = 1 if knob.numeric else len(knob.values)
        if knob.finite and knob.numeric:
            options.append([{start: float(u)} for u in knob.scale(knob.values)])
        elif knob.finite:
            options.append([{start + j: float(i == j) for j in range(width)} for i in range(width)])
        start += width
    return [
        {k: v for part in parts for k, v in part.items()} for parts in itertools.product(*options)
    ]


def decode(space: Space, x: Array) -> dict[str, Any]:
    """The setting at inputs ``x`` (D,): the inverse of `encode` for one row."""
    setting, start = {}, 0
    for knob in space.knobs:
        width = 1 if knob.numeric else len(knob.values)
        part = x[start : start + width]
        setting[knob.name] = (
            knob.unscale(float(part[0])) if knob.numeric else knob.values[int(np.argmax(part))]
        )
        start += width
    return setting


def _width(space: Space) -> int:
    return sum(1 if k.numeric else len(k.values) for k in space.knobs)


def _inputs(space: Space, jobs: Any) -> Any:
    torch = require("torch", extra="search")
    return torch.tensor(np.unique(encode(space, jobs), axis=0), dtype=torch.double)


def _pending(searcher: Modelled) -> Any:
    if not searcher.pending:
        return None
    return _inputs(searcher.space, searcher.space.alternatives(None, searcher.pending))
