"""What a token costs in money and in carbon, at prices that the user gives.

Notation
--------
G  GPUs   B  batch cap   t  time between tokens (s)   E  energy per token (J)
cost of 10^6 tokens = 10^6 (G price / 3600 t / B + E / 3.6e6 price of a kWh)
carbon of 10^6 tokens (g CO2e) = 10^6 E / 3.6e6 intensity (g/kWh); making the GPUs is not in it
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from rheostat.core.front import Front, Objective
from rheostat.core.jobs import JobTable
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


PRICE = re.compile(r"price|cost|usd|eur|[$\u20ac]", re.IGNORECASE)
OF_AN_HOUR = re.compile(r"(/|per|[ _(])[ _]*(h|hr|hour)(ly)?(?![a-z])|hourly", re.IGNORECASE)
ALIKE = 0.01


def prices_in(runs: JobTable) -> tuple[dict[str, float], list[str]]:
    """Price of an hour of a GPU of each type, where a column has it; and what is to be said.

    It is of a deployment where it grows with the GPUs, and of a GPU where it does not.

    >>> from rheostat import table
    >>> runs = {"gpu_model": ["H100"] * 2, "gpus": [1, 4], "usd_per_hour": [3.0, 12.0]}
    >>> prices_in(table(runs))[0]
    {'H100': 3.0}
    """
    numbers = [c for c in runs.columns if runs.frame[c].dtype.is_numeric()]
    named = [c for c in numbers if PRICE.search(c) and OF_AN_HOUR.search(c) and "tok" not in c]
    if len(named) != 1 or not {"gpu_model", "gpus"} <= set(runs.columns):
        return {}, []
    value = pl.col(named[0]).cast(pl.Float64)
    known = runs.frame.select("gpu_model", whole=value, each=value / pl.col("gpus")).drop_nulls()
    ways = {
        way: known.group_by("gpu_model").agg(
            price=pl.col(way).median(), spread=pl.col(way).max() / pl.col(way).min() - 1
        )
        for way in ("each", "whole")
    }
    fit = [way for way, own in ways.items() if (own["spread"] < ALIKE).all()]
    if not len(known) or not fit or (len(fit) == 2 and (runs.frame["gpus"] > 1).any()):
        return {}, [f"{named[0]}: of a GPU or of all? --gpu-price says it"]
    prices = dict(sorted(ways[fit[0]].select("gpu_model", "price").iter_rows()))
    of = f"{named[0]} over gpus" if fit[0] == "each" else named[0]
    said = ", ".join(f"{k}={v:g}" for k, v in prices.items())
    return prices, [f"prices of an hour of a GPU are {of}: --gpu-price {said}"]
