"""Tables of serving in forms that tools and people write: each of a known truth."""

from __future__ import annotations

import json

import pytest

from rheostat.errors import DataError
from rheostat.measurement.read import read
from rheostat.measurement.serving.runs import read_serving

DEPLOYMENT = {"power": "W/deployment"}
BENCH = {"gpu_info": "NVIDIA L4", "model_type": "llama 8B Q4_K - Medium", "n_batch": 2048,
         "model_n_params": 8030261248, "n_prompt": 512, "n_gen": 0, "avg_ts": 900.0,
         "watts": 70}  # fmt: skip
VLLM = {"date": "20261101-101010", "backend": "vllm", "model_id": "m-8B", "num_prompts": 100,
        "request_rate": "inf", "max_concurrency": 64, "duration": 10.0, "completed": 100,
        "total_input_tokens": 51200, "total_output_tokens": 20000, "output_throughput": 2000.0,
        "median_tpot_ms": 30.0}  # fmt: skip


def lines(path, *documents):
    path.write_text("\n".join(json.dumps(d) for d in documents))
    return path


def first(path, **options):
    return read_serving(path, **options).frame.row(0, named=True)


def test_llama_bench_times_answers_of_one_request_alone(tmp_path):
    alone = BENCH | {"n_prompt": 0, "n_gen": 128, "avg_ts": 50.0}
    runs = read_serving(lines(tmp_path / "b.jsonl", BENCH, alone))
    row = runs.frame.row(0, named=True)
    assert len(runs) == 1
    assert "no answers alone" in runs.notes[0].message
    assert (row["batch_cap"], row["itl_s"], row["params"]) == (1, 0.02, 8030261248)
    assert (row["gpu_model"], row["gpus"], row["weight_precision"]) == ("NVIDIA L4", 1, "Q4_K")
    assert row["energy_per_token_j"] == pytest.approx(70 / 50)


def test_pp_of_a_batched_bench_are_tokens_of_prompts_not_stages(tmp_path):
    theirs = {"pp": 512, "tg": 100, "pl": 8, "t_pp": 1.0, "t_tg": 4.0, "t": 5.0, "speed_tg": 200,
              "model": "m-8B", "gpu": "L4", "gpus": 1, "power_w": 64}  # fmt: skip
    row = first(lines(tmp_path / "b.jsonl", theirs))
    assert (row["prompt_tokens"], row["output_tokens"], row["batch_cap"]) == (512, 100, 8)
    assert "pp" not in row
    assert row["itl_s"] == 0.04
    assert row["energy_per_token_j"] == pytest.approx(64 / (800 / 5))


def test_an_answer_of_ollama_is_a_run_where_its_batch_is_stated(tmp_path):
    theirs = {"model": "llama3.1:8b", "eval_count": 200, "eval_duration": 4_000_000_000,
              "prompt_eval_count": 500, "prompt_eval_duration": 1_000_000_000, "gpu": "RTX 4090",
              "num_gpus": 1, "watts": 300}  # fmt: skip
    file = lines(tmp_path / "o.jsonl", theirs)
    with pytest.raises(DataError, match=r"--column batch_cap==VALUE"):
        read_serving(file)
    row = first(file, columns={"batch_cap": "=1"})
    assert (row["itl_s"], row["prompt_tokens"], row["params"]) == (0.02, 500, 8e9)
    assert row["energy_per_token_j"] == pytest.approx(300 * 5 / 200)


def test_several_reports_of_trtllm_bench_are_a_row_each(tmp_path):
    report = {
        "engine": {"model": "meta-llama/Llama-3.1-8B-Instruct", "dtype": "torch.bfloat16"},
        "world_info": {"tp_size": 2, "pp_size": 1, "world_size": 2},
        "request_info": {"avg_num_concurrent_requests": 128.0, "avg_output_length": 256.0},
        "performance": {"system_output_throughput_tok_s": 6400.0},
        "gpu": "NVIDIA H100", "power_w": 1280,
    }  # fmt: skip
    for text in (json.dumps([report] * 3), "\n".join([json.dumps(report, indent=1)] * 3)):
        (tmp_path / "sweep.json").write_text(text)
        runs = read(tmp_path / "sweep.json", options={"units": DEPLOYMENT})
        assert len(runs) == 3
        assert runs.frame["energy_per_token_j"].to_list() == pytest.approx([0.2] * 3)


