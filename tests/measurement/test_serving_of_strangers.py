"""One deployment as tools and people write it: the same numbers come out of every form."""

from __future__ import annotations

import csv
import json

import pytest

from rheostat.measurement.serving.runs import read_serving
from rheostat.measurement.serving.vllm_bench import read_vllm_bench

TRUTH = {"gpus": 4, "batch_cap": 64, "itl_s": 0.02, "energy_per_token_j": 0.5}
"""Four GPUs at 375 W each; 3000 tokens/s of answers of 300 tokens to prompts of 1000."""
PROMETHEUS = {
    "model_name": "m-8B", "gpu": "NVIDIA A100-SXM4-80GB", "vllm:num_requests_running": 64,
    "vllm:time_per_output_token_seconds": 0.02, "rate(vllm:generation_tokens_total[5m])": 3000,
    "sum(DCGM_FI_DEV_POWER_USAGE)": 1500, "count(DCGM_FI_DEV_POWER_USAGE)": 4,
}  # fmt: skip
MANAGER = {
    "num_samples": 200, "total_latency(ms)": 20000, "seq_throughput(seq/sec)": 10,
    "token_throughput(token/sec)": 3000, "avg_time_to_first_token(ms)": 90,
    "avg_inter_token_latency(ms)": 20, "model": "m-8B", "gpu": "H100", "tp_size": 4,
    "max_batch_size": 64, "gpu_power(W)": 375,
}  # fmt: skip
BY_HAND = {
    "dtype": "bf16",
    "model": "m-8B",
    "hw": "4xH100",
    "bs": 64,
    "in": 1000,
    "out": 300,
    "ms/tok": 20,
}
SGLANG = {
    "backend": "sglang", "max_concurrency": 64, "concurrency": 62.7, "completed": 600,
    "total_input_tokens": 600_000, "total_output_tokens": 180_000, "output_throughput": 3000.0,
    "median_itl_ms": 20.0, "model": "m-8B", "gpu": "H100", "power_per_gpu_w": 375,
    "server_info": {"tp_size": 4, "dp_size": 1, "max_running_requests": None, "dtype": "auto"},
}  # fmt: skip
COPIES = {"llm": "m-8B", "gpu": "H100", "gpus": 4, "tp": 2, "dp": 2, "ITL ms p50": 20}


@pytest.mark.parametrize("row", [
    PROMETHEUS,
    {k.replace("sum(", "avg("): 375 if k.startswith("sum(") else v for k, v in PROMETHEUS.items()},
    MANAGER,
    BY_HAND | {"Wh/request": 0.5 * 300 / 3600},
    BY_HAND | {"kWh per 1M tokens": 0.5e6 / 3.6e6},
    BY_HAND | {"tokens/J": 2.0},
    SGLANG,
    COPIES | {"total_concurrency": 64, "J/token": 0.5},
    COPIES | {"batch per replica": 32, "Energy (mJ/token)": 500},
], ids=["prometheus", "prometheus, mean", "gptManagerBenchmark", "Wh/request", "kWh/Mtoken",
        "tokens/J", "sglang", "batch of all", "batch of each"])  # fmt: skip
def test_one_deployment_in_the_words_of(row, tmp_path):
    path = tmp_path / "runs.csv"
    if any(isinstance(v, dict) for v in row.values()):
        path = path.with_suffix(".jsonl")
        path.write_text(json.dumps(row) + "\n" + json.dumps(row))
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, row)
            writer.writeheader()
            writer.writerow(row)
    of_one = {"gpu_power(W)", "avg(DCGM_FI_DEV_POWER_USAGE)"} & set(row)
    said = {"power": "W/gpu"} if of_one else {}
    read = read_serving(path, units=said).frame.row(0, named=True)
    assert {name: read[name] for name in TRUTH} == pytest.approx(TRUTH)
    assert read.get("weight_precision") == row.get("dtype")  # auto is as the model has it
    if "in" in row:
        assert (read["prompt_tokens"], read["output_tokens"]) == (1000, 300)


def test_a_result_of_vllm_bench_has_the_gpus_of_its_split(tmp_path):
    result = {
        "model_id": "m-8B", "num_prompts": 600, "request_rate": "inf", "completed": 600,
        "total_output_tokens": 180_000, "output_throughput": 3000.0, "median_itl_ms": 20.0,
        "max_concurrency": 64, "gpu_type": "H100", "tensor_parallel_size": 2,
        "pipeline_parallel_size": 2, "power_per_gpu_w": 375,
    }  # fmt: skip
    (path := tmp_path / "r.json").write_text(json.dumps(result))
    read = read_vllm_bench(path).frame.row(0, named=True)
    assert {name: read[name] for name in TRUTH} == pytest.approx(TRUTH)
