"""Counters and meters to the last field: every column's unit, runs that begin anew, odd lines."""

from __future__ import annotations

import json
import math

import pytest

from rheostat.core.jobs import Moment, Note
from rheostat.errors import DataError
from rheostat.measurement.counters import read_likwid, read_papi, read_pcm, read_perf
from rheostat.measurement.counters.likwid import METRICS
from rheostat.measurement.counters.papi import EVENTS as PAPI_EVENTS
from rheostat.measurement.counters.pcm import COLUMNS, SUMMED
from rheostat.measurement.counters.perf_stat import EVENTS as PERF_EVENTS
from rheostat.measurement.meters.nvml import Nvml
from rheostat.measurement.meters.rapl import Rapl
from rheostat.measurement.meters.reading import Domain
from rheostat.measurement.meters.slurm_energy import SlurmEnergy
from rheostat.measurement.meters.zeus import Zeus
from tests.measurement.exactly import refused, written

# --- PCM ---------------------------------------------------------------------------------------


def clock(*seconds: float) -> list[str]:
    return [f"{int(s // 3600):02d}:{int(s // 60 % 60):02d}:{s % 60:06.3f}" for s in seconds]


def test_every_column_of_pcm_has_its_unit(tmp_path):
    names = list(COLUMNS)
    rows = "".join(f"{t},{','.join(['2'] * len(names))}\n" for t in clock(5, 9))
    jobs = read_pcm(written(tmp_path / "x.1.csv", f"Time,{','.join(names)}\n{rows}"))
    row = jobs.frame.row(1, named=True)
    for ours, factor, per in COLUMNS.values():
        assert row[ours] == pytest.approx(2 * factor / (4 if per else 1)), ours
    units = {"exec_share": 1, "ipc": 1, "core_hz": 1e9, "core_ipc": 0.01, "uncore_hz": 1e9,
             "c0_share": 0.01, "llc_misses_per_s": 1e6, "l2_misses_per_s": 1e6,
             "memory_read_b_per_s": 1e9, "memory_write_b_per_s": 1e9, "instructions_per_s": 1e6,
             "package_power_w": 1, "dram_power_w": 1}  # fmt: skip
    assert {o: f for o, f, _ in COLUMNS.values()} == units
    assert (row["t_s"], row["span_s"], row["run_id"]) == (8.0, 4.0, "x")
    assert jobs.notes == (Note("first interval of each run taken as the median, 4 s"),)


def test_runs_of_pcm_begin_where_a_setting_changes(tmp_path):
    times = clock(0, 1, 3, 5, 6, 4)
    marks = ("a", "a", "b", "b", "b", "b")
    rows = "".join(f"{t};{m};7;2\n" for t, m in zip(times, marks, strict=True))
    text = f"Time;app;limit_w;EXEC\n{rows}99:x;b;7;2\n{clock(8)[0]};b\n{clock(9)[0]};b;7;2\n"
    jobs = read_pcm(written(tmp_path / "p.csv", text), run_id="r", app="never")
    assert jobs.frame["span_s"].to_list() == [1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0]
    assert jobs.frame["t_s"].to_list() == [1.0, 2.0, 1.0, 3.0, 4.0, 5.0, 6.0, 8.0]
    assert jobs.frame["run_id"].to_list() == ["r-1"] * 2 + ["r-2"] * 6
    assert jobs.frame["app"].to_list() == [*marks, "b", "b"]
    assert jobs.frame["limit_w"].to_list() == [7.0] * 8
    cap = jobs.schema["limit_w"]
    assert (cap.unit, cap.known, cap.meaning) == ("W", Moment.SUBMIT, "a setting of the run")
    assert jobs.notes[0] == Note("row is shorter than the header", (7,), 1, dropped=True)


