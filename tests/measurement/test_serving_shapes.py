"""Hand-made tables in the shapes of public benchmarks: what is stated, derived, asked, refused."""

from __future__ import annotations

import json

import pytest

from rheostat.errors import DataError
from rheostat.measurement.read import guess_format, read
from rheostat.measurement.serving.energy_names import energy_unit
from rheostat.measurement.serving.inferencex import read_inferencex
from rheostat.measurement.serving.runs import read_serving
from tests.measurement.exactly import written


@pytest.mark.parametrize(("heading", "value", "joules"), [
    ("mJ/token", 350, 0.35), ("energy_per_token_mj", 350, 0.35), ("J/output token", 0.35, 0.35),
    ("Wh per request", 0.05, 0.9), ("energy_per_request_kwh", 5e-5, 0.9),
    ("kWh per million tokens", 0.25, 0.9), ("Energy/MTok (MJ)", 0.9, 0.9),
    ("wh_per_1k_tokens", 0.25, 0.9), ("tokens_per_joule", 4, 0.25), ("tok/kWh", 1.44e7, 0.25),
    ("j_per_total_token", 0.3, 0.9), ("joules_per_batch", 8 * 200 * 0.5, 0.5),
])  # fmt: skip
def test_energies_that_say_unit_and_per_what_are_read(tmp_path, heading, value, joules):
    """Of answers of 200 tokens to prompts of 400, eight at once."""
    head = f"model,gpu,num_gpus,max_num_seqs,itl_ms,input_tokens,output_tokens,{heading}\n"
    jobs = read(written(tmp_path / "t.csv", head + f"m-8B,H100,1,8,20,400,200,{value}\n"))
    assert jobs.numpy("energy_per_token_j").tolist() == pytest.approx([joules])
    assert energy_unit(heading) is not None


@pytest.mark.parametrize(("unit", "joules"), [
    ("J/token", 900.0), ("mJ/token", 0.9), ("J/request", 4.5), ("J/batch", 900 / 1600),
    ("J/run", 900 / 20_000), ("Wh/Mtoken", 900 * 3.6e-3), ("tokens/J", 1 / 900),
])  # fmt: skip
def test_an_energy_that_says_neither_is_asked_for(tmp_path, unit, joules):
    head = "model,gpu,num_gpus,max_num_seqs,itl_ms,output_tokens,completed,energy\n"
    file = written(tmp_path / "t.csv", head + "m-8B,H100,1,8,20,200,100,900\n")
    with pytest.raises(DataError, match=r"energy: of a token, request, batch or run\?"):
        read(file)
    made = read_serving(file, units={"energy": unit}).numpy("energy_per_token_j")
    assert made.tolist() == pytest.approx([joules])


INFERENCEX = """hw,model,precision,isl,osl,tp,ep,conc,output_tput_per_gpu,avg_power_per_gpu
h200,llama-70b,fp8,1024,1024,2,1,64,1600,560
b200,llama-70b,fp8,1024,1024,1,1,64,3200,800
"""


def test_the_power_export_of_inferencex_has_no_times(tmp_path):
    """Concurrency over tokens per second is the time between tokens."""
    jobs = read(written(tmp_path / "t.csv", INFERENCEX))
    assert jobs.numpy("gpus").tolist() == [2, 1]
    assert jobs.numpy("tokens_per_s").tolist() == [3200, 3200]
    assert jobs.numpy("itl_s").tolist() == pytest.approx([0.02, 0.02])
    assert jobs.numpy("power_w").tolist() == [1120, 800]
    assert jobs.numpy("energy_per_token_j").tolist() == pytest.approx([0.35, 0.25])
    said = "itl_s is not stated: it is batch over tokens per second, as in full batches"
    assert said in [n.message for n in jobs.notes]


def test_times_of_inferencex_without_a_unit_are_told_by_throughput(tmp_path):
    head = "hw,model,tp,conc,median_tpot,output_tput_per_gpu\n"
    for itl in ("0.021", "21"):
        jobs = read_inferencex(written(tmp_path / "t.csv", head + f"h200,m,2,64,{itl},1600\n"))
        assert jobs.numpy("itl_s").tolist() == pytest.approx([0.021])


