"""How fast will an application run under caps that nobody tried, and how sure is that?

Applications differ in which device paces them, in how strongly, and in how noisy their runs are.
So a new one is drawn from a mixture: each component is a Gaussian process whose curves fall more or
less steeply with each cap and whose runs are more or less noisy.  The known applications teach the
scale of the curves and how common each component is; a few runs of the new one tell which component
it is and where it stands.  Lower bounds come from the whole mixture, so an application that may yet
be of the steep kind is not capped as if it were of the flat one.
`rheostat.prediction.completion.model` puts it beside plainer curves and calibrates what comes out.

Notation
--------
A  known applications      p  settings      k  caps      C  components      n  settings tried
y : (p,) log speed relative to the default's run      w : (C,) weights
m : (C, p), K : (C, p, p) mean and covariance of log speed      s : (C,) noise of one run

References
----------
Rasmussen, Ghahramani: Infinite mixtures of Gaussian process experts, NeurIPS 2002: mixtures of
whole functions.  Dempster, Laird, Rubin, JRSS B 39 (1977): EM for the weights.
"""

from __future__ import annotations

import itertools
from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheostat.core.outcome import Array
from rheostat.errors import NotFitted
from rheostat.prediction.completion.curves import whole
from rheostat.prediction.completion.kernels import additive, bases
from rheostat.prediction.completion.table import CapTable

Ints = NDArray[np.int64]
STEEP = (0.2, 0.6, 1.2, 2.0)
"""How much steeper than the typical curve, per cap."""
NOISY = (0.2, 0.5, 1.0, 2.5)
"""How much noisier than the typical run."""
_MEAN_LEAST = 1.3  # a steeper component falls faster by its covariance, not by its mean
_ROUNDS = 50
_PRIOR = 0.05  # applications' worth of weight that every component keeps
_JITTER = 1e-9
_SEEN = 1e-6  # spread of what was seen


@dataclass(frozen=True)
class Completion:
    """What is believed of one application after n runs: a mixture over all settings.

    ``mean`` and ``sd`` (C, p) are of the log speed that a run would show; at settings that were
    tried they are what was seen.
    """

    weight: Array
    mean: Array
    sd: Array
    tried: tuple[int, ...]

    def speed(self) -> Array:
        """Expected speed relative to the default, (p,)."""
        return np.exp(self.weight @ self.mean)

    def variance(self) -> Array:
        """Variance of log speed, (p,)."""
        between = (self.mean - self.weight @ self.mean) ** 2
        return np.asarray(self.weight @ (self.sd**2 + between))

    def reaches(self, speed: float) -> Array:
        """Probability that a setting is at least so fast, (p,).

        >>> c = Completion(np.ones(1), np.zeros((1, 2)), np.array([[1e-6, 0.1]]), (0,))
        >>> c.reaches(0.9).round(2)
        array([1.  , 0.85])
        """
        return self.reaches_each(np.full(self.mean.shape[1], speed))

    def bound(self, probability: float) -> Array:
        """The speed that is reached with this probability, (p,), by bisection."""
        low, high = np.full(self.mean.shape[1], 1e-3), np.full(self.mean.shape[1], 10.0)
        for _ in range(50):
            middle = np.sqrt(low * high)
            enough = self.reaches_each(middle) >= probability
            low, high = np.where(enough, middle, low), np.where(enough, high, middle)
        return low

    def reaches_each(self, speed: Array) -> Array:
        """Probability that each setting is at least as fast as its own ``speed`` (p,)."""
        from scipy.special import ndtr

        z = (self.mean - np.log(speed)) / self.sd
        return np.asarray(np.minimum(self.weight @ ndtr(z), 1.0))


