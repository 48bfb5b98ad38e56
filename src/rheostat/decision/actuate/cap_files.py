"""Caps that are files: Intel processors under powercap, AMD GPUs under hwmon.

Linux shows the power limits of a processor package as
``/sys/class/powercap/intel-rapl:0/constraint_N_power_limit_uw`` (kernel documentation, Power
Capping Framework) and that of an AMD GPU as ``power1_cap`` (amdgpu, hwmon), both in microwatts.  A
package has a long-term and a short-term limit; a cap that is to hold at every instant must bound
both.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rheostat.decision.actuate.device import Write
from rheostat.errors import DataError, MeterUnavailable

POWERCAP = Path("/sys/class/powercap")
DRM = Path("/sys/class/drm")
REGISTER_W = 4096.0
"""No more fits into the register of a limit: 15 bits of an eighth of a watt."""
ROOT_NEEDED = "run as root, or from the site's prolog"


class _Files:
    """Addresses are paths under ``root``, holding microwatts."""

    def __init__(self, root: Path) -> None:
        self.root = Path(root)

    def get(self, address: str) -> float:
        """Watts in the file."""
        path = self.root / address
        try:
            return int(path.read_text()) / 1e6
        except ValueError as error:
            raise DataError(str(path), [f"expected microwatts: {error}"]) from error

    def put(self, address: str, watts: float) -> None:
        """Write microwatts; the file must be there."""
        with (self.root / address).open("r+") as file:
            file.write(f"{round(watts * 1e6)}\n")
            file.truncate()

    def own(self) -> dict[str, tuple[float, float]]:
        """The addresses there are, each with the least and the most watts that it takes."""
        raise NotImplementedError

    def refusals(self, writes: Sequence[Write]) -> list[str]:
        """Files that are no caps of this device or not writable, watts outside their range."""
        own, problems = self.own(), []
        for write in writes:
            if write.address not in own:
                problems.append(f"{write.address!r} is no cap under {self.root}")
                continue
            (low, high), path = own[write.address], self.root / write.address
            if not write.watts > 0 or not low <= write.watts <= high:
                problems.append(f"{path}: expected {low:g} to {high:g} W, got {write.watts:g} W")
            if not os.access(path, os.W_OK):
                problems.append(f"{path}: no permission to write: {ROOT_NEEDED}")
        return list(dict.fromkeys(problems))


class Powercap(_Files):
    """Packages of a powercap tree; a node's cap is spread evenly over them."""

    def __init__(self, root: Path = POWERCAP) -> None:
        super().__init__(root)

    def packages(self) -> list[Path]:
        """Package zones, in order; `MeterUnavailable` where there are none."""
        zones = sorted(
            z for z in self.root.glob("*-rapl:*")
            if z.name.count(":") == 1 and _text(z / "name").startswith("package")
        )  # fmt: skip
        if not zones:
            raise MeterUnavailable(
                f"no processor package under {self.root}: this machine (or container) shows no "
                "RAPL; name another tree with --rapl"
            )
        return zones

    def limits(self) -> list[dict[str, Path]]:
        """The files of the long- and the short-term limit of each package, by kind."""
        by_package = [_limits(zone) for zone in self.packages()]
        if not all(by_package):
            raise MeterUnavailable(
                f"the packages under {self.root} show energy but no limit to set, as AMD's do"
            )
        return by_package

    def writes(self, watts: float) -> list[Write]:
        """Long- and short-term limits of each package, never above the package's share."""
        packages = self.limits()
        share, planned, problems = watts / len(packages), [], []
        for limits in packages:
            for kind, limit in limits.items():
                if kind == "long_term" and 0 < _stated(limit) < share:
                    zone = limit.parent.name
                    problems.append(f"{zone}: at most {_stated(limit):g} W, got {share:g} W")
                planned.append(Write(str(limit.relative_to(self.root)), share))
        if problems:
            raise DataError("cpu_cap_w", problems)
        return planned

    def own(self) -> dict[str, tuple[float, float]]:
        """The limits of all packages; without a stated most, what the register can hold."""
        return {
            str(limit.relative_to(self.root)): (0.0, _stated(limit) or REGISTER_W)
            for limits in self.limits()
            for limit in limits.values()
        }

    def standing(self) -> list[float]:
        """What the packages together may draw at any instant: the larger limit of each."""
        packages = [limits.values() for limits in self.limits()]
        return [sum(max(self.get(str(x.relative_to(self.root))) for x in p) for p in packages)]


def _stated(limit: Path) -> float:
    """The most watts that a limit says it takes, 0 if it says nothing."""
    return _watts(limit.with_name(limit.name.replace("power_limit_uw", "max_power_uw"))) or 0.0


def _limits(zone: Path) -> dict[str, Path]:
    every = sorted(zone.glob("constraint_*_power_limit_uw"))
    kinds = [_text(x.with_name(x.name.replace("power_limit_uw", "name"))) for x in every]
    return {k: x for k, x in zip(kinds, every, strict=True) if k in ("long_term", "short_term")}


class AmdGpus(_Files):
    """GPUs that amdgpu shows under hwmon; the cap holds for each."""

    def __init__(self, root: Path = DRM) -> None:
        super().__init__(root)

    def _files(self) -> list[Path]:
        files = sorted(self.root.glob("card*/device/hwmon/hwmon*/power1_cap"))
        if not files:
            raise MeterUnavailable(f"no AMD GPU with a power cap under {self.root}")
        return files

    def writes(self, watts: float) -> list[Write]:
        """One file per GPU, within the limits that it states."""
        own = self.own()
        problems = [
            f"{self.root / file}: expected {low:g} to {high:g} W, got {watts:g} W"
            for file, (low, high) in own.items()
            if not low <= watts <= high
        ]
        if problems:
            raise DataError("gpu_cap_w", problems)
        return [Write(address, watts) for address in own]

    def own(self) -> dict[str, tuple[float, float]]:
        """The cap of each GPU, within what it states."""
        ranges = {}
        for file in self._files():
            low, high = (_watts(file.with_name(f"power1_cap_{x}")) for x in ("min", "max"))
            ranges[str(file.relative_to(self.root))] = (low or 0.0, high or REGISTER_W)
        return ranges

    def standing(self) -> list[float]:
        """The cap of each GPU."""
        return [self.get(str(file.relative_to(self.root))) for file in self._files()]


def _watts(path: Path) -> float | None:
    text = _text(path)
    return int(text) / 1e6 if text.isascii() and text.isdigit() else None


def _text(path: Path) -> str:
    return path.read_text().strip() if path.is_file() else ""
