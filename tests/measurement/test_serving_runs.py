"""Own tables of serving and runs of vllm bench: mapped columns, units per what, odd rows."""

from __future__ import annotations

import json

import polars as pl
import pytest

from rheostat.core.jobs import Note
from rheostat.errors import DataError
from rheostat.measurement.serving.runs import is_serving, read_serving
from rheostat.measurement.serving.stated_units import (
    STATED,
    refuse_unknown,
    with_energy_per_token,
)
from rheostat.measurement.serving.vllm_bench import is_vllm_bench, read_vllm_bench
from tests.measurement.exactly import refused, written

# --- own names ---------------------------------------------------------------------------------


def test_columns_that_make_a_serving_table():
    assert is_serving({"gpu_model", "batch_cap", "energy_j"})
    assert not is_serving({"gpu_model", "batch_cap"})
    assert not is_serving({"gpu_model", "energy_j"})


def test_parameters_come_from_the_name_where_it_says_them(tmp_path):
    """A stranger's table names Llama-3.1-70B and has no column of parameters."""
    rows = "Llama-3.1-70B,H100,8,0.5\nQwen3-30B-A3B,H100,8,0.5\n"
    file = written(tmp_path / "t.csv", "app,gpu_model,batch_cap,energy_per_token_j\n" + rows)
    jobs = read_serving(file)
    assert jobs.frame["params"].to_list() == [70e9, 30e9]
    assert jobs.frame["active_params"].to_list() == [70e9, 3e9]
    file = written(tmp_path / "u.csv", "app,gpu_model,batch_cap,energy_per_token_j\nm,H100,8,1\n")
    assert "params" not in read_serving(file).columns


def test_mapped_columns_are_named_where_they_are_missing_and_rows_counted(tmp_path):
    head = "gpu_model,batch_cap,e,note\n"
    rows = "".join(f"H,{k},{e},x\n" for k, e in enumerate((1.0, 0, -1, "inf", "", 0.5), 1))
    file = written(tmp_path / "t.csv", head + rows)
    jobs = read_serving(file, columns={"energy_per_token_j": "e", "app": "note"})
    assert jobs.frame["batch_cap"].to_list() == [1, 6]
    assert jobs.frame["app"].to_list() == ["x", "x"]
    said = "energy per token is no number above 0"
    assert jobs.notes == (Note(said, (1, 2, 3, 4), 4, dropped=True),)
    refused(lambda: read_serving(file, columns={"app": "y", "tp": "z"}),
            "mapped column y is missing", "mapped column z is missing")  # fmt: skip
    advice = ("(name a column: --column {0}=THEIRS, or a value of all rows: --column {0}==VALUE; "
              "it has {1})").format  # fmt: skip
    refused(lambda: read_serving(file), "no table of serving runs: energy_per_token_j missing "
            + advice("energy_per_token_j", "gpu_model, batch_cap, e, note"),
            "energy_per_token_j follows from power_w and tokens_per_s, too: "
            "--column power_w=THEIRS (or power_w==WATTS) --column tokens_per_s=THEIRS")  # fmt: skip
    said = "power_w: W of one GPU or of the deployment? state it: --unit power=W/gpu or "
    refused(lambda: read_serving(file, columns={"power": "e"}), said + "--unit power=W/deployment")
    silent = written(tmp_path / "u.csv", "batch_cap,power\n1,1\n")
    refused(lambda: read_serving(silent), "no table of serving runs: gpu_model missing "
            + advice("gpu_model", "batch_cap, power"),
            said + "--unit power=W/deployment")  # fmt: skip
    few = written(tmp_path / "v.csv", "gpu_model,batch_cap,energy_per_token_j\nH,1,0.5\n")
    assert read_serving(few).notes == ()


def test_units_of_both_names_count_and_parts_of_a_deployment_make_the_whole(tmp_path):
    """A heading in ms mapped to a name in ms is scaled once; nodes make GPUs and their watts."""
    each = "model,GPU,nodes,gpus_per_node,conc,z (ms),tok/s,avg_node_power_w\n"
    file = written(tmp_path / "n.csv", each + "m-8b,H100,2,8,64,20,3200,4000\n")
    jobs = read_serving(file, columns={"itl_ms": "z (ms)"})
    assert jobs.frame.select("gpus", "itl_s", "power_w", "energy_per_token_j").row(0) == (
        pytest.approx((16.0, 0.02, 8000.0, 2.5)))  # fmt: skip
    hand = written(tmp_path / "h.csv", "model,hardware,bs,itl_ms,J/token\nm-8b,4 x L40S,8,9,1\n")
    assert read_serving(hand).frame.select("gpu_model", "gpus").row(0) == ("L40S", 4.0)
    heads = "model,GPUs,GPU,conc,Per GPU Output Throughput (tps/gpu),power (W) per gpu,"
    file = written(tmp_path / "t.csv", heads + "total_input_tokens,total_output_tokens,completed\n"
                   "m-8b,2,H100,8,100,300,90,30,3\n")  # fmt: skip
    jobs = read_serving(file, units={"power": "W/gpu"})
    made = jobs.frame.select("tokens_per_s", "energy_per_token_j", "prompt_tokens", "output_tokens")
    assert made.row(0) == (200.0, 3.0, 30.0, 10.0)