def test_sockets_of_pcm_are_added_where_there_is_no_total(tmp_path):
    text = ("System,,Socket0,Proc Energy (Joules),,DRAM Energy (Joules),,System Core C-States\n"
            f"Time,EXEC,EXEC,SKT0,SKT1,SKT0,SKT1,C0res%\n{clock(0)[0]},1,9,2,3,4,5,50\n"
            f"{clock(86399)[0]},1,9,2,3,4,5,50\n{clock(1)[0]},1,9,2,3,4,5,50\n")  # fmt: skip
    jobs = read_pcm(written(tmp_path / "p.csv", text), app="x")
    assert jobs.frame["span_s"].to_list()[1:] == [86399.0, 2.0]
    last = jobs.frame.row(2, named=True)
    names = ("package_power_w", "dram_power_w", "exec_share", "c0_share")
    assert [last[n] for n in names] == [2.5, 4.5, 1.0, 0.5]
    assert (last["app"], last["run_id"]) == ("x", "p")
    assert set(SUMMED) == {"Proc Energy (Joules)", "DRAM Energy (Joules)"}
    refused(lambda: read_pcm(written(tmp_path / "q.csv", "Time,EXEC\n\n")),
            "has PCM's header but no row that fits it")  # fmt: skip
    refused(lambda: read_pcm(written(tmp_path / "q.csv", "Time,a\nTime,b\nTime,EXEC\n1,2\n")),
            f"expected PCM's header with Time and {', '.join(COLUMNS)}")  # fmt: skip


# --- perf --------------------------------------------------------------------------------------


def test_every_event_of_perf_has_its_column(tmp_path):
    for event, ours in PERF_EVENTS.items():
        text = f"6,,{event}:u,1,100.00,,\n2000000000,ns,duration_time,1,100.00,,\n"
        row = read_perf(written(tmp_path / "x.csv", text)).frame.row(0, named=True)
        assert (row[ours], row["span_s"], row["t_s"], row["run_id"]) == (3.0, 2.0, 2.0, "x")
    text = "5.0,msec,task-clock,1,100.00,,\n5,,Odd-Event:u,1,100.00,,\n2,,duration_time,1,1,,\n"
    jobs = read_perf(written(tmp_path / "x.csv", text), runtime_s=2.0, app="a", run_id="r")
    row = jobs.frame.row(0, named=True)
    assert (row["busy_cores"], row["odd_event_u_per_s"]) == (pytest.approx(0.0025), 2.5)
    assert (row["app"], row["run_id"], "user_time_per_s" in row) == ("a", "r", False)
    text = "5000000.0,,cpu-clock,1,100.00,,\n3,s,duration_time,1,100.00,,\n"
    row = read_perf(written(tmp_path / "x.csv", text)).frame.row(0, named=True)
    assert (row["busy_cores"], row["span_s"]) == (pytest.approx(0.005 / 3), 3.0)


def test_intervals_of_perf_by_their_time(tmp_path):
    lines = ["0.5,4,,cycles,1,100.00,,", "0.5,<not counted>,,branches,0,0.00,,",
             "2.5;8;;cycles;1;89.99;;", "2.5,6,,branches,1,90.00,,", "0,4,,x,1,1,,",
             "nan.0,4,,cycles,1,1,,"]  # fmt: skip
    jobs = read_perf(written(tmp_path / "p.csv", "\n".join(lines)))
    assert jobs.frame.select("t_s", "span_s", "cycles_per_s", "branches_per_s").rows() == [
        (0.5, 0.5, 8.0, None), (2.5, 2.0, 4.0, 3.0)]  # fmt: skip
    said = [n.message for n in jobs.notes]
    assert "branches: not counted or not supported in 1 rows, null" in said
    assert "cycles: counted 90 % of the time, scaled up by perf" in said
    assert not any(s.startswith("branches: counted") for s in said)


