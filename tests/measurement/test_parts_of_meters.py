"""Samples and counts of parts beside each other: outlets, phases, sockets, steps of a job."""

from __future__ import annotations

import pytest

from rheostat.errors import DataError
from rheostat.measurement.read import guess_format, read


def pdu(heads: str, parts: tuple[tuple[str, int], ...], moments: int = 5) -> str:
    rows = [
        f"2026-10-08 00:{m:02d},{part},{watts}" for m in range(moments) for part, watts in parts
    ]
    return "\n".join([f"Timestamp,{heads},Active Power (W)", *rows]) + "\n"


@pytest.mark.parametrize(
    ("heads", "parts"),
    [
        ("PDU,Outlet", (("a4,1", 400), ("a4,2", 600))),
        ("PDU,Channel", (("a4,1", 400), ("a4,2", 600))),
        ("PDU,Phase", (("a4,L1", 400), ("a4,L2", 600))),
        ("Outlet", (("1", 400), ("2", 600))),
        ("PDU,Outlet", (("a4,out1", 400), ("b7,out1", 600))),
    ],
)
def test_rows_of_one_moment_are_of_the_parts_that_a_column_tells_apart(tmp_path, heads, parts):
    (file := tmp_path / "samples.csv").write_text(pdu(heads, parts))
    jobs = read(file)
    assert sorted(jobs.frame["energy_j"].to_list()) == [96_000.0, 144_000.0]
    assert any("all 2 together: 240000 J" in n.message for n in jobs.notes)


def test_samples_of_one_moment_that_nothing_tells_apart_are_counted(tmp_path):
    (file := tmp_path / "samples.csv").write_text(pdu("PDU", (("a4", 400), ("a4", 600))))
    jobs = read(file)
    assert jobs.frame["energy_j"].to_list() == [96_000.0]
    assert any(n.message.startswith("5 samples of power of one device") for n in jobs.notes)


AT = "{},{}{},Joules,power/energy-pkg/,1,100.00,,\n"
PLAIN = AT.format("1.0", "", 45) + AT.format("2.0", "", 55)
EVENT = (
    '{{"interval": {}, "counter-value": "{}", "unit": "Joules", "event": "power/energy-pkg/"}}\n'
)
SOCKETS = [("1.0", "S0,1,", 40), ("1.0", "S1,1,", 5), ("2.0", "S0,1,", 50), ("2.0", "S1,1,", 5)]
PERF = {
    "plain": PLAIN,
    "semicolons": PLAIN.replace(",", ";"),
    "json": EVENT.format("1.0", 45) + EVENT.format("2.0", 55),
    "sockets": "".join(AT.format(*one) for one in SOCKETS),
}


@pytest.mark.parametrize("form", PERF)
def test_intervals_of_perf_tell_their_joules_and_mean_watts(tmp_path, form):
    (file := tmp_path / "run.txt").write_text(PERF[form])
    jobs = read(file)
    assert jobs.frame["package_power_w"].to_list() == [45.0, 55.0]
    said = "run: package 100 J, 50 W in the mean, for 2 s"
    assert said in [n.message for n in jobs.notes]


def test_repeats_of_perf_have_what_they_differ_by_between_event_and_time(tmp_path):
    lines = ("50,Joules,power/energy-pkg/,0.35%,2000000000,100.00,,",
             "2000000000,ns,duration_time,0.10%,2000000000,100.00,,")  # fmt: skip
    (file := tmp_path / "run.csv").write_text("\n".join(lines) + "\n")
    assert guess_format(file) == "perf"
    assert read(file).frame["package_power_w"].to_list() == [25.0]


SACCT = (
    "JobID|JobName|User|State|Submit|Start|End|NNodes|MaxRSS|NTasks\n"
    "1|a|u|COMPLETED|2026-10-01T00:00:00|2026-10-01T00:01:00|2026-10-01T00:11:00|2||\n"
    "1.0|a||COMPLETED|2026-10-01T00:01:00|2026-10-01T00:01:00|2026-10-01T00:11:00|2|{}|{}\n"
)


@pytest.mark.parametrize(("tasks", "times"), [("8", 8), ("", 2)])
def test_memory_that_steps_used_is_that_of_all_their_tasks(tmp_path, tasks, times):
    (file := tmp_path / "log.txt").write_text(SACCT.format("4000K", tasks))
    jobs = read(file, options={"columns": {"memory_b": "MaxRSS"}})
    assert jobs.frame["memory_b"].to_list() == [times * 4000 * 1024]
    assert any("MaxRSS is of one task" in n.message for n in jobs.notes)


def test_a_text_that_is_no_amount_is_named(tmp_path):
    (file := tmp_path / "log.txt").write_text(SACCT.format("much", ""))
    with pytest.raises(DataError, match="memory_b: 'COMPLETED' in State is no amount"):
        read(file, options={"columns": {"memory_b": "State"}})


def test_a_day_and_the_time_in_it_are_a_clock_in_other_languages(tmp_path):
    rows = [
        f"{7 + (23 + k) // 24:02d}.10.2026;{(23 + k) % 24:02d}:00:00;4,20;3,10" for k in range(7)
    ]
    text = "\n".join(["Datum;Uhrzeit;PDU-A [kW];PDU-B [kW]", *rows])
    (file := tmp_path / "pdu.csv").write_text(text + "\n")
    assert guess_format(file) == "power-samples"
    jobs = read(file)
    assert jobs.frame["runtime_s"].to_list() == [6 * 3600.0] * 2
    assert jobs.frame["energy_j"].to_list() == pytest.approx([4200 * 21600, 3100 * 21600])


def test_data_beside_a_time_are_no_day(tmp_path):
    rows = [f"{k},2026-10-07 10:00:0{k},300" for k in range(9)]
    (file := tmp_path / "node.csv").write_text("\n".join(["data,time,power_W", *rows]) + "\n")
    assert read(file).frame["energy_j"].to_list() == pytest.approx([2400.0])
