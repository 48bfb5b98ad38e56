"""Rules: how to take one setting from a front.

A front lists what can be had; a rule chooses.  ``front.choose(Knee(), limits=[Deadline("2h")])``
reads: of the settings that finish within two hours, the one after which paying more buys little.

References
----------
Das, I.: On characterizing the "knee" of the Pareto curve (1999).
Gonzalez, R., Horowitz, M.: Energy dissipation in general purpose microprocessors (1996): the
energy-delay product, here the case of equal weights on log axes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rheostat.core.front import Front, Objective
from rheostat.core.outcome import Array
from rheostat.core.units import plain_name
from rheostat.errors import DataError
from rheostat.tradeoff.limits import MaxSlowdown
from rheostat.tradeoff.many_fronts import knee_heights

MOST_WEIGHT = 1e6
"""A larger exponent is a typing error, and overflows."""


@dataclass(frozen=True)
class Knee:
    """The bend of the front: farthest below the chord between its ends, on log axes.

    Where constraints forbid the knee itself, the allowed row nearest to the chord's far side is
    taken; where they forbid the whole front (a power cap on a runtime-energy front may), the best
    of what the front hides.

    >>> str(Knee())
    'knee of the front'
    """

    def score(self, front: Front) -> Array:
        """Height over the chord, (n,): least at the knee; dominated rows follow, layer by layer."""
        return knee_height(front.values)

    def score_many(self, values: Array) -> Array:
        """`score` of many fronts at once: ``values`` (J, S, m) gives (J, S)."""
        return knee_heights(values)

    def words(self, objectives: Sequence[Objective]) -> str:
        """Of one objective there is no knee but its best value.

        >>> Knee().words([Objective.of("runtime_s")])
        'least runtime'
        """
        if len(objectives) > 1:
            return str(self)
        least = "most" if objectives[0].sense == "max" else "least"
        return f"{least} {plain_name(objectives[0].name)}"

    def __str__(self) -> str:
        return "knee of the front"


def knee_height(y: Array) -> Array:
    """Relative height of each row of ``y`` (n, m; minimised) over the chord of its layer.

    >>> knee_height(np.array([[1.0, 100.0], [2.0, 10.0], [100.0, 1.0], [100.0, 100.0]])).round(2)
    array([ 0.  , -0.17,  0.  ,  3.  ])

    On the front it lies in [-1, 1].  Rows of the second layer (the front of what remains when the
    front is taken away) score 3 more than their height there, those of the third 6, and so on; a
    row with NaN is inf.  A layer with fewer than three distinct points has no bend: the height is
    then the place in the first objective, turned round where that is within `FLAT` and costs more
    than it gains.
    """
    return np.asarray(knee_heights(np.asarray(y, dtype=float)[None])[0])


@dataclass(frozen=True)
class Weighted:
    """The least product of powers: ``{"runtime_s": 1, "energy_j": 1}`` is the energy-delay product.

    A weight says how many per cent of one quantity are worth one per cent of another, whatever the
    units.  A quantity that is a maximised objective of the front counts against.

    Parameters
    ----------
    weights : mapping of str to float
        Exponent of each quantity, from 0 to `MOST_WEIGHT`.
    counted : MaxSlowdown, optional
        Nothing is gained in a draw that misses it: there a setting counts no better than the one
        the slowdown refers to.  So a little more saving is not bought with much more risk.

    Raises
    ------
    DataError
        A weight below 0 or above the most, or none above 0.

    Examples
    --------
    >>> str(Weighted({"runtime_s": 2, "energy_j": 1}))
    'least runtime^2 x energy'
    """

    weights: Mapping[str, float]
    counted: MaxSlowdown | None = None

    def __post_init__(self) -> None:
        good = bool(self.weights) and all(0 <= w <= MOST_WEIGHT for w in self.weights.values())
        if not good or not any(w > 0 for w in self.weights.values()):
            raise DataError(
                "Weighted",
                [
                    f"expected weights from 0 to {MOST_WEIGHT:g}, one of them above 0, "
                    f"got {dict(self.weights)}"
                ],
            )

    @property
    def rowwise(self) -> bool:
        """Whether rows are judged one by one: not where some setting is the one compared with."""
        return self.counted is None

    @property
    def against(self) -> Mapping[str, Any] | Literal["requested"] | None:
        """The setting compared with, if any."""
        return None if self.counted is None else self.counted.against

    def score(self, front: Front) -> Array:
        """Weighted sum of logs, (n,); a row with a value that is not positive is inf."""
        if self.counted is not None:
            return self.score_from(front, np.array([self.counted.base(front)]))
        return self._score(front, front.mean)

    def score_from(self, front: Front, base: NDArray[np.int64]) -> Array:
        """`score` of J fronts of equal length in one, (n,), each with the place compared with."""
        if self.counted is None:
            return self._score(front, front.mean)
        limited = self._folded(front, self.counted.quantity, base)
        missed = limited[0] > self.counted.factor * limited[1]

        def mean(name: str) -> Array:
            draws, compared = self._folded(front, name, base)
            best = np.minimum if _sense(front, name) < 0 else np.maximum
            return np.asarray(np.where(missed, best(draws, compared), draws).mean(0).reshape(-1))

        return self._score(front, mean)

    def _folded(self, front: Front, name: str, base: NDArray[np.int64]) -> tuple[Array, Array]:
        """Draws (d, J, S) of a quantity, and those at the setting compared with, (d, J, 1)."""
        flat = front.draws(name)
        draws = flat.reshape(len(flat), len(base), -1)
        return draws, np.take_along_axis(draws, base[None, :, None], axis=2)

    def _score(self, front: Front, mean: Callable[[str], Array]) -> Array:
        total = np.zeros(len(front))
        for name, weight in self.weights.items():
            value = mean(name)
            positive = np.where(value > 0, value, np.nan)
            total += weight * _sense(front, name) * np.log(positive)
        return np.where(np.isnan(total), np.inf, total)

    def __str__(self) -> str:
        parts = [
            plain_name(k) + ("" if w == 1 else f"^{w:g}") for k, w in self.weights.items() if w
        ]
        return f"least {' x '.join(parts)}"


def _sense(front: Front, name: str) -> float:
    """-1 for an objective of the front that is maximised."""
    return -1.0 if any(o.name == name and o.sense == "max" for o in front.objectives) else 1.0
