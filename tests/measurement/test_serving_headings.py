"""Headings of LLMPerf, MLPerf and hand-made sheets, and values that InferenceX does not state."""

from __future__ import annotations

import pytest

import rheostat as rh
from rheostat.errors import DataError
from rheostat.measurement.serving.inferencex import read_inferencex
from rheostat.measurement.serving.runs import read_serving
from rheostat.measurement.serving.serving_names import our_names

INFERENCEX = """Model,Hardware,Precision,TP,EP,Conc,TTFT (ms),TPOT (ms),Output TPUT per GPU
llama70b,H200,fp8,4,1,4,55.1,10.0,100.0
llama70b,H200,fp8,4,1,64,163.9,16.0,900.0
"""


def test_what_inferencex_does_not_state_can_be_typed(tmp_path):
    path = tmp_path / "theirs.csv"
    path.write_text(INFERENCEX)
    assert "--column power_w==2400" in str(read_inferencex(path).notes)
    jobs = read_inferencex(path, columns={"params": "=70e9", "power_w": "=2400"})
    assert jobs.numpy("energy_per_token_j") == pytest.approx([6.0, 2400 / 3600])
    answer = rh.llm.plan(path, "llama70b", renamed=["params==70e9", "power_w==2400"], itl="12ms")
    assert answer.setting["batch_cap"] == 4
    with pytest.raises(DataError, match="its columns are known; --column states values"):
        read_inferencex(path, columns={"power_w": "Watts"})


def test_headings_of_llmperf_are_read(tmp_path):
    heads = "model,num_concurrent_requests,results_inter_token_latency_s_quantiles_p50,"
    heads += "results_request_output_throughput_token_per_s_mean,"
    heads += "results_mean_output_throughput_token_per_s,gpu_model,gpus,avg_gpu_power_w"
    path = tmp_path / "llmperf.csv"
    rows = ("m,16,.0105,91,1448,H100,1,455", "m,64,.0149,61,3905,H100,1,590")
    path.write_text("\n".join([heads, *rows, ""]))
    jobs = read_serving(path)
    assert jobs.numpy("itl_s") == pytest.approx([0.0105, 0.0149])
    assert jobs.numpy("energy_per_token_j") == pytest.approx([455 / 1448, 590 / 3905])


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("Result (Tokens/s)", "tokens_per_s"), ("decode_tps", "tokens_per_s"), ("gpu_w", "power_w"),
     ("results_ttft_s_quantiles_p50", "ttft_s"), ("Avg GPU W", "power_w")],
)  # fmt: skip
def test_one_heading(theirs, ours):
    assert our_names({theirs}) == {ours}


def test_rows_by_thousands_of_a_hand_made_sheet_stay(tmp_path):
    path = tmp_path / "hand.csv"
    heads = "model,GPU,# GPUs,Batch,Output tok/s,TPOT (ms),Power (W)"
    path.write_text(f'{heads}\nm,H100,1,4,455,8.8,362\nm,H100,1,16,"1,532",10.4,431\n')
    jobs = read_serving(path, units={"power": "W/deployment"})
    assert jobs.numpy("energy_per_token_j") == pytest.approx([362 / 455, 431 / 1532])


SWEEP = "model,gpu,num_gpus,{heads},tpot_ms,output_throughput,total_gpu_power_w\n"


@pytest.mark.parametrize(("heads", "rows", "ran"), [
    ("max_num_seqs,max_concurrency", ["256,4", "256,64", "32,64"], [4, 64, 32]),
    ("concurrency,max_num_seqs", ["4,256", "64,256", ",256"], [4, 64, 256]),
    ("max_running_requests,num_concurrent_requests", ["256,4", "256,16", "8,16"], [4, 16, 8]),
    ("dp,max_num_seqs,max_concurrency", ["2,8,4", "2,8,16", "2,8,64"], [4, 16, 16]),
    ("max_num_seqs,batch_size", ["256,4", "256,16", "256,8"], [256, 256, 256]),
])  # fmt: skip
def test_beside_a_servers_cap_the_requests_sent_at_once_are_what_ran(tmp_path, heads, rows, ran):
    path = tmp_path / "sweep.csv"
    lines = [f"m-8B,H100,2,{row},10,{n * 100},700" for row, n in zip(rows, ran, strict=True)]
    path.write_text(SWEEP.format(heads=heads) + "\n".join(lines) + "\n")
    jobs = read_serving(path)
    assert jobs.numpy("batch_cap").tolist() == ran
    said = "\n".join(n.message for n in jobs.notes)
    assert ("the smaller of both, row by row" in said) is ("batch_size" not in heads)
