"""Results of ``vllm bench serve`` and tables of InferenceX: units, what is not said, odd rows."""

from __future__ import annotations

import json

import polars as pl
import pytest

from rheostat.errors import DataError
from rheostat.measurement.read import guess_format, read
from rheostat.measurement.serving.inferencex import read_inferencex
from rheostat.measurement.serving.runs import read_serving
from rheostat.measurement.serving.vllm_bench import read_vllm_bench

RESULT = {"date": "20261101-120000", "backend": "vllm", "model_id": "Qwen/Qwen3-30B-A3B",
          "num_prompts": 200, "request_rate": "inf", "max_concurrency": 64, "gpu_model": "H100",
          "gpus": "2", "tp": "2", "power_w": "900", "duration": 50.0, "completed": 200,
          "total_input_tokens": 40_000, "total_output_tokens": 60_000, "output_throughput": 1200.0,
          "median_ttft_ms": 80.0, "median_tpot_ms": 41.0, "median_itl_ms": 40.0}  # fmt: skip


def written(path, *documents):
    path.write_text("\n".join(json.dumps(d) for d in documents))
    return path


def test_a_result_of_vllm_bench_is_a_configuration_in_si_units(tmp_path):
    file = written(tmp_path / "r.json", RESULT)
    assert guess_format(file) == "vllm-bench"
    row = read(file).frame.row(0, named=True)
    assert (row["app"], row["gpus"], row["batch_cap"]) == ("Qwen/Qwen3-30B-A3B", 2.0, 64.0)
    assert row["itl_s"] == pytest.approx(0.04)
    assert row["output_tokens"] == 300.0
    assert row["energy_per_token_j"] == pytest.approx(900 / 1200)
    assert (row["params"], row["active_params"]) == (30e9, 3e9)


def test_energy_of_the_run_counts_where_it_is_given_and_nothing_is_invented(tmp_path):
    spent = {**RESULT, "energy_j": "30000"}
    del spent["power_w"]
    row = read(written(tmp_path / "a.json", spent)).frame.row(0, named=True)
    assert row["energy_per_token_j"] == pytest.approx(30_000 / 50 / 1200)
    bare = {k: v for k, v in RESULT.items() if k not in ("power_w", "max_concurrency")}
    jobs = read(written(tmp_path / "b.json", bare))
    assert "energy_per_token_j" not in jobs.columns
    assert {"metadata", "max-concurrency"} <= {
        w for n in jobs.notes for w in ("metadata", "max-concurrency") if w in n.message
    }


def test_appended_results_are_rows_and_those_without_an_answer_are_noted(tmp_path):
    none = {**RESULT, "completed": 0, "total_output_tokens": 0}
    odd = {**RESULT, "output_throughput": float("nan")}
    jobs = read_vllm_bench(written(tmp_path / "r.jsonl", RESULT, none, odd, RESULT))
    assert len(jobs) == 2
    assert (jobs.notes[0].rows, jobs.notes[0].count) == ((1, 2), 2)


@pytest.mark.parametrize("between", ["", "\n", " \n\n"])
def test_a_sweep_after_cat_is_a_row_a_file(tmp_path, between):
    path = tmp_path / "sweep.json"
    path.write_text(between.join(json.dumps(RESULT, indent=2) for _ in range(3)) + between)
    assert len(read_vllm_bench(path)) == 3


@pytest.mark.parametrize(
    ("text", "word"),
    [("{", "JSON"), ("[1]", "missing"), ('{"model_id": 1}', "completed"), ("", "empty"),
     (json.dumps({**RESULT, "median_itl_ms": -1, "median_tpot_ms": 0}), "no run answered")],
)  # fmt: skip
def test_what_is_no_result_is_one_error(tmp_path, text, word):
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(DataError, match=word):
        read_vllm_bench(tmp_path / "r.json")
    (tmp_path / "r.json").write_bytes(b"\xff{}")
    with pytest.raises(DataError):
        read_vllm_bench(tmp_path / "r.json")


TABLE = """Model,Hardware,Framework,Precision,ISL,OSL,TP,EP,Conc,Median TPOT (ms),\
Output TPUT per GPU,Power per GPU (W)
Llama-3.3-70B,h200,vllm,FP8,1024,1024,4,1,64,20.0,250.0,500
Llama-3.3-70B,b200,vllm,FP4,1024,1024,2,1,,9.0,900.0,800
Llama-3.3-70B,b200,vllm,FP8,1024,1024,2,1,128,9.0,900.0,0
"""


