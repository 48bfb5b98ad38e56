"""Which devices stand behind a node's knobs, named so that another process can find them again.

A `Where` is plain data: the machine itself, or a folder with one tree per node (an emulated
cluster, a shared mount).  The guard process gets it on its command line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from rheostat.decide.actuate.device import Device, Panel
from rheostat.decide.actuate.files import DRM, POWERCAP, AmdGpus, Powercap
from rheostat.errors import DataError

GPUS = ("nvml", "amd", "none")


@dataclass(frozen=True)
class Where:
    """Where caps are set.

    ``tree`` is a folder with ``NODE/powercap`` and ``NODE/drm`` for every node; without it the
    devices are this machine's: ``rapl`` is its powercap folder and ``gpu`` one of nvml, amd, none.
    """

    tree: str = ""
    rapl: str = str(POWERCAP)
    gpu: str = "nvml"
    drm: str = str(DRM)

    def __post_init__(self) -> None:
        if self.gpu not in GPUS:
            raise DataError("gpu", [f"expected {', '.join(GPUS)}, got {self.gpu!r}"])

    def text(self) -> str:
        """As text, for another process."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> Where:
        """From `text`."""
        return cls(**json.loads(text))

    def panel(self, nodes: Iterable[str], knobs: Iterable[str]) -> Panel:
        """The devices of ``nodes`` for ``knobs``; a device is opened only if its knob is asked."""
        wanted = set(knobs)
        return Panel({node: self._devices(node, wanted) for node in nodes})

    def _devices(self, node: str, knobs: set[str]) -> dict[str, Device]:
        found: dict[str, Device] = {}
        home = Path(self.tree) / node if self.tree else None
        if "cpu_cap_w" in knobs:
            found["cpu_cap_w"] = Powercap(home / "powercap" if home else Path(self.rapl))
        if "gpu_cap_w" in knobs and home:
            found["gpu_cap_w"] = AmdGpus(home / "drm")
        elif "gpu_cap_w" in knobs and self.gpu == "amd":
            found["gpu_cap_w"] = AmdGpus(Path(self.drm))
        elif "gpu_cap_w" in knobs and self.gpu == "nvml":
            from rheostat.decide.actuate.nvml import Nvml

            found["gpu_cap_w"] = Nvml()
        return found


def write_tree(
    folder: Path, node: str, *, cpu_w: float, gpu_w: float, packages: int = 2, gpus: int = 1
) -> None:
    """A node's caps as files in the kernel's format, for rehearsals without the hardware."""
    for p in range(packages):
        zone = folder / node / "powercap" / f"intel-rapl:{p}"
        zone.mkdir(parents=True, exist_ok=True)
        share = round(cpu_w / packages * 1e6)
        (zone / "name").write_text(f"package-{p}\n")
        for i, kind in enumerate(("long_term", "short_term")):
            (zone / f"constraint_{i}_name").write_text(f"{kind}\n")
            (zone / f"constraint_{i}_power_limit_uw").write_text(f"{share}\n")
            (zone / f"constraint_{i}_max_power_uw").write_text("400000000\n")
    for g in range(gpus):
        card = folder / node / "drm" / f"card{g}" / "device" / "hwmon" / f"hwmon{g}"
        card.mkdir(parents=True, exist_ok=True)
        (card / "power1_cap").write_text(f"{round(gpu_w * 1e6)}\n")
        (card / "power1_cap_min").write_text("0\n")
        (card / "power1_cap_max").write_text("750000000\n")
