"""Data sheets of accelerators: rates, memory, caches, links and power as the makers state them.

One table for every law.  Sources: data sheets and architecture papers of the makers; dense rates
without sparsity, at boost; SXM or OAM forms but where a name says otherwise; of two PCIe cards the
link is their slot, both directions together.  Of a board that programs see as several devices (K80,
M60) the numbers are of one of them; of MI250 of both, see `Accelerator.part`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType

from rheostat.errors import DataError


@dataclass(frozen=True)
class Accelerator:
    """One type of accelerator.

    Parameters
    ----------
    memory_b_per_s : float
        Traffic with its memory.
    flop_per_s : float
        Products in 16 bits, summed in 32, by matrix units where there are any.
    power_w : float
        Limit of the board, as delivered.
    link_b_per_s : float
        To its neighbours, both directions together.
    memory_b : float
        Memory on the board.
    flop32_per_s, matrix32_per_s, tf32_per_s : float
        Arithmetic in 32 bits by vector units; products in 32 bits with all their digits; products
        of 32 bits rounded to 19 (TF32), NaN where there are none.
    units : int
        Streaming multiprocessors or compute units.
    cache_b : float
        The last cache before memory.
    year : int
        When it came out.
    parts : int
        Devices that programs see on one board, where the numbers are those of the board.
    """

    memory_b_per_s: float
    flop_per_s: float
    power_w: float
    link_b_per_s: float
    memory_b: float
    flop32_per_s: float
    matrix32_per_s: float
    tf32_per_s: float
    units: int
    cache_b: float
    year: int
    parts: int = 1

    def part(self) -> Accelerator:
        """What a program sees as one device.

        >>> f"{accelerator('MI250').part().memory_b:.3g}"
        '6.4e+10'
        """
        n = self.parts
        return replace(
            self, memory_b_per_s=self.memory_b_per_s / n, flop_per_s=self.flop_per_s / n,
            power_w=self.power_w / n, memory_b=self.memory_b / n,
            flop32_per_s=self.flop32_per_s / n, matrix32_per_s=self.matrix32_per_s / n,
            tf32_per_s=self.tf32_per_s / n, units=self.units // n, cache_b=self.cache_b / n,
            parts=1,
        )  # fmt: skip


def _of(*sheet: float, matrix32: float = 0.0, parts: int = 1) -> Accelerator:
    """TB/s, TFLOP/s of 16 bits, watts, GB/s, GB, TFLOP/s of 32 bits and TF32, units, MB, year."""
    tb_s, tflop_s, watts, link_gb_s, gb, fp32, tf32, units, cache_mb, year = sheet
    return Accelerator(
        tb_s * 1e12, tflop_s * 1e12, 1.0 * watts, link_gb_s * 1e9, gb * 1e9, fp32 * 1e12,
        (matrix32 or fp32) * 1e12, tf32 * 1e12, int(units), cache_mb * 2**20, int(year), parts,
    )  # fmt: skip


NONE = math.nan
ACCELERATORS = {
    "K40": _of(0.288, 4.29, 235, 32, 12, 4.29, NONE, 15, 1.5, 2013),
    "K80": _of(0.24, 4.37, 150, 32, 12, 4.37, NONE, 13, 1.5, 2014),
    "M60": _of(0.16, 4.8, 150, 32, 8, 4.8, NONE, 16, 2, 2015),
    "P4": _of(0.192, 5.5, 75, 32, 8, 5.5, NONE, 20, 2, 2016),
    "P40": _of(0.346, 11.8, 250, 32, 24, 11.8, NONE, 30, 3, 2016),
    "P100": _of(0.732, 21.2, 300, 160, 16, 10.6, NONE, 56, 4, 2016),
    "P100-PCI": _of(0.732, 18.7, 250, 32, 16, 9.3, NONE, 56, 4, 2016),
    "1080TI": _of(0.484, 11.3, 250, 32, 11, 11.3, NONE, 28, 2.75, 2017),
    "V100": _of(0.9, 125, 300, 300, 32, 15.7, NONE, 80, 6, 2017),
    "V100-16": _of(0.9, 125, 300, 300, 16, 15.7, NONE, 80, 6, 2017),
    "V100-PCI": _of(0.9, 112, 250, 32, 32, 14, NONE, 80, 6, 2017),
    "V100-PCI-16": _of(0.9, 112, 250, 32, 16, 14, NONE, 80, 6, 2017),
    "T4": _of(0.32, 65, 70, 32, 16, 8.1, NONE, 40, 4, 2018),
    "A100-40": _of(1.555, 312, 400, 600, 40, 19.5, 156, 108, 40, 2020),
    "A100": _of(2.039, 312, 400, 600, 80, 19.5, 156, 108, 40, 2020),
    "A100-PCI-40": _of(1.555, 312, 250, 64, 40, 19.5, 156, 108, 40, 2020),
    "A100-PCI": _of(1.935, 312, 300, 64, 80, 19.5, 156, 108, 40, 2021),
    "A10": _of(0.6, 125, 150, 64, 24, 31.2, 62.5, 72, 6, 2021),
    "A10G": _of(0.6, 70, 300, 64, 24, 31.5, 35, 80, 6, 2021),
    "A30": _of(0.933, 165, 165, 64, 24, 10.3, 82, 56, 24, 2021),
    "A40": _of(0.696, 149.7, 300, 64, 48, 37.4, 74.8, 84, 6, 2020),
    "A5000": _of(0.768, 111, 230, 64, 24, 27.8, 55.6, 64, 6, 2021),
    "A6000": _of(0.768, 154.8, 300, 112, 48, 38.7, 77.4, 84, 6, 2020),
    "A800": _of(2.039, 312, 400, 400, 80, 19.5, 156, 108, 40, 2022),
    "3090": _of(0.936, 71, 350, 64, 24, 35.6, 35.6, 82, 6, 2020),
    "4090": _of(1.008, 165.2, 450, 64, 24, 82.6, 82.6, 128, 72, 2022),
    "6000-ADA": _of(0.96, 364.2, 300, 64, 48, 91.1, 182.1, 142, 96, 2022),
    "5090": _of(1.792, 209.5, 575, 128, 32, 104.8, 104.8, 170, 96, 2025),
    "PRO-6000": _of(1.792, 503.8, 600, 128, 96, 125, 251.9, 188, 128, 2025),
    "PRO-6000-MAX": _of(1.792, 438.9, 300, 128, 96, 110, 219.5, 188, 128, 2025),
    "L4": _of(0.3, 121, 72, 64, 24, 30.3, 60, 58, 48, 2023),
    "L40": _of(0.864, 181, 300, 64, 48, 90.5, 90.5, 142, 96, 2022),
    "L40S": _of(0.864, 362, 350, 64, 48, 91.6, 183, 142, 96, 2023),
    "H100": _of(3.35, 989, 700, 900, 80, 67, 494, 132, 50, 2022),
    "H100-PCI": _of(2.0, 756, 350, 128, 80, 51, 378, 114, 50, 2022),
    "H100-NVL": _of(3.9, 835, 400, 600, 94, 60, 417, 132, 50, 2023),
    "H20": _of(4.0, 148, 400, 900, 96, 44, 74, 78, 60, 2023),
    "H800": _of(3.35, 989, 700, 400, 80, 67, 494, 132, 50, 2023),
    "GH200-144": _of(4.9, 989, 900, 900, 144, 67, 494, 132, 50, 2024),
    "GH200": _of(4.0, 989, 900, 900, 96, 67, 494, 132, 50, 2023),
    "H200": _of(4.8, 989, 700, 900, 141, 67, 494, 132, 50, 2024),
    "H200-NVL": _of(4.8, 835, 600, 900, 141, 60, 417, 132, 50, 2024),
    "GB300": _of(8.0, 2500, 1400, 1800, 279, 80, 1250, 148, 126, 2025),
    "B300": _of(8.0, 2250, 1100, 1800, 270, 75, 1125, 148, 126, 2025),
    "GB200": _of(8.0, 2500, 1200, 1800, 186, 80, 1250, 148, 126, 2024),
    "B200": _of(8.0, 2250, 1000, 1800, 180, 75, 1125, 148, 126, 2024),
    "MI100": _of(1.2288, 184.6, 300, 276, 32, 23.1, NONE, 120, 8, 2020, matrix32=46.1),
    "MI210": _of(1.638, 181, 300, 300, 64, 22.6, NONE, 104, 8, 2022, matrix32=45.3),
    "MI250": _of(3.28, 362, 560, 800, 128, 45.3, NONE, 208, 16, 2021, matrix32=90.5, parts=2),
    "MI300X": _of(5.3, 1307, 750, 896, 192, 163.4, 653.7, 304, 256, 2023),
    "MI300A": _of(5.3, 980.6, 550, 768, 128, 122.6, 490.3, 228, 256, 2023),
    "MI325X": _of(6.0, 1307, 1000, 896, 256, 163.4, 653.7, 304, 256, 2024),
    "MI350X": _of(8.0, 2307, 1000, 1075.2, 288, 144.2, NONE, 256, 256, 2025),
    "MI355X": _of(8.0, 2516, 1400, 1075.2, 288, 157.3, NONE, 256, 256, 2025),
    "GAUDI-2": _of(2.45, 432, 600, 600, 96, NONE, NONE, 24, 48, 2022),
    "GAUDI-3": _of(3.7, 1835, 900, 1200, 128, NONE, NONE, 64, 96, 2024),
    "HL-225": _of(2.45, 432, 600, 600, 96, NONE, NONE, 24, 48, 2022),
    "HL-325": _of(3.7, 1835, 900, 1200, 128, NONE, NONE, 64, 96, 2024),
    "MAX-1550": _of(3.277, 839, 600, 848, 128, 52.4, 419, 128, 408, 2023),
}
CHIPS = {
    "GP100": "P100", "GV100": "V100", "GA100": "A100 A800 A30",
    "GA102": "A10 A10G A40 A5000 A6000 3090", "AD102": "L40 L40S 6000 4090",
    "GH100": "H100 H200 H800 H20 GH200", "GB100": "B200 GB200",
    "GB110": "B300 GB300", "GB202": "5090 PRO", "CDNA2": "MI210 MI250",
    "CDNA3": "MI300X MI300A MI325X", "CDNA4": "MI350X MI355X",
}  # fmt: skip
"""Boards with the same chip, by the first part of their name."""


def chip(name: str) -> str:
    """What is on a board of the table; "" where no other board has it.

    >>> chip("H200"), chip("A100-PCI-40"), chip("T4")
    ('GH100', 'GA100', '')
    """
    board = name.partition("-")[0]
    return next((c for c, boards in CHIPS.items() if board in boards.split()), "")


_stated: ContextVar[Mapping[str, Accelerator]] = ContextVar("stated", default=MappingProxyType({}))
SLOT_B_PER_S = 64e9
"""A link where none is stated: a slot of PCIe 4, both directions together."""


def stated_accelerator(text: str) -> tuple[str, Accelerator]:
    """A data sheet as text: ``NAME=TB/s,TFLOPs,W,GB`` of 16 bits dense, and GB/s of the link.

    Parameters
    ----------
    text : str
        The fifth number may be left out: a slot of PCIe 4.

    Returns
    -------
    The name, and what the numbers say; what they do not say is NaN.

    Raises
    ------
    DataError
        The text is none.

    Examples
    --------
    >>> name, sheet = stated_accelerator("TPU v5e=0.82,197,200,16,200")
    >>> name, sheet.memory_b_per_s, sheet.link_b_per_s
    ('TPU v5e', 820000000000.0, 200000000000.0)
    """
    name, _, numbers = (part.strip() for part in text.rpartition("="))
    try:
        sheet = [float(x) for x in numbers.split(",")]
    except ValueError:
        sheet = []
    if not name or len(sheet) not in (4, 5) or not all(0 < x < 1e6 for x in sheet):
        raise DataError("--gpu", [f"expected NAME=TB/s,TFLOPs,W,GB as H100=3.35,989,700,80, or a "
                                  f"fifth number for GB/s of its link, got {text!r}"])  # fmt: skip
    tb_s, tflop_s, watts, gb, *link = sheet
    return name, _of(tb_s, tflop_s, watts, link[0] if link else SLOT_B_PER_S / 1e9, gb, NONE, NONE,
                     0, NONE, 0)  # fmt: skip


@contextmanager
def stating(accelerators: Mapping[str, Accelerator]) -> Iterator[None]:
    """`accelerator` knows these, too, before the table, for as long as the context lasts.

    >>> with stating(dict([stated_accelerator("TPU v5e=0.82,197,200,16")])):
    ...     accelerator("Google TPU v5e").power_w
    200.0
    """
    before = _stated.set(MappingProxyType({**_stated.get(), **accelerators}))
    try:
        yield
    finally:
        _stated.reset(before)


def accelerator(name: str) -> Accelerator:
    """The accelerator a device name speaks of: of the known ones the longest whose parts it has.

    >>> accelerator("NVIDIA H100 80GB HBM3").power_w, accelerator("NVIDIA A100-SXM4-40GB").memory_b
    (700.0, 40000000000.0)
    >>> accelerator("NVIDIA A100-PCIE-40GB").power_w, accelerator("NVIDIA A100 80GB PCIe").power_w
    (250.0, 300.0)

    Raises `DataError` for a name that holds none of the known ones.
    """
    for stated, sheet in _stated.get().items():
        if stated.lower() in name.lower():
            return sheet
    return ACCELERATORS[sheet_name(name)]


@cache
def sheet_name(name: str) -> str:
    """The name in `ACCELERATORS` that a device name speaks of: the longest whose parts it has.

    >>> sheet_name("NVIDIA A100-PCIE-40GB"), sheet_name("GeForce GTX 1080 Ti")
    ('A100-PCI-40', '1080TI')

    Raises `DataError` for a name that holds none of the known ones.
    """
    parted = re.sub(r"(GAUDI|PRO|RTX)(?=\d)", r"\1 ", name.upper())
    plain = re.sub(r"SXM\d*", "", re.sub(r"(?<=\d)[ -]TI\b", "TI", parted))
    for key in sorted(ACCELERATORS, key=len, reverse=True):
        if all(re.search(rf"(?<!\d){part}(?!\d)", plain) for part in key.split("-")):
            return key
    near = get_close_matches(plain, ACCELERATORS, 3, 0.4)
    raise DataError("gpu_model", [f"{name!r} is not in the table of data sheets"
                                  + (f" (it has {', '.join(near)})" if near else "")
                                  + ": name the nearest, or leave these rows out"])  # fmt: skip


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
