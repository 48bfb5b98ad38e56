"""Meters: real trees of files, wraps, glitches, gaps, slow sensors, and no invented watt."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from types import SimpleNamespace

import pytest

from rheostat.cli import run
from rheostat.errors import DataError
from rheostat.measurement.meters import Session
from rheostat.measurement.meters.nvml import Nvml
from rheostat.measurement.meters.rapl import Rapl
from rheostat.measurement.meters.reading import Domain, EnergyAccumulator
from rheostat.measurement.meters.session import replay
from rheostat.measurement.meters.slurm_energy import SlurmEnergy
from rheostat.measurement.meters.zeus import Zeus


def zone(root, name, label, uj=0, most=262_143_328_850):
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "name").write_text(f"{label}\n")
    (folder / "energy_uj").write_text(f"{uj}\n")
    (folder / "max_energy_range_uj").write_text(f"{most}\n")
    return folder


@pytest.fixture
def tree(tmp_path):
    """Two packages with memory and cores, and the memory-mapped twin of the first."""
    root = tmp_path / "powercap"
    for p in (0, 1):
        zone(root, f"intel-rapl:{p}", f"package-{p}", 1_000_000)
        zone(root, f"intel-rapl:{p}:0", "core", 500_000)
        zone(root, f"intel-rapl:{p}:1", "dram", 200_000)
    zone(root, "intel-rapl-mmio:0", "package-0", 1_000_000)
    return root


class Written(Rapl):
    """A tree whose counters are moved between the samples, as hardware would."""

    def __init__(self, root, steps):
        super().__init__(root)
        self.steps = iter(steps)

    def sample(self):
        for name, value in next(self.steps, {}).items():
            (self.root / name / "energy_uj").write_text(str(value))
        return super().sample()


COUNTED = ("intel-rapl:0", "intel-rapl:0:1", "intel-rapl:1", "intel-rapl:1:1")


def moved(uj):
    """Every counter that is part of no other at its value at first plus ``uj``, in microjoules."""
    begun = {z: 200_000 if z.count(":") > 1 else 1_000_000 for z in COUNTED}
    return {z: v + uj for z, v in begun.items()}


def still(meter, interval_s=10.0, wait_s=0.06):
    with Session([meter], interval_s=interval_s, keep=True) as session:
        time.sleep(wait_s)
    return session


def test_packages_and_memory_are_added_and_what_is_inside_them_is_not(tree):
    after = {f"intel-rapl:{p}": 3_000_000 for p in (0, 1)}
    after |= {f"intel-rapl:{p}:0": 9_000_000 for p in (0, 1)}
    after |= {f"intel-rapl:{p}:1": 700_000 for p in (0, 1)}
    measured = still(Written(tree, [{}, after])).measured
    assert measured.state == "measured"
    assert measured.energy_j == pytest.approx(2 * (2.0 + 0.5))
    parts = {r.domain: r.part_of for r in measured.readings}
    assert parts["package-1:core"] == "package-1"
    assert len(parts) == 6  # the twin of package-0 is not there a second time


def test_a_platform_counter_holds_the_packages(tree):
    zone(tree, "intel-rapl:2", "psys", 0)
    measured = still(Written(tree, [{}, {"intel-rapl:2": 9_000_000,
                                         "intel-rapl:0": 5_000_000}])).measured  # fmt: skip
    assert measured.energy_j == pytest.approx(9.0)
    assert [r.domain for r in measured.counted] == ["platform"]


def test_a_counter_that_wraps_is_counted_on(tmp_path):
    zone(tmp_path, "intel-rapl:0", "package-0", 99_000_000, most=100_000_000)
    meter = Written(tmp_path, [{}, {"intel-rapl:0": 2_000_000}])
    (reading,) = still(meter).measured.readings
    assert (reading.energy_j, reading.wraps, reading.glitches) == (pytest.approx(3.0), 1, 0)


def test_glitches_are_counted_and_never_added():
    m = EnergyAccumulator(Domain("package", most_w=200.0))
    for t, v in enumerate((10.0, 110.0, -1400.0, 210.0, 1e9, 310.0, math.nan, 410.0)):
        m.add(float(t), v)
    assert (m.energy_j, m.glitches, m.samples) == (400.0, 2, 5)


def test_a_counter_set_anew_goes_on_with_a_gap_and_is_an_estimate():
    m = EnergyAccumulator(Domain("gpu-0", most_w=500.0))
    for t, v in enumerate((1000.0, 1100.0, 5.0, 105.0, 205.0)):
        m.add(float(t), v)
    reading = m.reading("nvml", 4.0)
    assert (m.energy_j, reading.state) == (300.0, "estimated")
    assert "set anew 1 time" in reading.why


def test_watts_are_summed_over_time_and_called_derived():
    m = EnergyAccumulator(Domain("gpu-0", "power", most_w=400.0))
    for t, v in ((0.0, 100.0), (1.0, 300.0), (2.0, 9999.0), (3.0, 100.0)):
        m.add(t, v)
    reading = m.reading("nvml", 3.0)
    assert (reading.state, reading.energy_j, reading.glitches) == ("derived", 600.0, 1)


def test_a_window_too_short_for_the_sensor_is_an_estimate():
    m = EnergyAccumulator(Domain("gpu-0", least_window_s=2.0))
    m.add(0.0, 0.0)
    m.add(0.5, 100.0)
    reading = m.reading("nvml", 0.5)
    assert reading.state == "estimated"
    assert "shorter than the 2 s" in reading.why


def test_one_sample_is_no_energy():
    m = EnergyAccumulator(Domain("x"))
    m.add(0.0, 5.0)
    assert m.reading("m", 1.0).state == "unavailable"
    assert math.isnan(m.reading("m", 1.0).energy_j)


def test_a_total_without_one_of_its_parts_is_no_total(tree):
    """More joules than the package can draw in a moment: a glitch, and nothing else was read."""
    measured = still(Written(tree, [{}, moved(5000) | {"intel-rapl:0": 10**12}])).measured
    assert math.isnan(measured.energy_j)
    assert measured.state == "unavailable"
    lost = {r.domain for r in measured.counted if r.state == "unavailable"}
    assert lost == {"package-0"}


def test_closed_counters_say_who_may_read_them(tree, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert "root only" in Rapl(tree).why()


class Error(Exception):
    """What a driver raises."""


def gpu(joules=(), watts=()):
    """A driver that answers with recorded numbers, in order."""
    energy, power = iter(joules), iter(watts)

    def answer(numbers):
        value = next(numbers, None)
        if value is None:
            raise Error("Not Supported")
        return value * 1000

    return SimpleNamespace(
        NVMLError=Error, nvmlInit=lambda: None, nvmlDeviceGetCount=lambda: 1,
        nvmlDeviceGetHandleByIndex=lambda i: i,
        nvmlDeviceGetTotalEnergyConsumption=lambda h: answer(energy),
        nvmlDeviceGetPowerUsage=lambda h: answer(power),
    )  # fmt: skip


def test_a_gpu_with_a_counter_is_measured_and_one_without_is_derived():
    (reading,) = still(Nvml(gpu([500, 500, 530]))).measured.readings
    assert (reading.energy_j, reading.state) == (pytest.approx(30.0), "estimated")  # 0.06 s
    (reading,) = still(Nvml(gpu(watts=[100, 100]))).measured.readings
    assert reading.energy_j == pytest.approx(100 * reading.window_s)
    assert reading.state == "estimated"


def test_no_driver_is_a_reason_and_no_error():
    broken = gpu()
    broken.nvmlInit = lambda: (_ for _ in ()).throw(Error("Driver Not Loaded"))
    assert "Driver Not Loaded" in Nvml(broken).why()


def test_slurm_takes_steps_once_and_says_that_it_counts_whole_nodes():
    said = iter(["7.0|1000\n7.batch|999\n", "7.0|1000\n7.batch|999\n", "7.0|4000\n7.1|500\n"])
    meter = SlurmEnergy(lambda job: next(said), {"SLURM_JOB_ID": "7"})
    (reading,) = still(meter).measured.readings
    assert reading.energy_j == 3500.0
    assert reading.state == "estimated"  # a window of 0.06 s, where 60 s are needed
    assert "no Slurm job" in SlurmEnergy(environ={}).why()


@pytest.mark.parametrize(("status", "said"), [(0, ""), (1, "Slurm gathers no energy")])
def test_slurm_is_asked_for_the_job_and_its_failure_is_no_answer(
    status, said, tmp_path, monkeypatch
):
    asked = tmp_path / "asked"
    (tmp_path / "sstat").write_text(
        f'#!/bin/sh\necho "$@" > {asked}\necho "7.0|900"\nexit {status}\n'
    )
    (tmp_path / "sstat").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert SlurmEnergy(environ={"SLURM_JOB_ID": "7"}).why()[:23] == said
    words = "--allsteps --noheader --parsable2 -j 7 --format=JobID,ConsumedEnergyRaw"
    assert asked.read_text().strip() == words


def test_zeus_adds_gpus_processors_and_memory():
    now = iter([0, 0, 0, 0, 0, 0, 0, 0, 4000, 3000, 2000, 1000] * 9)
    device = SimpleNamespace(Error=Error, get_gpus=lambda: (_ for _ in ()).throw(Error("none")),
                             get_cpus=lambda: Cpus(now))  # fmt: skip
    meter = Zeus(device)
    assert meter.why() == ""
    assert [d.name for d in meter.domains()] == ["package-0", "package-0:dram"]


class Cpus(list):
    """One processor."""

    def __init__(self, now):
        super().__init__([0])
        self.now = now

    def get_total_energy_consumption(self, i):
        return SimpleNamespace(cpu_mj=next(self.now), dram_mj=next(self.now))


def test_a_recording_adds_up_to_the_same(tree, tmp_path):
    steps = [moved(400_000 * k) for k in range(50)]
    session = still(Written(tree, steps), interval_s=0.01)
    session.write(tmp_path / "r.csv")
    again = replay(tmp_path / "r.csv")
    assert again.energy_j == pytest.approx(session.measured.energy_j)
    assert again.state == session.measured.state
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="column t_s is missing"):
        replay(tmp_path / "x.csv")


def test_a_recording_says_which_samples_it_does_not_count(tmp_path, capsys):
    lines = ["t_s,meter,domain,kind,range_j,least_window_s,most_w,part_of,value"]
    lines += [f"{k},rapl,package-0,energy,inf,0.05,100.0,,{10 * k}" for k in range(6)]
    lines[3] = lines[3].replace(",20", ",20000")
    file = tmp_path / "r.csv"
    file.write_text("\n".join([*lines, "6,rapl,package-0,energy,inf,0.05,100.0,,nan"]) + "\n")
    assert run(["measure", "--replay", str(file)]) == 0
    assert "note: rapl package-0: 1 of 6 samples cannot be right" in capsys.readouterr().err
    assert replay(file).energy_j == 50.0
    lines[2] = lines[2].replace("1,", "-4,", 1).replace("100.0", "-1")
    lines[5] = lines[5].replace("0.05", "1e308").replace("energy", "joy")
    file.write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=r"row 2: most_w: .* got -1; row 5: least_window_s.*1e308"):
        replay(file)
    file.write_text("\n".join([lines[0], lines[4], lines[1]]))
    with pytest.raises(DataError, match="row 2: t_s falls from 3 to 0: is this one recording"):
        replay(file)


def test_the_command_line_without_a_meter_tells_time_and_says_why_no_power(tmp_path, capfd):
    argv = ["measure", "--rapl-root", str(tmp_path), "--meters", "rapl,slurm", "--json", "--"]
    assert run([*argv, sys.executable, "-c", "print('hello')"]) == 0
    out, err = capfd.readouterr()
    facts = json.loads(out)
    assert facts["runtime_s"] > 0
    assert facts["energy_j"] is None
    assert facts["state"] == "unavailable"
    assert set(facts["unavailable"]) == {"rapl", "slurm"}
    assert "hello" in err  # the document has stdout to itself


def test_the_command_line_keeps_the_status_and_reads_a_tree(tree, capfd):
    argv = ["measure", "--rapl-root", str(tree), "--meters", "rapl", "--json", "--"]
    code = "import sys, time; time.sleep(0.06); sys.exit(5)"
    assert run([*argv, sys.executable, "-c", code]) == 5
    facts = json.loads(capfd.readouterr().out)
    assert facts["status"] == 5
    assert len(facts["domains"]) == 6


def test_a_stuck_counter_is_unavailable_and_says_so_instead_of_zero(tree, capfd):
    """Nobody draws 0 W: the files of this tree never move."""
    argv = ["measure", "--rapl-root", str(tree), "--meters", "rapl"]
    assert run([*argv, "--json", "--", "sleep", "0.06"]) == 0
    facts = json.loads(capfd.readouterr().out)
    assert (facts["state"], facts["energy_j"], facts["power_w"]) == ("unavailable", None, None)
    assert {d["state"] for d in facts["domains"]} == {"unavailable"}
    assert all("the counter did not move from" in d["why"] for d in facts["domains"])
    assert run([*argv, "--", "sleep", "0.06"]) == 0
    told = capfd.readouterr()
    assert "unavailable" in told.out
    assert "0 J" not in told.out + told.err


def test_one_stuck_counter_makes_the_total_unavailable_and_the_others_stay(tree):
    steps = [{}, {z: v for z, v in moved(60_000).items() if z != "intel-rapl:1"}]
    measured = still(Written(tree, steps)).measured
    state = {r.domain: r.state for r in measured.readings if not r.part_of}
    assert state.pop("package-1") == "unavailable"
    assert set(state.values()) == {"measured"}
    assert math.isnan(measured.energy_j)


def test_a_sensor_of_watts_that_says_zero_all_along_is_unavailable():
    meter = EnergyAccumulator(Domain("gpu-0", "power"))
    for t in range(5):
        meter.add(t, 0.0)
    reading = meter.reading("nvml", 4.0)
    assert reading.state == "unavailable"
    assert "the sensor did not move from 0" in reading.why


def test_perf_counts_beside_the_command(tmp_path, monkeypatch, capfd):
    """A perf that writes what a real one wrote, and runs the command."""
    fake = tmp_path / "perf"
    fake.write_text('#!/bin/sh\nshift 2\nshift\nfile=$1\nshift 4\n'
                    'echo "5000,,instructions,1000,100.00,," > "$file"\nexec "$@"\n')  # fmt: skip
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr("rheostat.measurement.meters.perf_counting.PARANOID", tmp_path / "none")
    argv = ["measure", "--meters", "rapl", "--rapl-root", str(tmp_path), "--perf", "instructions"]
    assert run([*argv, "--json", "--", "true"]) == 0
    facts = json.loads(capfd.readouterr().out)
    rate = facts["counters"]["rates"]["instructions_per_s"]
    assert rate == pytest.approx(5000 / facts["runtime_s"], rel=0.01)


def test_a_search_takes_the_joules_of_a_meter_where_the_program_prints_none(tree):
    from rheostat.core.vocabulary import table
    from rheostat.measurement.commands.command import Command

    steps = [moved(1_750_000 * k) for k in range(9)]
    meter = Written(tree, steps)
    command = Command("sleep 0.0{nodes}", ["energy_j"], meters=[meter])
    outcome = command(table({"nodes": [1, 2]}))
    assert outcome.mean("energy_j") == pytest.approx([7.0, 7.0])
    assert any("energy_j: read by a meter" in n.message for n in outcome.notes)
    own = Command("printf '{{\"energy_j\": %s}}' {nodes}", ["energy_j"], meters=[meter])
    assert own(table({"nodes": [3]})).mean("energy_j").tolist() == [3.0]


@pytest.mark.parametrize("span_s", [0.1, 1.0, 30.0])
def test_a_step_counts_up_to_what_the_domain_can_draw_and_not_beyond(span_s):
    for share, joules in ((0.0, 0.0), (1.0, 200.0 * span_s), (1.01, None), (2.9, None)):
        m = EnergyAccumulator(Domain("package", most_w=200.0))
        m.add(0.0, 1000.0)
        m.add(span_s, 1000.0 + share * 200.0 * span_s)
        assert m.glitches == (joules is None)
        assert m.energy_j == pytest.approx(joules or 0.0)


def test_watts_above_what_a_device_can_draw_are_no_watts():
    m = EnergyAccumulator(Domain("gpu-0", "power", most_w=400.0))
    for t, watts in ((0.0, 400.0), (1.0, 400.0), (2.0, 401.0), (3.0, -1.0), (4.0, 0.0)):
        m.add(t, watts)
    assert (m.energy_j, m.glitches) == (400.0 + 3 * 200.0, 2)
    assert m.reading("nvml", 4.0).window_s == 4.0


@pytest.mark.parametrize(("step_j", "counted"), [(49.0, 49.0), (50.0, 50.0), (51.0, 0.0)])
def test_a_wrap_counts_only_where_the_step_over_the_end_can_be_drawn(step_j, counted):
    m = EnergyAccumulator(Domain("package", range_j=1000.0, most_w=50.0))
    m.add(0.0, 990.0)
    m.add(1.0, 990.0 + step_j - 1000.0)
    assert (m.energy_j, m.wraps, m.glitches) == (counted, int(counted > 0), int(counted == 0))


@pytest.mark.parametrize("number", [9, 15])
def test_a_command_ended_by_a_signal_leaves_with_128_and_its_number(number, tmp_path, capfd):
    argv = ["measure", "--rapl-root", str(tmp_path), "--meters", "rapl", "--json", "--"]
    assert run([*argv, "sh", "-c", f"kill -{number} $$"]) == 128 + number
    assert json.loads(capfd.readouterr().out)["status"] == 128 + number