@pytest.mark.parametrize(("line", "kept"), [
    ('{"event": "cycles", "counter-value": "4", "pcnt-running": 50.0, "unit": "x"}', True),
    ('{"event": "cycles", "counter-value": "<not counted>"}', True),
    ('{"event": "cycles", "counter-value": "x"}', False), ('{"event": "cycles"}', False),
    ('{"interval": 0.0, "event": "cycles", "counter-value": "4"}', False),
    ('{"interval": "x", "event": "cycles", "counter-value": "4"}', False), ("{", False),
    ("4,,cycles,1,100.00,,", True), ("4,,cycles,1", False), ("4,,77,1,100.00,,", False),
    ("x,,cycles,1,100.00,,", False), ("4,,cycles,1,50", True),
    ("  1,234   cycles   # 5 (75.00%)", True), ("<not supported> cycles", True),
    ("5 seconds user", False), ("# 4,,cycles,1,100.00,,", False),
])  # fmt: skip
def test_a_line_of_perf_is_a_count_or_none(tmp_path, line, kept):
    text = f"{line}\n8,,branches,1,100.00,,\n"
    jobs = read_perf(written(tmp_path / "p.csv", text), runtime_s=2.0)
    assert ("cycles_per_s" in jobs.columns) is kept
    odd = not kept and not line.startswith(("5 seconds", "#"))
    said = "1 lines that hold no count of perf are left out"
    assert any(n.message == said for n in jobs.notes) is (odd and line != "4,,cycles,1")


def test_shares_and_times_of_text_and_json(tmp_path):
    text = "# started on x\n   1.000,50 msec cpu-clock  # 1 (75,00%)\n 2,5 seconds time elapsed\n"
    jobs = read_perf(written(tmp_path / "p.txt", text.replace("2,5", "2.5")))
    assert jobs.frame["span_s"].to_list() == [2.5]
    assert any("cpu-clock: counted 75 % of the time" in n.message for n in jobs.notes)
    line = '{"event": "cycles", "counter-value": "4.0", "pcnt-running": 50.0}\n'
    jobs = read_perf(written(tmp_path / "p.json", line), runtime_s=2.0)
    assert jobs.frame["cycles_per_s"].to_list() == [2.0]
    assert [n.message for n in jobs.notes] == [
        "cycles: counted 50 % of the time, scaled up by perf"
    ]
    remedy = "tells no elapsed time: run perf with -e duration_time (or -I 100); or give it, in s: "
    remedy += "--option runtime_s=12.5"
    refused(lambda: read_perf(tmp_path / "p.json"), remedy)
    timed = '{"event": "duration_time", "counter-value": "9", "unit": "ns"}\n'
    refused(lambda: read_perf(written(tmp_path / "t.json", timed + line + line)), remedy)
    refused(lambda: read_perf(written(tmp_path / "q.txt", "nothing here\n")),
            "holds no event of perf stat in CSV (-x,), JSON (-j) or text")  # fmt: skip
    twice = written(tmp_path / "r.json", line + line)
    refused(lambda: read_perf(twice, runtime_s=2.0),
            "holds 2 recordings, and runtime_s is of one: give each a file")  # fmt: skip


# --- LIKWID and PAPI ---------------------------------------------------------------------------


def test_every_metric_of_likwid_has_its_unit(tmp_path):
    heads = [m.replace("mbytes", "MBytes").replace("dp [mflop", "DP [MFLOP") for m in METRICS]
    body = "".join(f"| {m} | 3.0 | 5.0 |\n" for m in heads)
    text = (f"Region a, Group 1: G\n| Metric | T0 | T1 |\n{body}"
            "| Energy [J] | 9 | 9 |\n| Own [x] | 1 | 3 |\n")  # fmt: skip
    jobs = read_likwid(written(tmp_path / "l.x.txt", text), app="b")
    row = jobs.frame.row(0, named=True)
    together = {"sum": 8.0, "max": 5.0, "mean": 4.0}
    for ours, scale, how in METRICS.values():
        assert row[ours] == pytest.approx(scale * together[how]), ours
    assert (row["own"], row["ipc"], "energy" in row) == (2.0, 0.25, False)
    assert (row["run_id"], row["region"], row["group"], row["app"]) == ("l", "a", "G", "b")
    assert {o: s for o, s, _ in METRICS.values() if s != 1} == {
        "core_hz": 1e6, "uncore_hz": 1e6, "flops_per_s": 1e6, "memory_b_per_s": 1e6,
        "memory_read_b_per_s": 1e6, "memory_write_b_per_s": 1e6}  # fmt: skip
    assert jobs.notes[0] == Note(
        "rates, watts and bandwidth summed over threads; clocks and CPI averaged")  # fmt: skip


