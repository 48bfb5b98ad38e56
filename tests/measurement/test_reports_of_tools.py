"""What tools print or log, and rows that are none: each with its time, power or energy as known."""

# ruff: noqa: E501 - texts of tools

from __future__ import annotations

import json

import pytest

from rheostat.errors import DataError
from rheostat.measurement.read import guess_format, read

HPL = (
    "HPLinpack 2.3 -- High-Performance Linpack benchmark\nAn explanation of the output:\n\n"
    + "".join(
        f"{'=' * 60}\nT/V                N    NB     P     Q               Time                 Gflops\n"
        f"{'-' * 60}\nWR11C2R4       45000   {nb}     1     4             {s}              5.0e+01\n"
        f"HPL_pdgesv() start time Mon Oct  5 08:00:00 2026\n\n||Ax-b||_oo/(eps*N)= 1.8e-03 ...... {end}\n"
        for nb, s, end in ((128, 1200.5, "PASSED"), (192, 1100.2, "PASSED"), (256, 30.1, "FAILED"))
    )
)


def test_rows_of_hpl_are_read_with_how_each_was_judged(tmp_path):
    (file := tmp_path / "HPL.out").write_text(HPL + "End of Tests.\n")
    jobs = read(file)
    assert jobs.frame.select("NB", "runtime_s", "censored").rows() == [
        (128, 1200.5, False), (192, 1100.2, False), (256, 30.1, True),
    ]  # fmt: skip
    assert any(
        n.message.startswith("lines around the rows of a report left out: ") for n in jobs.notes
    )


def test_times_of_the_shell_below_a_setting_are_rows(tmp_path):
    text = "".join(f"threads={n}\nreal\t{m}m{s}s\nuser\t9m0.0s\nsys\t0m1.0s\n\n"
                   for n, m, s in ((1, 10, "0.500"), (2, 5, "20.25")))  # fmt: skip
    (file := tmp_path / "times.txt").write_text(text)
    assert read(file).frame.select("threads", "runtime_s").rows() == [(1, 600.5), (2, 320.25)]


def test_words_for_watts_and_joules_in_cells_are_units(tmp_path):
    text = "".join(f"Runtime: {s} s\nEnergy consumed: {j} Joules\nPower consumed: {w} Watt\n"
                   for s, j, w in ((10.0, 2000.0, 200.0), (5.0, 1500.0, 300.0)))  # fmt: skip
    (file := tmp_path / "likwid-powermeter.txt").write_text(text)
    jobs = read(file)
    assert jobs.frame["energy_j"].to_list() == [2000.0, 1500.0]


LINES = [{"Timestamp": f"2026-10-05T08:00:{k:02d}Z", "Node": "n1",
          "PowerControl": {"PowerConsumedWatts": 300 + k % 2}} for k in range(0, 60, 10)]  # fmt: skip
SERIES = [{"metric": {"__name__": "node_power_watts", "instance": f"n{g}"},
           "values": [[1791187200 + 10 * k, str(300 + 10 * g)] for k in range(6)]}
          for g in (0, 1)]  # fmt: skip
COUNTERS = [{"metric": {"__name__": "node_rapl_package_joules_total", "path": f"p{g}"},
             "values": [[1791187200 + 10 * k, str(1e6 + (3000 + 100 * g) * k)] for k in range(6)]}
            for g in (0, 1)]  # fmt: skip
JSON = {
    "lines": ("\n".join(map(json.dumps, LINES)), [15_000.0]),
    "list": (json.dumps(LINES, indent=1), [15_000.0]),
    "list in one line": (json.dumps(LINES), [15_000.0]),
    "prometheus": (json.dumps({"status": "success", "data": {"resultType": "matrix", "result": SERIES}}),
                   [15_000.0, 15_500.0]),
    "counters": (json.dumps({"data": {"resultType": "matrix", "result": COUNTERS}}), [15_000.0, 15_500.0]),
}  # fmt: skip


@pytest.mark.parametrize("form", JSON)
def test_samples_as_json_are_devices_and_no_runs(tmp_path, form):
    text, joules = JSON[form]
    (file := tmp_path / "samples.json").write_text(text)
    assert guess_format(file) == "power-samples"
    assert read(file).frame["energy_j"].to_list() == pytest.approx(joules, rel=0.01)


def test_a_clock_with_a_low_line_between_date_and_time_is_one(tmp_path):
    rows = "".join(f"2026-10-05_08:00:{k:02d},60.0,150.0\n" for k in range(20))
    (file := tmp_path / "s-tui.csv").write_text(f"Time,Temp:pkg,Power:package-0\n{rows}")
    assert read(file).frame["energy_j"].to_list() == [19 * 150.0]


UNREAD = {
    "conflict": ("nodes,time_s\n<<<<<<< HEAD\n1,90\n=======\n1,131\n>>>>>>> other\n2,50\n",
                 "conflict that git could not merge, the first '<<<<<<< HEAD'"),
    "no headings": ("1|lbm|1|1|2026-10-05T08:00:00|00:01:30\n2|lbm|2|2|2026-10-05T08:10:00|00:00:50\n",
                    r"leave out its -n \(--noheader\)"),
}  # fmt: skip


@pytest.mark.parametrize("form", UNREAD)
def test_conflicts_of_git_and_logs_without_headings_are_named(tmp_path, form):
    text, said = UNREAD[form]
    (file := tmp_path / "runs.csv").write_text(text)
    with pytest.raises(DataError, match=said):
        read(file)
