"""A run that took its time limit was cut off there, unless something says how it ended."""

from __future__ import annotations

import pytest

from rheostat.measurement.runs.reader import read_runs


def flags(tmp_path, rows, head="nodes,runtime_s,time_limit_s,power_kW", **options):
    (file := tmp_path / "runs.csv").write_text("\n".join([head, *rows]) + "\n")
    jobs = read_runs(file, **options)
    return jobs.frame["censored"].to_list() if "censored" in jobs.columns else None


@pytest.mark.parametrize("took", [3600, 3600.4, 3631])
def test_a_run_of_its_limit_counts_as_unfinished(took, tmp_path):
    rows = [f"1,{took},3600,.4", "2,2900,3600,.8", "4,1500,3600,1.6"]
    assert flags(tmp_path, rows) == [True, False, False]
    assert flags(tmp_path, rows, columns={"censored": "=false"}) == [False] * 3


@pytest.mark.parametrize(
    "rows",
    [
        ["1,3599,3600,.4", "2,2900,3600,.8", "4,1500,3600,1.6"],
        ["1,4600,3600,.4", "2,2900,3600,.8", "4,1500,3600,1.6"],  # it was longer, somehow
        ["1,3600,3600,.4", "2,2900,2900,.8", "4,1500,3600,1.6"],  # written down afterwards
        ["1,61,60,.4", "2,2900,3600,.8", "4,1500,3600,1.6", "4,63,60,1.6"],
    ],
)
def test_other_runs_count(rows, tmp_path):
    expected = [True, False, False, False] if len(rows) == 4 else None
    assert flags(tmp_path, rows) == expected


def test_a_state_says_how_it_ended(tmp_path):
    head = "nodes,runtime_s,time_limit_s,power_kW,state"
    rows = ["1,3600,3600,.4,ok", "2,2900,3600,.8,failed", "4,1500,3600,1.6,ok"]
    assert flags(tmp_path, rows, head) == [False, True, False]
