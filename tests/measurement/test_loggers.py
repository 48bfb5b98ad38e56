"""Samples of loggers: lines of a log, InfluxDB's CSV, turbostat without its clock."""

from __future__ import annotations

import pytest

from rheostat.errors import DataError
from rheostat.measurement.read import guess_format, read

LINES = "".join(f"2026-10-05 08:00:{k:02d} {{}}power={300 + k % 2} W\n" for k in range(0, 60, 10))
INFLUX = (
    "#group,false,false,true,true,false,false,true,true\n"
    "#datatype,string,long,dateTime:RFC3339,dateTime:RFC3339,dateTime:RFC3339,double,string,string\n"
    "#default,_result,,,,,,,\n,result,table,_start,_stop,_time,_value,_field,host\n"
)
POINTS = "".join(
    f",,{g},2026-10-05T08:00:00Z,2026-10-05T09:00:00Z,2026-10-05T08:{k:02d}:00Z,{300 + 100 * g},"
    f"power_w,n{g}\n"
    for g in (0, 1)
    for k in range(6)
)
LOGS = {
    "lines": (LINES.replace("{}", ""), [15_000.0]),
    "lines of two nodes": (
        LINES.replace("{}", "n1 ") + LINES.replace("{}", "n2: "),
        [15_000.0] * 2,
    ),
    "influx": (INFLUX + POINTS, [90_000.0, 120_000.0]),
    "turbostat": ("Busy%\tPkgWatt\n" + "99.1\t150\n" * 9, [8 * 5 * 150.0]),
}


@pytest.mark.parametrize("form", LOGS)
def test_samples_of_loggers_are_devices(tmp_path, form):
    text, joules = LOGS[form]
    (file := tmp_path / "samples.txt").write_text(text)
    assert guess_format(file) == "power-samples"
    assert read(file).frame["energy_j"].to_list() == pytest.approx(joules, rel=0.02)


def test_turbostat_without_a_clock_says_how_far_apart_its_samples_are_taken(tmp_path):
    (file := tmp_path / "samples.txt").write_text(LOGS["turbostat"][0])
    assert any("taken 5 s apart, as turbostat writes" in n.message for n in read(file).notes)


@pytest.mark.parametrize("text", [
    "".join(f"2026-10-05 08:00:{k:02d} nodes={k} time={90 / k} power=300 W\n" for k in range(1, 7)),
    "nodes,RAMWatt,PkgWatt,time_s\n" + "".join(f"{n},20,150,{90 / n}\n" for n in (1, 2, 4)),
])  # fmt: skip
def test_runs_with_watts_stay_runs(tmp_path, text):
    (file := tmp_path / "runs.txt").write_text(text)
    assert guess_format(file) == "runs"
    assert "nodes" in read(file).columns


def test_genai_perf_as_json_is_named_with_what_is_read(tmp_path):
    (file := tmp_path / "profile.json").write_text(
        '{"request_throughput": {"unit": "requests/sec", "avg": 2.5}, '
        '"inter_token_latency": {"unit": "ms", "avg": 15.2}}'
    )
    with pytest.raises(DataError, match=r"profile_export_genai_perf\.csv"):
        read(file)
