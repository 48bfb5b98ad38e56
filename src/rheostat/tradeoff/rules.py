"""Rules: how to take one setting from a front, and which settings are out of the question.

A front lists what can be had; a rule chooses.  ``front.choose(Knee(), limits=[Deadline("2h")])``
reads: of the settings that finish within two hours, the one after which paying more buys little.
A limit (deadline, power cap, ...) serves as both: as a constraint it says by how much a setting
misses; as a rule it takes, among the settings that hold it, the one that is best in the other
objective.

A prediction is uncertain, so a limit carries ``confidence``: the share of draws that must hold it.
0.5 (the median) treats the forecast as the truth; 0.9 keeps a promise nine times out of ten.

Notation
--------
n  alternatives    d  draws    q : (d, n) draws of the limited quantity    L  the limit
rowwise = True says that a row's score or excess does not depend on the other rows, so that many
jobs may be asked about in one table.
excess = quantile_c(q) / L - 1, at most 0 exactly when a share c of the draws holds the limit

References
----------
Das, I.: On characterizing the "knee" of the Pareto curve (1999).
Gonzalez, R., Horowitz, M.: Energy dissipation in general purpose microprocessors (1996): the
energy-delay product, here the case of equal weights on log axes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rheostat.core.front import Front
from rheostat.core.outcome import Array
from rheostat.core.units import format_quantity, parse_quantity
from rheostat.errors import DataError
from rheostat.tradeoff.many_fronts import knee_heights


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

    def __str__(self) -> str:
        return "knee of the front"


def knee_height(y: Array) -> Array:
    """Relative height of each row of ``y`` (n, m; minimised) over the chord of its layer.

    >>> knee_height(np.array([[1.0, 100.0], [2.0, 10.0], [100.0, 1.0], [100.0, 100.0]])).round(2)
    array([ 0.  , -0.17,  0.  ,  3.  ])

    On the front it lies in [-1, 1].  Rows of the second layer (the front of what remains when the
    front is taken away) score 3 more than their height there, those of the third 6, and so on; a
    row with NaN is inf.  A layer with fewer than three distinct points has no bend: the height is
    then the place in the first objective.
    """
    return np.asarray(knee_heights(np.asarray(y, dtype=float)[None])[0])


@dataclass(frozen=True)
class Limit:
    """At most ``most`` (base ``unit``) of a quantity, with a confidence; see the named limits."""

    quantity: str
    most: float
    unit: str
    confidence: float = 0.5
    rowwise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        problems = []
        if not self.most > 0 or math.isinf(self.most):
            problems.append(f"{self.quantity}: expected a limit above 0, got {self.most}")
        if not 0 < self.confidence < 1:
            problems.append(f"confidence: expected between 0 and 1, got {self.confidence}")
        if problems:
            raise DataError(type(self).__name__, problems)

    def excess(self, front: Front) -> Array:
        """Relative miss of each row, (n,): <= 0 where held, NaN where the model abstains."""
        return _quantile(front.draws(self.quantity), self.confidence) / self.most - 1.0

    def held(self, front: Front) -> Array:
        """Share of draws that hold the limit, (n,): its probability under the model."""
        draws = front.draws(self.quantity)
        there = np.isfinite(draws)
        held = (there & (draws <= self.most)).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
        return np.where(there.any(axis=0), held, np.nan)

    def score(self, front: Front) -> Array:
        """The first objective that is not the limited one, inf where the limit is missed."""
        return _other_objective(front, self.quantity, self.excess(front))

    def __str__(self) -> str:
        text = f"{_PLAIN.get(self.quantity, self.quantity)} at most {_say(self.most, self.unit)}"
        return text + _surely(self.confidence)


class Deadline(Limit):
    """The job ends within this time of its start; as a rule: the least of the other objective.

    Parameters
    ----------
    runtime : str or float
        Seconds, or a duration: "2h", "1-00:00:00".
    confidence : float
        Probability with which the limit must hold, between 0 and 1.

    Examples
    --------
    >>> str(Deadline("2h", confidence=0.9)), Deadline(90).most
    ('runtime at most 2h 0m 0s with 90 % confidence', 90.0)
    """

    def __init__(self, runtime: str | float, confidence: float = 0.5) -> None:
        super().__init__("runtime_s", parse_quantity(runtime, "s"), "s", confidence)


class PowerCap(Limit):
    """The job's mean power stays at or under this; as a rule: the fastest that does.

    Parameters
    ----------
    power : str or float
        Watts, or a text with a unit: "15kW".
    confidence : float
        Probability with which the limit must hold, between 0 and 1.

    Examples
    --------
    >>> str(PowerCap("15kW"))
    'power at most 15 kW'
    """

    def __init__(self, power: str | float, confidence: float = 0.5) -> None:
        super().__init__("power_w", parse_quantity(power, "W"), "W", confidence)


class EnergyBudget(Limit):
    """The job uses at most this energy; as a rule: the fastest that does.

    Parameters
    ----------
    energy : str or float
        Joules, or a text with a unit: "1 kWh".
    confidence : float
        Probability with which the limit must hold, between 0 and 1.

    Examples
    --------
    >>> str(EnergyBudget("1 kWh"))
    'energy at most 3.6 MJ'
    """

    def __init__(self, energy: str | float, confidence: float = 0.5) -> None:
        super().__init__("energy_j", parse_quantity(energy, "J"), "J", confidence)


class NodeHours(Limit):
    """The job is charged at most this many node-hours; as a rule: the fastest that is.

    Parameters
    ----------
    node_hours : str or float
        Node-hours.
    confidence : float
        Probability with which the limit must hold, between 0 and 1.

    Examples
    --------
    >>> str(NodeHours(40))
    'node-hours at most 40'
    """

    def __init__(self, node_hours: str | float, confidence: float = 0.5) -> None:
        super().__init__("node_hours", parse_quantity(node_hours, "node_h"), "node_h", confidence)


@dataclass(frozen=True)
class MaxSlowdown:
    """At most ``factor`` times the runtime at ``against``: a setting, or the fastest if none.

    ``against`` names knob values, ``{"nodes": 64}`` say, the ones the user asked for; for a table
    of jobs "requested" means what each of them asked for.  The ratio is taken draw by draw, so what
    the model is unsure about for both settings cancels.

    Parameters
    ----------
    factor : float
        At least 1.
    against : mapping, "requested" or None
        The setting compared with.
    confidence : float
        Probability with which the limit must hold, between 0 and 1.

    Raises
    ------
    DataError
        A factor below 1, or a confidence not between 0 and 1.

    Examples
    --------
    >>> str(MaxSlowdown(1.2, against={"nodes": 64}))
    'at most 1.2 times the runtime at nodes=64'
    """

    factor: float
    against: Mapping[str, Any] | Literal["requested"] | None = None
    confidence: float = 0.5

    def __post_init__(self) -> None:
        if not self.factor >= 1 or not 0 < self.confidence < 1:
            raise DataError(
                "MaxSlowdown",
                [
                    "expected factor >= 1 and confidence between 0 and 1, "
                    f"got {self.factor} and {self.confidence}"
                ],
            )

    def excess(self, front: Front) -> Array:
        """Relative miss of each row, (n,)."""
        draws = front.draws("runtime_s")[:, None, :]
        return np.asarray(self.excess_many(draws, np.array([self.base(front)]))[0])

    def excess_many(self, runtime_s: Array, base: NDArray[np.int64]) -> Array:
        """`excess` of many fronts: draws (d, J, S) and each job's base setting (J,) give (J, S)."""
        against = np.take_along_axis(runtime_s, base[None, :, None], axis=2)
        ratio = runtime_s / against
        flat: Array = _quantile(ratio.reshape(len(ratio), -1), self.confidence)
        excess: Array = flat.reshape(ratio.shape[1:]) / self.factor - 1.0
        return excess

    def score(self, front: Front) -> Array:
        """The first objective that is not runtime, inf where the slowdown is larger."""
        return self.score_given(front, self.excess(front))

    def score_given(self, front: Front, excess: Array) -> Array:
        """`score` where the miss of each row is known already, (n,)."""
        return _other_objective(front, "runtime_s", excess)

    def base(self, front: Front) -> int:
        """Place of the setting compared with."""
        mean = front.mean("runtime_s")
        if self.against is None:
            if not np.isfinite(mean).any():
                return 0  # the model abstains on every row, and so does the excess
            return int(np.nanargmin(mean))
        if self.against == "requested":
            raise DataError(
                "MaxSlowdown",
                ["one front does not say what was requested: name the setting in against="],
            )
        asked = dict(self.against)
        rows = front.alternatives.select(list(asked)).frame.rows(named=True)
        for i, row in enumerate(rows):
            if row == asked:
                return i
        raise DataError(
            "MaxSlowdown",
            [f"no alternative has {_settings(asked)}: add it to the knob values or choose another"],
        )

    def __str__(self) -> str:
        against = "of the fastest setting"
        if self.against:
            asked = self.against
            against = "as requested" if asked == "requested" else f"at {_settings(asked)}"
        text = f"at most {self.factor:g} times the runtime {against}"
        return text + _surely(self.confidence)


