"""Exports as sites have them: requeued jobs, signs for no value, summer time, cut and rounded."""

from __future__ import annotations

import json

import pytest

from rheostat.errors import DataError
from rheostat.measurement.read import guess_format, read
from rheostat.measurement.slurm.sacct import read_sacct
from rheostat.measurement.slurm.sacct_json import read_sacct_json
from rheostat.measurement.slurm.step_energy import ROUND

FIELDS = "JobID|JobName|State|Submit|Start|End|Elapsed|NNodes|ConsumedEnergyRaw"


def _line(job: str, submit: str, start: str, end: str, elapsed: str, energy: object = "") -> str:
    times = "|".join(f"2026-10-25T{t}" for t in (submit, start, end))
    return f"{job}|x|COMPLETED|{times}|{elapsed}|1|{energy}\n"


def _file(folder, *lines: str, header: str = FIELDS):
    path = folder / "sacct.psv"
    path.write_text(header + "\n" + "".join(lines))
    return path


@pytest.mark.parametrize("energy", [2**64 - 2, 2**64 - 1, 2**32 - 2, 2**32 - 1, -5, 0])
def test_slurms_signs_for_no_value_are_no_joules_and_cost_no_row(tmp_path, energy) -> None:
    times = ("10:00:00", "10:00:00", "11:00:00", "01:00:00")
    jobs = read_sacct(_file(tmp_path, _line("1", *times, energy), _line("2", *times, 7200)))
    assert jobs.frame["energy_j"].to_list() == [None, 7200.0]
    assert jobs.frame["power_w"].to_list() == [None, 2.0]
    assert not any(note.dropped for note in jobs.notes)
    assert [n.rows for n in jobs.notes if n.message == ROUND] == ([(0,)] if energy else [])


def test_of_a_requeued_job_the_latest_run_stands_with_the_joules_of_its_own_steps(tmp_path) -> None:
    first, step = ("01:00:00", "05:00:00", "05:10:00", "00:10:00"), "01:00:00"
    then = ("05:10:01", "06:00:00", "07:00:00", "01:00:00")
    lines = [_line("7", *first), _line("7.0", step, *first[1:], 600),
             _line("7", *then), _line("7.0", step, *then[1:], 3600)]  # fmt: skip
    for order in (lines, lines[2:] + lines[:2]):
        jobs = read_sacct(_file(tmp_path, *order))
        assert jobs.frame["energy_j"].to_list() == [3600.0]
        assert jobs.frame["runtime_s"].to_list() == [3600.0]
        gone = [n for n in jobs.notes if "requeued" in n.message]
        assert [(n.rows, n.dropped) for n in gone] == [((order.index(lines[0]),), True)]


def test_two_clusters_may_have_a_job_of_the_same_number(tmp_path) -> None:
    times = ("10:00:00", "10:00:00", "11:00:00", "01:00:00", 9)
    lines = [f"{c}|{_line('1', *times)}" for c in ("alpha", "beta")]
    jobs = read_sacct(_file(tmp_path, *lines, header=f"Cluster|{FIELDS}"))
    assert jobs.frame.select("cluster", "job_id").rows() == [("alpha", "1"), ("beta", "1")]


def test_the_hour_that_a_clock_repeats_is_read_so_that_times_fit(tmp_path) -> None:
    """On 2026-10-25 Berlin's clock goes from 03:00 back to 02:00."""
    crossing = _line("1", "02:50:00", "02:10:00", "03:10:00", "01:00:00")
    before = _line("2", "01:30:00", "02:10:00", "02:20:00", "01:10:00")
    within = _line("3", "02:05:00", "02:30:00", "04:00:00", "02:30:00")
    jobs = read_sacct(_file(tmp_path, crossing, before, within), zone="Europe/Berlin").frame
    assert (jobs["start_s"] - jobs["submit_s"]).to_list() == [1200.0, 2400.0, 1500.0]
    assert (jobs["end_s"] - jobs["start_s"]).to_list() == jobs["runtime_s"].to_list()


def test_a_last_line_that_is_cut_is_called_so(tmp_path) -> None:
    good = _line("1", "10:00:00", "10:00:00", "11:00:00", "01:00:00", 5)
    cut = read_sacct(_file(tmp_path, good, "2|x|COMPLE"))
    assert [(n.message, n.rows) for n in cut.notes if n.dropped] == [
        ("the last line is cut off", (1,))
    ]
    inside = read_sacct(_file(tmp_path, good, _line("2", *["10:00:00"] * 3, "0", 987)[:-2]))
    assert len(inside) == 2
    assert ("its last field may be cut off", (1,)) in [
        (n.message.partition(": ")[2], n.rows) for n in inside.notes
    ]


def test_joules_that_were_rounded_away_are_named(tmp_path) -> None:
    header = FIELDS.replace("Raw", "")
    times = ("10:00:00", "10:00:00", "11:00:00", "01:00:00")
    rough = read_sacct(_file(tmp_path, _line("1", *times, "0.04G"), header=header))
    said = [n.message for n in rough.notes if "rounded" in n.message]
    assert said == [
        "energy_j is off by up to 12 %: ConsumedEnergy is rounded, ConsumedEnergyRaw is not"
    ]
    assert rough.frame["energy_j"].to_list() == [4e7]
    lost = read_sacct(_file(tmp_path, _line("1", *times, "0.00G"), header=header))
    assert lost.frame["energy_j"].to_list() == [None]
    assert "off by up to all of it" in str(lost.notes)
    fine = read_sacct(_file(tmp_path, _line("1", *times, "6.18K"), header=header))
    assert "rounded" not in str(fine.notes)


