"""`check_meter` over every meter on recorded hardware, and proven able to fail on wrong ones."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from rheostat.measurement.meters.nvml import Nvml
from rheostat.measurement.meters.rapl import Rapl
from rheostat.measurement.meters.reading import Domain
from rheostat.measurement.meters.registry import METERS
from rheostat.measurement.meters.slurm_energy import SlurmEnergy
from rheostat.measurement.meters.zeus import Zeus
from rheostat.testing.meters import check_meter


class Error(Exception):
    """What a driver raises."""


class Hardware:
    """Joules that can be spent, behind the interfaces of four meters."""

    def __init__(self, root):
        self.zone = root / "intel-rapl:0"
        self.zone.mkdir(parents=True)
        (self.zone / "name").write_text("package-0")
        (self.zone / "max_energy_range_uj").write_text("262143328850")
        self.joules = 1000.0
        self.spend(0.0)

    def spend(self, joules=12.0):
        self.joules += joules
        (self.zone / "energy_uj").write_text(f"{self.joules * 1e6:.0f}")

    def meter(self, name):
        milli = lambda *_: self.joules * 1e3  # noqa: E731
        gpus = SimpleNamespace(get_total_energy_consumption=milli)
        many = type("Gpus", (), {"__len__": lambda s: 1,
                                 "get_total_energy_consumption": milli})()  # fmt: skip
        none = lambda: (_ for _ in ()).throw(Error("no processor"))  # noqa: E731
        nvml = SimpleNamespace(
            NVMLError=Error, nvmlInit=lambda: None, nvmlDeviceGetCount=lambda: 1,
            nvmlDeviceGetHandleByIndex=lambda i: i, nvmlDeviceGetTotalEnergyConsumption=milli,
        )  # fmt: skip
        device = SimpleNamespace(Error=Error, get_gpus=lambda: many, get_cpus=none, gpus=gpus)
        return {
            "rapl": lambda: Rapl(self.zone.parent),
            "nvml": lambda: Nvml(nvml),
            "zeus": lambda: Zeus(device),
            "slurm": lambda: SlurmEnergy(lambda job: f"7.0|{self.joules:.0f}\n",
                                         {"SLURM_JOB_ID": "7"}),
        }[name]()  # fmt: skip

    def closed(self, name):
        def none(*_):
            raise Error("nothing here")

        return {
            "rapl": lambda: Rapl(self.zone / "empty"),
            "nvml": lambda: Nvml(SimpleNamespace(NVMLError=Error, nvmlInit=none)),
            "zeus": lambda: Zeus(SimpleNamespace(Error=Error, get_gpus=none, get_cpus=none)),
            "slurm": lambda: SlurmEnergy(environ={}),
        }[name]()


@pytest.mark.parametrize("name", METERS)
def test_every_meter_keeps_the_promises(tmp_path, name):
    hardware = Hardware(tmp_path)
    check_meter(lambda: hardware.meter(name), spend=hardware.spend, energy_j=12.0,
                closed=lambda: hardware.closed(name))  # fmt: skip


class Wrong:
    """A meter that is right unless told to be wrong in one way."""

    name = "wrong"

    def __init__(self, hardware, fault=""):
        self.hardware, self.fault = hardware, fault

    def why(self):
        return ""

    def domains(self):
        many = 2 if self.fault == "twins" else 1
        return [Domain("package-0", most_w=1e6)] * many

    def sample(self):
        joules = self.hardware.joules
        if self.fault == "zero":
            return [0.0]
        if self.fault == "milli":
            return [joules * 1e-3]
        if self.fault == "unknown":
            return [math.nan]
        return [joules] * (2 if self.fault in ("twins", "extra") else 1)


@pytest.mark.parametrize(
    ("fault", "told"),
    [("zero", "nan J were told"), ("milli", "12 J were spent"), ("unknown", "nan J were told"),
     ("twins", "two domains have one name"), ("extra", "2 numbers for 1 domains")],
)  # fmt: skip
def test_a_wrong_meter_is_found_out(tmp_path, fault, told):
    hardware = Hardware(tmp_path)
    check_meter(lambda: Wrong(hardware), spend=hardware.spend, energy_j=12.0)
    with pytest.raises(AssertionError, match=told):
        check_meter(lambda: Wrong(hardware, fault), spend=hardware.spend, energy_j=12.0)


def test_a_closed_meter_that_tells_zero_is_found_out(tmp_path):
    hardware = Hardware(tmp_path)
    with pytest.raises(AssertionError, match="does not say why"):
        check_meter(lambda: Wrong(hardware), spend=hardware.spend, energy_j=12.0,
                    closed=lambda: Wrong(hardware, "zero"))  # fmt: skip
