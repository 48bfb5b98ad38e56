"""Limits: which settings are out of the question, and by how much each of them misses.

A limit (deadline, power cap, ...) serves as two things: as a constraint it says by how much a
setting misses; as a rule it takes, among the settings that hold it, the one that is best in the
other objective.

A prediction is uncertain, so a limit carries ``confidence``: the share of draws that must hold it.
0.5 (the median) treats the forecast as the truth; 0.9 keeps a promise nine times out of ten.

Notation
--------
n  alternatives    d  draws    q : (d, n) draws of the limited quantity    L  the limit
rowwise = True says that a row's score or excess does not depend on the other rows, so that many
jobs may be asked about in one table.
m : (n,) what is printed of q, its mean say
excess = max(quantile_c(q), m) / L - 1, at most 0 exactly when a share c of draws holds the limit
and what is printed does, too; the quantile alone for c below 0.5, and of a ratio (`MaxSlowdown`)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rheostat.core.front import Front
from rheostat.core.outcome import Array
from rheostat.core.units import format_quantity, parse_quantity, plain_name
from rheostat.errors import DataError


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
        least = _quantile(front.draws(self.quantity), self.confidence)
        if self.confidence >= 0.5:  # less asks for a limit that the figure printed may well miss
            printed = front.middle(self.quantity)
            least = np.fmax(least, printed * (1 - 1e-12))  # a mean of equal draws is off by less
        return np.asarray(least / self.most - 1.0)

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
        text = f"{plain_name(self.quantity)} at most {_say(self.most, self.unit)}"
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
    quantity : str
        What must not grow: the runtime unless another is named.

    Raises
    ------
    DataError
        A factor below 1, or a confidence not between 0 and 1.

    Examples
    --------
    >>> str(MaxSlowdown(1.2, against={"nodes": 64}))
    'at most 1.2 times the runtime at nodes=64'
    >>> str(MaxSlowdown(1, "requested", 0.8, "energy_j"))
    'at most 1 times the energy as requested with 80 % confidence'
    """

    factor: float
    against: Mapping[str, Any] | Literal["requested"] | None = None
    confidence: float = 0.5
    quantity: str = "runtime_s"

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
        draws = front.draws(self.quantity)[:, None, :]
        return np.asarray(self.excess_many(draws, np.array([self.base(front)]))[0])

    def excess_many(self, draws: Array, base: NDArray[np.int64]) -> Array:
        """`excess` of many fronts: draws (d, J, S) and each job's base setting (J,) give (J, S)."""
        ratio = draws / np.take_along_axis(draws, base[None, :, None], axis=2)
        flat: Array = _quantile(ratio.reshape(len(ratio), -1), self.confidence)
        excess: Array = flat.reshape(ratio.shape[1:]) / self.factor - 1.0
        return excess

    def score(self, front: Front) -> Array:
        """The first objective that is not limited, inf where the limit is missed."""
        return self.score_given(front, self.excess(front))

    def score_given(self, front: Front, excess: Array) -> Array:
        """`score` where the miss of each row is known already, (n,)."""
        return _other_objective(front, self.quantity, excess)

    def base(self, front: Front) -> int:
        """Place of the setting compared with."""
        middle = front.middle(self.quantity)
        if self.against is None:
            if not np.isfinite(middle).any():
                return 0  # the model abstains on every row, and so does the excess
            return int(np.nanargmin(middle))
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
        against = "of the fastest setting" if self.quantity == "runtime_s" else "of the least"
        if self.against:
            asked = self.against
            against = "as requested" if asked == "requested" else f"at {_settings(asked)}"
        limited = plain_name(self.quantity)
        text = f"at most {self.factor:g} times the {limited} {against}"
        return text + _surely(self.confidence)


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