@pytest.mark.parametrize("between", [",", ";", "\t"])
def test_another_delimiter_is_seen_in_the_first_line(tmp_path, between) -> None:
    line = _line("1", "10:00:00", "10:00:00", "11:00:00", "01:00:00", 5)
    path = tmp_path / "sacct.csv"
    path.write_text((FIELDS + "\n" + line + line.replace("1|x", "1.0|x")).replace("|", between))
    assert guess_format(path) == "sacct"
    assert read(path).frame["energy_j"].to_list() == [5.0]


def test_a_table_printed_for_people_is_told_the_option(tmp_path) -> None:
    path = tmp_path / "sacct.txt"
    path.write_text("JobID           JobName  Partition\n------------ ---------- ----------\n")
    with pytest.raises(DataError, match=r"State is missing.*first line reads: JobID, JobName, P"):
        read(path)


def test_json_has_a_requeued_job_once(tmp_path) -> None:
    def job(start: int, elapsed: int) -> dict[str, object]:
        time = {"submission": 5, "start": start, "end": start + elapsed, "elapsed": elapsed}
        return {"job_id": 7, "time": time, "state": {"current": "COMPLETED"}}

    path = tmp_path / "sacct.json"
    path.write_text(json.dumps({"jobs": [job(100, 9), job(10, 2)]}))
    jobs = read_sacct_json(path)
    assert jobs.frame["runtime_s"].to_list() == [9.0]
    assert [n.rows for n in jobs.notes if n.dropped] == [(1,)]


def test_a_clock_put_back_costs_two_instants_and_no_row_where_no_zone_is_given(tmp_path) -> None:
    """Rows that run backwards for another reason are left out as before."""
    put_back = _line("1", "01:00:00", "02:50:00", "02:10:00", "00:20:00", 5)
    queued = _line("2", "02:50:00", "02:10:00", "03:10:00", "01:00:00")
    wrong = _line("3", "01:00:00", "09:00:00", "08:30:00", "00:10:00")
    path = _file(tmp_path, put_back, queued, wrong)
    jobs = read_sacct(path)
    assert jobs.frame.select("job_id", "start_s", "end_s", "runtime_s").rows() == [
        ("1", None, None, 1200.0), ("2", None, None, 3600.0)]  # fmt: skip
    said = {n.message.partition(":")[0]: n.rows for n in jobs.notes}
    assert said["times run backwards by up to an hour, as where a clock was put back"] == (0, 1)
    assert said["end before start"] == (2,)
    known = read_sacct(path, zone="Europe/Berlin").frame
    assert (known["end_s"] - known["start_s"]).to_list() == [1200.0, 3600.0]


def test_nodes_that_a_job_ran_on_are_those_it_received(tmp_path) -> None:
    """NNodes counts what was received once a job has run, and what was asked for before."""
    times = ("10:00:00", "10:00:00", "11:00:00", "01:00:00", 5)
    ran = _line("1", *times).replace("|1|5", "|8|5|2")
    waits = _line("2", "10:00:00", "11:00:00", "11:00:00", "00:00:00").replace("|1|", "|2|") + "2"
    waits = waits.replace("\n2", "|2\n")
    jobs = read_sacct(_file(tmp_path, ran, waits, header=f"{FIELDS}|ReqNodes")).frame
    assert jobs.select("nodes", "nodes_alloc").rows() == [(2, 8), (2, None)]


def test_what_two_exports_cut_at_midnight_is_one_job(tmp_path) -> None:
    first = ("01:00:00", "02:00:00", "03:00:00", "01:00:00")
    rest = ("01:00:00", "03:00:00", "06:00:00", "03:00:00")
    other = ("01:00:00", "04:00:00", "05:00:00", "01:00:00")
    lines = (_line("7", *first, 14400), _line("7", *rest, 14400), _line("8", *other, 3600))
    jobs = read_sacct(_file(tmp_path, *lines))
    whole = jobs.frame.filter(jobs.frame["job_id"] == "7").to_dicts()[0]
    assert (whole["runtime_s"], whole["energy_j"], whole["power_w"]) == (14400.0, 14400.0, 1.0)
    assert whole["start_s"] - whole["submit_s"] == 3600.0
    assert "requeued_node_hours" not in jobs.frame.columns
    assert [n.rows for n in jobs.notes if "sacct -T" in n.message] == [(0,)]


def test_a_requeued_run_that_starts_at_once_is_no_half(tmp_path) -> None:
    first = ("01:00:00", "02:00:00", "03:00:00", "01:00:00")
    rest = ("01:00:00", "03:00:00", "06:00:00", "03:00:00")
    failed = _line("7", *first).replace("COMPLETED", "NODE_FAIL")
    jobs = read_sacct(_file(tmp_path, failed, _line("7", *rest)))
    assert jobs.frame["runtime_s"].to_list() == [3 * 3600.0]
    assert jobs.frame["requeued_node_hours"].to_list() == [1.0]


def test_job_numbers_that_their_column_cut_are_named_with_what_to_type(tmp_path) -> None:
    times = ("10:00:00", "10:00:00", "11:00:00", "01:00:00")
    jobs = read_sacct(_file(tmp_path, _line("10234567_10+", *times), _line("8", *times)))
    assert [n.rows for n in jobs.notes if "add -P to sacct" in n.message] == [(0,)]