class CapMixture:
    """Learns from known applications, completes the row of a new one.

    ``by_default`` says that speeds are relative to one run at the default setting, whose noise all
    settings then share; False is for speeds over the fastest of a sweep.

    >>> from rheostat.measurement.synthetic.capped_runs import capped_runs
    >>> from rheostat.prediction.completion.table import cap_table
    >>> t = cap_table(capped_runs(12, seed=3))
    >>> model = CapMixture().fit(t.only(range(11)))
    >>> seen = [t.default, 0, 10]
    >>> found = model.complete(seen, t.speed[11, seen])
    >>> bool(np.abs(found.speed() / t.speed[11] - 1).mean() < 0.05)
    True
    """

    def __init__(self, *, by_default: bool = True) -> None:
        self.by_default = by_default

    def fit(self, known: CapTable) -> CapMixture:
        """Scale of the curves by maximum likelihood, weights of the components by EM."""
        self.depth_, self.start_ = known.depth, known.default
        self.y_ = np.log(known.speed)
        self.whole_ = whole(self.y_, self.depth_)
        base = bases(self.depth_)
        scale, noise = _scales(self.y_ - self._mean(self.whole_), base, self._shared(), self.start_)
        k = self.depth_.shape[1]
        kinds = np.array(list(itertools.product(*[STEEP if k < 3 else STEEP[::2]] * k, NOISY)))
        self.steep_ = kinds[:, :k]
        power = np.column_stack([self.steep_**2, self.steep_.prod(axis=1)]) * scale
        offset = 0.0 if self.by_default else 1e-4
        self.covariance_ = np.tensordot(power, base, axes=1) + offset
        self.noise_ = noise * kinds[:, k]
        groups = _alike(self.y_, self._skipped())
        self.roots_ = [
            (np.array(rows), index, self._root(index))
            for rows, index in groups if len(index)
        ]  # fmt: skip
        return self._learn(np.arange(len(self.y_)))

    def learned_from(self, rows: Ints) -> CapMixture:
        """The same, taught by some of the applications; the scales stay those of all."""
        return copy(self)._learn(rows)

    def _learn(self, rows: Ints) -> CapMixture:
        """Mean of each component and how common it is, from some of the applications."""
        mean = self._mean(self.whole_[rows])
        parts = additive(mean, self.depth_)
        rest = 0.0 if self.by_default else float((mean - parts.sum(axis=0)).mean())
        self.mean_ = rest + np.minimum(self.steep_, _MEAN_LEAST) @ parts
        self.weight_ = self._weights(rows)
        return self

    def _mean(self, rows: Array) -> Array:
        mean = rows.mean(axis=0)
        return np.asarray(mean - mean[self.start_] if self.by_default else mean)

    @property
    def run_variance(self) -> Array:
        """Variance of log speed that one run shows beyond the curve, of each component, (C,)."""
        return np.asarray(self.noise_**2 * (1.0 + self._shared()))

    def _shared(self) -> float:
        """Share of a run's noise variance that all settings have in common."""
        return 1.0 if self.by_default else 0.0

    def _weights(self, rows: Ints) -> Array:
        """How common each component is among the applications ``rows``."""
        likelihood = np.zeros((len(self.y_), len(self.noise_)))
        for some, tried, root in self.roots_:
            likelihood[some] = self._likelihoods(tried, self.y_[some], root)
        weight = np.full(len(self.noise_), 1.0 / len(self.noise_))
        for _ in range(_ROUNDS):
            share = _normalised(likelihood[rows] + np.log(weight))
            weight = share.sum(axis=0) + _PRIOR
            weight /= weight.sum()
        return weight

    def _skipped(self) -> int:
        return self.start_ if self.by_default else -1

    def _observed(self, tried: Ints) -> Array:
        """Covariance of what runs at ``tried`` show, (C, n, n)."""
        n = len(tried)
        own = self.covariance_[:, tried[:, None], tried]
        variance = self.noise_[:, None, None] ** 2
        return own + variance * (np.eye(n) + self._shared()) + _JITTER * np.eye(n)

    def _root(self, tried: Ints) -> Array:
        return np.asarray(np.linalg.cholesky(self._observed(tried)), dtype=float)

    def _likelihoods(self, tried: Ints, y: Array, root: Array) -> Array:
        """Log likelihood of rows (r, p) of log speed under each component, (r, C)."""
        z = np.linalg.solve(root, y[:, tried].T - self.mean_[:, tried, None])
        size = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        return np.asarray((-0.5 * (z**2).sum(axis=1) - size[:, None]).T)

    def complete(self, tried: list[int], speed: Array, *, noise: float = 0.0) -> Completion:
        """What is believed after runs at settings ``tried`` (indices) showed ``speed``.

        ``noise`` is the relative error of the speeds beyond that of a run, where they are estimated
        and not measured.  The default, tried or not, has speed 1.
        """
        if not hasattr(self, "weight_"):
            raise NotFitted(self)
        keep = [i for i, t in enumerate(tried) if t != self._skipped()]
        index = np.array([tried[i] for i in keep], dtype=np.int64)
        seen = np.log(np.asarray(speed, dtype=float)[keep])
        weight, mean, variance = self.weight_, self.mean_.copy(), self._prior_variance()
        if len(index):
            weight, mean, variance = self._posterior(index, seen, noise)
        sd = np.sqrt(np.maximum(variance, 1e-12))
        if noise == 0.0:
            mean[:, index], sd[:, index] = seen, _SEEN
        if self.by_default:
            mean[:, self.start_], sd[:, self.start_] = 0.0, _SEEN
        return Completion(weight, mean, sd, tuple(int(t) for t in tried))

    def _prior_variance(self) -> Array:
        return np.diagonal(self.covariance_, axis1=1, axis2=2) + self.run_variance[:, None]

    def _posterior(self, index: Ints, seen: Array, noise: float) -> tuple[Array, Array, Array]:
        """Weights (C,), mean and variance (C, p) of the log speed that runs would show."""
        root = np.linalg.cholesky(self._observed(index) + noise**2 * np.eye(len(index)))
        # the default's noise is shared by what was seen and what would be seen
        across = self.covariance_[:, index] + self._shared() * self.noise_[:, None, None] ** 2
        half = np.linalg.solve(root, across)
        z = np.linalg.solve(root, (seen - self.mean_[:, index])[..., None])
        mean = self.mean_ + (half * z).sum(axis=1)
        size = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        likelihood = -0.5 * (z**2).sum(axis=(1, 2)) - size
        weight = _normalised((likelihood + np.log(self.weight_))[None])[0]
        return weight, mean, self._prior_variance() - (half**2).sum(axis=1)


