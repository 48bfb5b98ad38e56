"""Tables of other people: rows of sums, commas of thousands, times of a part, changes of clocks."""

from __future__ import annotations

import pytest

from rheostat.decision.trials.trial import plan_trial
from rheostat.measurement.runs import read_runs

HOUR_OFF = "an hour off if the site's clock was changed"


def read(tmp_path, text):
    file = tmp_path / "runs.csv"
    file.write_text(text)
    return read_runs(file)


@pytest.mark.parametrize("word", ["Summe", "Total:", "MEAN", "合計"])
def test_a_row_of_sums_behind_the_runs_is_none_and_said(tmp_path, word):
    runs = read(tmp_path, f"job_id;app;nodes;runtime_s\n1;a;2;9,5\n2;b;4;5,5\n{word};;;15,0\n")
    assert runs.frame["job_id"].to_list() == [1, 2]
    assert runs.frame["runtime_s"].to_list() == [9.5, 5.5]
    left = [n for n in runs.notes if "sums up others" in n.message]
    assert [(n.count, n.dropped) for n in left] == [(1, True)]


def test_a_run_that_is_called_like_a_sum_is_one_where_its_cells_are_filled(tmp_path):
    whole = read(tmp_path, "app,nodes,runtime_s\na,2,9\nsum,4,5\n")
    assert whole.frame["app"].to_list() == ["a", "sum"]
    before = read(tmp_path, "app,nodes,runtime_s\nsum,,9\na,4,5\n")
    assert len(before) == 2


def test_commas_that_can_only_be_of_thousands_are_left_out_in_all_columns(tmp_path):
    runs = read(tmp_path, 'nodes,runtime_s,energy_j\n1,"12,300.0","4,305"\n2,600.0,"1,100"\n')
    assert runs.frame["runtime_s"].to_list() == [12300.0, 600.0]
    assert runs.frame["energy_j"].to_list() == [4305, 1100]
    assert any("separators of thousands left out" in n.message for n in runs.notes)


def test_a_time_of_a_part_of_the_job_stays_and_one_of_another_unit_does_not(tmp_path):
    head = "nodes,start_time,end_time,epoch_time_s\n"
    rows = "{n},2026-07-01 10:00:00,2026-07-01 11:00:00,{t}\n"
    parts = [820.0, 411.0, 220.0]
    kept = read(tmp_path, head + "".join(rows.format(n=n, t=t) for n, t in enumerate(parts, 1)))
    assert kept.frame["runtime_s"].to_list() == parts
    minutes = read(tmp_path, head + "".join(rows.format(n=n, t=60) for n in (1, 2, 3)))
    assert minutes.frame["runtime_s"].to_list() == [3600.0] * 3
    asked = read(tmp_path, head + "".join(rows.format(n=n, t=t) for n, t in
                                          enumerate((7200, 9000, 43200), 1)))  # fmt: skip
    assert asked.frame["runtime_s"].to_list() == [3600.0] * 3


@pytest.mark.parametrize(("day", "said"), [("2026-10-25", True), ("2026-03-08", True),
                                           ("2026-10-18", False)])  # fmt: skip
def test_a_change_of_the_clock_is_named_where_a_run_goes_over_one(tmp_path, day, said):
    runs = read(tmp_path, f"job_id,nodes,start_time,end_time\n1,2,{day}T00:30:00,{day}T05:00:00\n")
    assert any(HOUR_OFF in n.message for n in runs.notes) == said


def test_a_job_without_a_number_takes_no_part_in_a_trial(tmp_path):
    rows = "".join(f"{i},4,9\n" for i in range(60)) + ",4,9\n" * 3
    jobs = read(tmp_path, "job_id,nodes,runtime_s\n" + rows)
    planned = plan_trial(jobs, 0.5).table.frame
    assert planned["takes_part"].sum() > 0
    assert not planned.filter(planned["job_id"].is_null())["takes_part"].any()