WILKINS = """Phase,Runtime (s),CPU Energy (J),GPU Energy (J),Number of Output Tokens,\
Number of Input Tokens,Model,Number of GPUs,Batch Size,System
inference,6.4,100,2560,256,32,Llama-2 (70B),4,32,Site A100
"""


def test_a_table_of_whole_batches(tmp_path):
    """Wilkins et al.: a runtime and an energy of each batch that was answered."""
    file = written(tmp_path / "t.csv", WILKINS)
    given = {"gpu_model": "System"}
    with pytest.raises(DataError, match=r"GPU Energy \(J\): of a token, request, batch or run\?"):
        read_serving(file, columns=given)
    jobs = read_serving(file, columns=given, units={"energy": "J/batch"})
    row = jobs.frame.row(0, named=True)
    assert (row["batch_cap"], row["gpus"], row["prompt_tokens"]) == (32, 4, 32)
    assert row["tokens_per_s"] == pytest.approx(32 * 256 / 6.4)
    assert row["itl_s"] == pytest.approx(6.4 / 256)
    assert row["energy_per_token_j"] == pytest.approx(2560 / (32 * 256))


def test_a_batch_that_is_not_stated_follows_from_throughput_and_time(tmp_path):
    head = "model,gpu,num_gpus,max_num_seqs,itl_ms,tokens_per_s,energy_per_token_j\n"
    rows = "m-8B,H100,1,64,20,3000,0.2\nm-8B,H100,1,,10,800,0.4\nm-8B,H100,1,,,800,0.4\n"
    jobs = read(written(tmp_path / "t.csv", head + rows))
    assert jobs.numpy("batch_cap").tolist() == [64, 8]
    assert "no batch is stated, nor throughput and time" in [n.message for n in jobs.notes]
    rows = "m-8B,H100,1,,20,6403.1,0.2\nm-8B,H100,1,,20,6390.2,0.2\nm-8B,H100,1,,20,130,0.2\n"
    jobs = read(written(tmp_path / "noisy.csv", head + rows))
    assert jobs.numpy("batch_cap").tolist() == pytest.approx([128, 128, 2.6])


BARE = "model,gpu,num_gpus,max_num_seqs,tpot,energy_per_token_j{}\nm-8B,H100,1,8,{},0.2{}\n"


def test_a_time_without_a_unit_is_asked_for_where_nothing_tells_it(tmp_path):
    file = written(tmp_path / "t.csv", BARE.format("", 0.9, ""))
    with pytest.raises(DataError, match=r"itl_s: s or ms\? state it: --unit time=ms"):
        read(file)
    assert read_serving(file, units={"time": "ms"}).numpy("itl_s")[0] == pytest.approx(9e-4)
    for itl, unit in ((0.02, "s"), (20, "ms"), (20_000, "us")):
        told = read(written(tmp_path / "t.csv", BARE.format("", itl, "")))
        assert told.numpy("itl_s").tolist() == pytest.approx([0.02])
        assert any(f"itl_s is taken to be in {unit}, by its size" in n.message for n in told.notes)
        file = written(tmp_path / "t.csv", BARE.format(",tok/s", itl, ",390"))
        assert read(file).numpy("itl_s").tolist() == pytest.approx([0.02])


def test_one_row_in_another_unit_among_many_is_named(tmp_path):
    head = "model,gpu,num_gpus,max_num_seqs,itl_ms,tokens_per_s,energy_per_token_j,power_w\n"
    rows = ["m-8B,H100,1,64,20,3000,0.2,600\n"] * 9
    odd = [
        ("m-8B,H100,1,64,20,3000,200,600\n", r"in 1 rows: row 10 says 200 J .*factor of 1e\+03"),
        ("m-8B,H100,1,64,20000,3000,0.2,600\n", r"more requests run than may in 1 rows: row 10"),
    ]
    for row, said in odd:
        with pytest.raises(DataError, match=said):
            read(written(tmp_path / "t.csv", head + "".join([*rows, row])))
    stated = head.replace("power_w", "energy_per_request_j,output_tokens")
    rows = "m-8B,H100,1,64,20,3000,0.2,40,200\nm-8B,H100,1,64,20,3000,0.2,0.04,200\n"
    with pytest.raises(DataError, match=r"energy per request in 1 rows: row 2 says 0\.2 J x 200"):
        read(written(tmp_path / "t.csv", stated + rows))