def _places(row: Array, skipped: int) -> Ints:
    there = np.isfinite(row)
    if skipped >= 0:
        there[skipped] = False
    return np.flatnonzero(there)


def _alike(y: Array, skipped: int) -> list[tuple[list[int], Ints]]:
    """Rows that were measured at the same settings, and those settings."""
    groups: dict[bytes, tuple[list[int], Ints]] = {}
    for i, row in enumerate(y):
        index = _places(row, skipped)
        groups.setdefault(index.tobytes(), ([], index))[0].append(i)
    return list(groups.values())


def _normalised(log_weight: Array) -> Array:
    """Rows of log weights as shares."""
    shifted = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def _scales(residual: Array, base: Array, shared: float, start: int) -> tuple[Array, float]:
    """Variance along each basis (k + 1,) and noise of a run, most likely for all rows together."""
    from scipy.optimize import minimize

    groups = _alike(residual, start if shared else -1)

    def cost(theta: Array) -> float:
        power, variance = np.exp(2 * theta[:-1]), np.exp(2 * theta[-1])
        total = 0.01 * float(theta @ theta)
        whole = np.tensordot(power, base, axes=1)
        for rows, index in groups:
            own = whole[np.ix_(index, index)] + variance * (np.eye(len(index)) + shared)
            root = np.linalg.cholesky(own + _JITTER * np.eye(len(index)))
            z = np.linalg.solve(root, residual[rows][:, index].T)
            total += 0.5 * float((z**2).sum()) + len(rows) * float(np.log(np.diag(root)).sum())
        return total

    first = np.log(np.array([0.1] * (len(base) - 1) + [0.02, 0.02]))
    optimum = minimize(cost, first, method="L-BFGS-B", bounds=[(-9.0, 1.0)] * len(first))
    return np.exp(2 * optimum.x[:-1]), float(np.exp(optimum.x[-1]))
