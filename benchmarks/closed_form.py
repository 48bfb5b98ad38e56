"""A closed form of twelve numbers for the energy of one output token, refitted per setting.

The structure of EnergyLens (arXiv 2605.10556) as far as it is public: prefill and decode apart,
tensor and pipeline parallelism decoupled, batch and sequence length.  Its equation is not public;
the one here is ours, of the same variables and number of parameters.

Notation
--------
T, P  tensor and pipeline parallel degrees        N = gpus      B  batch cap
S  tokens of an answer, in thousands: 1      W  bytes of weights, in 1e9

    E = (a1 T^a2 P^a3 + a4 S) / S + a5 N / B
        + (b1 T^b2 P^b3 + b4 W) / B^b5 + b6 S + b7 (N - 1) / B

How long answers will be is not known before a run, so S is the same for all: a4 and b6 are then one
constant, and eleven of the numbers can be told apart.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import least_squares

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Outcome
from rheostat.errors import NotFitted
from rheostat.prediction.features.model_columns import learnable
from rheostat.prediction.serving_law.configurations import Array, Configurations

TARGET = "energy_per_token_j"
# a1 a2 a3 a4 a5 b1 b2 b3 b4 b5 b6 b7; exponents may be negative, coefficients are logarithms
EXPONENTS = np.array([1, 2, 6, 7, 9])
START = np.array([-5.0, 0.2, 0.2, -6.0, -1.0, -1.0, 0.3, 0.3, -3.0, 0.7, -5.0, -1.0])


class ClosedForm:
    """Energy per token by twelve numbers; one value per row, without an interval.

    >>> from rheostat.core.vocabulary import table
    >>> runs = table({"app": ["m"] * 3, "params": [8e9] * 3, "gpu_model": ["H100"] * 3,
    ...               "gpus": [1, 1, 2], "batch_cap": [8, 64, 64],
    ...               "energy_per_token_j": [0.4, 0.1, 0.15]})
    >>> ClosedForm().fit(runs).predict(runs).mean("energy_per_token_j").round(2)
    array([0.4 , 0.1 , 0.15])
    """

    def fit(self, jobs: JobTable) -> ClosedForm:
        """Least squares of logarithms from several starts; a run far off counts less."""
        kept, values, _ = learnable(jobs, (TARGET,))
        c, logs = Configurations.of(kept), np.log(values[:, 0])

        def misfit(numbers: Array) -> Array:
            return np.asarray(_log_energy(numbers, c) - logs)

        rng = np.random.default_rng(0)
        starts = [START, *(START + rng.normal(0, 1, len(START)) for _ in range(4))]
        fits = [
            least_squares(misfit, s, loss="soft_l1", bounds=(-14, 6), max_nfev=60) for s in starts
        ]
        self.numbers_ = min(fits, key=lambda f: float(f.cost)).x
        return self

    def predict(self, jobs: JobTable) -> Outcome:
        """One draw per row."""
        if not hasattr(self, "numbers_"):
            raise NotFitted(self)
        return Outcome({TARGET: np.exp(_log_energy(self.numbers_, Configurations.of(jobs)))[None]})


def _log_energy(numbers: Array, c: Configurations) -> Array:
    numbers = np.where(np.isin(np.arange(len(numbers)), EXPONENTS), numbers, np.exp(numbers))
    a1, a2, a3, a4, a5, b1, b2, b3, b4, b5, b6, b7 = numbers
    tp, weights = c.gpus / c.pp, c.weight_b * c.active / 1e9
    prefill = a1 * tp**a2 * c.pp**a3 + a4 + a5 * c.gpus / c.batch
    decode = (b1 * tp**b2 * c.pp**b3 + b4 * weights) / c.batch**b5 + b6
    return np.asarray(np.log(prefill + decode + b7 * (c.gpus - 1) / c.batch))
