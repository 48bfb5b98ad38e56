"""Caps of NVIDIA GPUs through NVML, in watts; the same for each GPU of the node.

Setting a limit needs root; whether it is allowed is asked by writing the limit that stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rheostat._optional import require
from rheostat.decide.actuate.device import Write
from rheostat.errors import DataError, MeterUnavailable


class Nvml:
    """GPUs by index: addresses ``gpu0``, ``gpu1``, ...; ``library`` is pynvml or a stand-in."""

    def __init__(self, library: Any = None) -> None:
        self.driver = library if library is not None else require("pynvml", extra="meters")
        try:
            self.driver.nvmlInit()
        except self.driver.NVMLError as error:
            raise MeterUnavailable(f"no NVIDIA GPU can be asked here: {error}") from error

    def writes(self, watts: float) -> list[Write]:
        """One write per GPU, within what each allows."""
        problems, found = [], []
        for i in range(self.driver.nvmlDeviceGetCount()):
            low, high = self.driver.nvmlDeviceGetPowerManagementLimitConstraints(self._gpu(i))
            if not low <= watts * 1e3 <= high:
                problems.append(
                    f"gpu{i}: expected {low / 1e3:g} to {high / 1e3:g} W, got {watts:g} W"
                )
            found.append(Write(f"gpu{i}", watts))
        if problems:
            raise DataError("gpu_cap_w", problems)
        return found

    def _gpu(self, index: int) -> Any:
        return self.driver.nvmlDeviceGetHandleByIndex(index)

    def standing(self) -> list[float]:
        """The limit of each GPU."""
        return [self.get(f"gpu{i}") for i in range(self.driver.nvmlDeviceGetCount())]

    def get(self, address: str) -> float:
        """Watts of the limit that stands."""
        limit = self.driver.nvmlDeviceGetPowerManagementLimit(self._gpu(int(address[3:])))
        return float(limit) / 1e3

    def put(self, address: str, watts: float) -> None:
        """Set the limit; a refusal of the driver is an `OSError`."""
        try:
            self.driver.nvmlDeviceSetPowerManagementLimit(
                self._gpu(int(address[3:])), round(watts * 1e3)
            )
        except self.driver.NVMLError as error:
            raise OSError(f"{address}: {error}") from error

    def refusals(self, addresses: Sequence[str]) -> list[str]:
        """What the driver says to writing the limits that stand."""
        found = []
        for address in addresses:
            try:
                self.put(address, self.get(address))
            except OSError as error:
                found.append(f"{error}: run as root, or from the site's prolog")
        return found
