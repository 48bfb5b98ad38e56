"""sacct in both shapes, on output of real Slurm 20.11 to 24.11, and how Slurm spells things."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.errors import DataError
from rheostat.measurement.slurm.sacct import read_sacct
from rheostat.measurement.slurm.sacct_json import read_sacct_json
from rheostat.measurement.slurm.spelling import amount, gpus, seconds, tres

HEADER = "JobID|JobName|State|Submit|Start|End|ElapsedRaw|TimelimitRaw|NNodes|ConsumedEnergyRaw\n"
JOB = "7|cfd|COMPLETED|2024-01-01T00:00:00|2024-01-01T00:01:00|2024-01-01T00:02:00|60|5|2|"


@pytest.fixture
def sacct(tmp_path):
    def write(text, header=HEADER):
        path = tmp_path / "jobs.psv"
        path.write_text(header + text)
        return path

    return write


@given(st.integers(0, 10**14))
def test_durations_survive_the_round_trip(micros):
    s, parts = divmod(micros, 10**6)
    clock = f"{s // 3600 % 24:02d}:{s // 60 % 60:02d}:{s % 60:02d}.{parts:06d}"
    assert seconds(f"{s // 86400}-{clock}") == pytest.approx(micros / 1e6, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "value"),
    [("2-12", 216000.0), ("1-02:03", 93780.0), ("03:04", 184.0), ("00:00:01.5", 1.5),
     ("Partition_Limit", None), ("UNLIMITED", None), ("", None), ("60", None), ("1:2:3:4", None)],
)  # fmt: skip
def test_durations_as_slurm_writes_them(text, value):
    assert seconds(text) == value


def test_joules_are_abbreviated_by_1000_and_tres_by_1024(shared_data):
    """Job 1.batch of the recorded lab run: 6181 J, "6.18K" in one column, "6.04K" in another."""
    assert amount("6.18K", base=1000) == pytest.approx(6181, rel=1e-3)
    assert amount("6.04K") == pytest.approx(6181, rel=1e-3)


def test_gpus_of_all_types_or_the_plain_count():
    assert gpus(tres("gres/gpu:a100=2,gres/gpu:v100=1")) == 3
    assert gpus(tres("gres/gpu:a100=2,gres/gpu=2")) == 2
    assert gpus(tres("cpu=2")) is None


@pytest.mark.parametrize("name", ["sacct_P.psv", "sacct_all_fields.psv"])
def test_the_lab_run_line_output(shared_data, name):
    jobs = read_sacct(shared_data / "slurm" / name)
    rows = {r["job_id"]: r for r in jobs.frame.rows(named=True)}
    assert len(rows) == 18
    assert rows["1"]["energy_j"] == 6181  # only the batch step has it
    assert rows["2"]["energy_j"] == 14287  # the job row; batch repeats the first node's
    assert rows["4"]["energy_j"] is None  # zero joules: nobody counted
    assert rows["8"]["state"] == "CANCELLED"
    assert rows["6_3"]["app"] == "arr"
    assert rows["5"]["censored"]
    assert rows["2"]["memory_b"] == 98304000 * 1024
    assert rows["2"]["time_limit_s"] == 600
    assert rows["2"]["power_w"] == pytest.approx(14287 / 15)
    assert sum(n.count for n in jobs.notes if n.dropped) == 21


@pytest.mark.parametrize(
    "pair", [("sacct_P.psv", "sacct.json"), ("v24.11/sacct_P.psv", "v24.11/sacct.json"),
             ("v24.11/sacct_P.psv", "v24.11/sacct_v0.0.40.json"),
             ("v24.11/sacct_P.psv", "v24.11/sacct_v0.0.41.json")]
)  # fmt: skip
def test_lines_and_json_of_the_same_accounting_agree(shared_data, pair):
    lines, doc = (shared_data / "slurm" / p for p in pair)
    a, b = read_sacct(lines).frame, read_sacct_json(doc).frame
    same = ["job_id", "user", "account", "app", "partition", "nodes", "cores", "memory_b",
            "time_limit_s", "submit_s"]  # fmt: skip
    a, b = a.sort("job_id"), b.sort("job_id")
    shared = sorted(set(a["job_id"]) & set(b["job_id"]))
    assert len(shared) >= 10
    a = a.filter(a["job_id"].is_in(shared))
    b = b.filter(b["job_id"].is_in(shared))
    assert a.select(same).equals(b.select(same), null_equal=True)
    done = (a["state"] == b["state"]) & (a["state"] == "COMPLETED")
    assert a.filter(done)["energy_j"].equals(b.filter(done)["energy_j"], null_equal=True)
    assert done.sum() >= 6


def test_old_dumps_with_memory_per_core_and_pipes_in_names(shared_data):
    jobs = read_sacct(shared_data / "sacct" / "sacct_dump2101.log", rejoin=())
    assert jobs.frame["memory_b"][0] == 2800 * 2**20 * 12
    assert jobs.frame["job_id"][0] == "4744528_255"
    shifted = next(n for n in jobs.notes if "field count" in n.message)
    assert shifted.rows == (10, 11, 12, 13, 14)
    path = shared_data / "sacct" / "sacct_simple.log"
    assert len(read_sacct(path, rejoin=())) == 1
    mended = read_sacct(path)
    assert [n.rows for n in mended.notes if "joined again" in n.message] == [(1, 2, 3)]
    assert mended.frame["app"].to_list() == ["job_00001", "job_0||0002", "job_0|0003", "job_|00004"]
    with pytest.raises(DataError, match=r"no job line.*rejoin"):
        read_sacct(shared_data / "sacct" / "sacct_dump2110.log")
    fields = ["JobName", "SubmitLine"]
    mended = read_sacct(shared_data / "sacct" / "sacct_dump2110.log", rejoin=fields)
    assert mended.frame["app"].to_list()[0] == "qlogin"
    assert len(mended) + sum(n.count for n in mended.notes if n.dropped) == 7
    assert set(mended.frame["state"]) <= {"CANCELLED", "COMPLETED"}


def test_steps_are_not_counted_twice(sacct):
    step = "|x|COMPLETED|2024-01-01T00:00:00|2024-01-01T00:01:00|2024-01-01T00:02:00|60||1|"
    with_steps = f"{JOB}\n7.batch{step}500\n7.extern{step}900\n7.0{step}400\n7.1{step}300\n"
    assert read_sacct(sacct(with_steps)).frame["energy_j"].to_list() == [700.0]
    assert read_sacct(sacct(f"{JOB}\n7.batch{step}500\n")).frame["energy_j"].to_list() == [None]
    assert read_sacct(sacct(f"{JOB}650\n7.0{step}400\n")).frame["energy_j"].to_list() == [650.0]


def test_a_zone_shifts_the_clock_and_a_wrong_one_is_named(sacct):
    path = sacct(JOB + "\n")
    utc, paris = read_sacct(path), read_sacct(path, zone="Europe/Paris")
    assert utc.numpy("submit_s")[0] - paris.numpy("submit_s")[0] == 3600
    with pytest.raises(DataError, match="Europe/Atlantis"):
        read_sacct(path, zone="Europe/Atlantis")


def test_unknown_times_and_impossible_rows(sacct):
    waiting = JOB.replace("7|", "8|").replace("COMPLETED", "PENDING").replace(
        "2024-01-01T00:01:00|2024-01-01T00:02:00", "Unknown|Unknown")  # fmt: skip
    backwards = JOB.replace("7|", "9|").replace("00:02:00", "00:00:30")
    negative = JOB.replace("7|", "10|").replace("|60|", "|-60|")
    jobs = read_sacct(sacct("\n".join([JOB, waiting, backwards, negative, JOB]) + "\n"))
    assert jobs.frame["job_id"].to_list() == ["7", "8"]
    assert jobs.frame["start_s"].to_list()[1] is None
    gone = {n.message.split("(")[0].strip(): n.rows for n in jobs.notes if n.dropped}
    assert gone == {"end before start": (2,), "runtime_s is negative": (3,),
                    "the job is there already": (4,)}  # fmt: skip


def test_missing_fields_are_all_named(sacct):
    with pytest.raises(DataError, match=r"State is missing.*Elapsed or"):
        read_sacct(sacct("1|x\n", header="JobID|JobName\n"))
    with pytest.raises(DataError, match="no job line"):
        read_sacct(sacct(""))


def test_json_that_is_cut_foreign_or_empty_is_one_clear_error(tmp_path, shared_data):
    path = tmp_path / "x.json"
    path.write_text('{"jobs": [{"job_id": 1')
    with pytest.raises(DataError, match="expected complete JSON"):
        read_sacct_json(path)
    path.write_text('{"nodes": []}')
    with pytest.raises(DataError, match='expected a "jobs" list'):
        read_sacct_json(path)
    path.write_text('{"jobs": []}')
    with pytest.raises(DataError, match="has no job"):
        read_sacct_json(path)
    real = json.loads((shared_data / "slurm" / "sacct.json").read_text())
    real["jobs"][3] = "odd"
    path.write_text(json.dumps(real))
    jobs = read_sacct_json(path)
    assert len(jobs) == 17
    assert next(n for n in jobs.notes if n.dropped).rows == (3,)


LINE = "{}|x|COMPLETED|2024-01-01T00:00:00|2024-01-01T00:01:00|2024-01-01T00:02:00|60|5|1|100\n"


def test_outputs_one_after_the_other_make_no_job_of_the_second_header(tmp_path):
    """``cat january.psv february.psv``: the header stands there again and is a row left out."""
    path = tmp_path / "year.psv"
    path.write_text(HEADER + LINE.format(1) + HEADER + LINE.format(2) + LINE.format("none"))
    jobs = read_sacct(path)
    assert jobs.frame["job_id"].to_list() == ["1", "2"]
    gone = {n.message: n.rows for n in jobs.notes if n.dropped}
    assert gone == {
        "the header again: outputs of sacct one after the other": (1,),
        "has no job id such as 123, 123_4 or 123.batch": (3,),
    }


def test_outputs_with_other_fields_are_refused(tmp_path):
    """Its columns would be read as those of the first."""
    path = tmp_path / "year.psv"
    other = "|".join(reversed(HEADER.strip().split("|"))) + "\n"
    path.write_text(HEADER + LINE.format(1) + other + "|".join(reversed(LINE.strip().split("|"))))
    with pytest.raises(DataError, match=r"year.psv: row 1 is another header.*one by one"):
        read_sacct(path)


def test_components_of_a_heterogeneous_job_are_one_job(sacct):
    """One ran on a node and one on 32: that is no evidence of two node counts."""
    line = "{}|x|COMPLETED|2024-01-01T00:00:00|2024-01-01T00:01:00|2024-01-01T00:02:00|60|5|{}|100"
    jobs = read_sacct(sacct("\n".join(line.format(*x) for x in (("7+0", 1), ("7+1", 32), (8, 2)))))
    columns = jobs.frame.select("job_id", "nodes", "runtime_s", "energy_j", "power_w")
    assert columns.rows() == [("7", 33, 60.0, 200.0, 200 / 60), ("8", 2, 60.0, 100.0, 100 / 60)]
    (note,) = (n for n in jobs.notes if n.dropped)
    assert note.rows == (1,)
    assert "one job" in note.message


def test_components_in_json_are_one_job(tmp_path, shared_data):
    real = json.loads((shared_data / "slurm" / "sacct.json").read_text())
    for i, job in enumerate(real["jobs"][:2]):
        job["het"] = {"job_id": 7777, "job_offset": {"set": True, "number": i}}
        job["array"] = {}
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(real))
    jobs = read_sacct_json(path)
    assert jobs.frame["job_id"][0] == "7777"
    assert len(jobs) == 17


def test_without_elapsed_a_run_is_its_end_less_its_start(tmp_path):
    """Over the hour that is shown twice the zone tells the length, or it is not known."""
    path = tmp_path / "jobs.psv"
    day = "2026-10-25T"
    times = (("00:00:00", "05:00:00"), ("02:30:00", "05:00:00"), ("02:50:00", "02:10:00"))
    lines = [
        f"{i}|COMPLETED|2026-10-24T00:00:00|{day}{a}|{day}{b}" for i, (a, b) in enumerate(times)
    ]
    path.write_text("\n".join(["JobID|State|Submit|Start|End", *lines, ""]))
    jobs = read_sacct(path, zone="Europe/Berlin")
    assert jobs.frame["runtime_s"].to_list() == [6 * 3600.0, None, 1200.0]
    assert any("is not known" in n.message and n.rows == (1,) for n in jobs.notes)
    plain = read_sacct(path)
    assert plain.frame["runtime_s"].to_list() == [5 * 3600.0, 2.5 * 3600, None]
    assert any("End less Start, an hour off" in n.message for n in plain.notes)


def test_lists_of_nodes_tell_whose_joules_are_those_of_others_too(tmp_path):
    header = HEADER.strip() + "|NodeList\n"
    path = tmp_path / "jobs.psv"
    path.write_text(header + JOB + "900|n[1-2]\n" + JOB.replace("7", "8", 1) + "500|n2\n"
                    + JOB.replace("7", "9", 1) + "500|n3\n")  # fmt: skip
    jobs = read_sacct(path)
    assert jobs.frame["shared"].to_list() == [True, True, False]
    assert any(n.message.startswith("energy_j: 2 jobs shared a node") for n in jobs.notes)


def test_without_submit_totals_are_read_and_the_lack_is_noted(sacct):
    header = "JobID|State|Start|End|ElapsedRaw|NNodes\n"
    row = "7|COMPLETED|2026-09-01T00:01:00|2026-09-01T00:02:00|60|2\n"
    jobs = read_sacct(sacct(row, header=header))
    assert jobs.frame.select("submit_s", "runtime_s", "nodes").row(0) == (None, 60.0, 2)
    assert any("no field Submit" in n.message for n in jobs.notes)


def test_times_of_slurm_time_format_are_read_or_said(sacct):
    row = "{}|cfd|COMPLETED|{}|{}|{}|60|5|2|\n"
    points = ["13.09.2026 00:00:00", "13.09.2026 00:01:00", "13.09.2026 00:02:00"]
    iso = ["2026-09-13T00:00:00", "2026-09-13T00:01:00", "2026-09-13T00:02:00"]
    named = ("submit_s", "start_s", "end_s", "runtime_s")
    read, same = (read_sacct(sacct(row.format(7, *t))).frame.select(named) for t in (points, iso))
    assert read.equals(same)
    assert None not in read.row(0)
    jobs = read_sacct(sacct(row.format(7, *iso) + row.format(8, "Ystday 10:05", "?", "?")))
    assert jobs.frame["submit_s"].null_count() == 1
    assert any("is no time that can be told" in n.message for n in jobs.notes)
