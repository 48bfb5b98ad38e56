"""The clock a job asked for, in the forms of all Slurm releases, on its line or its steps'."""

import json
from pathlib import Path

import polars as pl
import pytest

from rheostat.core.jobs import Note
from rheostat.measurement.checks import ROW, as_jobs
from rheostat.measurement.slurm.frequencies import ODD, SEVERAL, clock_hz
from rheostat.measurement.slurm.sacct import read_sacct
from rheostat.measurement.slurm.sacct_json import read_sacct_json

HEAD = "JobID|State|Submit|Elapsed|NNodes|ReqCPUFreqMax"


def log(path: Path, *lines: str) -> Path:
    """A log of lines of an id, a length and a clock."""
    rows = [HEAD]
    for line in lines:
        number, elapsed, clock = line.split(" ", 2)
        rows.append(f"{number}|COMPLETED|2026-01-01T00:00:00|{elapsed}|2|{clock}")
    file = path / "log.txt"
    file.write_text("\n".join(rows) + "\n")
    return file


@pytest.mark.parametrize(
    ("text", "hz"),
    [
        ("1.80G", 1.8e9), ("1.80M", 1.8e9), ("1800000K", 1.8e9), ("1800000", 1.8e9),
        ("2.4GHz", 2.4e9), ("2400 MHz", 2.4e9), ("2400000 kHz", 2.4e9), ("2.250G", 2.25e9),
        ("800M", 8e8), ("800.00K", 8e8), ("800000", 8e8), ("1.20M", 1.2e9), ("3.5g", 3.5e9),
        ("5.70G", 5.7e9), ("4M", 4e9), ("100M", 1e8),
        ("2.40K", None), ("2400", None), ("1.8", None), ("2147483650", None), ("1.80T", None),
        ("25G", None), ("25GHz", None), ("OnDemand", None), ("Performance", None), ("High", None),
        ("-1.8G", None), ("1.8e9", None),
    ],
)  # fmt: skip
def test_a_clock_is_what_a_processor_can_have(text, hz) -> None:
    assert clock_hz(text) == (hz and pytest.approx(hz))


def test_a_clock_that_cannot_be_read_costs_no_job_its_place(tmp_path) -> None:
    file = log(tmp_path, "1 01:00:00 1.80G", "2 01:00:00 999G", "3 01:00:00 Unknown",
               "4 01:00:00 OnDemand", "5 01:00:00 1.80M", "6 01:00:00 0")  # fmt: skip
    jobs = read_sacct(file)
    assert jobs.frame["frequency_hz"].to_list() == [1.8e9, None, None, None, 1.8e9, None]
    assert [n.rows for n in jobs.notes if n.message == ODD] == [(1, 3)]


def test_steps_say_the_clock_where_the_job_does_not(tmp_path) -> None:
    file = log(
        tmp_path,
        "1 01:00:00 Unknown", "1.batch 01:00:00 0", "1.extern 01:00:00 0", "1.0 00:59:00 2.10G",
        "2 01:00:00 Unknown", "2.0 00:30:00 2.10G", "2.1 00:29:00 1.50G",
        "3 01:00:00 Unknown", "3.0 00:00:20 Unknown", "3.1 00:55:00 1.50M",
        "4 01:00:00 Unknown", "4.0 00:00:20 1.50G", "4.1 00:55:00 Unknown",
        "5 01:00:00 1.80G", "5.0 00:55:00 2.10G",
        "6 01:00:00 Performance", "6.batch 01:00:00 2.10G",
        "7 01:00:00 Unknown", "7.0 01:00:00 Performance",
    )  # fmt: skip
    jobs = read_sacct(file)
    hz = dict(zip(jobs.frame["job_id"], jobs.frame["frequency_hz"], strict=True))
    assert hz == {"1": 2.1e9, "2": None, "3": 1.5e9, "4": None, "5": 1.8e9, "6": 2.1e9, "7": None}
    said = {n.message: n.count for n in jobs.notes}
    assert (said[SEVERAL], said[ODD]) == (1, 1)


@pytest.mark.parametrize("wrapped", [True, False])
def test_documents_have_the_clocks_of_steps(tmp_path, wrapped) -> None:
    def job(number: int, khz: int | None):
        most = {"set": khz is not None, "infinite": False, "number": khz or 0} if wrapped else khz
        step = {"step": {"id": f"{number}.0"}, "CPU": {"requested_frequency": {"max": most}},
                "time": {"elapsed": 90}}  # fmt: skip
        return {"job_id": number, "time": {"elapsed": 100, "submission": 1.7e9}, "steps": [step],
                "state": {"current": "COMPLETED"}}  # fmt: skip

    file = tmp_path / "log.json"
    rows = [job(1, 1_800_000), job(2, None), job(3, 2**31 + 4), job(4, 2400)]
    file.write_text(json.dumps({"jobs": rows}))
    jobs = read_sacct_json(file)
    assert jobs.frame["frequency_hz"].to_list() == [1.8e9, None, None, None]
    assert [n.rows for n in jobs.notes if n.message == ODD] == [(2, 3)]


def test_a_clock_that_cannot_be_is_not_known_in_any_table() -> None:
    hz = [2e9, -1.0, 1.8e15, None, float("nan")]
    frame = pl.DataFrame({"frequency_hz": hz, "energy_j": [1.0] * 5, ROW: [7, 8, 9, 10, 11]})
    jobs = as_jobs(frame)
    assert jobs.frame["frequency_hz"].to_list() == [2e9, None, None, None, None]
    assert jobs.frame["energy_j"].sum() == 5.0
    said = "frequency_hz is negative or beyond 1e+12 Hz: taken as not known"
    assert jobs.notes[0] == Note(said, (8, 9), 2)