def test_regions_groups_and_statistics_of_likwid(tmp_path):
    text = ("Region a, Group 1: G\n| Metric | T0 |\n| Power [W] | 1 |\n+---+\n| CPI | 0 |\n"
            "Region b,\nGroup 1: G\n| Event | T0 |\n| X | 7 |\n| Metric | T0 |\n| Power [W] | 2 |\n"
            "Group 2: H\n| Metric | T0 |\n| Clock [MHz] | 3 |\n"
            "| Metric | Sum | Min | Max | Avg |\n| Clock [MHz] STAT | 30 | 1 | 9 | 4 |\n"
            "| DP [MFLOP/s] STAT | 6 | 1 | 2 | 3 |\n| Runtime (RDTSC) [s] STAT | 6 | 1 | 5 | 3 |\n"
            "| CPI STAT | 6 | 1 | 5 | 2 |\n")  # fmt: skip
    jobs = read_likwid(written(tmp_path / "l.txt", text), run_id="r")
    a, b, c = jobs.frame.rows(named=True)
    assert [(x["region"], x["group"], x["run_id"]) for x in (a, b, c)] == [
        ("a", "G", "r"), ("b", "G", "r"), ("b", "H", "r")]  # fmt: skip
    assert (a["package_power_w"], a.get("ipc"), b["package_power_w"], "x" in b) == (
        1.0,
        None,
        2.0,
        False,
    )
    assert (c["core_hz"], c["flops_per_s"], c["span_s"], c["cpi"], c["ipc"]) == (
        3e6,
        6e6,
        5.0,
        2.0,
        0.5,
    )
    events = written(tmp_path / "n.txt", "Region a\n| Event | T0 |\n| X | 7 |\n")
    refused(lambda: read_likwid(events),
            "holds no table with 'Metric': not an output of LIKWID")  # fmt: skip


def test_every_event_of_papi_has_its_column(tmp_path):
    for listed in (True, False):
        for event, ours in (*PAPI_EVENTS.items(), ("My Own", "my_own_per_s")):
            region = {"name": "s", "real_time_nsec": "2000000000", event: "6", "region_count": "3"}
            other = {"real_time_nsec": 0, "name": "none", event: 1}
            one, two = [region, 5, {"odd": 1}], [region, other]
            threads = [{"regions": one}, {"regions": two}, {}] if listed else {
                "0": {"regions": {"0": region}},
                "1": {"regions": {"0": region, "1": other}}}  # fmt: skip
            file = written(tmp_path / "p.x.json", json.dumps({"threads": threads, "cpu_info": "C"}))
            jobs = read_papi(file, app="a")
            row = jobs.frame.row(0, named=True)
            assert (row[ours], row["span_s"], row["region"], row["app"]) == (6.0, 2.0, "s", "a")
            assert jobs.notes == (Note("counted on C"),
                                  Note("region has no time", (1,), 1, dropped=True))  # fmt: skip
            assert (row["run_id"], len(jobs)) == ("p.x", 1)
    bare = json.dumps({"threads": [{"regions": [region]}]})
    assert read_papi(written(tmp_path / "q.json", bare), run_id="r").notes == ()
    assert read_papi(tmp_path / "q.json", run_id="r").frame["run_id"].to_list() == ["r"]
    refused(lambda: read_papi(written(tmp_path / "q.json", '{"threads": []}')),
            "has no region with a time")  # fmt: skip
    refused(lambda: read_papi(written(tmp_path / "q.json", "[1]")),
            "has no 'threads': not an output of PAPI's high-level API")  # fmt: skip
    with pytest.raises(DataError, match="is not JSON: "):
        read_papi(written(tmp_path / "q.json", "{"))