@pytest.mark.parametrize(("source", "value"), [
    ('"a"', 4.0), ('{from = "a", scale = 0.5}', 2.0), ('{from = "a", inverse = true}', 0.25),
    ('["a", "b"]', 6.0), ('{from = ["a", "b"], scale = 3.0, inverse = true}', 0.5),
    ('["a", "c"]', None),
])  # fmt: skip
def test_a_mapped_column_is_a_sum_scaled_and_turned_over(tmp_path, source, value):
    text = "gpu_model,batch_cap,energy_per_token_j,a,b,c\nH,1,1,4,2,\n"
    table = written(tmp_path / "t.csv", text)
    mapping = written(tmp_path / "m.toml", f"[columns]\nttft_s = {source}\n")
    assert read_serving(table, map=mapping).frame["ttft_s"].to_list() == [value]


def energies(frame, stated=()):
    """(energy per token, power of all, problems) of one row."""
    problems: list[str] = []
    made = with_energy_per_token(pl.DataFrame(frame), dict(stated), problems)
    first = made.row(0, named=True)
    return first.get("energy_per_token_j"), first.get("power_w"), problems


@pytest.mark.parametrize(("name", "joules"), [
    ("energy", 1.0), ("energy_j", 1.0), ("energy_kj", 1e3), ("energy_wh", 3.6e3),
    ("energy_kwh", 3.6e6),
])  # fmt: skip
def test_energy_is_in_the_unit_of_its_name(name, joules):
    assert energies({name: [2.0]}, {"energy": "J/token"}) == (2 * joules, None, [])
    asked = f"{name}: of a token, request, batch or run? state it: --unit energy=J/token or "
    asked += "--unit energy=J/request (or kWh/run)"
    assert energies({name: [2.0]}) == (None, None, [asked])


@pytest.mark.parametrize(("name", "watts"), [("power", 1.0), ("power_w", 1.0), ("power_kw", 1e3)])
def test_power_is_in_the_unit_of_its_name(name, watts):
    made = energies({name: [6.0], "gpus": [3]}, {"power": "W/gpu"})
    assert made == (None, 18 * watts, [])
    made = energies({name: [6.0], "gpus": [3], "tokens_per_s": [2.0]}, {"power": "W/deployment"})
    assert made == (3 * watts, 6 * watts, [])


BOTH = {"energy_per_token_j": [2.0], "tokens_per_s": [5.0]}


@pytest.mark.parametrize(("frame", "stated", "expected"), [
    ({"a": [1]}, {}, (None, None, [])),
    ({"energy_per_request_j": [9.0], "output_tokens": [3]}, {}, (3.0, None, [])),
    ({"energy_per_request_j": [9.0], "energy_j": [1.0], "output_tokens": [3]},
     {"energy": "J/token"}, (3.0, None, [])),
    ({"energy_per_token_j": [1.0], "energy_j": [9.0]}, {}, (1.0, None, [])),
    ({"energy_j": [9.0]}, {"energy": "J/request"},
     (None, None, ["energy per request needs output_tokens, the tokens of an answer: "
                   "--column output_tokens=THEIRS or --column output_tokens==VALUE"])),
    ({**BOTH, "power_w": [12.0]}, {}, (2.0, 12.0, [])),
    ({**BOTH, "power_w": [12.6]}, {"power": "W/deployment"}, (2.0, 12.6, [])),
    ({**BOTH, "power_w": [9.0], "gpus": [2]}, {}, (2.0, 9.0, [])),
    ({"power_w": [9.0], "gpus": [1]}, {}, (None, 9.0, [])),
    ({"power_w": [9.0], "gpus": [1]}, {"power": "W/deployment"}, (None, 9.0, [])),
    ({"power_w": [9.0]}, {"power": "W/gpu"},
     (None, 9.0, ["--unit power=W/gpu needs gpus, the number of GPUs"])),
])  # fmt: skip
def test_energy_and_power_follow_from_what_is_said(frame, stated, expected):
    assert energies(frame, stated) == expected


ASKED = ("power_w: W of one GPU or of the deployment? state it: --unit power=W/gpu or "
         "--unit power=W/deployment")  # fmt: skip


@pytest.mark.parametrize("frame", [
    {**BOTH, "power_w": [13.0]}, {**BOTH, "power_w": [8.0], "gpus": [2]},
    {"power_w": [10.0], "energy_per_token_j": [2.0]}, {"power_w": [10.0], "tokens_per_s": [5.0]},
    {"energy_per_token_j": [None], "tokens_per_s": [5.0], "power_w": [10.0]},
])  # fmt: skip
def test_whose_power_it_is_is_asked_for(frame):
    assert energies(frame)[2] == [ASKED]
    alone = pl.DataFrame({"power_w": [9.0, 9.0], "gpus": [1, 2]})
    problems: list[str] = []
    assert "energy_per_token_j" not in with_energy_per_token(alone, {}, problems).columns
    assert problems == [ASKED]


