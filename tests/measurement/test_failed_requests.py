"""Runs of a serving benchmark in which requests failed are none of their setting."""

from __future__ import annotations

import json

import polars as pl
import pytest

from rheostat.errors import DataError
from rheostat.measurement.serving.failed_requests import answered, failed_share
from rheostat.measurement.serving.runs import read_serving
from rheostat.measurement.serving.vllm_bench import read_vllm_bench

CAPS = [4, 16, 96]


def bench(path, *counts):
    """A run of vLLM for each ``(sent, completed, failed)``."""
    fixed = {"model_id": "Qwen/Qwen3-8B", "request_rate": "inf", "gpu_model": "A100", "gpus": 1,
             "power_w": 300, "median_itl_ms": 9.0, "duration": 40.0}  # fmt: skip
    runs = [
        {**fixed, "max_concurrency": cap, "output_throughput": 100.0 * cap, "num_prompts": sent,
         "completed": done, "total_output_tokens": 90 * done, "failed": failed}
        for cap, (sent, done, failed) in zip(CAPS, counts, strict=False)]  # fmt: skip
    path.write_text(
        "\n".join(json.dumps({k: v for k, v in r.items() if v is not None}) for r in runs)
    )
    return path


def csv(path, heading, *cells):
    rows = [f"A100,1,{c},9.0,{100 * c},300,{cell}" for c, cell in zip(CAPS, cells, strict=True)]
    head = f"gpu_model,gpus,max_concurrency,itl_ms,output_tokens_per_s,power_w,{heading}"
    path.write_text("\n".join([head, *rows, ""]))
    return path


def caps(jobs):
    return jobs.frame["batch_cap"].to_list()


def said(jobs):
    return [n.message.split(":")[0] for n in jobs.notes if "requests failed" in n.message]


@pytest.mark.parametrize("bad", [(400, 100, 300), (400, 100, None), (400, 396, 5), (400, 395, 0)])
def test_a_run_that_lost_more_than_one_in_a_hundred_is_left_out(bad, tmp_path):
    jobs = read_vllm_bench(bench(tmp_path / "r.json", (400, 400, 0), (400, 400, None), bad))
    assert caps(jobs) == [4, 16]
    assert said(jobs)[0].startswith("more than 1 % of the requests failed (")
    assert [(n.rows, n.dropped) for n in jobs.notes if "failed" in n.message] == [((2,), True)]


def test_one_in_a_hundred_counts_and_is_noted(tmp_path):
    jobs = read_vllm_bench(bench(tmp_path / "r.json", (400, 396, 4), (400, 400, 0)))
    assert caps(jobs) == [4, 16]
    assert said(jobs) == ["at most 1 % of the requests failed (1 %)"]


def test_where_none_failed_nothing_is_said(tmp_path):
    jobs = read_vllm_bench(bench(tmp_path / "r.json", (400, 400, 0), (400, 400, None)))
    assert said(jobs) == []


def test_runs_that_all_lost_requests_are_refused_and_the_user_may_count_them(tmp_path):
    file = bench(tmp_path / "r.json", (400, 300, 100), (400, 200, 200))
    with pytest.raises(DataError, match=r"25 to 50 % in every run.*--column failed==0 counts all"):
        read_vllm_bench(file)
    assert caps(read_vllm_bench(file, columns={"failed": "=0"})) == [4, 16]


@pytest.mark.parametrize(
    ("heading", "cells"),
    [("completed,num_prompts", ("64,64", "64,64", "20,64")),
     ("Successful requests,Failed requests", ("64,0", "64,0", "20,44")),
     ("num_requests,errors", ("64,0", "64,0", "64,44")), ("error_rate", ("0", "0.0", "0.6875")),
     ("success_rate (%)", ("100", "99.5", "31.25"))],
)  # fmt: skip
def test_a_table_tells_it_under_several_headings(heading, cells, tmp_path):
    file = csv(tmp_path / "runs.csv", heading, *cells)
    assert caps(read_serving(file)) == [4, 16]
    assert caps(read_serving(file, columns={"failed": "=0"})) == CAPS


def test_how_many_failed_of_an_unknown_number_is_noted(tmp_path):
    jobs = read_serving(csv(tmp_path / "runs.csv", "failed_requests", "0", "0", "7"))
    assert caps(jobs) == CAPS
    assert said(jobs) == ["requests failed, of how many is not said"]


@pytest.mark.parametrize("heading", ["error_bar", "max_error", "completed", "rate_limit"])
def test_other_headings_tell_of_no_failed_request(heading):
    assert failed_share(pl.DataFrame({heading: [12.0, 3.0]})) is None


def test_a_run_of_which_nothing_is_known_counts():
    kept, notes, problem = answered(pl.DataFrame({"num_prompts": [9, 9], "completed": [None, 9]}))
    assert (len(kept), notes, problem) == (2, [], None)
