"""Readings, counts of a command, and statistics of threads: what each says at its edges."""

from __future__ import annotations

import math

import pytest

from rheostat.measurement.counters import read_likwid
from rheostat.measurement.meters import perf_counting
from rheostat.measurement.meters.perf_counting import Counting, counting, perf_why
from rheostat.measurement.meters.reading import Domain, Reading
from tests.measurement.exactly import written


def test_a_reading_is_joules_over_its_window():
    assert Reading("m", "d", "measured", 3.0, 0.5).power_w == 6.0
    assert math.isnan(Reading("m", "d", "measured", 3.0, 0.0).power_w)
    plain = Reading("m", "d", "measured")
    assert (plain.wraps, plain.glitches, plain.samples, plain.why) == (0, 0, 0, "")
    assert Domain("d") == Domain("d", "energy", math.inf, 0.0, 5000.0, "", "")


PERF = """# started
200000,,instructions:u,100000000,100.00,,
12.50,Joules,power/energy-pkg/,1,1,,
<not counted>,,LLC-load-misses,0,0.00,,
0.5,seconds time elapsed
"""


def test_counts_of_a_command_are_rates_or_a_reason(tmp_path):
    assert Counting(["a"]).rates(1.0) == {}
    assert Counting(["a"], why="no perf").rates(1.0) == {"why": "no perf"}
    said = Counting(["a"], tmp_path / "none").rates(1.0)["why"]
    assert said == f"perf wrote nothing to read: {tmp_path / 'none'}: no such file"
    made = Counting(["a"], written(tmp_path / "p.csv", PERF)).rates(2.0)
    assert made["rates"]["instructions_per_s"] == pytest.approx(1e5)
    assert "llc_misses_per_s" not in made["rates"]
    assert all(k.endswith(("_per_s", "_w", "busy_cores")) for k in made["rates"])
    assert all(isinstance(n, str) for n in made["notes"])


def test_perf_is_asked_for_where_it_is_there(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert perf_why() == "perf is not in PATH"
    with counting(["a", "b"], []) as plain, counting(["a"], ["cycles"]) as lacking:
        assert (plain, lacking) == (
            Counting(["a", "b"]),
            Counting(["a"], None, "perf is not in PATH"),
        )
    monkeypatch.setattr("shutil.which", lambda _: "/bin/perf")
    for level, why in ((2, ""), (3, "kernel.perf_event_paranoid forbids counters to users")):
        monkeypatch.setattr(perf_counting, "PARANOID", written(tmp_path / "p", f"{level}\n"))
        assert perf_why() == why
    monkeypatch.setattr(perf_counting, "PARANOID", tmp_path / "none")
    with counting(["a", "b"], ["cycles", "power"]) as asked:
        file = str(asked.written)
        assert asked.command == [
            "perf",
            "stat",
            "-x,",
            "-o",
            file,
            "-e",
            "cycles,power",
            "--",
            "a",
            "b",
        ]
        assert asked.written.parent.is_dir()
    assert not asked.written.parent.exists()


LIKWID = """Region solve, Group 1: ENERGY
| Metric | HWThread 0 | HWThread 1 | HWThread 2 |
| Runtime (RDTSC) [s] | 2.0 | 1.5 | 0 |
| CPI | 1.0 | 3.0 | 0 |
| Power [W] | 150 | 50 | 0 |
"""


def test_threads_that_ran_are_averaged_and_watts_added(tmp_path):
    row = read_likwid(written(tmp_path / "l.txt", LIKWID)).frame.row(0, named=True)
    assert (row["span_s"], row["package_power_w"], row["ipc"]) == (2.0, 200.0, 0.5)
    table = LIKWID.replace("1.0 | 3.0 | 0", "0 | 0 | 0")
    row = read_likwid(written(tmp_path / "m.txt", table)).frame.row(0, named=True)
    assert row.get("ipc") is None