# --- meters ------------------------------------------------------------------------------------


class Driver:
    """NVIDIA's library with so many GPUs; those in ``old`` have no counter of energy."""

    class NVMLError(Exception):
        pass

    def __init__(self, count=2, old=(), silent=False, absent=False):
        self.count, self.old, self.silent, self.absent = count, old, silent, absent

    def nvmlInit(self):  # noqa: N802 - the library's name
        if self.absent:
            raise self.NVMLError("not loaded")

    def nvmlDeviceGetCount(self):  # noqa: N802 - the library's name
        return self.count

    def nvmlDeviceGetHandleByIndex(self, i):  # noqa: N802 - the library's name
        return i

    def nvmlDeviceGetTotalEnergyConsumption(self, handle):  # noqa: N802 - the library's name
        if handle in self.old or self.silent:
            raise self.NVMLError("no counter")
        return 5000 * (handle + 1)

    def nvmlDeviceGetPowerUsage(self, handle):  # noqa: N802 - the library's name
        if self.silent:
            raise self.NVMLError("no sensor")
        return 250_000


def test_gpus_have_a_counter_or_a_sensor():
    driver = Driver(3, old=(1,))
    meter = Nvml(driver)
    assert meter.why() == ""
    why = "this GPU has no energy counter: its watts summed over time"
    assert list(meter.domains()) == [
        Domain("gpu-0", "energy", least_window_s=2.0, most_w=1500.0),
        Domain("gpu-1", "power", least_window_s=2.0, most_w=1500.0, why=why),
        Domain("gpu-2", "energy", least_window_s=2.0, most_w=1500.0)]  # fmt: skip
    assert list(meter.sample()) == [5.0, 250.0, 15.0]
    driver.silent = True
    assert all(math.isnan(v) for v in meter.sample())
    assert Nvml(Driver(0)).why() == "the NVIDIA driver is here but sees no GPU"
    assert Nvml(Driver(absent=True)).why() == "no NVIDIA driver here: not loaded"


class Sensors(list):
    def get_total_energy_consumption(self, i):
        return self[i]


class Part:
    def __init__(self, cpu_mj, dram_mj=None):
        self.cpu_mj, self.dram_mj = cpu_mj, dram_mj


class Device:
    Error = RuntimeError

    def __init__(self, gpus=None, cpus=None):
        self._gpus, self._cpus = gpus, cpus

    def get_gpus(self):
        if self._gpus is None:
            raise RuntimeError("no driver")
        return Sensors(self._gpus)

    def get_cpus(self):
        if self._cpus is None:
            raise RuntimeError("no counter")
        return Sensors(self._cpus)


def test_what_zeus_sees_are_counters_of_joules():
    meter = Zeus(Device([2000, 3000], [Part(500, 700), Part(900)]))
    assert meter.why() == ""
    assert list(meter.domains()) == [
        Domain("gpu-0", least_window_s=2.0, most_w=1500.0),
        Domain("gpu-1", least_window_s=2.0, most_w=1500.0), Domain("package-0", most_w=2000.0),
        Domain("package-0:dram", most_w=2000.0), Domain("package-1", most_w=2000.0)]  # fmt: skip
    assert list(meter.sample()) == pytest.approx([2.0, 3.0, 0.5, 0.7, 0.9])
    assert (Zeus(Device([1])).why(), Zeus(Device(None, [Part(1)])).why()) == ("", "")
    assert Zeus(Device()).why() == (
        "zeus finds no sensor: gpus: no driver; cpus: no counter")  # fmt: skip
    assert Zeus(Device([], [])).why() == "zeus finds no sensor: "
    assert [d.name for d in Zeus(Device([], [Part(1)])).domains()] == ["package-0"]