def test_a_table_of_mlenergy_with_other_headings(tmp_path):
    """Its table of a web page, with the unit in brackets and no parameters."""
    head = ("Model,GPU,Num GPUs,Max Batch Size,Median ITL (ms),Avg Output Tokens,"
            "Energy/token (J),Avg Power (W),Output Throughput (tok/s)\n")  # fmt: skip
    jobs = read(written(tmp_path / "t.csv", head + "Qwen3-8B,H100,1,128,25,500,0.12,600,5000\n"))
    row = jobs.frame.row(0, named=True)
    assert row["energy_per_token_j"] == 0.12
    assert (row["itl_s"], row["power_w"], row["params"]) == (0.025, 600, 8e9)
    assert row["tokens_per_s"] == 5000


GENAI_PERF = """Metric,avg,min,max,p99,p95,p90,p75,p50,p25
Time To First Token (ms),61.0,40.1,98.0,97.0,90.0,85.0,70.0,60.0,50.0
Inter Token Latency (ms),21.0,19.0,30.0,29.0,28.0,27.0,22.0,20.0,19.5
Output Sequence Length,200.00,190.00,210.00,210.00,209.00,208.00,204.00,200.00,196.00
Input Sequence Length,550.00,500.00,600.00,600.00,600.00,600.00,560.00,550.00,540.00

Metric,Value
Output Token Throughput (per sec),"3,100.00"
Request Throughput (per sec),15.5
Total GPU Power (W),1240
"""


def test_a_run_of_genai_perf(tmp_path):
    folder = tmp_path / "llama-8b-openai-chat-concurrency64"
    folder.mkdir()
    file = written(folder / "profile_export_genai_perf.csv", GENAI_PERF)
    with pytest.raises(DataError, match=r"gpu_model missing .* --column gpu_model==VALUE"):
        read(file)
    jobs = read(file, options={"columns": {"gpu_model": "=H100", "gpus": "=2"},
                               "units": {"power": "W/deployment"}})  # fmt: skip
    row = jobs.frame.row(0, named=True)
    assert (row["app"], row["batch_cap"], row["params"]) == ("llama-8b", 64, 8e9)
    assert (row["itl_s"], row["ttft_s"], row["output_tokens"]) == (0.02, 0.06, 200)
    assert row["energy_per_token_j"] == pytest.approx(0.4)


def test_a_report_of_trtllm_bench(tmp_path):
    report = {
        "engine": {"model": "meta-llama/Llama-3.1-8B-Instruct", "dtype": "bfloat16"},
        "world_info": {"tp_size": 2, "pp_size": 1, "ep_size": None, "world_size": 2,
                       "max_batch_size": 2048},
        "request_info": {"avg_num_concurrent_requests": 128.0, "avg_input_length": 1024.0,
                         "avg_output_length": 256.0},
        "performance": {"system_output_throughput_tok_s": 6400.0,
                        "system_total_throughput_tok_s": 32000.0},
    }  # fmt: skip
    file = written(tmp_path / "report.json", json.dumps(report))
    with pytest.raises(DataError, match=r"gpu_model missing .* --column energy_per_token_j="):
        read(file)
    jobs = read(file, options={"columns": {"gpu_model": "=H100", "power_w": "=1280"},
                               "units": {"power": "W/deployment"}})  # fmt: skip
    row = jobs.frame.row(0, named=True)
    assert (row["gpus"], row["tp"], row["batch_cap"], row["params"]) == (2, 2, 128, 8e9)
    assert (row["itl_s"], row["prompt_tokens"]) == (0.02, 1024)
    assert row["energy_per_token_j"] == pytest.approx(0.2)


def test_what_benchmark_serving_of_vllm_cannot_see_is_stated(tmp_path):
    text = (
        '{"date": "20251101-101010", "backend": "vllm", "model_id": "m-8B", "num_prompts": 100,'
        '"request_rate": "inf", "max_concurrency": 64, "duration": 10.0, "completed": 100,'
        '"total_input_tokens": 51200, "total_output_tokens": 20000, "output_throughput": 2000.0,'
        '"mean_ttft_ms": 80.0, "median_ttft_ms": 70.0, "median_tpot_ms": 25.0, "watts": 900}'
    )
    columns = {"gpu_model": "=H100", "gpus": "=2", "tp": "=2", "power_w": "watts"}
    row = read(written(tmp_path / "r.json", text), options={"columns": columns}).frame.row(
        0, named=True)  # fmt: skip
    assert (row["gpu_model"], row["gpus"], row["tp"], row["batch_cap"]) == ("H100", 2, 2, 64)
    assert (row["prompt_tokens"], row["output_tokens"], row["ttft_s"]) == (512, 200, 0.07)
    assert (row["power_w"], row["energy_per_token_j"]) == (900, 0.45)


