"""Which devices stand behind a node's knobs, named so that another process can find them again.

A `DeviceAddress` is plain data: the machine itself, or a folder with one tree per node (an emulated
cluster, a shared mount).  The guard process gets it on its command line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from rheostat.decision.actuate.cap_files import DRM, POWERCAP, AmdGpus, Powercap
from rheostat.decision.actuate.device import Actuators, Device, split
from rheostat.errors import DataError, RheostatError

GPUS = ("nvml", "amd", "none")
_NAME = re.compile(r"[^/|\s\x00-\x1f\x7f.][^/|\x00-\x1f\x7f]*")
"""A folder of a tree and a part of a journal's line: no path, and no dot in front."""


@dataclass(frozen=True)
class DeviceAddress:
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
    def of(cls, text: str) -> DeviceAddress:
        """From `text`."""
        return cls(**json.loads(text))

    def panel(self, nodes: Iterable[str], knobs: Iterable[str]) -> Actuators:
        """The devices of ``nodes`` for those of ``knobs`` that have one here."""
        wanted = list(knobs)
        devices = {node: {knob: self.device(node, knob) for knob in wanted} for node in nodes}
        return Actuators({n: {k: d for k, d in own.items() if d} for n, own in devices.items()})

    def panel_of(self, places: Iterable[str]) -> Actuators:
        """The devices behind places; one that cannot be had is told when it is asked."""
        devices: dict[str, dict[str, Device]] = {}
        absent = {}
        for node, knob in dict.fromkeys(split(place)[:2] for place in places):
            try:
                if device := self.device(node, knob):
                    devices.setdefault(node, {})[knob] = device
            except RheostatError as error:
                absent[node, knob] = str(error)
        return Actuators(devices, absent)

    def device(self, node: str, knob: str) -> Device | None:
        """What sets a knob of a node; None where nothing does."""
        if not _NAME.fullmatch(node):
            raise DataError("node", [f"{node[:60]!r} is no name of a node"])
        home = Path(self.tree) / node if self.tree else None
        if knob == "cpu_cap_w":
            return Powercap(home / "powercap" if home else Path(self.rapl))
        if knob != "gpu_cap_w":
            return None
        if home or self.gpu == "amd":
            return AmdGpus(home / "drm" if home else Path(self.drm))
        if self.gpu == "nvml":
            from rheostat.decision.actuate.nvml_caps import NvmlCaps

            return NvmlCaps()
        return None


def write_tree(folder: Path, node: str, *, cpu_w: float, gpu_w: float, gpus: int = 1) -> None:
    """A node's caps as files in the kernel's format, for rehearsals without the hardware."""
    for p in range(2):
        zone = folder / node / "powercap" / f"intel-rapl:{p}"
        zone.mkdir(parents=True, exist_ok=True)
        share = round(cpu_w / 2 * 1e6)
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
