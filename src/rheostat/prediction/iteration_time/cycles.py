"""Patterns that repeat every so many iterations, such as a rebuild of neighbour lists.

A bank of filters, one per period.  Each holds a level, the deviations of its phases, and a belief
over the phase that comes next: most often the following one, seldom the same again or the one after
(an extra iteration shifts the pattern).  All are kept up side by side; the period whose one-step
forecasts were the most likely is the one to use.
"""

from __future__ import annotations

import numpy as np

from rheostat.core.outcome import Array

LONGEST = 30
"""Iterations of the longest period."""
SLIP, TRUST = 0.01, 100.0
"""Probability at first that a phase comes twice, and that it is left out; iterations that this
counts for while it is learned."""
DEGREES = 4.0
"""Of the Student t by which observations are weighed: one odd iteration moves little."""
POWER = -(DEGREES + 1.0) / 2.0
PRIOR = (0.03, 4.0)
"""Iterations of a phase that count for half its deviation: few where phases differ by much more
than the noise (empirical Bayes, Efron and Morris 1973), worked out anew at every iteration, so that
a pattern once recognised is used in full."""
MEMORY = 40.0
"""Iterations over which levels and phases forget."""
FORGET = 0.99
"""Of the likelihoods by which periods are compared."""


PENALTY = 0.1
"""Log likelihood that a period must be ahead, for each phase that it has."""


class CycleBank:
    """Filters of periods 1 to ``longest`` over log times; period 1 is a plain level."""

    def __init__(self, longest: int = LONGEST) -> None:
        self.periods = np.arange(1, longest + 1)
        shape = (longest, longest)
        self.inside = np.arange(longest)[None, :] < self.periods[:, None]
        self.before = np.where(
            self.inside, (np.arange(longest)[None, :] - 1) % self.periods[:, None], 0
        )
        self.twice = np.where(
            self.inside, (np.arange(longest)[None, :] - 2) % self.periods[:, None], 0
        )
        self.belief, self.slipped = np.zeros(shape), np.zeros(shape)
        self.slip = np.full((longest, 1), SLIP)
        self.belief[:, 0] = 1.0
        self.mean, self.count = np.zeros(shape), np.zeros(shape)
        self.unshrunk = np.zeros(shape)
        self.level = np.zeros(longest)
        self.scale = np.full(longest, 0.1)
        self.score = np.zeros(longest)
        self.seen = self.total = 0

    @property
    def best(self) -> int:
        """Index of the period that is used."""
        return int(np.argmax(self.score - PENALTY * self.periods))

    def deviation(self, steps: int, k: int) -> Array:
        """Medians of the deviation from the level for the next ``steps`` iterations, period k."""
        order = np.argsort(self.mean[k, : k + 1])
        rows = self._ahead(steps, k)[:, order]
        place = (np.cumsum(rows, axis=1) < 0.5 * rows.sum(axis=1)[:, None]).sum(axis=1)
        return np.asarray(self.mean[k, order[place]])

    def _ahead(self, steps: int, k: int) -> Array:
        """Beliefs of period k for the next ``steps`` iterations, (steps, k + 1).

        An iteration is a circular convolution, of all steps at once a power of its transform.
        """
        kernel = np.zeros(k + 1)
        np.add.at(kernel, np.arange(3) % (k + 1), [1.0, 1.0 / self.slip[k, 0] - 2.0, 1.0])
        move = np.fft.fft(self.slip[k, 0] * kernel)
        spectrum = np.fft.fft(self.belief[k, : k + 1]) * move ** np.arange(steps)[:, None]
        return np.asarray(np.fft.ifft(spectrum).real)

    def forecast(self, steps: int) -> Array:
        """Log times of the next ``steps`` iterations."""
        k = self.best
        return np.asarray(self.level[k] + self.deviation(steps, k))

    def _moved(self, belief: Array) -> tuple[Array, Array]:
        """One iteration on: belief of the phase that comes, and the part of it that slipped."""
        ahead = np.take_along_axis(belief, self.before, axis=1)
        further = np.take_along_axis(belief, self.twice, axis=1)
        odd = self.slip * np.where(self.inside, belief + further, 0.0)
        on = (1.0 - 2.0 * self.slip) * np.where(self.inside, ahead, 0.0)
        return np.asarray(on + odd), np.asarray(odd)

    def log_likelihood(self, z: float) -> float:
        """Of the next iteration, under the period that is used."""
        k = self.best
        distance = z - self.level[k] - self.mean[k]
        weight = self.belief[k] @ (1.0 + (distance / self.scale[k]) ** 2 / DEGREES) ** POWER
        return float(np.log(weight) - np.log(self.scale[k]))

    def skip(self, steps: int) -> None:
        """So many iterations went by that nobody saw."""
        for _ in range(steps):
            self.belief, self.slipped = self._moved(self.belief)

    def observe(self, z: float) -> None:
        """An iteration took ``exp(z)``."""
        expected = (self.belief * self.mean).sum(axis=1)
        error = z - self.level - expected
        if self.seen == 0:
            self.level += error
            error = np.zeros_like(error)
        distance = (z - self.level)[:, None] - self.mean
        spread = self.scale[:, None]
        weight = (1.0 + (distance / spread) ** 2 / DEGREES) ** POWER
        joint = self.belief * weight
        likely = joint.sum(axis=1)
        self.score = FORGET * self.score + np.log(likely) - np.log(self.scale)
        belief = joint / likely[:, None]
        odd = 0.5 * (self.slipped * weight).sum(axis=1, keepdims=True) / likely[:, None]
        self.slip += (odd - self.slip) / (TRUST + self.total)
        self.count = np.minimum(self.count + belief, MEMORY)
        away = (z - self.level)[:, None] - self.unshrunk
        self.unshrunk += belief * away / np.maximum(self.count, 1.0)
        noise = self.scale[:, None] ** 2 / np.maximum(self.count, 1.0)
        between = ((self.unshrunk**2 - noise) * self.inside).sum(axis=1) / self.periods
        prior = np.clip(self.scale**2 / np.maximum(between, 1e-12), *PRIOR)
        self.mean = self.unshrunk * self.count / (self.count + prior[:, None])
        clipped = np.clip(error, -3.0 * self.scale, 3.0 * self.scale)
        self.seen += 1
        self.total += 1
        gain = max(1.0 / (self.seen + 1.0), 1.0 / MEMORY)
        self.level += gain * clipped
        rate = max(1.0 / (min(self.seen, self.total) + 3.0), 2.0 / MEMORY)
        self.scale = np.sqrt((1 - rate) * self.scale**2 + rate * np.maximum(clipped**2, 1e-8) * 1.1)
        self.belief, self.slipped = self._moved(belief)

    def shift(self, by: float) -> None:
        """The level is expected to change by this much, and to be learned anew."""
        self.level += by
        self.seen = 0