@dataclass(frozen=True)
class Weighted:
    """The least product of powers: ``{"runtime_s": 1, "energy_j": 1}`` is the energy-delay product.

    A weight says how many per cent of one quantity are worth one per cent of another, whatever the
    units.  A quantity that is a maximised objective of the front counts against.

    Parameters
    ----------
    weights : mapping of str to float
        Exponent of each quantity, at least 0.
    counted : MaxSlowdown, optional
        Nothing is gained in a draw that misses it: there a setting counts no better than the one
        the slowdown refers to.  So a little more saving is not bought with much more risk.

    Raises
    ------
    DataError
        A negative weight, or none above 0.

    Examples
    --------
    >>> str(Weighted({"runtime_s": 2, "energy_j": 1}))
    'least runtime^2 x energy'
    """

    weights: Mapping[str, float]
    counted: MaxSlowdown | None = None

    def __post_init__(self) -> None:
        good = bool(self.weights) and all(w >= 0 for w in self.weights.values())
        if not good or not any(w > 0 for w in self.weights.values()):
            raise DataError(
                "Weighted",
                [f"expected weights >= 0, one of them above 0, got {dict(self.weights)}"],
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
        runtime = self._folded(front, "runtime_s", base)
        missed = runtime[0] > self.counted.factor * runtime[1]

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
            _PLAIN.get(k, k) + ("" if w == 1 else f"^{w:g}") for k, w in self.weights.items() if w
        ]
        return f"least {' x '.join(parts)}"


