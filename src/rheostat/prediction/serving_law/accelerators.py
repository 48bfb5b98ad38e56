"""What a law must know of an accelerator: rates and power as the maker states them.

Sources: data sheets of the makers (dense rates without sparsity, 16 bit; SXM or OAM forms but
where a name says otherwise; of two PCIe cards the link is their slot).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from rheostat.errors import DataError


@dataclass(frozen=True)
class Accelerator:
    """One type of accelerator."""

    memory_b_per_s: float
    flop_per_s: float
    power_w: float
    link_b_per_s: float
    memory_b: float


def _of(tb_s: float, tflop_s: float, watts: float, link_gb_s: float, gb: float) -> Accelerator:
    return Accelerator(tb_s * 1e12, tflop_s * 1e12, 1.0 * watts, link_gb_s * 1e9, gb * 1e9)


ACCELERATORS = {
    "V100": _of(0.9, 125, 300, 300, 32),
    "A100-40": _of(1.555, 312, 400, 600, 40),
    "A100": _of(2.039, 312, 400, 600, 80),
    "A100-PCI-40": _of(1.555, 312, 250, 64, 40),
    "A100-PCI": _of(1.935, 312, 300, 64, 80),
    "L40S": _of(0.864, 362, 350, 64, 48),
    "H100": _of(3.35, 989, 700, 900, 80),
    "H100-PCI": _of(2.0, 756, 350, 128, 80),
    "H100-NVL": _of(3.9, 835, 400, 600, 94),
    "GH200": _of(4.0, 989, 900, 900, 96),
    "H200": _of(4.8, 989, 700, 900, 141),
    "GB200": _of(8.0, 2500, 1200, 1800, 186),
    "B200": _of(8.0, 2250, 1000, 1800, 180),
    "MI250": _of(3.28, 362, 560, 800, 128),
    "MI300X": _of(5.3, 1307, 750, 896, 192),
    "MI325X": _of(6.0, 1307, 1000, 896, 256),
}


@cache
def accelerator(name: str) -> Accelerator:
    """The accelerator a device name speaks of: of the known ones the longest whose parts it has.

    >>> accelerator("NVIDIA H100 80GB HBM3").power_w, accelerator("NVIDIA A100-SXM4-40GB").memory_b
    (700.0, 40000000000.0)
    >>> accelerator("NVIDIA A100-PCIE-40GB").power_w, accelerator("NVIDIA A100 80GB PCIe").power_w
    (250.0, 300.0)

    Raises `DataError` for a name that holds none of the known ones.
    """
    plain = re.sub(r"SXM\d*", "", name.upper())
    for key in sorted(ACCELERATORS, key=len, reverse=True):
        if all(re.search(rf"(?<!\d){part}(?!\d)", plain) for part in key.split("-")):
            return ACCELERATORS[key]
    raise DataError("gpu_model", [f"expected one of {', '.join(ACCELERATORS)}, got {name!r}"])


def accelerators(names: Iterable[str]) -> list[Accelerator]:
    """One for each name; all unknown names in one error."""
    wanted = list(names)
    problems: list[str] = []
    kinds = {}
    for name in dict.fromkeys(wanted):
        try:
            kinds[name] = accelerator(name)
        except DataError as error:
            problems += error.problems
    if problems:
        raise DataError("gpu_model", problems)
    return [kinds[name] for name in wanted]
