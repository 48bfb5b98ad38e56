"""Caps of NVIDIA GPUs through NVML, in watts; the same for each GPU of the node.

Setting a limit needs root; whether it is allowed is asked by writing the limit that stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rheostat._optional import require
from rheostat.decision.actuate.device import Write
from rheostat.errors import DataError, MeterUnavailable


class NvmlCaps:
    """GPUs by index: addresses ``gpu0``, ``gpu1``, ...; ``library`` is pynvml or a stand-in."""

    def __init__(self, library: Any = None) -> None:
        self.driver = library if library is not None else require("pynvml", extra="meters")
        try:
            self.driver.nvmlInit()
        except self.driver.NVMLError as error:
            raise MeterUnavailable(f"no NVIDIA GPU can be asked here: {error}") from error

    def writes(self, watts: float) -> list[Write]:
        """One write per GPU, within what each allows."""
        own = self.own()
        problems = _outside([Write(address, watts) for address in own], own)
        if problems:
            raise DataError("gpu_cap_w", problems)
        return [Write(address, watts) for address in own]

    def own(self) -> dict[str, tuple[float, float]]:
        """The GPUs there are, each with the least and the most watts that it takes."""
        ranges = {}
        for i in range(self.driver.nvmlDeviceGetCount()):
            low, high = self.driver.nvmlDeviceGetPowerManagementLimitConstraints(self._gpu(i))
            ranges[f"gpu{i}"] = (low / 1e3, high / 1e3)
        return ranges

    def _gpu(self, index: int) -> Any:
        return self.driver.nvmlDeviceGetHandleByIndex(index)

    def standing(self) -> list[float]:
        """The limit of each GPU."""
        return [self.get(address) for address in self.own()]

    def get(self, address: str) -> float:
        """Watts of the limit that stands."""
        try:
            limit = self.driver.nvmlDeviceGetPowerManagementLimit(self._gpu(int(address[3:])))
        except self.driver.NVMLError as error:
            raise OSError(f"{address}: {error}") from error
        return float(limit) / 1e3

    def put(self, address: str, watts: float) -> None:
        """Set the limit; a refusal of the driver is an `OSError`."""
        try:
            self.driver.nvmlDeviceSetPowerManagementLimit(
                self._gpu(int(address[3:])), round(watts * 1e3)
            )
        except self.driver.NVMLError as error:
            raise OSError(f"{address}: {error}") from error

    def refusals(self, writes: Sequence[Write]) -> list[str]:
        """No GPU of that name, watts outside its range, what the driver says to a write."""
        own = self.own()
        problems = [f"{w.address!r} is no GPU here" for w in writes if w.address not in own]
        mine = [w for w in writes if w.address in own]
        problems += _outside(mine, own)
        for address in dict.fromkeys(w.address for w in mine):
            try:
                self.put(address, self.get(address))
            except OSError as error:
                problems.append(f"{error}: run as root, or from the site's prolog")
        return problems


def _outside(writes: Sequence[Write], own: Mapping[str, tuple[float, float]]) -> list[str]:
    return [
        f"{w.address}: expected {low:g} to {high:g} W, got {w.watts:g} W"
        for w in writes
        for low, high in [own[w.address]]
        if not low <= w.watts <= high
    ]
