"""What a token costs in money and in carbon, at prices that the user gives.

Notation
--------
G  GPUs   B  batch cap   t  time between tokens (s)   E  energy per token (J)
cost of 10^6 tokens = 10^6 (G price / 3600 t / B + E / 3.6e6 price of a kWh)
carbon of 10^6 tokens (g CO2e) = 10^6 E / 3.6e6 intensity (g/kWh); making the GPUs is not in it
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from rheostat.core.front import Front, Objective
from rheostat.core.outcome import Array
from rheostat.errors import DataError
from rheostat.questions.parse import EVERY

COST, CARBON = "cost_per_mtoken", "carbon_g_per_mtoken"
JOULES_PER_KWH = 3.6e6


@dataclass(frozen=True)
class Prices:
    """Prices of one currency, and the carbon of electricity.

    Parameters
    ----------
    gpu_hour
        Price of a GPU for an hour, by a part of the type's name; ``*`` is all others.
    kwh
        Price of a kilowatt-hour, where it is not in the price of the GPU.
    carbon_g_per_kwh
        Grams of CO2 equivalent.
    """

    gpu_hour: Mapping[str, float] = field(default_factory=dict)
    kwh: float = 0.0
    carbon_g_per_kwh: float = 0.0

    def __post_init__(self) -> None:
        numbers = {**self.gpu_hour, "kwh": self.kwh, "carbon": self.carbon_g_per_kwh}
        problems = [f"{k}: expected 0 or more, got {v}" for k, v in numbers.items()
                    if not 0 <= v < np.inf]  # fmt: skip
        if problems:
            raise DataError("prices", problems)

    def of_gpu(self, name: str) -> float:
        """Price of an hour of this type; a `DataError` where none was given.

        >>> Prices({"H100": 2.5, "*": 4.0}).of_gpu("NVIDIA H100 80GB HBM3")
        2.5
        """
        for key in sorted(self.gpu_hour, key=len, reverse=True):
            if key != EVERY and key.lower() in name.lower():
                return self.gpu_hour[key]
        if EVERY in self.gpu_hour:
            return self.gpu_hour[EVERY]
        raise DataError("--gpu-price", [f"no price of {name}; given: {', '.join(self.gpu_hour)}"])


def priced(front: Front, prices: Prices) -> Front:
    """The front with cost and carbon of a million tokens, where prices of them are given."""
    energy, itl = front.draws("energy_per_token_j"), front.draws("itl_s")
    kwh = 1e6 * energy / JOULES_PER_KWH
    draws, added = dict(front.outcome.draws), []
    if prices.gpu_hour:
        hours = 1e6 * itl / front.alternatives.numpy("batch_cap") / 3600.0
        draws[COST] = hours * hour_prices(front, prices) + kwh * prices.kwh
        added.append(Objective(COST, "min", "", "price of a million tokens"))
    if prices.carbon_g_per_kwh:
        draws[CARBON] = kwh * prices.carbon_g_per_kwh
        added.append(Objective(CARBON, "min", "g", "CO2 equivalent of a million tokens"))
    outcome = replace(front.outcome, draws=draws)
    return replace(front, outcome=outcome, objectives=(*front.objectives, *added))


def hour_prices(front: Front, prices: Prices) -> Array:
    """Price of an hour of all GPUs of each setting, (n,)."""
    gpus = front.alternatives.frame["gpu_model"].to_list()
    hours = np.array([prices.of_gpu(str(g)) for g in gpus])
    return np.asarray(hours * front.alternatives.numpy("gpus"))
