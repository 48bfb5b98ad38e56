"""Do runs of one problem take longer as time goes by?  Inputs grow under a name that stays.

Where users raise the setting along with the input, growth looks like a code that does not scale,
and forecasts lag behind.  Runs of one problem at equal settings tell the growth; all runs are then
compared, and levels told, as of the end of the log.

Notation
--------
n  rows in order of time      K  problems      t : (n,) submission, from 0 to 1 over the log
y = level(problem, setting) + b_k t + noise s,   b_k ~ N(m, d^2)
A slope of few runs is pulled to m by d^2 / (d^2 + s^2 / S_k), S_k the square of t within settings.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from rheostat.core.outcome import Array
from rheostat.prediction.effects.doubts import FEWEST_PAIRS, MOST_NOISE, SURE, Ints
from rheostat.prediction.effects.levels import centred
from rheostat.prediction.effects.places import pairs

FEWEST_AGAIN = 2
"""Runs beyond the first at equal settings with which a problem tells a growth of its own."""
LEAST_SPAN = 0.03
"""Of the log, by which repeats are apart (root mean square) where they tell growth over all of it;
what is repeated sooner is compared before it grows."""
BEYOND = 0.5


@dataclass(frozen=True)
class GrowthRates:
    """Growth in logarithm over the log of each problem, (K,), and how far one may be off.

    ``mean`` and ``error`` are of all problems, ``apart`` is how unlike they are.
    """

    own: Array
    off: Array
    mean: float
    error: float
    apart: float

    @property
    def there(self) -> bool:
        """Whether problems grow, or shrink, by more than chance and more than noise.

        Of inputs that come and go some grow and others shrink.
        """
        return abs(self.mean) > max(SURE * self.error, MOST_NOISE)

    def words(self, record: str) -> str:
        """What a log says of it."""
        low, high = np.exp(self.mean + 1.645 * self.apart * np.array([-1, 1]))
        grow, less = "inputs grow or a machine slows", "inputs shrink or codes get faster"
        why = grow if self.mean > 0 else less
        unlike = f" ({low:.2f} to {high:.2f} times for nine in ten of them)"
        return (
            f"runs of one {record} at equal settings take {np.exp(self.mean):.2f} times as long "
            f"at the end of the log as at its start{unlike * (self.apart > MOST_NOISE)}, as "
            f"where {why}: they are compared as of its end"
        )


@dataclass(frozen=True)
class Grown:
    """Where a log's problems stood at other times than at its end: it began at ``start_s``.

    ``own`` has the growth of the problems that a model knows, over ``span_s``, and last that of
    others.
    """

    start_s: float
    span_s: float
    own: Array

    def since_end(self, frame: pl.DataFrame, seen: Ints) -> Array:
        """Logarithm of what rows (n,) take over what they took at the end of the log.

        Growth is taken to go on for at most `BEYOND` of the log's span.

        >>> grown = Grown(100.0, 10.0, np.array([0.4, 0.0]))
        >>> jobs = pl.DataFrame({"submit_s": [105.0, 110.0, 112.0, 900.0]})
        >>> grown.since_end(jobs, np.zeros(4, dtype=int)).round(2)
        array([-0.2 ,  0.  ,  0.08,  0.2 ])
        """
        if "submit_s" not in frame.columns:
            return np.zeros(len(seen))
        submit_s = frame["submit_s"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        time = np.clip((submit_s - self.start_s) / self.span_s - 1, -1.0, BEYOND)
        return np.asarray(self.own[seen] * np.where(np.isfinite(time), time, 0.0))


@dataclass(frozen=True)
class Growth:
    """Growth of problems (n,) over ``submit_s`` (n,), by runs at the ``same`` setting, (n,)."""

    submit_s: Array
    problem: Ints
    same: Ints

    @property
    def span_s(self) -> float:
        """Of the log."""
        return max(float(np.ptp(self.submit_s)), 1e-9)

    @property
    def time(self) -> Array:
        """From 0 at the first submission to 1 at the last."""
        return np.asarray((self.submit_s - self.submit_s.min()) / self.span_s)

    @classmethod
    def of(cls, submit_s: Array, problem: Ints, setting: Array) -> Growth:
        """Of a log in order of time, its problems and settings (n,)."""
        code = np.unique(problem, return_inverse=True)[1]
        same = pairs(code, np.unique(setting, return_inverse=True)[1])
        return cls(submit_s, code, same)

    def slopes(self, y: Array) -> GrowthRates | None:
        """Of log outcomes ``y`` (n,); None where too few runs were repeated, or all too soon.

        >>> rng, problem = np.random.default_rng(0), np.arange(1200) % 40
        >>> when, grows = np.linspace(0.0, 1.0, 1200), 0.5 + 0.2 * rng.standard_normal(40)
        >>> noise = 0.05 * rng.standard_normal(1200)
        >>> growth = Growth.of(when, problem, 0 * when)
        >>> found = growth.slopes(problem + grows[problem] * when + noise)
        >>> bool(np.corrcoef(found.own, grows)[0, 1] > 0.98), found.there
        (True, True)
        >>> growth.slopes(problem + noise).there
        False
        """
        t, rest, k = centred(self.time, self.same), centred(y, self.same), self.problem
        square, cross = np.bincount(k, t * t), np.bincount(k, t * rest)
        groups = np.bincount(k[np.unique(self.same, return_index=True)[1]], minlength=len(square))
        tells = (np.bincount(k) - groups >= FEWEST_AGAIN) & (square > 1e-9)
        free = int((np.bincount(k) - groups - 1)[tells].sum())
        if tells.sum() < 2 or free < FEWEST_PAIRS:
            return None
        if square[tells].sum() < LEAST_SPAN**2 * np.bincount(k)[tells].sum():
            return None
        alone = np.where(tells, cross / np.where(tells, square, 1.0), 0.0)
        noise = float(((rest - alone[k] * t)[tells[k]] ** 2).sum()) / free
        s, b = square[tells], alone[tells]
        gap = float(s @ (b - s @ b / s.sum()) ** 2)
        apart = max((gap - (len(s) - 1) * noise) / float(s.sum() - s @ s / s.sum()), 0.0)
        weight = 1 / (apart + noise / s)
        mean, by_noise = float(weight @ b / weight.sum()), float(weight.sum() ** -0.5)
        error = max(by_noise, float(np.linalg.norm(weight * (b - mean)) / weight.sum()))
        pull = apart / (apart + noise / np.where(tells, square, 1.0)) * tells
        off = np.sqrt(apart * (1 - pull))
        return GrowthRates(
            mean + pull * (alone - mean), off, mean, float(error), float(np.sqrt(apart))
        )

    def removed(self, y: Array, rates: GrowthRates) -> Array:
        """``y`` (n,) as it would be at the end of the log."""
        return np.asarray(y + rates.own[self.problem] * (1 - self.time))

    def ended(self, y: Array, seen: Ints) -> tuple[Array, Grown | None]:
        """The same, and for problems by the place (n,) that a model gives them, -1 for others."""
        rates = self.slopes(y)
        if rates is None:
            return y, None
        own = np.full(int(seen.max(initial=-1)) + 2, rates.mean)
        own[seen[seen >= 0]] = rates.own[self.problem[seen >= 0]]
        return self.removed(y, rates), Grown(float(self.submit_s.min()), self.span_s, own)

    def left_open(self, rates: GrowthRates, setting: Array) -> float:
        """The error of an exponent that slopes which are off allow, ``setting`` in logarithm."""
        asked = centred(setting, self.problem)
        if not asked.any():
            return 0.0
        follows = asked @ centred(self.time, self.problem) / float(asked @ asked)
        off = rates.off[self.problem] @ rates.off[self.problem] / len(setting)
        return float(abs(follows) * np.sqrt(off + rates.error**2))
