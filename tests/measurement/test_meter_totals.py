"""Totals of meters: each domain once, glitches and gaps, drivers and zones without a value."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from rheostat.errors import DataError
from rheostat.measurement.meters.nvml import Nvml
from rheostat.measurement.meters.rapl import Rapl
from rheostat.measurement.meters.reading import Domain, EnergyAccumulator, Reading
from rheostat.measurement.meters.registry import METERS, meters
from rheostat.measurement.meters.session import Measured, Session
from rheostat.measurement.meters.slurm_energy import SlurmEnergy


def reading(domain, joules=1.0, state="measured", part_of="", meter="m"):
    return Reading(meter, domain, state, joules, 2.0, part_of=part_of)


def test_a_total_has_each_domain_once_and_is_as_good_as_its_worst_part() -> None:
    both = Measured(4.0, (reading("a", 3.0), reading("a", 9.0, meter="n"), reading("b", 5.0),
                          reading("c", 7.0, part_of="a")))  # fmt: skip
    assert (both.energy_j, both.power_w, both.state) == (8.0, 2.0, "measured")
    second = Measured(4.0, (reading("a", math.nan, "unavailable"), reading("a", 9.0, "derived")))
    assert (second.energy_j, second.state) == (9.0, "derived")
    worst = Measured(4.0, (reading("a", 1.0, "estimated"), reading("b", 1.0, "derived")))
    assert worst.state == "estimated"
    nothing = Measured(4.0)
    assert nothing.state == "unavailable"
    assert math.isnan(nothing.energy_j)
    assert math.isnan(Measured(0.0, (reading("a"),)).power_w)


def test_the_total_of_slurm_counts_where_the_parts_are_not_all_there() -> None:
    job, gone = reading("job", 50.0, "derived"), reading("b", math.nan, "unavailable")
    assert Measured(1.0, (reading("a", 3.0), job)).energy_j == 3.0
    assert Measured(1.0, (reading("a", 3.0), gone, job)).energy_j == 50.0
    assert Measured(1.0, (job,)).energy_j == 50.0
    assert math.isnan(Measured(1.0, (reading("a", 3.0), gone)).energy_j)


def test_a_reading_says_watts_and_what_it_lacks() -> None:
    assert reading("a", 6.0).power_w == 3.0
    assert math.isnan(Reading("m", "a", "measured", 6.0, 0.0).power_w)
    m = EnergyAccumulator(Domain("x", least_window_s=2.0, why="as the driver says", part_of="y"))
    for t in (0.0, 1.0, 2.0):
        m.add(t, 10.0 * t)
    found = m.reading("nvml", 9.0)
    assert (found.state, found.window_s, found.why) == ("measured", 2.0, "as the driver says")
    assert (found.part_of, found.samples, found.meter) == ("y", 3, "nvml")
    watts = EnergyAccumulator(Domain("x", "power", most_w=9.0))
    watts.add(0.0, 5.0)
    assert watts.reading("m", 3.0).why == "1 good samples in 3 s, two are needed"
    watts.add(2.0, 7.0)
    assert watts.energy_j == 12.0
    assert watts.reading("m", 2.0).why == "2 samples of watts, summed over time"


def test_the_first_sample_of_a_counter_is_no_joule_and_a_negative_one_no_sample() -> None:
    m = EnergyAccumulator(Domain("x", most_w=100.0))
    m.add(0.0, -5.0)
    m.add(1.0, 700.0)
    m.add(1.0, 700.05)  # within a millisecond as much as a millisecond may bring
    m.add(1.0, 701.0)
    assert (m.energy_j, m.glitches, m.samples) == (pytest.approx(0.05), 2, 2)


def test_two_glitches_that_fit_each_other_are_a_counter_set_anew_others_are_not() -> None:
    for values, energy, gaps, glitches in (
        ((1000, 1100, 5, 105, 205), 300.0, 1, 0),
        ((1000, 1100, 5, 305, 1150), 150.0, 0, 2),  # 300 J in a second: neither fits
        ((1000, 1100, -5, 95, 1200), 200.0, 0, 2),
        ((1000, 1100, 50, 40, 1200), 200.0, 0, 2),  # falling: no counter
    ):
        m = EnergyAccumulator(Domain("gpu", most_w=200.0))
        for t, v in enumerate(values):
            m.add(float(t), float(v))
        assert (m.energy_j, m.gaps, m.glitches) == (energy, gaps, glitches), values


def test_a_session_wants_time_between_samples_and_says_who_is_silent() -> None:
    with pytest.raises(DataError, match="seconds above 0, got 0"):
        Session([], interval_s=0)
    with Session([SlurmEnergy(environ={})]) as session:
        pass
    assert list(session.measured.silent) == ["slurm"]
    assert session.measured.readings == ()
    assert [m.name for m in meters()] == list(METERS)


def test_slurm_adds_numbered_steps_and_says_why_it_cannot() -> None:
    inside = {"SLURM_JOB_ID": "7"}
    assert SlurmEnergy(lambda job: "7.0|5|\n7.1|6\n7.batch|9\n7.extern|9\nx\n",
                       inside).sample() == [11.0]  # fmt: skip
    silent = SlurmEnergy(lambda job: "7.0|\n", inside)
    assert math.isnan(silent.sample()[0])
    assert "gathers no energy" in silent.why()
    assert SlurmEnergy(lambda job: "7.0|5\n", inside).why() == ""
    (domain,) = silent.domains()
    assert (domain.name, domain.least_window_s, domain.most_w) == ("job", 60.0, 1e7)


class Error(Exception):
    """What a driver raises."""


def test_a_driver_without_gpus_says_so_and_units_are_joules_and_watts() -> None:
    def none(*_):
        raise Error("no counter")

    driver = SimpleNamespace(
        NVMLError=Error, nvmlInit=lambda: None, nvmlDeviceGetCount=lambda: 0,
        nvmlDeviceGetHandleByIndex=lambda i: i, nvmlDeviceGetPowerUsage=lambda h: 250_000 + h,
        nvmlDeviceGetTotalEnergyConsumption=lambda h: 4000 if h else none(),
    )  # fmt: skip
    assert "sees no GPU" in Nvml(driver).why()
    driver.nvmlDeviceGetCount = lambda: 2
    meter = Nvml(driver)
    assert meter.why() == ""
    first, second = meter.domains()
    assert (first.kind, second.kind, second.name) == ("power", "energy", "gpu-1")
    assert (second.least_window_s, second.most_w) == (2.0, 1500.0)
    assert meter.sample() == [250.0, 4.0]
    driver.nvmlDeviceGetPowerUsage = none
    assert math.isnan(meter.sample()[0])


def zone(root, name, label, uj="0", most="1000000"):
    (root / name).mkdir(parents=True)
    for file, text in (("name", label), ("energy_uj", uj), ("max_energy_range_uj", most)):
        (root / name / file).write_text(text)


def test_a_zone_is_named_after_what_it_is_part_of(tmp_path) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0", "5000000")
    zone(tmp_path, "intel-rapl:0:0", "core")
    zone(tmp_path, "intel-rapl:0:1", "dram", "x")
    zone(tmp_path, "intel-rapl-mmio:0", "package-0")
    zone(tmp_path, "intel-rapl-mmio:1", "package-1")
    meter = Rapl(tmp_path)
    found = {d.name: d for d in meter.domains()}
    assert set(found) == {"package-0", "package-0:core", "package-0:dram", "package-1"}
    assert found["package-0"].range_j == pytest.approx(1.0)
    assert (found["package-0:core"].part_of, found["package-0:dram"].part_of) == ("package-0", "")
    values = dict(zip(found, meter.sample(), strict=True))
    assert values["package-0"] == pytest.approx(5.0)
    assert math.isnan(values["package-0:dram"])
    assert "no energy counter under" in Rapl(tmp_path / "none").why()
    zone(tmp_path, "intel-rapl:2", "psys")
    parts = {d.name: d.part_of for d in Rapl(tmp_path).domains()}
    assert parts["platform"] == ""
    assert parts["package-0"] == parts["package-0:dram"] == "platform"
    assert parts["package-0:core"] == "package-0"
