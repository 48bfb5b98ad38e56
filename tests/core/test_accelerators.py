"""Which data sheet a device's name speaks of, in the words of nvidia-smi, rocm-smi and hl-smi."""

from __future__ import annotations

import math

import pytest

from rheostat.errors import DataError
from rheostat.prediction.accelerators import (
    ACCELERATORS,
    accelerator,
    accelerators,
    stated_accelerator,
    stating,
)

PRINTED = {
    "Tesla V100-SXM2-16GB": "V100-16", "NVIDIA A100-SXM4-40GB": "A100-40",
    "NVIDIA A100-SXM4-80GB": "A100", "NVIDIA A100-PCIE-40GB": "A100-PCI-40",
    "NVIDIA A100 80GB PCIe": "A100-PCI", "NVIDIA H100 80GB HBM3": "H100",
    "NVIDIA H100 PCIe": "H100-PCI", "NVIDIA H100 NVL": "H100-NVL", "NVIDIA H20": "H20",
    "NVIDIA H200": "H200", "NVIDIA H200 NVL": "H200-NVL", "NVIDIA H800": "H800",
    "NVIDIA GH200 480GB": "GH200", "NVIDIA GH200 144G HBM3e": "GH200-144",
    "NVIDIA B200": "B200", "NVIDIA GB200": "GB200", "NVIDIA B300 SXM6 AC": "B300",
    "NVIDIA GB300": "GB300", "NVIDIA L4": "L4", "NVIDIA L40": "L40", "NVIDIA L40S": "L40S",
    "NVIDIA A10": "A10", "NVIDIA A10G": "A10G", "NVIDIA RTX A6000": "A6000",
    "NVIDIA RTX 6000 Ada Generation": "6000-ADA", "NVIDIA GeForce RTX 4090": "4090",
    "NVIDIA GeForce RTX 5090": "5090",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "PRO-6000",
    "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition": "PRO-6000-MAX",
    "AMD Instinct MI210": "MI210", "AMD Instinct MI250X": "MI250",
    "AMD Instinct MI300X OAM": "MI300X", "AMD Instinct MI300A": "MI300A",
    "AMD Instinct MI325X": "MI325X", "AMD Instinct MI350X": "MI350X",
    "AMD Instinct MI355X": "MI355X", "HL-225": "GAUDI-2", "HL-325L": "GAUDI-3",
    "Intel Gaudi 3": "GAUDI-3", "Gaudi2": "GAUDI-2", "h100_sxm": "H100", "b200": "B200",
    "Intel(R) Data Center GPU Max 1550": "MAX-1550",
}  # fmt: skip


@pytest.mark.parametrize(("printed", "key"), PRINTED.items())
def test_a_printed_name_is_of_one_sheet(printed, key):
    ours, theirs = accelerator(printed), ACCELERATORS[key]
    assert (ours.memory_b, ours.power_w, ours.flop_per_s) == (
        theirs.memory_b, theirs.power_w, theirs.flop_per_s)  # fmt: skip


def test_sheets_are_of_this_world():
    """A unit slipped by a thousand is seen."""
    for name, a in ACCELERATORS.items():
        assert 5e9 < a.memory_b < 400e9, name
        assert 0.1e12 < a.memory_b_per_s < 10e12, name
        assert 3e12 < a.flop_per_s < 3e15, name
        assert 60 < a.power_w < 1500, name
        assert 2012 < a.year < 2027, name


# bits of the memory's bus, bits per second and line in 1e9
BUS = {
    "K40": (384, 6), "K80": (384, 5), "M60": (256, 5), "P4": (256, 6), "P40": (384, 7.2),
    "P100": (4096, 1.43), "1080TI": (352, 11), "V100": (4096, 1.752), "T4": (256, 10),
    "A100-40": (5120, 2.43), "A100-PCI-40": (5120, 2.43), "A100": (5120, 3.186),
    "A100-PCI": (5120, 3.024), "A800": (5120, 3.186), "A10": (384, 12.5), "A10G": (384, 12.5),
    "A30": (3072, 2.43), "A40": (384, 14.5), "A5000": (384, 16), "A6000": (384, 16),
    "3090": (384, 19.5), "4090": (384, 21), "6000-ADA": (384, 20), "5090": (512, 28),
    "L4": (192, 12.5), "L40": (384, 18), "L40S": (384, 18), "H100": (5120, 5.23),
    "H200": (6144, 6.25), "MI100": (4096, 2.4), "MI210": (4096, 3.2), "MI250": (8192, 3.2),
    "MI300X": (8192, 5.2),
}  # fmt: skip


@pytest.mark.parametrize(("key", "bus"), BUS.items())
def test_traffic_with_memory_is_the_width_of_its_bus_times_its_rate(key, bus):
    bits, rate = bus
    wanted = bits / 8 * rate * 1e9
    assert ACCELERATORS[key].memory_b_per_s == pytest.approx(wanted, rel=0.005)


def test_what_no_table_holds_is_stated_and_asked_for():
    with pytest.raises(DataError, match=r"'TPU v5e' .*leave these rows out"):
        accelerators(["TPU v5e", "H100"])
    name, sheet = stated_accelerator("TPU v5e=0.82,197,200,16")
    assert (sheet.memory_b, sheet.link_b_per_s) == (16e9, 64e9)
    assert math.isnan(sheet.flop32_per_s)
    with stating({name: sheet}):
        assert accelerators(["tpu v5e-8", "H100"]) == [sheet, ACCELERATORS["H100"]]
    with pytest.raises(DataError):
        accelerator("tpu v5e-8")


@pytest.mark.parametrize("text", ["X", "X=1,2,3", "=1,2,3,4", "X=1,2,3,-4", "X=1,2,3,nan"])
def test_a_sheet_that_is_none_is_refused(text):
    with pytest.raises(DataError, match="expected NAME=TB/s,TFLOPs,W,GB"):
        stated_accelerator(text)
