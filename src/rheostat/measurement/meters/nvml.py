"""NVML: energy counters and power of NVIDIA GPUs, through the driver's own library.

Volta and later count millijoules; older GPUs have a power sensor only, whose samples are summed
over time.  On A100 and H100 the sensor looks at the power during a quarter of the time only, so a
window of less than two seconds says little: such a number is called estimated.

References
----------
Yang, Adamek, Armour: Accurate and convenient energy measurements for GPUs, SC 2024 (arXiv
2312.02741): 25 % of the run time on A100 and H100, energy counters renewed every 20 to 100 ms.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from rheostat._extras import install_command
from rheostat._optional import require
from rheostat.measurement.meters.reading import Domain

LEAST_WINDOW_S = 2.0
MOST_W = 1500.0


class Nvml:
    """Energy or power of every GPU; ``library`` stands in for the driver's (nvidia-ml-py)."""

    name = "nvml"

    def __init__(self, library: Any = None) -> None:
        self._library = library
        self._devices: list[tuple[Domain, Any]] = []

    def why(self) -> str:
        """Why no GPU can be read."""
        if self._library is None and find_spec("pynvml") is None:
            return f"nvidia-ml-py is not installed: {install_command('meters')}"
        nvml = self._nvml()
        try:
            nvml.nvmlInit()
            if nvml.nvmlDeviceGetCount() == 0:
                return "the NVIDIA driver is here but sees no GPU"
        except nvml.NVMLError as error:
            return f"no NVIDIA driver here: {error}"
        return ""

    def domains(self) -> Sequence[Domain]:
        """A counter of energy per GPU where there is one, else its power sensor."""
        nvml = self._nvml()
        self._devices = []
        for i in range(nvml.nvmlDeviceGetCount()):
            handle = nvml.nvmlDeviceGetHandleByIndex(i)
            try:
                nvml.nvmlDeviceGetTotalEnergyConsumption(handle)
                kind, why = "energy", ""
            except nvml.NVMLError:
                kind, why = "power", "this GPU has no energy counter: its watts summed over time"
            domain = Domain(f"gpu-{i}", kind, least_window_s=LEAST_WINDOW_S, most_w=MOST_W, why=why)
            self._devices.append((domain, handle))
        return [d for d, _ in self._devices]

    def sample(self) -> Sequence[float]:
        """Joules or watts of each GPU; NaN where the driver gave none."""
        return [self._one(d, handle) for d, handle in self._devices]

    def _one(self, domain: Domain, handle: Any) -> float:
        nvml = self._nvml()
        try:
            if domain.kind == "energy":
                return float(nvml.nvmlDeviceGetTotalEnergyConsumption(handle)) * 1e-3
            return float(nvml.nvmlDeviceGetPowerUsage(handle)) * 1e-3
        except nvml.NVMLError:
            return float("nan")

    def _nvml(self) -> Any:
        if self._library is None:
            self._library = require("pynvml", extra="meters")
        return self._library