def test_a_table_of_inferencex_is_of_the_deployment_not_of_one_gpu(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    assert guess_format(tmp_path / "t.csv") == "inferencex"
    jobs = read(tmp_path / "t.csv")
    row, other = jobs.frame.rows(named=True)
    assert (row["gpus"], row["tokens_per_s"], row["power_w"]) == (4.0, 1000.0, 2000.0)
    assert row["energy_per_token_j"] == pytest.approx(2.0)
    assert row["itl_s"] == pytest.approx(0.02)
    assert (row["params"], row["weight_precision"]) == (70e9, "fp8")
    assert other["power_w"] is None  # 0 W is not a measurement
    said = " ".join(n.message for n in jobs.notes)
    assert "taken to be tp" in said
    assert jobs.notes[0].rows == (1,)


def test_times_without_a_unit_are_seconds_and_missing_columns_are_all_named(tmp_path):
    (tmp_path / "t.csv").write_text(
        "model,hw,tp,conc,median_tpot,output_tput_per_gpu\nm,h100,1,8,0.02,9\n"
    )
    jobs = read_inferencex(tmp_path / "t.csv")
    assert jobs.numpy("itl_s").tolist() == [0.02]
    (tmp_path / "t.csv").write_text("model,hw\nm,h100\n")
    with pytest.raises(DataError, match=r"batch_cap.*tokens_per_s_gpu"):
        read_inferencex(tmp_path / "t.csv")


def test_columns_of_another_table_are_summed_scaled_and_turned_over(tmp_path):
    table, mapping = tmp_path / "t.csv", tmp_path / "map.toml"
    table.write_text(
        "gpu,a,b,tokens_per_kj,first_ms\nH100,3,5,500,80\nH100,3,x,500,\nH100,1,1,0,\nH100,1,1,,\n"
    )
    mapping.write_text(
        '[columns]\ngpu_model = "gpu"\nbatch_cap = ["a", "b"]\n'
        'ttft_s = {from = "first_ms", scale = 1e-3}\n'
        'energy_per_token_j = {from = "tokens_per_kj", scale = 1000.0, inverse = true}\n'
    )
    runs = read_serving(table, map=mapping)
    assert runs.frame.select("gpu_model", "batch_cap", "energy_per_token_j", "ttft_s").rows() == [
        ("H100", 8.0, 2.0, pytest.approx(0.08)),
    ]
    assert [(n.count, n.dropped) for n in runs.notes] == [(1, False), (2, True), (1, True)]
    with pytest.raises(DataError, match="mapped column gpus is missing"):
        read_serving(table, columns={"gpu_model": "gpus"}, map=mapping)
    with pytest.raises(DataError, match="batch_cap missing"):
        read_serving(table, columns={"gpu_model": "gpu"})


SAID = {"energy_per_token_j": 0.5, "tokens_per_s": 1800.0, "output_tokens": 300.0}


@pytest.mark.parametrize(
    ("columns", "units", "energy"),
    [({"energy_per_token_j": 0.5}, {}, 0.5),
     ({"energy_per_request_j": 150.0, "output_tokens": 300.0}, {}, 0.5),
     ({"energy_j": 150.0, "output_tokens": 300.0}, {"energy": "J/request"}, 0.5),
     ({"energy_wh": 0.5 / 3600}, {"energy": "J/token"}, 0.5),
     ({"power_w": 450.0, "tokens_per_s": 1800.0}, {"power": "W/gpu"}, 0.5),
     ({"power_kw": 0.9, "tokens_per_s": 1800.0}, {"power": "W/deployment"}, 0.5),
     ({**SAID, "power_w": 900.0}, {}, 0.5)],
)  # fmt: skip
def test_energy_per_token_follows_where_its_unit_is_said(tmp_path, columns, units, energy):
    made = {"gpu_model": "H100", "gpus": 2, "batch_cap": 64, **columns}
    pl.DataFrame([made]).write_csv(tmp_path / "r.csv")
    assert guess_format(tmp_path / "r.csv") == "serving"
    row = read(tmp_path / "r.csv", options={"units": units} if units else {}).frame.row(
        0, named=True
    )
    assert row["energy_per_token_j"] == pytest.approx(energy)
    assert row.get("power_w", 900.0) == pytest.approx(900.0)


@pytest.mark.parametrize(
    ("columns", "units", "words"),
    [({"energy_j": 150.0}, {}, ["--unit energy=J/token", "--unit energy=J/request"]),
     ({"power_w": 450.0, "tokens_per_s": 1800.0}, {}, ["--unit power=W/gpu"]),
     ({**SAID, "power_w": 450.0}, {}, ["power_w", "--unit power=W/deployment"]),
     ({"energy_j": 1.0, "power": 9.0}, {}, ["--unit energy=J/token", "--unit power=W/gpu"]),
     ({"energy_j": 1.0}, {"energy": "J/request"}, ["output_tokens"]),
     ({"energy_j": 1.0}, {"energy": "J/day"}, ["energy=J/request", "J/day"])],
)  # fmt: skip
def test_what_a_column_does_not_say_is_asked_for_in_one_message(tmp_path, columns, units, words):
    pl.DataFrame([{"gpu_model": "H100", "gpus": 2, "batch_cap": 64, **columns}]).write_csv(
        tmp_path / "r.csv"
    )
    with pytest.raises(DataError) as said:
        read(tmp_path / "r.csv", options={"units": units} if units else {})
    for word in words:
        assert word in str(said.value)


def test_one_gpu_needs_no_word_on_whose_power_it_is(tmp_path):
    made = {
        "gpu_model": "H100",
        "gpus": 1,
        "batch_cap": 64,
        "power_w": 450.0,
        "tokens_per_s": 900.0,
    }
    pl.DataFrame([made]).write_csv(tmp_path / "r.csv")
    assert read(tmp_path / "r.csv").numpy("energy_per_token_j")[0] == pytest.approx(0.5)