# --- copies of the attention that share experts -----------------------------------------------

SHARED = """model,hw,num_gpus,tp,ep,dp_attention,conc,isl,osl,tput_per_gpu,tpot_ms,watts_per_gpu
m-671B-A37B,H200,8,8,8,true,128,1024,1024,{all_},32,500
m-671B-A37B,H200,8,8,1,false,128,1024,1024,{all_},32,500
m-671B-A37B,H200,8,8,1,True,64,1024,1024,{half},32,500
"""


def test_a_tensor_parallel_size_of_all_copies_is_taken_by_copy(tmp_path):
    """SGLang's and TensorRT-LLM's tp beside a data parallel attention is of all GPUs."""
    jobs = read(written(tmp_path / "t.csv", SHARED.format(all_=1000, half=500)))
    rows = jobs.frame.select("gpus", "tp", "dp", "ep", "batch_cap").rows()
    assert rows == [(8, 1, 8, 8, 128), (8, 8, 1, 1, 128), (8, 1, 8, 8, 64)]
    said = " ".join(f"{n.message} {n.count}" for n in jobs.notes)
    assert "tp is of all copies, as SGLang counts" in said
    assert "all of them 2" in said
    assert "batch_cap is taken to be requests/deployment" in said


def test_what_clients_send_is_of_all_copies_where_numbers_do_not_tell(tmp_path):
    lines = SHARED.format(all_=700, half=350).splitlines(keepends=True)
    jobs = read(written(tmp_path / "t.csv", "".join(lines[:2])))
    assert jobs.numpy("batch_cap").tolist() == [128]
    assert any(n.message.startswith("conc is taken as the requests of all") for n in jobs.notes)
    caps = "".join(lines[:2]).replace("conc", "max_num_seqs")
    with pytest.raises(DataError, match="of each copy"):
        read(written(tmp_path / "caps.csv", caps))


def test_what_batch_over_time_says_is_whether_throughput_counts_prompts(tmp_path):
    """128 requests at 32 ms each are 4,000 tokens a second: 500 on each GPU without prompts."""
    alone, both = (
        read(written(tmp_path / "t.csv", SHARED.format(all_=a, half=a // 2))) for a in (500, 1000)
    )
    for jobs in (alone, both):
        assert jobs.numpy("tokens_per_s").tolist() == [4000, 4000, 2000]
    assert any("the answers' alone" in n.message for n in alone.notes)
    assert not any("the answers' alone" in n.message for n in both.notes)


DISAGGREGATED = """hw,model,tp,ep,dp_attention,disagg,conc,isl,osl,median_tpot,output_tput_per_gpu,\
power_per_gpu
h200,m-671B-A37B,8,8,true,false,64,1024,256,0.03,266,500
h200,m-671B-A37B,8,8,false,true,64,1024,256,0.03,266,500
"""
GENERIC = {"median_tpot": "median_tpot_s", "output_tput_per_gpu": "output_throughput_per_gpu"}


@pytest.mark.parametrize(("reader", "names"), [("inferencex", {}), ("serving", GENERIC)])
def test_rows_whose_prompts_have_gpus_of_their_own_are_left_out(tmp_path, reader, names):
    text = DISAGGREGATED
    for theirs, other in names.items():
        text = text.replace(theirs, other)
    path = written(tmp_path / "t.csv", text.replace("hw,", "hw,nodes,").replace("h200,", "h200,1,")
                   if names else text)  # fmt: skip
    assert guess_format(path) == reader
    jobs = read(path)
    assert jobs.frame.select("gpus", "tp", "dp", "prompt_tokens").rows() == [(8, 1, 8, 1024)]
    assert any("GPUs of their own" in n.message and n.count == 1 for n in jobs.notes)
    assert "disaggregated" not in jobs.columns
