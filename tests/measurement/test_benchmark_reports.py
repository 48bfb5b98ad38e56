"""Reports of programs that time others are tables of runs, in seconds, failed runs told apart."""

from __future__ import annotations

import json

import pytest

import rheostat as rh
from rheostat.errors import DataError

CONTEXT = {"date": "2026-01-01", "num_cpus": 8}


def written(folder, document):
    path = folder / "report.json"
    path.write_text(json.dumps(document, indent=1))
    return path


def google(name, time, unit="ms", **more):
    return {"name": name, "run_name": name, "run_type": "iteration", "threads": 1,
            "iterations": 9, "real_time": time, "cpu_time": time, "time_unit": unit,
            **more}  # fmt: skip


def test_arguments_of_google_benchmark_are_settings_and_its_times_are_seconds(tmp_path):
    runs = [google(f"BM_gemm/1024/threads:{k}/real_time", 80.0 / k, flops=7e9) for k in (1, 2, 4)]
    jobs = rh.read(written(tmp_path, {"context": CONTEXT, "benchmarks": runs}))
    assert jobs.frame.select("arg1", "threads", "runtime_s", "flops").rows()[1] == (
        1024, 2, pytest.approx(0.04), 7e9)  # fmt: skip
    assert "app" not in jobs.columns
    answer = rh.front(jobs, knobs="threads=1,2,4", objectives="runtime_s")
    assert answer.choice.setting == {"threads": 4}


def test_means_of_google_benchmark_are_no_runs_beside_runs_and_errors_no_measurements(tmp_path):
    mean = google(
        "BM_a/8_mean", 5.0, run_type="aggregate", aggregate_name="mean", run_name="BM_a/8"
    )
    deviation = {**mean, "aggregate_name": "stddev", "real_time": 0.1}
    failed = google("BM_a/16", 0.0, error_occurred=True, error_message="no memory")
    every = {"context": CONTEXT, "benchmarks": [google("BM_a/8", 4.0), mean, deviation, failed]}
    jobs = rh.read(written(tmp_path, every))
    assert jobs.frame.select("arg1", "runtime_s", "censored").rows() == [
        (8, 0.004, False), (16, None, True)]  # fmt: skip
    said = [n for n in jobs.notes if n.message == "means and deviations of repetitions: left out"]
    assert [n.count for n in said] == [2]
    alone = rh.read(written(tmp_path, {"context": CONTEXT, "benchmarks": [mean, deviation]}))
    assert alone.frame["runtime_s"].to_list() == [0.005]


def test_rounds_of_pytest_benchmark_are_runs_and_a_mean_is_one_where_they_are_not_saved(tmp_path):
    saved = {"name": "test_sort[1000]", "params": {"size": 1000}, "extra_info": {"energy_j": 3.5},
             "stats": {"mean": 0.25, "data": [0.2, 0.3]}}  # fmt: skip
    plain = {"name": "test_sort[2000]", "params": {"size": 2000}, "stats": {"mean": 0.5}}
    jobs = rh.read(written(tmp_path, {"machine_info": {"cpu": {}}, "benchmarks": [saved, plain]}))
    assert jobs.frame.select("size", "runtime_s", "energy_j").rows() == [
        (1000, 0.2, 3.5), (1000, 0.3, 3.5), (2000, 0.5, None)]  # fmt: skip


def test_scores_of_jmh_are_times_of_one_call(tmp_path):
    def result(mode, score, unit, data):
        return {"jmhVersion": "1.37", "benchmark": "org.a.Sort.merge", "mode": mode, "threads": 2,
                "params": {"size": "1000"},
                "primaryMetric": {"score": score, "scoreUnit": unit, "rawData": data}}  # fmt: skip

    both = [result("avgt", 2.5, "ms/op", [[2.0], [3.0]]), result("thrpt", 500.0, "ops/s", [])]
    jobs = rh.read(written(tmp_path, both))
    assert jobs.frame.select("size", "threads", "runtime_s").rows() == [
        (1000, 2, 0.002), (1000, 2, 0.003), (1000, 2, 0.002)]  # fmt: skip


def test_a_cache_of_kernel_tuner_has_settings_joules_and_what_did_not_run(tmp_path):
    keys = ["block", "unroll"]
    cache = {
        "128,1": {"block": 128, "unroll": 1, "time": 4.0, "times": [4.0, 4.1], "nvml_energy": 0.8,
                  "compile_time": 900.0, "GFLOP/s": 120.5},
        "256,1": {"block": 256, "unroll": 1, "time": 2.0, "nvml_energy": 0.5, "compile_time": 8.0},
        "512,2": {"block": 512, "unroll": 2, "time": "RuntimeFailedConfig"},
        "512,4": {"block": 512, "unroll": 4, "time": 1e20},
    }  # fmt: skip
    document = {"device_name": "A100", "kernel_name": "gemm", "problem_size": [4096],
                "tune_params_keys": keys, "cache": cache}  # fmt: skip
    jobs = rh.read(written(tmp_path, document))
    assert jobs.frame.select(*keys, "runtime_s", "energy_j", "censored").rows() == [
        (128, 1, 0.004, 0.8, False), (256, 1, 0.002, 0.5, False),
        (512, 2, None, None, True), (512, 4, None, None, True)]  # fmt: skip
    assert not {"compile_time", "time"} & set(jobs.columns)
    answer = rh.front(jobs, knobs=["block=128,256,512", "unroll=1,2,4"])
    assert answer.choice.setting == {"block": 256, "unroll": 1}


@pytest.mark.parametrize("name", ["google-benchmark", "pytest-benchmark", "jmh", "kernel-tuner"])
@pytest.mark.parametrize("document", [{}, [], 7, {"benchmarks": [7]}, {"cache": {"a": []}}])
def test_a_document_without_runs_says_what_was_expected(tmp_path, name, document):
    with pytest.raises(DataError, match="has no run: expected"):
        rh.read(written(tmp_path, document), name)
