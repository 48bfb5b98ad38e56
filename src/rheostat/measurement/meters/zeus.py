"""Zeus: its device layer knows AMD GPUs, Jetson and the zeusd daemon (RAPL without root).

Where `nvml` and `rapl` find nothing, or are not allowed to, Zeus may.  Its totals are counters of
millijoules like theirs and are added up in the same way.

References
----------
Chung et al.: Zeus, github.com/ml-energy/zeus (Apache-2.0), device API of 0.12 and later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

from rheostat._extras import install_command
from rheostat._optional import require
from rheostat.measurement.meters.nvml import LEAST_WINDOW_S
from rheostat.measurement.meters.nvml import MOST_W as GPU_W
from rheostat.measurement.meters.rapl import MOST_W as CPU_W
from rheostat.measurement.meters.reading import Domain


class Zeus:
    """GPUs, processors and memory as Zeus sees them; ``device`` stands in for ``zeus.device``."""

    name = "zeus"

    def __init__(self, device: Any = None) -> None:
        self._device = device
        self._ask: list[Callable[[], float]] = []

    def why(self) -> str:
        """Why Zeus finds nothing."""
        if self._device is None and find_spec("zeus") is None:
            return f"zeus is not installed: {install_command('zeus')}"
        reasons: list[str] = []
        if any(self._group(kind, reasons) is not None for kind in ("gpus", "cpus")):
            return ""
        return f"zeus finds no sensor: {'; '.join(reasons)}"

    def domains(self) -> Sequence[Domain]:
        """One per GPU, processor and memory."""
        domains: list[Domain] = []
        self._ask = []
        gpus, cpus = self._group("gpus", []), self._group("cpus", [])
        for i in range(len(gpus) if gpus is not None else 0):
            domain = Domain(f"gpu-{i}", least_window_s=LEAST_WINDOW_S, most_w=GPU_W)
            domains.append(domain)
            self._ask.append(partial(_gpu_j, gpus, i))
        for i in range(len(cpus) if cpus is not None else 0):
            domains.append(Domain(f"package-{i}", most_w=CPU_W))
            self._ask.append(partial(_cpu_j, cpus, i, "cpu_mj"))
            if cpus.get_total_energy_consumption(i).dram_mj is not None:
                domains.append(Domain(f"package-{i}:dram", most_w=CPU_W))
                self._ask.append(partial(_cpu_j, cpus, i, "dram_mj"))
        return domains

    def sample(self) -> Sequence[float]:
        """Joules of each domain."""
        return [float(ask()) for ask in self._ask]

    def _group(self, kind: str, reasons: list[str]) -> Any:
        """Zeus's devices of a kind, None where it finds none; why is added to ``reasons``."""
        device = self._device or require("zeus.device", extra="zeus")
        error = require("zeus.device.exception", extra="zeus").ZeusBaseGPUError \
            if self._device is None else device.Error  # fmt: skip
        cpu_error = require("zeus.device.exception", extra="zeus").ZeusBaseCPUError \
            if self._device is None else device.Error  # fmt: skip
        try:
            devices = getattr(device, f"get_{kind}")()
        except (error, cpu_error) as problem:
            reasons.append(f"{kind}: {problem}")
            return None
        return devices if len(devices) else None


def _gpu_j(gpus: Any, index: int) -> float:
    return float(gpus.get_total_energy_consumption(index) * 1e-3)


def _cpu_j(cpus: Any, index: int, part: str) -> float:
    return float(getattr(cpus.get_total_energy_consumption(index), part) * 1e-3)
