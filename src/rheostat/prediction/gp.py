"""`GaussianProcess`: what would the settings between the measured ones cost, and how sure is that?

A Gaussian process draws smooth curves through the runs measured so far; where no run is near, the
curves spread.  It needs no past jobs, only a handful of runs of this one, which makes it the usual
model of a search (`rheostat.tradeoff.propose`).  The fit is BoTorch's `SingleTaskGP`, one per
quantity, on log values where all are positive, over the knobs scaled to the unit cube.

Notation
--------
n  measured rows     N  rows asked     D  inputs: numeric knobs in [0, 1], names one-hot
s  draws             X : (n, D)        y : (n,) log of the quantity where positive

References
----------
Rasmussen and Williams: Gaussian Processes for Machine Learning (2006), chapter 2.
Hvarfner, Hellsten, Nardi: Vanilla Bayesian optimization performs great in high dimensions (2024):
the length-scale prior.  Wilson et al.: Efficiently sampling functions from Gaussian process
posteriors (2020): draws for many rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat._threads import one_thread
from rheostat.core.jobs import JobTable, Note
from rheostat.core.outcome import Array, Outcome
from rheostat.core.space import Knob, Space
from rheostat.errors import DataError, NotFitted

_JOINT = 1200  # rows up to which draws come from the exact joint covariance
_BEYOND = 0.05  # of a knob's range: farther outside, the model abstains


class GaussianProcess:
    """A Predictor over knob columns, fitted to measured settings.

    Parameters
    ----------
    space : Space, Knob or several Knobs
        The knobs are the inputs; other columns are not looked at.
    targets : sequence of str
        Quantities to learn; derived ones (energy from runtime and power) need not be named.
    noise : float or None
        Relative spread of repeated runs; 2 % is usual on a quiet machine (SPEChpc 2021 repeats:
        0.3 to 2.8 %).  None infers it, which needs more runs than a search usually affords.
    n_draws : int
    seed : int
        Same seed, same draws.

    Examples
    --------
    >>> from rheostat.core.vocabulary import table
    >>> n = np.array([1.0, 4.0, 16.0, 64.0])
    >>> runs = table({"nodes": n, "runtime_s": 10 + 990 / n, "power_w": 300 * n})
    >>> gp = GaussianProcess(Knob("nodes", range(1, 65))).fit(runs)
    >>> out = gp.predict(table({"nodes": [16, 8, 200]}))
    >>> out.mean("power_w")[:1].round(-2), out.abstained
    (array([4800.]), array([False, False,  True]))

    The draws are of the quantity itself, not of one more noisy measurement of it; they are joint,
    so differences between rows of one call are meaningful.  Rows outside the range of a numeric
    knob get no answer (NaN and a note).  Fewer than two finite values of a target are a
    `DataError`.
    """

    def __init__(
        self,
        space: Space | Knob | Iterable[Knob],
        targets: Sequence[str] = ("runtime_s", "power_w"),
        *,
        noise: float | None = 0.02,
        n_draws: int = 128,
        seed: int = 0,
    ) -> None:
        self.space = Space.of(space)
        self.targets = tuple(targets)
        self.noise = noise
        self.n_draws = n_draws
        self.seed = seed

    def fit(self, jobs: JobTable) -> GaussianProcess:
        """Learn from rows that hold the knobs and the targets; a missing value is passed over."""
        jobs.require(*self.space.names, *self.targets)
        x = encode(self.space, jobs)
        columns = {t: jobs.numpy(t) for t in self.targets}
        few = {t: int(np.isfinite(y).sum()) for t, y in columns.items()}
        problems = [
            f"{t}: expected at least 2 values, got {n}; measure more"
            for t, n in few.items()
            if n < 2
        ]
        if problems:
            raise DataError("GaussianProcess", problems)
        logged, models, notes = {}, {}, []
        for i, (target, y) in enumerate(columns.items()):
            there = np.isfinite(y)
            logged[target] = bool((y[there] > 0).all())
            values = np.log(y[there]) if logged[target] else y[there]
            spread = 1.0 if logged[target] else max(float(np.std(values)), 1e-12)
            noise = None if self.noise is None else self.noise * spread
            models[target], fitted = fit_one(x[there], values, noise, seed=self.seed + i)
            if not fitted:
                notes.append(Note(f"{target}: length scales kept at their prior, the fit failed"))
        self.logged_, self.models_, self.notes_ = logged, models, tuple(notes)
        return self

    @one_thread()
    def predict(self, jobs: JobTable) -> Outcome:
        """Joint draws for each row, (n_draws, rows)."""
        if not hasattr(self, "models_"):
            raise NotFitted(self)
        x = encode(self.space, jobs)
        outside = (x < -_BEYOND).any(axis=1) | (x > 1 + _BEYOND).any(axis=1)
        draws = {}
        for i, (target, model) in enumerate(self.models_.items()):
            rng = np.random.default_rng([self.seed, i])
            values = draw(model, x, self.n_draws, rng)
            draws[target] = np.exp(values) if self.logged_[target] else values
            draws[target][:, outside] = np.nan
        notes = self.notes_
        if outside.any():
            rows = tuple(int(i) for i in np.flatnonzero(outside)[:20])
            notes += (
                Note("outside the knob's range: no prediction", rows, count=int(outside.sum())),
            )
        return Outcome(draws, notes=notes)


def encode(space: Space, jobs: JobTable) -> Array:
    """Knob columns as inputs, (n, D): numbers scaled to [0, 1], names one-hot.

    >>> from rheostat.core.vocabulary import table
    >>> space = Space((Knob("nodes", [1, 2, 4], log=True), Knob("compiler", ["gcc", "icx"])))
    >>> encode(space, table({"nodes": [1, 2], "compiler": ["gcc", "icx"]}))
    array([[0. , 1. , 0. ],
           [0.5, 0. , 1. ]])
    """
    jobs.require(*space.names)
    parts = []
    for knob in space.knobs:
        column = jobs.frame[knob.name].to_list()
        if knob.numeric:
            parts.append(knob.scale(column)[:, None])
        else:
            parts.append(np.array([[float(v == k) for k in knob.values] for v in column]))
    return np.concatenate([p.reshape(len(jobs), -1) for p in parts], axis=1)


def fit_one(x: Array, y: Array, noise: float | None = None, *, seed: int = 0) -> tuple[Any, bool]:
    """A fitted BoTorch model of ``y`` (n,) over ``x`` (n, D), and whether the fit converged.

    ``noise`` is the standard deviation of a measurement of ``y``; None infers it.
    """
    torch = require("torch", extra="search")
    models = require("botorch.models", extra="search")
    mlls = require("gpytorch.mlls", extra="search")
    botorch = require("botorch", extra="search")
    with quietly(seed):
        inputs, values = (torch.tensor(v, dtype=torch.double) for v in (x, y[:, None]))
        known = None if noise is None else torch.full_like(values, noise**2)
        model = models.SingleTaskGP(inputs, values, known)
        try:
            botorch.fit_gpytorch_mll(mlls.ExactMarginalLogLikelihood(model.likelihood, model))
        except botorch.exceptions.errors.ModelFittingError:
            return model.eval(), False
    return model.eval(), True


def draw(model: Any, x: Array, n_draws: int, rng: np.random.Generator) -> Array:
    """Joint draws of a fitted model at ``x`` (N, D), as (n_draws, N)."""
    torch = require("torch", extra="search")
    points = torch.tensor(x, dtype=torch.double)
    if not len(x):
        return np.zeros((n_draws, 0))
    if len(x) > _JOINT:
        return _paths(model, points, n_draws, int(rng.integers(2**31)))
    with torch.no_grad(), quietly(0):
        normal = model.posterior(points).distribution
        mean = normal.mean.numpy()
        covariance = normal.covariance_matrix.numpy()
    return np.asarray(mean + rng.standard_normal((n_draws, len(x))) @ _root(covariance).T)


def _root(covariance: Array) -> Array:
    """A Cholesky factor, with as little added to the diagonal as it takes."""
    size = max(float(np.mean(np.diag(covariance))), 1e-12)
    for jitter in (1e-10, 1e-8, 1e-6, 1e-4):
        try:
            return np.asarray(
                np.linalg.cholesky(covariance + jitter * size * np.eye(len(covariance)))
            )
        except np.linalg.LinAlgError:
            continue
    return np.diag(np.sqrt(np.clip(np.diag(covariance), 0.0, None)))


def _paths(model: Any, points: Any, n_draws: int, seed: int) -> Array:
    """Draws by pathwise conditioning: linear in the number of points."""
    torch = require("torch", extra="search")
    pathwise = require("botorch.sampling.pathwise", extra="search")
    with torch.no_grad(), quietly(seed):
        paths = pathwise.draw_matheron_paths(model, torch.Size([n_draws]))
        return np.asarray(paths(points).reshape(n_draws, -1).numpy())


@contextmanager
def quietly(seed: int) -> Iterator[None]:
    """Torch seeded and on one thread, as before outside; advice on scaling, our task, silenced."""
    torch = require("torch", extra="search")
    exceptions = require("botorch.exceptions", extra="search")
    with one_thread(), torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore", exceptions.InputDataWarning)
        warnings.filterwarnings("ignore", module="linear_operator|gpytorch")
        # a line search that rounding stopped; BoTorch starts again by itself, and on which
        # processors it happens differs
        warnings.filterwarnings("ignore", "Optimization failed", RuntimeWarning, "botorch")
        torch.manual_seed(seed)
        yield
