"""Runs that hyperfine timed are a table of runs."""

from __future__ import annotations

import json

import pytest

import rheostat as rh
from rheostat.errors import DataError

RESULTS = [
    {"command": f"sort -t {k}", "mean": 8.0 / k, "times": [8.0 / k, 8.1 / k, 99.0],
     "exit_codes": [0, 0, 1], "parameters": {"threads": str(k)}}
    for k in (1, 2, 4)
]  # fmt: skip


def written(folder, results):
    path = folder / "bench.json"
    path.write_text(json.dumps({"results": results}, indent=2))
    return path


def test_each_time_is_a_run_and_a_failed_one_is_no_measurement(tmp_path):
    frame = rh.read(written(tmp_path, RESULTS)).frame
    assert frame.select("threads", "runtime_s", "censored").rows()[:3] == [
        (1, 8.0, False), (1, 8.1, False), (1, 99.0, True)]  # fmt: skip
    answer = rh.front(written(tmp_path, RESULTS), knobs="threads=1,2,4", objectives="runtime_s")
    assert answer.to_dict()["choice"]["setting"] == {"threads": 4}


def test_commands_without_parameters_are_applications(tmp_path):
    plain = [{"command": c, "times": [1.0]} for c in ("a", "b")]
    assert rh.read(written(tmp_path, plain)).frame["app"].to_list() == ["a", "b"]


@pytest.mark.parametrize("results", [[], [7], [{"command": "a", "times": None}]])
def test_a_file_without_runs_says_what_was_expected(tmp_path, results):
    path = written(tmp_path, results)
    with pytest.raises(DataError, match="expected what hyperfine"):
        rh.read(path, "hyperfine")
