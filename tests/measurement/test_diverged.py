"""A run whose loss is no number at its end did not do its work; an empty cell tells nothing."""

from __future__ import annotations

import json

import polars as pl
import pytest

from rheostat.measurement.runs.diverged import of_result
from rheostat.measurement.runs.reader import read_runs

ROWS = [(64, 940, 301), (128, 720, 236), (256, 505, 171)]


def table(tmp_path, heading, cells, more=""):
    lines = [f"{b},{s},{e},{c}" for (b, s, e), c in zip(ROWS, cells, strict=True)]
    file = tmp_path / "runs.csv"
    file.write_text("\n".join([f"batch_size,time_s,energy_kJ,{heading}", *lines, more]) + "\n")
    return file


def flags(jobs):
    return jobs.frame["censored"].to_list() if "censored" in jobs.columns else []


def said(jobs):
    return [(n.message, n.rows) for n in jobs.notes if "no number" in n.message]


@pytest.mark.parametrize("cell", ["nan", "NaN", "-nan", "inf", "nan(ind)", "-1.#IND", "diverged"])
@pytest.mark.parametrize("heading", ["final_loss", "valLoss", "top1", "residual", "Perplexity"])
def test_a_result_that_is_no_number_is_of_a_run_that_failed(heading, cell, tmp_path):
    jobs = read_runs(table(tmp_path, heading, ["1.02", "1.04", cell]))
    assert flags(jobs) == [False, False, True]
    ((message, rows),) = said(jobs)
    assert rows == (2,)
    assert "diverged" in message
    assert "--column censored==false counts all runs" in message


@pytest.mark.parametrize("cell", ["", "-", "n/a", "0", "1e30"])
def test_an_empty_cell_and_a_number_are_of_runs_that_count(cell, tmp_path):
    jobs = read_runs(table(tmp_path, "final_loss", ["1.02", "1.04", cell]))
    assert not any(flags(jobs))
    assert said(jobs) == []


@pytest.mark.parametrize("heading", ["packet_loss", "power_loss_w", "time_to_acc_s", "bandwidth"])
def test_other_losses_and_times_are_no_results(heading, tmp_path):
    jobs = read_runs(table(tmp_path, heading, ["1.02", "1.04", "nan"]))
    assert not of_result(heading)
    assert not any(flags(jobs))


def test_where_all_are_no_numbers_all_count(tmp_path):
    jobs = read_runs(table(tmp_path, "loss", ["nan", "nan", "nan"]))
    assert not any(flags(jobs))
    assert [rows for _, rows in said(jobs)] == [(0, 1, 2)]


def test_who_says_that_none_failed_has_all_runs(tmp_path):
    file = table(tmp_path, "loss", ["1.02", "1.04", "nan"])
    assert not any(flags(read_runs(file, columns={"censored": "=false"})))


def test_a_job_that_completed_may_have_diverged(tmp_path):
    file = table(tmp_path, "loss,state", ["1.02,COMPLETED", "1.04,FAILED", "nan,COMPLETED"])
    assert flags(read_runs(file)) == [False, True, True]


def test_json_and_parquet_have_them_too(tmp_path):
    rows = [{"batch_size": b, "time_s": s, "energy_j": e, "loss": 1.0} for b, s, e in ROWS]
    rows[1]["loss"] = float("nan")
    (file := tmp_path / "runs.json").write_text(json.dumps(rows))
    assert flags(read_runs(file)) == [False, True, False]
    pl.DataFrame(rows).write_parquet(file := tmp_path / "runs.parquet")
    assert flags(read_runs(file)) == [False, True, False]