@pytest.mark.parametrize(
    ("said", "watts"),
    [({"power_w": 900}, 900), ({"avg_power_w": "900"}, 900), ({"power_per_gpu_w": 450}, 900),
     ({"gpu_power_w_total": 900}, 900)],
)  # fmt: skip
def test_metadata_of_vllm_bench_in_usual_names(tmp_path, said, watts):
    more = {"gpu": "NVIDIA H100 80GB HBM3", "num_gpus": "2", "tensor_parallel_size": 2}
    (tmp_path / "r.json").write_text(json.dumps([VLLM | more | said]))
    row = read(tmp_path / "r.json").frame.row(0, named=True)
    assert (row["gpu_model"], row["gpus"], row["tp"], row["batch_cap"]) == (more["gpu"], 2, 2, 64)
    assert row["energy_per_token_j"] == pytest.approx(watts / 2000)


HEAD = "model,gpu,gpus,dp,batch_cap,itl_ms,output_tok_s,total_power_w\n"


@pytest.mark.parametrize(("cap", "unit"), [(32, "replica"), (64, "deployment")])
def test_throughput_says_of_what_a_batch_cap_is(tmp_path, cap, unit):
    rows = f"m-8B,H100,1,1,32,20,1500,600\nm-8B,H100,2,2,{cap},20,3000,1200\n"
    (tmp_path / "r.csv").write_text(HEAD + rows)
    runs = read_serving(tmp_path / "r.csv")
    assert runs.numpy("batch_cap").tolist() == [32, 64]
    assert any(f"requests/{unit}, as throughput" in n.message for n in runs.notes)


@pytest.mark.parametrize("alone", ["m-8B,H100,1,1,64,20,1500,600\n", ""])
def test_it_is_asked_for_where_batches_are_not_known_to_be_full(tmp_path, alone):
    (tmp_path / "r.csv").write_text(HEAD + alone + "m-8B,H100,2,2,64,20,3000,1200\n")
    with pytest.raises(DataError, match="--unit batch=requests/replica"):
        read_serving(tmp_path / "r.csv")


@pytest.mark.parametrize("tokens", [9000, 1000])
def test_tokens_per_second_that_count_prompts_are_told_by_requests_per_second(tmp_path, tokens):
    (tmp_path / "r.csv").write_text(
        "model,gpu,gpus,batch_cap,input_len,output_len,requests_per_second,tokens_per_second,"
        f"total_power_w\nm-8B,H100,1,64,1024,128,7.8125,{tokens},500\n"
    )
    row = first(tmp_path / "r.csv")
    assert row["tokens_per_s"] == pytest.approx(1000)
    assert row["itl_s"] == pytest.approx(0.064)


def test_watts_with_a_column_for_each_gpu_are_summed(tmp_path):
    (tmp_path / "r.csv").write_text(
        "model,gpu,TP,concurrency,output tok/s,gpu0_power_w,gpu1_power_w\n"
        "m-8B,H100,1,8,100,300,\nm-8B,H100,2,8,160,280,290\n"
    )
    runs = read_serving(tmp_path / "r.csv")
    assert runs.numpy("power_w").tolist() == [300, 570]
    assert runs.numpy("gpus").tolist() == [1, 2]


@pytest.mark.parametrize("heading", ["avg W (all GPUs)", "DCGM_FI_DEV_POWER_USAGE (sum)"])
def test_headings_of_power_of_all(tmp_path, heading):
    (tmp_path / "r.csv").write_text(
        f"model,gpu,gpus,batch,tok/s,{heading}\nm-8B,H100,2,8,100,570\n"
    )
    assert first(tmp_path / "r.csv")["power_w"] == 570


def test_a_placement_in_one_cell(tmp_path):
    (tmp_path / "r.csv").write_text(
        "model,config,batch,tok/s,total_power_w\nm-70B,8xB200 TP4PP2,32,900,4000\n"
        "m-70B,2xB200 TP2PP1,32,600,1500\n"
    )
    runs = read_serving(tmp_path / "r.csv", columns={"gpu_model": "config"})
    assert runs.frame.select("gpus", "tp", "pp").rows() == [(8, 4, 2), (2, 2, 1)]
