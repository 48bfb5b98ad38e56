"""The meters there are, by name, in the order in which they are believed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rheostat.errors import DataError
from rheostat.measurement.meters.nvml import Nvml
from rheostat.measurement.meters.rapl import Rapl
from rheostat.measurement.meters.reading import EnergyMeter
from rheostat.measurement.meters.slurm_energy import SlurmEnergy
from rheostat.measurement.meters.zeus import Zeus

METERS: dict[str, Callable[[], Any]] = {
    "rapl": Rapl,
    "nvml": Nvml,
    "zeus": Zeus,
    "slurm": SlurmEnergy,
}


def meters(names: Sequence[str] = ()) -> list[EnergyMeter]:
    """Meters by name, all of them without names; none is read yet.

    >>> [m.name for m in meters(["nvml"])]
    ['nvml']
    >>> meters(["wattmeter"])
    Traceback (most recent call last):
    ...
    rheostat.errors.DataError: meter: expected rapl, nvml, zeus, slurm, got 'wattmeter'
    """
    unknown = [n for n in names if n not in METERS]
    if unknown:
        there = ", ".join(METERS)
        raise DataError("meter", [f"expected {there}, got {n!r}" for n in unknown])
    return [METERS[n]() for n in names or METERS]