def test_a_unit_that_nobody_knows_is_refused_with_all_that_there_are():
    choices = ", ".join(f"{k}={u}" for k, units in STATED.items() for u in units)
    problems: list[str] = []
    refuse_unknown({"energy": "J/day", "speed": "m/s", "time": "min"}, problems)
    said = [f"--unit: expected one of {choices}, got {w}"
            for w in ("energy=J/day", "speed=m/s", "time=min")]  # fmt: skip
    assert problems == said


# --- vllm bench --------------------------------------------------------------------------------


RUN = {"model_id": "m-7B", "completed": 4, "total_output_tokens": 12, "output_throughput": 6.0,
       "median_tpot_ms": 20.0}  # fmt: skip


def bench(path, *documents):
    return read_vllm_bench(written(path, "\n".join(json.dumps(d) for d in documents)))


def test_a_run_of_vllm_bench_in_full(tmp_path):
    more = {"gpu_model": "H", "workload": "chat", "tp": "2", "pp": True, "max_concurrency": 8,
            "median_itl_ms": "10", "energy_j": "30", "duration": 2.5, "power_w": 7}  # fmt: skip
    jobs = bench(tmp_path / "r", RUN | more)
    assert jobs.frame.row(0, named=True) == {
        "app": "m-7B", "gpu_model": "H", "workload": "chat", "tp": 2.0, "batch_cap": 8.0,
        "itl_s": 0.01, "tokens_per_s": 6.0, "output_tokens": 3.0, "power_w": 12.0, "gpus": 2.0,
        "energy_per_token_j": 2.0, "params": 7e9, "active_params": 7e9}  # fmt: skip
    assert [n.message for n in jobs.notes] == ["the number of GPUs is not stated: taken to be tp"]
    sent = bench(tmp_path / "r", RUN | {"batch_cap": 256, "max_concurrency": 8, "power_w": 18})
    assert sent.frame["batch_cap"].to_list() == [8.0]
    capped = RUN | {"batch_cap": 5, "max_concurrency": 8, "energy_j": 3.0, "power_w": 18}
    jobs = bench(tmp_path / "r", capped)
    assert jobs.frame.select("batch_cap", "itl_s", "power_w", "energy_per_token_j").row(0) == (
        5.0, 0.02, 18.0, 3.0)  # fmt: skip
    span = bench(tmp_path / "r", RUN | {"duration": 2.0, "power_w": 12}).frame
    assert span["power_w"].to_list() == [12.0]


def test_what_vllm_bench_does_not_say_is_noted_once(tmp_path):
    jobs = bench(tmp_path / "r", RUN, RUN, RUN | {"completed": 0}, RUN | {"output_throughput": "x"})
    assert [(n.message, n.rows, n.count, n.dropped) for n in jobs.notes] == [
        ("no request was answered, or a number is missing", (2, 3), 2, True),
        ("no --max-concurrency: the batch cap is not known", (), 0, False),
        (
            "no power_w or energy_j in the --metadata of vllm: energy per token not known",
            (),
            0,
            False,
        ),
    ]
    assert not {"power_w", "energy_per_token_j", "batch_cap", "tp"} & set(jobs.columns)
    refused(lambda: bench(tmp_path / "r", RUN | {"completed": True}),
            "no run answered a request and said how fast")  # fmt: skip


@pytest.mark.parametrize("number", [0.0, -1.0, "inf", "x", None, [1]])
def test_a_speed_that_is_none_is_no_run(tmp_path, number):
    jobs = bench(
        tmp_path / "r", RUN | {"output_throughput": 0.25}, RUN | {"output_throughput": number}
    )
    assert jobs.frame["tokens_per_s"].to_list() == [0.25]


def test_what_a_document_lacks_is_named(tmp_path):
    refused(
        lambda: bench(tmp_path / "r", {"completed": 1}, RUN),
        "no result of vllm bench serve: model_id, output_throughput, total_output_tokens missing",
    )
    every = "completed, model_id, output_throughput, total_output_tokens"
    refused(lambda: bench(tmp_path / "r", [1]), f"no result of vllm bench serve: {every} missing")
    refused(lambda: read_vllm_bench(written(tmp_path / "r", " \n")),
            "no result of vllm bench serve:  missing")  # fmt: skip
    with pytest.raises(DataError, match="expected JSON of vllm bench serve, got "):
        read_vllm_bench(written(tmp_path / "r", "{\n{"))
    with pytest.raises(DataError, match="expected JSON of vllm bench serve, got "):
        read_vllm_bench(written(tmp_path / "r", "[" * 100_000))
    start = b' {"model_id": 1, "num_prompts": 2, "request_rate": 3}'
    assert is_vllm_bench(start)
    assert not is_vllm_bench(start.replace(b"num_prompts", b"prompts"))
    assert not is_vllm_bench(b"x" + start)
