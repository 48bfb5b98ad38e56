"""sacct field by field: how Slurm spells things, and what is not known stays not known."""

from __future__ import annotations

import json

import pytest

from rheostat.errors import DataError
from rheostat.measurement.slurm import spelling as slurm
from rheostat.measurement.slurm.sacct import read_sacct
from rheostat.measurement.slurm.sacct_json import read_sacct_json, unwrap

DAY = 24 * 60 * 60


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
def test_a_duration_is_read_as_slurm_spells_it(value, text) -> None:
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


def test_gpus_and_states() -> None:
    assert slurm.gpus({"gres/gpu": "3", "gres/gpu:a": "1"}) == 3
    assert slurm.gpus({"gres/gpu:a": "1", "gres/gpu:b": "2", "gres/gpu:c": "x"}) == 3
    assert slurm.gpus({"gres/gpu": "x"}) is None
    assert slurm.tres("cpu=4, mem=1G,odd") == {"cpu": "4", "mem": "1G"}
    assert [slurm.state(s) for s in ("CANCELLED by 7", "FAILED+", "  ")] == [
        "CANCELLED", "FAILED", None]  # fmt: skip


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
    plain = read_sacct(path, rejoin=())
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
                        ({"ElapsedRaw": None, "End": None},
                             "field Elapsed or ElapsedRaw (or Start and End) is missing"),
                        ({"JobID": None}, "field JobID or JobIDRaw is missing")):  # fmt: skip
        with pytest.raises(DataError) as caught:
            sacct(tmp_path, **wrong)
        assert [said in p for p in caught.value.problems] == [True, False]
    jobs = sacct(tmp_path, Submit=None)
    assert jobs.frame["submit_s"].to_list() == [None]
    assert any("no field Submit" in n.message for n in jobs.notes)


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
                  {"step": {"id": "5.0"}, "statistics": {"energy": {"consumed": 40}},
                   "time": {"elapsed": 95},
                   "CPU": {"requested_frequency": {"max": number(2_100_000)}}},
                  {"step": {"id": 1}, "statistics": {"energy": {"consumed": 30}}}],
    }  # fmt: skip
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"jobs": [job, 7], "meta": {"slurm": {"release": "24.11"}}}))
    jobs = read_sacct_json(path)
    want = {
        "job_id": "4_2", "job_id_raw": "5", "user": "ann", "group": "g", "account": "acc",
        "app": "cfd",
        "partition": "p", "qos": "q", "cluster": "c", "priority": 9.0, "submit_s": 100.0,
        "eligible_s": 110.0, "start_s": 120.0, "end_s": 220.0, "nodes": 2, "nodes_alloc": 3,
        "cores": 8, "cores_alloc": 16, "gpus": 4, "gpus_alloc": 2, "memory_b": 512 * 2.0**20,
        "time_limit_s": 300.0, "runtime_s": 100.0, "state": "TIMEOUT", "exit_code": "3",
        "energy_j": 70.0, "power_w": 0.7, "censored": True, "frequency_hz": 2.1e9,
    }  # fmt: skip
    assert jobs.frame.row(0, named=True) == want
    said = {n.message: n.rows for n in jobs.notes}
    assert said["record is not a job of a known shape"] == (1,)
    assert "Slurm 24.11" in said
    assert unwrap([]) is unwrap("") is unwrap({"set": False, "number": 5}) is None
    assert unwrap({"number": 5}) == unwrap([{"number": 5}]) == 5