def _sense(front: Front, name: str) -> float:
    """-1 for an objective of the front that is maximised."""
    return -1.0 if any(o.name == name and o.sense == "max" for o in front.objectives) else 1.0


_PLAIN = {
    "runtime_s": "runtime",
    "power_w": "power",
    "energy_j": "energy",
    "node_hours": "node-hours",
    "edp_js": "energy-delay product",
    "itl_s": "time between tokens",
    "energy_per_token_j": "energy per token",
}


def _quantile(draws: Array, q: float) -> Array:
    """The q-quantile over draws, (n,): the least draw that a share q does not exceed.

    No interpolation, so that it is at most L exactly when a share q of the draws is.
    """
    there = np.isfinite(draws)
    count = there.sum(axis=0)
    ordered = np.sort(np.where(there, draws, np.nan), axis=0)  # NaN goes last
    place = np.clip(np.ceil(q * count - 1e-9).astype(np.int64) - 1, 0, None)
    values = np.take_along_axis(ordered, place[None, :], axis=0)[0]
    return np.where(count > 0, values, np.nan)


def _other_objective(front: Front, limited: str, excess: Array) -> Array:
    """Rank in the first objective that is not the limited one; the other objectives break ties."""
    names = [o.name for o in front.objectives]
    first = next((i for i, n in enumerate(names) if n != limited), 0)
    order = [first, *(i for i in range(len(names)) if i != first)]
    values = np.where(np.isfinite(front.values), front.values, np.inf)[:, order]
    rank = np.unique(values, axis=0, return_inverse=True)[1].reshape(-1).astype(float)
    return np.where(excess <= 0, rank, np.inf)


def _surely(confidence: float) -> str:
    return "" if confidence == 0.5 else f" with {100 * confidence:g} % confidence"


def _say(value: float, unit: str) -> str:
    return f"{value:g}" if unit == "node_h" else format_quantity(value, unit)


def _settings(setting: Mapping[str, Any]) -> str:
    return ", ".join(f"{k}={v}" for k, v in setting.items())
