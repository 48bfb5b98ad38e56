"""Formats field by field: each cell has one meaning, and what is not known stays not known."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.measurement import repairs
from rheostat.measurement.command import Command, parse
from rheostat.measurement.meters.nvml import Nvml
from rheostat.measurement.meters.rapl import Rapl
from rheostat.measurement.meters.reading import Domain, EnergyAccumulator, Reading
from rheostat.measurement.meters.registry import METERS, meters
from rheostat.measurement.meters.session import Measured, Session
from rheostat.measurement.meters.slurm_energy import SlurmEnergy
from rheostat.measurement.slurm import read_sacct, read_sacct_json
from rheostat.measurement.slurm import spelling as slurm
from rheostat.measurement.slurm.sacct_json import unwrap
from rheostat.measurement.swf import read_swf, write_swf

DAY = 24 * 60 * 60

# how Slurm spells things


@pytest.mark.parametrize(
    ("text", "base", "value"),
    [("512", 1024, 512), ("1K", 1024, 1024), ("1.5M", 1024, 1.5 * 2**20), ("2G", 1000, 2e9),
     ("1T", 1024, 2**40), ("1P", 1000, 1e15), ("1E", 1000, 1e18), ("7 K", 1000, 7000),
     ("1X", 1024, None), ("-1", 1024, None), ("K", 1024, None)],
)  # fmt: skip
def test_an_amount_is_a_number_with_a_power_of_its_base(text, base, value) -> None:
    assert slurm.amount(text, base) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "00:00:00"), (59, "00:00:59"), (3661, "01:01:01"), (DAY, "1-00:00:00"),
     (DAY - 1, "23:59:59"), (0.5, "00:00:00.500000"), (2 * DAY + 7325, "2-02:02:05")],
)  # fmt: skip
def test_a_duration_is_spelled_as_slurm_does(value, text) -> None:
    assert slurm.spell_seconds(value) == text
    assert slurm.seconds(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("2-03", 2 * DAY + 3 * 3600), ("2-03:04", 2 * DAY + 3 * 3600 + 240), ("04:05", 245),
     (" 01:00:00 ", 3600), ("x-01:00:00", None), ("5", None), ("1:2:3:4", None), ("1-", None)],
)  # fmt: skip
def test_days_count_from_the_left_and_seconds_from_the_right(text, value) -> None:
    assert slurm.seconds(text) == value


def test_memory_is_that_of_the_whole_job() -> None:
    assert slurm.memory_b("4G", 8, 2) == 4 * 2**30
    assert slurm.memory_b("4Gn", 8, 2) == 8 * 2**30
    assert slurm.memory_b("500Mc", 8, 2) == 4000 * 2**20
    assert slurm.memory_b("4Gc", None, 2) is None
    assert slurm.memory_b("", 8, 2) is None


def test_gpus_states_and_joules() -> None:
    assert slurm.gpus({"gres/gpu": "3", "gres/gpu:a": "1"}) == 3
    assert slurm.gpus({"gres/gpu:a": "1", "gres/gpu:b": "2", "gres/gpu:c": "x"}) == 3
    assert slurm.gpus({"gres/gpu": "x"}) is None
    assert slurm.tres("cpu=4, mem=1G,odd") == {"cpu": "4", "mem": "1G"}
    assert [slurm.state(s) for s in ("CANCELLED by 7", "FAILED+", "  ")] == [
        "CANCELLED", "FAILED", None]  # fmt: skip
    assert slurm.energy_j(5.0, 3.0, [9.0]) == 5.0
    assert slurm.energy_j(0.0, 3.0, [4.0, 5.0]) == 9.0
    assert slurm.energy_j(-1.0, 3.0, []) == 3.0
    assert slurm.energy_j(None, 0.0, [0.0]) is None


FIELDS = {
    "JobID": "9", "User": "ann", "Group": "g", "Account": "acc", "JobName": "cfd",
    "Partition": "gpu", "QOS": "long", "Cluster": "c1", "Priority": "12.5",
    "Submit": "2024-01-01T00:00:00", "Eligible": "2024-01-01T00:00:10",
    "Start": "2024-01-01T00:01:00", "End": "2024-01-01T00:02:40", "ElapsedRaw": "100",
    "TimelimitRaw": "5", "ReqTRES": "cpu=32,gres/gpu:a100=8,mem=64G,node=2",
    "AllocTRES": "cpu=64,gres/gpu=4,node=2", "ReqCPUFreqMax": "2.4M", "State": "COMPLETED",
    "ExitCode": "0:0", "ConsumedEnergyRaw": "5000",
}  # fmt: skip
NEW_YEAR = 1704067200.0


def sacct(tmp_path, *jobs, **change):
    """A file of one job with some fields changed or left out (None)."""
    cells = {k: v for k, v in (FIELDS | change).items() if v is not None}
    path = tmp_path / "jobs.psv"
    lines = ["|".join(cells), "|".join(cells.values()), *jobs]
    path.write_text("\n".join(lines) + "\n")
    return read_sacct(path)


def test_every_field_of_a_job_lands_in_its_column(tmp_path) -> None:
    jobs = sacct(tmp_path)
    want = {
        "job_id": "9", "user": "ann", "group": "g", "account": "acc", "app": "cfd",
        "partition": "gpu", "qos": "long", "cluster": "c1", "priority": 12.5,
        "submit_s": NEW_YEAR, "eligible_s": NEW_YEAR + 10, "start_s": NEW_YEAR + 60,
        "end_s": NEW_YEAR + 160, "runtime_s": 100.0, "time_limit_s": 300.0, "nodes": 2,
        "nodes_alloc": 2, "cores": 32, "cores_alloc": 64, "gpus": 8, "gpus_alloc": 4,
        "memory_b": 64 * 2.0**30, "frequency_hz": 2.4e9, "state": "COMPLETED",
        "exit_code": "0:0", "energy_j": 5000.0, "power_w": 50.0, "censored": False,
    }  # fmt: skip
    assert jobs.frame.row(0, named=True) == want
    assert "jobs that share a node each carry all its joules" in str(jobs.notes)


@pytest.mark.parametrize(
    ("change", "column", "value"),
    [
        ({"ReqNodes": "3"}, "nodes", 3),
        ({"ReqTRES": "", "NNodes": "4"}, "nodes", 4),
        ({"ReqCPUS": "48"}, "cores", 48),
        ({"ReqTRES": "", "NCPUS": "16"}, "cores", 16),
        ({"AllocNodes": "5"}, "nodes_alloc", 5),
        ({"AllocCPUS": "80"}, "cores_alloc", 80),
        ({"ReqTRES": "node=2", "ReqMem": "4Gn"}, "memory_b", 8 * 2.0**30),
        ({"ReqTRES": "", "ReqMem": ""}, "memory_b", None),
        ({"ElapsedRaw": None, "Elapsed": "00:01:40"}, "runtime_s", 100.0),
        ({"TimelimitRaw": None, "Timelimit": "00:10:00"}, "time_limit_s", 600.0),
        ({"TimelimitRaw": None, "Timelimit": "UNLIMITED"}, "time_limit_s", None),
        ({"ReqCPUFreqMax": "Unknown"}, "frequency_hz", None),
        ({"ConsumedEnergyRaw": None, "ConsumedEnergy": "5.5K"}, "energy_j", 5500.0),
        ({"ConsumedEnergyRaw": None, "TRESUsageInTot": "cpu=1,energy=2K"}, "energy_j", 2048.0),
        ({"ConsumedEnergyRaw": "0"}, "power_w", None),
        ({"State": "TIMEOUT"}, "censored", True),
        ({"State": ""}, "censored", None),
        ({"User": ""}, "user", None),
        ({"Submit": "1704067200"}, "submit_s", NEW_YEAR),
        ({"Submit": "2024-01-01T01:00:00+01:00"}, "submit_s", NEW_YEAR),
        ({"Start": "Unknown"}, "start_s", None),
        ({"Priority": "x"}, "priority", None),
        ({"JobID": None, "JobIDRaw": "77"}, "job_id", "77"),
    ],
)
def test_a_field_has_second_sources_and_may_be_unknown(tmp_path, change, column, value) -> None:
    assert sacct(tmp_path, **change).frame[column].to_list() == [value]


def test_a_field_with_the_delimiter_in_it_is_mended_only_if_one_way_fits(tmp_path) -> None:
    path = tmp_path / "jobs.psv"
    head = "JobID|JobName|State|Submit|ElapsedRaw|Comment\n"
    good = "1|a|COMPLETED|2024-01-01T00:00:00|5|c\n"
    path.write_text(head + good + good.replace("1|a|", "2|a|b|c|") + good.replace("1|a", "3|a|b")
                    .replace("|c\n", "|c|d\n") + good.replace("1|a|", "4|"))  # fmt: skip
    plain = read_sacct(path)
    assert plain.frame["job_id"].to_list() == ["1"]
    (gone,) = [n for n in plain.notes if n.dropped]
    assert gone.rows == (1, 2, 3)
    one = read_sacct(path, rejoin="JobName")
    assert one.frame["app"].to_list() == ["a", "a|b|c"]
    both = read_sacct(path, rejoin=("JobName", "Comment"))
    assert both.frame["app"].to_list() == ["a", "a|b|c", "a|b"]


def test_steps_of_no_job_are_named_and_an_id_twice_is_noted(tmp_path) -> None:
    def line(ident):
        return "|".join((FIELDS | {"JobID": ident, "ConsumedEnergyRaw": "7"}).values())

    jobs = sacct(tmp_path, line("9"), line("12.batch"), line("13.0"))
    assert len(jobs) == 1
    told = {n.message: (n.rows, n.count) for n in jobs.notes}
    assert "steps without their job line: 12, 13" in told
    assert ((1,), 1) in told.values()
    assert ((2, 3), 2) in told.values()
    for wrong, said in (({"State": None}, "field State is missing"),
                        ({"Submit": None}, "field Submit is missing"),
                        ({"ElapsedRaw": None}, "field Elapsed or ElapsedRaw is missing"),
                        ({"JobID": None}, "field JobID or JobIDRaw is missing")):  # fmt: skip
        with pytest.raises(DataError) as caught:
            sacct(tmp_path, **wrong)
        assert [said in p for p in caught.value.problems] == [True, False]


def number(value):
    return {"set": True, "infinite": False, "number": value}


def test_every_part_of_a_json_job_lands_in_its_column(tmp_path) -> None:
    job = {
        "job_id": 5, "user": "ann", "group": "g", "account": "acc", "name": "cfd",
        "partition": "p", "qos": "q", "cluster": "c", "priority": number(9),
        "array": {"job_id": 4, "task_id": number(2)},
        "time": {"limit": number(5), "submission": 100, "eligible": 110, "start": 120, "end": 220,
                 "elapsed": 100},
        "tres": {"requested": [{"type": "node", "name": "", "count": 2},
                               {"type": "cpu", "name": "", "count": 8},
                               {"type": "mem", "name": "", "count": 512},
                               {"type": "gres", "name": "gpu:a", "count": 3},
                               {"type": "gres", "name": "gpu:b", "count": 1}],
                 "allocated": [{"type": "node", "count": 3}, {"type": "cpu", "count": 16},
                               {"type": "gres", "name": "gpu", "count": 2},
                               {"type": "gres", "name": "gpu:a", "count": 9}]},
        "state": {"current": ["TIMEOUT"]}, "exit_code": {"return_code": number(3)},
        "steps": [{"step": {"id": "5.batch"}, "statistics": {"energy": {"consumed": number(99)}}},
                  {"step": {"id": "5.0"}, "statistics": {"energy": {"consumed": 40}}},
                  {"step": {"id": 1}, "statistics": {"energy": {"consumed": 30}}}],
    }  # fmt: skip
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"jobs": [job, 7], "meta": {"slurm": {"release": "24.11"}}}))
    jobs = read_sacct_json(path)
    want = {
        "job_id": "4_2", "user": "ann", "group": "g", "account": "acc", "app": "cfd",
        "partition": "p", "qos": "q", "cluster": "c", "priority": 9.0, "submit_s": 100.0,
        "eligible_s": 110.0, "start_s": 120.0, "end_s": 220.0, "nodes": 2, "nodes_alloc": 3,
        "cores": 8, "cores_alloc": 16, "gpus": 4, "gpus_alloc": 2, "memory_b": 512 * 2.0**20,
        "time_limit_s": 300.0, "runtime_s": 100.0, "state": "TIMEOUT", "exit_code": "3",
        "energy_j": 70.0, "power_w": 0.7, "censored": True,
    }  # fmt: skip
    assert jobs.frame.row(0, named=True) == want
    said = {n.message: n.rows for n in jobs.notes}
    assert said["record is not a job of a known shape"] == (1,)
    assert "Slurm 24.11" in said
    assert unwrap([]) is unwrap("") is unwrap({"set": False, "number": 5}) is None
    assert unwrap({"number": 5}) == unwrap([{"number": 5}]) == 5


# the Standard Workload Format


def test_a_line_of_swf_field_by_field(tmp_path) -> None:
    path = tmp_path / "log.swf"
    path.write_text("; MaxNodes: 8\n; MaxProcs: 32\n; Note: x\n"
                    "7 100 20 300 6 55 64 5 900 128 1 11 12 13 14 15 6 30\n")  # fmt: skip
    jobs = read_swf(path)
    want = {
        "job_id": 7, "submit_s": 100, "wait_s": 20, "runtime_s": 300, "cores_alloc": 6,
        "cpu_time_s": 55, "cores": 5, "time_limit_s": 900, "user": "11", "group": "12",
        "app": "13", "queue": "14", "partition": "15", "preceding_job": 6, "think_s": 30,
        "start_s": 120, "end_s": 420, "state": "COMPLETED", "censored": False,
        "memory_b": 128 * 1024 * 5, "memory_used_b": 64 * 1024 * 6, "nodes": 2,
    }  # fmt: skip
    assert jobs.frame.row(0, named=True) == want
    said = [n.message for n in jobs.notes]
    assert "header MaxNodes: 8; MaxProcs: 32" in said
    assert "nodes = cores / 4 (MaxProcs / MaxNodes), rounded up" in said


@pytest.mark.parametrize(
    ("status", "state", "censored"),
    [(0, "FAILED", True), (1, "COMPLETED", False), (2, "PARTIAL", True),
     (3, "PARTIAL_COMPLETED", False), (4, "PARTIAL_FAILED", True), (5, "CANCELLED", True),
     (-1, None, None), (9, None, None)],
)  # fmt: skip
def test_the_status_of_a_job(tmp_path, status, state, censored) -> None:
    path = tmp_path / "log.swf"
    path.write_text(f"1 0 0 5 1 -1 -1 1 9 -1 {status} 1 1 1 1 1 -1 -1\n")
    jobs = read_swf(path)
    assert jobs.frame.select("state", "censored").row(0) == (state, censored)
    pieces = any("pieces of a job" in n.message for n in jobs.notes)
    assert pieces == ("PARTIAL" in str(state))


@pytest.mark.parametrize(
    ("head", "why"),
    [("; MaxNodes: 3\n; MaxProcs: 16\n", "MaxProcs 16 is no multiple of MaxNodes 3"),
     ("; MaxNodes: 0\n; MaxProcs: 16\n", "no multiple of MaxNodes 0"),
     ("; MaxNodes: x\n; MaxProcs: 16\n", "counts processors, not nodes"), ("", "counts proc")],
)  # fmt: skip
def test_nodes_are_not_guessed(tmp_path, head, why) -> None:
    path = tmp_path / "log.swf"
    path.write_text(head + "1 0 0 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n")
    jobs = read_swf(path)
    assert "nodes" not in jobs.columns
    assert any(why in n.message for n in jobs.notes)
    assert read_swf(path, procs_per_node=4).frame["nodes"].to_list() == [1]


whole = st.integers(-1, 2000)


@given(st.lists(st.tuples(*[whole] * 17), min_size=1, max_size=8),
       st.sampled_from([" ", "  ", "\t"]), st.sampled_from(["\n", " \n", "\r\n", "\n\n"]),
       st.booleans(), st.booleans())  # fmt: skip
def test_blanks_and_comments_change_nothing(tmp_path_factory, rows, gap, end, indent, late) -> None:
    """The quick way and the careful way read the same table from the same numbers."""
    folder = tmp_path_factory.mktemp("swf")
    lines = [[i + 1, *map(abs, row[:1]), *row[1:]] for i, row in enumerate(rows)]
    plain = "".join(" ".join(map(str, x)) + "\n" for x in lines)
    spaced = "".join(gap * indent + gap.join(map(str, x)) + end for x in lines)
    (folder / "a.swf").write_text("; MaxProcs: 4\n" + plain)
    (folder / "b.swf").write_text("; MaxProcs: 4\n" + spaced + "; the end\n" * late)
    a, b = read_swf(folder / "a.swf"), read_swf(folder / "b.swf")
    assert a.frame.equals(b.frame, null_equal=True)
    assert [n.rows for n in a.notes if n.dropped] == [n.rows for n in b.notes if n.dropped]


def test_what_a_table_lacks_is_minus_one_and_names_become_numbers(tmp_path) -> None:
    path = tmp_path / "log.swf"
    jobs = table({"job_id": [1, 2], "submit_s": [0.0, 5.5], "start_s": [1.0, 7.5],
                  "runtime_s": [3.0, None], "cores": [2, 4], "user": ["zoe", "ann"],
                  "state": ["FAILED", "RUNNING"]})  # fmt: skip
    write_swf(jobs, path, ["MaxProcs: 8"])
    assert path.read_text().splitlines() == [
        "; Version: 2.2",
        "; MaxProcs: 8",
        "1 0 1 3 -1 -1 -1 2 -1 -1 0 2 -1 -1 -1 -1 -1 -1",
        "2 5.5 2 -1 -1 -1 -1 4 -1 -1 -1 1 -1 -1 -1 -1 -1 -1",
    ]
    again = read_swf(path)
    assert again.frame["start_s"].to_list() == [1.0, 7.5]
    assert again.frame["user"].to_list() == ["2", "1"]


def test_numbers_too_large_or_not_whole_are_noted_with_their_row(tmp_path) -> None:
    path = tmp_path / "log.swf"
    good = "1 0 0 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n"
    path.write_text(good + good.replace(" 5 1 ", f" {2**53} 1 ") + good.replace("1 0 0", "1.5 0 0")
                    + good.replace("9 -1 1 1", "9 -1 1 1.5") + good)  # fmt: skip
    gone = {n.message: n.rows for n in read_swf(path).notes if n.dropped}
    assert gone == {"line is not 18 numbers": (1,), "job_id is not a whole number": (2,),
                    "user is not a whole number": (3,)}  # fmt: skip


# meters


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


# commands and repairs


def test_the_last_line_is_the_measurement() -> None:
    assert parse("1\n\n2.5\n  \n") == {"runtime_s": 2.5}
    assert parse('{"runtime_s": 1, "ok": true, "note": "x", "power_w": 2.5}') == {
        "runtime_s": 1.0, "power_w": 2.5}  # fmt: skip
    assert parse("") == parse("true") == parse('"x"') == parse("[1]") == {}


def test_a_command_is_run_as_often_as_asked_and_fails_with_a_note() -> None:
    jobs = table({"nodes": [1, 2]})
    twice = Command("echo {nodes}", repeat=2)(jobs)
    assert twice["runtime_s"].tolist() == [[1.0, 2.0], [1.0, 2.0]]
    some = Command("test {nodes} = 1 && echo 5", ["runtime_s"])
    found = some(jobs)
    np.testing.assert_equal(found["runtime_s"], [[5.0, math.nan]])
    assert [n.message for n in found.notes] == ["test 2 = 1 && echo 5: ended with status 1"]
    slow = Command("sleep 9", timeout_s=0.05)(jobs.rows([0]))
    assert np.isnan(slow["runtime_s"]).all()
    assert "took longer than 0.05 s" in slow.notes[0].message
    failed = Command("false", ["energy_j"])(jobs)
    assert set(failed.names) == {"runtime_s", "energy_j"}
    assert np.isnan(failed["energy_j"]).all()
    mixed = Command('test {nodes} = 1 && echo \'{{"runtime_s": 2, "power_w": 3}}\'', ["energy_j"])
    np.testing.assert_equal(mixed(jobs)["energy_j"], [[6.0, math.nan]])
    own = Command("echo done")(jobs.rows([0]))
    assert 0 < own["runtime_s"][0, 0] < 60  # the wall time stands in
    with pytest.raises(DataError, match="must be one of nodes; got"):
        Command("echo {cores}")(jobs)
    with pytest.raises(DataError, match="gave runtime_s, not energy_j"):
        Command("echo 3", ["energy_j"])(jobs)
    assert Command("echo '{{\"runtime_s\": 2, \"energy_j\": 8}}'", ["power_w"])(
        jobs.rows([0])).mean("power_w").tolist() == [4.0]  # fmt: skip


def test_a_value_reaches_the_shell_as_it_is() -> None:
    odd = table({"name": ["a b; echo 7"], "nodes": [3]})
    found = Command("x={name}; test \"$x\" = 'a b; echo 7' && echo {nodes}")(odd)
    assert found["runtime_s"].tolist() == [[3.0]]


def test_a_repair_says_what_it_left_out_and_changes_nothing_else() -> None:
    jobs = table({"nodes": [2, 0, 4, None], "nodes_alloc": [4, 2, 0, 1], "gpus": [8, 4, 4, 4],
                  "runtime_s": [5.0, 0.0, None, 7.0], "power_w": [8.0, 8.0, 8.0, None],
                  "censored": [False, True, None, True]})  # fmt: skip
    done = repairs.complete_only(jobs)
    assert done.frame["gpus"].to_list() == [8, 4]
    assert "left out 2 censored rows of 4" in done.notes[-1].message
    assert repairs.per_node_power(jobs).frame["power_per_node_w"].to_list() == [
        2.0,
        4.0,
        None,
        None,
    ]
    asked = jobs.select(["nodes", "power_w"])
    assert repairs.per_node_power(asked).frame["power_per_node_w"].to_list() == [
        4.0,
        None,
        2.0,
        None,
    ]
    each = repairs.per_node_requests(jobs)
    assert each.frame["gpus_per_node"].to_list() == [4.0, None, 1.0, None]
    assert "gpus" not in each.columns
    known = repairs.known_runtime(jobs)
    assert known.frame["runtime_s"].to_list() == [5.0, 7.0]
    assert "left out 2 rows of 4 without runtime" in known.notes[-1].message
    for repair in (repairs.complete_only, repairs.per_node_power, repairs.per_node_requests,
                   repairs.known_runtime):  # fmt: skip
        with pytest.raises(DataError, match="is missing"):
            repair(table(pl.DataFrame({"user": ["a"]})))
