"""RAPL: the energy counters of Intel and AMD processors, through Linux's powercap files.

Each package has a counter of microjoules that begins again at ``max_energy_range_uj``, in minutes
at full load; cores, uncore and (on most machines) graphics are parts of it, memory stands beside
it.  The same package may appear twice, through registers and through memory-mapped ones
(``intel-rapl-mmio``): the second is left out.  Since kernel 5.10 only root may read them.

References
----------
Linux, Documentation/power/powercap; CVE-2020-8694.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rheostat.measurement.meters.reading import Domain

ROOT = Path("/sys/class/powercap")
LEAST_WINDOW_S = 0.05
"""Counters move once a millisecond: fifty steps keep the rounding below two percent."""
MOST_W = 2000.0
INSIDE = ("core", "uncore", "gpu", "graphics")


class Rapl:
    """Energy counters under ``root``, a tree of powercap files."""

    name = "rapl"

    def __init__(self, root: str | Path = ROOT) -> None:
        self.root = Path(root)
        self._readable: list[tuple[Domain, Path]] = []

    def why(self) -> str:
        """Why no counter can be read."""
        zones = self._zones()
        if not zones:
            return f"no energy counter under {self.root}: no Intel or AMD RAPL, or hidden by a " \
                   "container"  # fmt: skip
        closed = [z / "energy_uj" for z in zones if not os.access(z / "energy_uj", os.R_OK)]
        if len(closed) == len(zones):
            return f"{closed[0]} may be read by root only: ask for read permission (chmod a+r)"
        return ""

    def domains(self) -> Sequence[Domain]:
        """Packages, memory and the whole platform, and parts of packages."""
        self._readable = [
            (_domain(z), z) for z in self._zones() if os.access(z / "energy_uj", os.R_OK)
        ]
        return [d for d, _ in self._readable]

    def sample(self) -> Sequence[float]:
        """Joules of each domain; NaN where a file cannot be read now."""
        return [_number(zone / "energy_uj") * 1e-6 for _, zone in self._readable]

    def _zones(self) -> list[Path]:
        """Zones with a counter; the memory-mapped twin of a zone is left out."""
        if not self.root.is_dir():
            return []
        every = sorted(p.parent for p in self.root.glob("*rapl*:*/energy_uj"))
        own = {_name(z) for z in every if "mmio" not in z.name}
        return [z for z in every if "mmio" not in z.name or _name(z) not in own]


def _domain(zone: Path) -> Domain:
    name = _name(zone)
    parent = zone.parent / zone.name.rpartition(":")[0]
    inner = name.split(":")[-1].split("-")[0] in INSIDE
    return Domain(
        name,
        range_j=_number(zone / "max_energy_range_uj") * 1e-6,
        least_window_s=LEAST_WINDOW_S,
        most_w=MOST_W,
        part_of=_name(parent) if inner else "platform" if _is_part(zone) else "",
    )


def _is_part(zone: Path) -> bool:
    """Whether a platform counter (psys) has this zone in it already."""
    platforms = [z for z in zone.parent.glob("*rapl*:*") if _label(z) == "psys"]
    return bool(platforms) and _label(zone) != "psys"


def _name(zone: Path) -> str:
    """package-0, dram of package-0 as package-0:dram, psys as platform."""
    label = _label(zone)
    if label == "psys":
        return "platform"
    if zone.name.count(":") > 1:
        return f"{_label(zone.parent / zone.name.rpartition(':')[0])}:{label}"
    return label


def _label(zone: Path) -> str:
    try:
        return (zone / "name").read_text().strip()
    except OSError:
        return zone.name


def _number(path: Path) -> float:
    try:
        return float(path.read_text())
    except (OSError, ValueError):
        return float("nan")
