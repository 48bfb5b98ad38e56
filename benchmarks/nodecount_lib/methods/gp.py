"""BoTorch peers: Gaussian processes with single- and multi-objective acquisition over the finite
pool.

One `SingleTaskGP` (its default kernel, priors and outcome standardisation) per log objective at its
MAP hyper-parameters, refitted at every step; the acquisition is evaluated at every unmeasured
setting, so no optimiser of the acquisition can fail.  The posterior mean of the same model answers
the questions.

References
----------
.. [1] S. Daulton, M. Balandat, E. Bakshy, "Parallel Bayesian optimization of multiple noisy
objectives with
   expected hypervolume improvement", NeurIPS 2021.
.. [2] S. Ament et al., "Unexpected improvements to expected improvement for Bayesian optimization",
2023.
.. [3] J. Knowles, "ParEGO", IEEE TEC 2006.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.acquisition.multi_objective import logei
from botorch.acquisition.multi_objective.parego import qLogNParEGO
from botorch.models import SingleTaskGP
from botorch.sampling import SobolQMCNormalSampler
from botorch.utils.multi_objective.hypervolume import infer_reference_point
from linear_operator.utils.warnings import NumericalWarning

from ..pools import Array
from .base import Method, nearest
from .gpfit import fit_map

torch.set_num_threads(1)
logei._load_attempted = True  # same numbers without compiling a kernel at first use
MC_SAMPLES = 64


def fitted(x: Array, target: Array) -> SingleTaskGP:
    """SingleTaskGP over maximised targets (n, m) at its MAP hyper-parameters.

    A constant target column gets a nominal spread, which BoTorch's standardisation needs.
    """
    flat = np.ptp(target, axis=0) < 1e-9
    target = target + flat * 1e-6 * np.linspace(-1, 1, len(target))[:, None]
    return fit_map(SingleTaskGP(torch.tensor(x), torch.tensor(target)))


class GpMethod(Method):
    """Shared by the BoTorch peers: data as tensors and the posterior mean as belief."""

    _cached: tuple[int, SingleTaskGP] | None = None

    def columns(self) -> list[int]:
        """Quantities the model is of."""
        return list(self.problem.pair)

    def model(self) -> SingleTaskGP:
        """GP of the negated log quantities, fitted once per number of measurements."""
        if self._cached is None or self._cached[0] != len(self.seen):
            x, y = self.problem.x[self.seen], np.stack(self.y)[:, self.columns()]
            self._cached = (len(self.seen), fitted(x, -y))
        return self._cached[1]

    def believe(self) -> Array | None:
        """Posterior means of the modelled quantities, once two settings are measured."""
        if len(self.seen) < 2:
            return None
        belief = np.full((self.problem.n, 3), np.nan)
        with torch.no_grad():
            belief[:, self.columns()] = (
                -self.model().posterior(torch.tensor(self.problem.x)).mean.numpy()
            )
        return belief


class SingleObjective(GpMethod):
    """Expected improvement of one scalar: runtime, power, or the energy-delay product."""

    pair_free = True
    weights: tuple[float, float, float]

    def columns(self) -> list[int]:
        """All three, because the questions of both pairs are answered from one trajectory."""
        return [0, 1, 2]

    def pick(self, remaining: int) -> int:
        """Setting of the largest log expected improvement."""
        score = -(np.stack(self.y) @ np.array(self.weights))[:, None]
        model = fitted(self.problem.x[self.seen], score)
        left = self.unseen()
        with torch.no_grad():
            a = LogExpectedImprovement(model, best_f=score.max())(
                torch.tensor(self.problem.x[left])[:, None]
            )
        return int(left[int(a.argmax())])


class SoboRuntime(SingleObjective):
    """Single-objective search for the shortest runtime."""

    weights = (1.0, 0.0, 0.0)


class SoboPower(SingleObjective):
    """Single-objective search for the lowest power."""

    weights = (0.0, 1.0, 0.0)


class SoboEdp(SingleObjective):
    """Single-objective search for the smallest energy x delay."""

    weights = (1.0, 0.0, 1.0)


class MultiObjective(GpMethod):
    """Two-output GP and a Monte Carlo acquisition with fixed base samples."""

    def _acquire(self, model: SingleTaskGP, x: torch.Tensor, target: torch.Tensor) -> Any:
        raise NotImplementedError

    def _sampler(self) -> SobolQMCNormalSampler:
        return SobolQMCNormalSampler(
            torch.Size([MC_SAMPLES]), seed=self.seed * 1000 + len(self.seen)
        )

    def pick(self, remaining: int) -> int:
        """Setting of the largest acquisition value among those not measured."""
        x = self.problem.x[self.seen]
        y = np.stack(self.y)[:, self.columns()]
        left = self.unseen()
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore", NumericalWarning)
            acquisition = self._acquire(self.model(), torch.tensor(x), torch.tensor(-y))
            a = acquisition(torch.tensor(self.problem.x[left])[:, None])
        return int(left[int(a.argmax())])


class BotorchNehvi(MultiObjective):
    """qLogNEHVI, reference inferred by BoTorch's own rule from what was measured."""

    def _acquire(self, model: SingleTaskGP, x: torch.Tensor, target: torch.Tensor) -> Any:
        return logei.qLogNoisyExpectedHypervolumeImprovement(
            model, infer_reference_point(target), x, sampler=self._sampler(), prune_baseline=True
        )


class BotorchCorners(BotorchNehvi):
    """The same from the two ends of the space, every knob high and then every knob low.

    Of five starts tried (two or four quasi-random points, middle first, quarter points, ends) none
    was best throughout; this one had by far the lowest regret at two evaluations, so it stands
    beside `botorch`.
    """

    def next_start(self) -> int:
        """Upper corner, then lower corner."""
        corner = np.full(self.problem.x.shape[1], 1.0 - len(self.seen))
        return nearest(self.problem.x, corner, self.unseen())


class Parego(MultiObjective):
    """qLogNParEGO: noisy EI of a random Chebyshev scalarisation, a new weight at each step."""

    def _acquire(self, model: SingleTaskGP, x: torch.Tensor, target: torch.Tensor) -> Any:
        w = self.rng.dirichlet([1.0, 1.0])
        return qLogNParEGO(
            model,
            x,
            scalarization_weights=torch.tensor(w),
            sampler=self._sampler(),
            prune_baseline=True,
        )