def test_slurm_counts_the_steps_of_the_job(monkeypatch):
    asked = []

    def sstat(job):
        asked.append(job)
        return "7.0|100\n7.1|1K|x\n7.batch|5\n7.extern|5\n7.2|\n"

    meter = SlurmEnergy(sstat, {"SLURM_JOB_ID": "7"})
    assert (meter.why(), list(meter.sample()), asked) == ("", [1124.0], ["7", "7"])
    (domain,) = meter.domains()
    assert (domain.name, domain.least_window_s, domain.most_w, domain.kind) == (
        "job",
        60.0,
        1e7,
        "energy",
    )
    assert (
        SlurmEnergy(sstat, {}).why() == "this process is in no Slurm job (SLURM_JOB_ID is not set)"
    )
    none = "Slurm gathers no energy here (AcctGatherEnergyType is none, or not yet)"
    for text in ("", "7.0|0\n", "7.batch|9\n"):
        assert SlurmEnergy(lambda _, text=text: text, {"SLURM_JOB_ID": "7"}).why() == none
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert SlurmEnergy(None, {"SLURM_JOB_ID": "7"}).why() == "sstat is not in PATH"


def zone(root, path, name, **files):
    folder = root / path
    folder.mkdir(parents=True)
    for key, value in {"name": name, **files}.items():
        written(folder / key, f"{value}\n")


def test_zones_of_powercap_are_domains(tmp_path):
    counter = {"energy_uj": 2_500_000, "max_energy_range_uj": 9_000_000}
    zone(tmp_path, "intel-rapl:0", "package-0", **counter)
    zone(tmp_path, "intel-rapl:0:0", "core", **counter)
    zone(tmp_path, "intel-rapl:0:1", "dram", **counter)
    zone(tmp_path, "intel-rapl-mmio:0", "package-0", **counter)
    zone(tmp_path, "intel-rapl-mmio:1", "package-1", energy_uj="x")
    meter = Rapl(tmp_path)
    assert meter.why() == ""
    common = {"range_j": 9.0, "least_window_s": 0.05, "most_w": 2000.0}
    first, *rest = meter.domains()
    assert (first.name, math.isnan(first.range_j)) == ("package-1", True)
    assert rest == [
        Domain("package-0", **common), Domain("package-0:core", part_of="package-0", **common),
        Domain("package-0:dram", **common)]  # fmt: skip
    values = meter.sample()
    assert (math.isnan(values[0]), list(values[1:])) == (True, [2.5] * 3)
    zone(tmp_path, "intel-rapl:1", "psys", **counter)
    parts = {d.name: d.part_of for d in Rapl(tmp_path).domains()}
    assert parts == {
        "package-1": "platform", "package-0": "platform", "package-0:core": "package-0",
        "package-0:dram": "platform", "platform": ""}  # fmt: skip
    none = "no energy counter under {}: no Intel or AMD RAPL, or hidden by a container".format
    assert Rapl(tmp_path / "none").why() == none(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    assert Rapl(tmp_path / "empty").why() == none(tmp_path / "empty")


def test_counters_that_may_not_be_read_are_named(tmp_path, monkeypatch):
    zone(tmp_path, "intel-rapl:0", "package-0", energy_uj=1)
    zone(tmp_path, "intel-rapl:1", "package-1", energy_uj=1)
    closed = {str(tmp_path / "intel-rapl:0" / "energy_uj")}
    monkeypatch.setattr("os.access", lambda path, _: str(path) not in closed)
    assert [d.name for d in Rapl(tmp_path).domains()] == ["package-1"]
    assert Rapl(tmp_path).why() == ""
    closed.add(str(tmp_path / "intel-rapl:1" / "energy_uj"))
    assert Rapl(tmp_path).why() == (f"{tmp_path}/intel-rapl:0/energy_uj may be read by root only: "
                                    "ask for read permission (chmod a+r)")  # fmt: skip
