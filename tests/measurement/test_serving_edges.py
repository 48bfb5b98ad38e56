"""Serving tables to the last field: units, what a column says per what, rows at the edge."""

from __future__ import annotations

import json

import polars as pl
import pytest

from rheostat.core.jobs import Note
from rheostat.errors import DataError, FileKindError
from rheostat.measurement.checks import rows_where
from rheostat.measurement.serving.frames import LONGEST, csv_frame, frame_of, unreadable
from rheostat.measurement.serving.inferencex import NAMES, is_inferencex, read_inferencex
from rheostat.measurement.serving.kernel_tables import read_kernels
from rheostat.measurement.serving.mlenergy import V2, V3, is_mlenergy, read_mlenergy
from rheostat.measurement.serving.model_size import params_of, with_params
from rheostat.measurement.serving.requests import LONGEST as LONGEST_PROMPT
from rheostat.measurement.serving.requests import prompt_text, read_requests
from rheostat.measurement.serving.runs import is_serving, read_serving
from rheostat.measurement.serving.stated_units import with_energy_per_token
from rheostat.measurement.serving.traffic import read_recorded, read_traffic
from rheostat.measurement.serving.vllm_bench import is_vllm_bench, read_vllm_bench
from tests.measurement.exactly import refused, written

# --- rows and frames ---------------------------------------------------------------------------


def test_rows_that_do_not_hold_are_counted_and_null_does_not_hold():
    frame = pl.DataFrame({"a": [1.0, None, -1.0, 2.0]})
    kept, notes = rows_where(frame, pl.col("a") > 0, "odd")
    assert (kept["a"].to_list(), notes) == ([1.0, 2.0], [Note("odd", (1, 2), 2, dropped=True)])
    kept, notes = rows_where(frame, pl.col("a").is_null() | pl.col("a").is_not_null(), "odd")
    assert (len(kept), notes) == (4, [])


def test_a_frame_is_told_by_its_first_bytes(tmp_path):
    frame = pl.DataFrame({"a": [1, 2]})
    frame.write_parquet(tmp_path / "p")
    frame.write_ndjson(tmp_path / "j")
    frame.write_csv(tmp_path / "c")
    for name in "pjc":
        assert frame_of(tmp_path / name, "table").equals(frame)
    spaced = written(tmp_path / "s", "  \n" + (tmp_path / "j").read_text())
    assert frame_of(spaced, "table").equals(frame)
    for start in (b"PAR1abc", b"{abc"):
        (tmp_path / "x").write_bytes(start)
        with pytest.raises(FileKindError, match="expected a table, got "):
            frame_of(tmp_path / "x", "table")
    (tmp_path / "x").write_bytes(b"a,b\n1,2\n1,2,3\n")
    with pytest.raises(FileKindError, match="expected a table, got text that begins with 'a,b'"):
        csv_frame(tmp_path / "x", "table")


def test_of_what_a_library_says_the_first_line_counts(tmp_path):
    file = written(tmp_path / "x", "word")
    begun = "expected a table, got text that begins with 'word': "
    said = [
        unreadable(file, "table", ValueError(text)).problems[0] for text in ("a\nb", "", "y" * 999)
    ]
    assert said == [begun + "a", begun, begun + "y" * LONGEST]
    assert LONGEST == 200


# --- names of models ---------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "params"), [
    ("Qwen3-30B-A3B", (30e9, 3e9)), ("Qwen3_1.7B", (1.7e9, 1.7e9)), ("Mixtral-8x7B", (None, None)),
    ("DeepSeek-R1", (None, None)), ("gpt-oss-20b", (20e9, 20e9)),
])  # fmt: skip
def test_the_size_of_a_model_is_in_its_name(name, params):
    assert params_of(name) == params


def test_a_size_that_is_given_goes_before_the_name():
    frame = pl.DataFrame({"app": ["m-7B", "m-7B"], "params": [9, None]})
    made = with_params(frame)
    assert made["params"].to_list() == [9.0, 7e9]
    assert made["active_params"].to_list() == [7e9, 7e9]


# --- ML.ENERGY ---------------------------------------------------------------------------------


def test_columns_of_either_version_make_a_table_of_mlenergy(tmp_path):
    assert [is_mlenergy(set(v)) for v in (V3, V2)] == [True, True]
    assert [is_mlenergy({*v, "more"}) for v in (V3, V2)] == [True, True]
    assert not is_mlenergy(set(list(V3)[1:]) | set(list(V2)[1:]))
    missing = ", ".join(sorted(set(V3) - {"task"}))
    refused(lambda: read_mlenergy(written(tmp_path / "t.csv", "task,a\n1,2\n")),
            f"no ML.ENERGY table: {missing} missing")  # fmt: skip


def test_a_row_of_version_two_in_full(tmp_path):
    given = {c: "4" for c in V2} | {"Model": "x/Mixtral-8x22B", "task": "chat", "GPU": "A100",
             "TP": "3", "PP": "2", "Energy/req (J)": "50", "Avg Output Tokens": "100",
             "Token tput (tok/s)": "20"}  # fmt: skip
    text = ",".join([*given, "params_B"]) + "\n" + ",".join([*given.values(), "7"]) + "\n"
    jobs = read_mlenergy(written(tmp_path / "t.csv", text + text.splitlines()[1].replace(
        "Mixtral-8x22B", "other") + "\n"))  # fmt: skip
    first, other = jobs.frame.rows(named=True)
    sizes = {"params": 141e9, "active_params": 39e9}
    costs = {"gpus": 6, "energy_per_token_j": 0.5, "power_w": 10.0, "tokens_per_s": 20}
    assert {k: first[k] for k in (*sizes, *costs)} == sizes | costs
    assert (other["params"], other["active_params"], jobs.notes) == (7e9, 7e9, ())
    small = text.replace("8x22B", "8x7B")
    row = read_mlenergy(written(tmp_path / "s.csv", small)).frame.row(0, named=True)
    assert (row["params"], row["active_params"]) == (46.7e9, 12.9e9)


# --- InferenceX --------------------------------------------------------------------------------

HEAD = "model,hw,tp,conc,median_tpot (ms),output_tput_per_gpu"


def test_columns_of_inferencex_have_to_be_there(tmp_path):
    assert is_inferencex({"model", "hw", "tp", "conc", "tpot", "output_tput_per_gpu"})
    assert not is_inferencex({"model", "hw", "tp", "conc", "tpot"})
    known = {"batch_cap": "conc, concurrency", "tp": "tp, decode_tp",
             "itl_s": "median_tpot, median_itl, tpot, itl",
             "tokens_per_s_gpu": "output_tput_per_gpu"}  # fmt: skip
    missing = ", ".join(f"{k} ({v})" for k, v in known.items())
    refused(lambda: read_inferencex(written(tmp_path / "t.csv", "model,hw\nm,h\n")),
            f"no table of InferenceX: {missing} missing")  # fmt: skip
    refused(lambda: read_inferencex(written(tmp_path / "t.csv", f"{HEAD}\nm,h,1,0,9,9\n")),
            "no row has a load, a split, a speed and a time above 0")  # fmt: skip


def test_a_row_of_inferencex_in_full(tmp_path):
    head = f"{HEAD.replace('(ms)', '(sec)')},num_gpus,precision,power_per_gpu,osl,hw2"
    rows = "m-7B,H100,1,0.5,2.0,0.25,8,FP8,300,512,x\nm-7B,H100,1,0,2.0,0.25,8,FP8,300,512,x\n"
    jobs = read_inferencex(written(tmp_path / "t.csv", f"{head}\n{rows}"))
    assert jobs.frame.row(0, named=True) == {
        "gpu_model": "H100", "app": "m-7B", "batch_cap": 0.5, "tp": 1.0, "gpus": 8.0,
        "weight_precision": "fp8", "output_tokens": 512.0, "itl_s": 2.0, "tokens_per_s": 2.0,
        "power_w": 2400.0, "energy_per_token_j": 1200.0, "params": 7e9, "active_params": 7e9,
    }  # fmt: skip
    assert jobs.notes == (Note("a number is missing or not above 0", (1,), 1, dropped=True),)


def test_energy_that_a_table_of_inferencex_states_is_kept_and_its_lack_is_said(tmp_path):
    stated = f"{HEAD},power_per_gpu,J/output_token\nm,h,2,8,9,10,300,7\nm,h,2,8,9,10,0.5,7\n"
    frame = read_inferencex(written(tmp_path / "t.csv", stated)).frame
    assert frame["energy_per_token_j"].to_list() == [7.0, 7.0]
    assert frame["power_w"].to_list() == [600.0, 1.0]
    jobs = read_inferencex(written(tmp_path / "t.csv", f"{HEAD}\nm,h,2,8,9,10\n"))
    assert jobs.frame["itl_s"][0] == pytest.approx(0.009)
    assert [n.message for n in jobs.notes] == [
        "the number of GPUs is not said: taken to be tp",
        "no power and no energy per token: the energy law cannot learn from it",
    ]
    seconds = f"{HEAD.replace('(ms)', '(s)')},num_gpus,itl\nm,h,2,8,9,10,4,1\n"
    jobs = read_inferencex(written(tmp_path / "t.csv", seconds))
    assert (jobs.frame["itl_s"][0], jobs.frame["tokens_per_s"][0], len(jobs.notes)) == (
        9.0,
        40.0,
        1,
    )
    assert NAMES["itl_s"][0] == "median_tpot"


# --- kernel tables -----------------------------------------------------------------------------


def kernels(folder, *rows, power=True):
    """(m, n, k, ms, watts) of products in 16 bits."""
    folder.mkdir(exist_ok=True)
    frame = pl.DataFrame(
        [("G", "bfloat16", *map(float, row)) for row in rows],
        schema=["device", "gemm_dtype", "m", "n", "k", "latency", "power"],
        orient="row",
    )
    frame = frame if power else frame.drop("power")
    frame.write_parquet(folder / "a_gemm_perf.parquet")
    return folder


LARGE = (16, 5000, 5000, 0.5, 300)  # exactly 50 MB of weights
HUGE = (4096, 20000, 20000, 8.0, 700)  # exactly 800 MB


def test_rates_of_a_gpu_from_its_products(tmp_path):
    rows = [
        LARGE,
        HUGE,
        (16, 999, 1000, 0.01, 90),
        (16, 1000, 1000, 0.01, 9),
        (17, 10, 10, 1, 1),
        (16, 5000, 5001, 0.0, 1),
        (17, 5000, 5000, 9.0, 1),
        (4095, 5000, 5000, 9.0, 1),
    ]
    (made,) = read_kernels(kernels(tmp_path / "k", *rows))
    assert made.device == "G"
    assert made.memory_b_per_s == pytest.approx(2 * 25e6 / 0.5e-3)
    assert made.flop_per_s == pytest.approx(2 * 4096 * 4e8 / 8e-3)
    assert (made.idle_w, made.moving_w, made.computing_w) == (90.0, 300.0, 700.0)
    (made,) = read_kernels(kernels(tmp_path / "k", LARGE, HUGE, power=False))
    assert str((made.idle_w, made.moving_w, made.computing_w)) == "(nan, nan, nan)"


def test_power_without_load_is_what_few_short_kernels_draw(tmp_path):
    tiny = [(16, 10, 10, 0.01, float(w)) for w in range(100, 121)]
    (made,) = read_kernels(kernels(tmp_path / "k", LARGE, HUGE, *tiny))
    assert made.idle_w == 102.0


def test_products_of_other_formats_or_sizes_are_no_rates(tmp_path):
    none = tmp_path / "none"
    refused(lambda: read_kernels(none), "expected a folder of kernel tables, got nothing there")
    file = written(tmp_path / "f", "word")
    refused(lambda: read_kernels(file),
            "expected a folder of kernel tables, got text that begins with 'word'")  # fmt: skip
    none.mkdir()
    refused(lambda: read_kernels(none), "no kernel table: expected files *gemm_perf.parquet")
    said = ("kernel tables have no 16-bit products of 50 to 800 MB of weights "
            "with m <= 16 and m >= 4096")  # fmt: skip
    for rows in (
        [LARGE],
        [HUGE],
        [LARGE, (4096, 2e4, 20001, 1.0, 1)],
        [(16, 4999, 5e3, 1, 1), HUGE],
    ):
        refused(lambda rows=rows: read_kernels(kernels(none, *rows)), said)
    pl.read_parquet(none / "a_gemm_perf.parquet").with_columns(
        gemm_dtype=pl.lit("fp8")).write_parquet(none / "a_gemm_perf.parquet")  # fmt: skip
    refused(lambda: read_kernels(none), "kernel tables have no 16-bit products (bfloat16)")
    pl.DataFrame({"device": ["G"], "m": [1]}).write_parquet(none / "a_gemm_perf.parquet")
    refused(lambda: read_kernels(none), "no kernel table: gemm_dtype, n, k, latency missing")


def test_devices_come_in_the_order_of_their_files(tmp_path):
    folder = kernels(tmp_path / "k", LARGE, HUGE)
    own = pl.read_parquet(folder / "a_gemm_perf.parquet")
    names = [f"D{k}" for k in range(9, 0, -1)]
    pl.concat([own.with_columns(device=pl.lit(n)) for n in names]).write_parquet(
        folder / "a_gemm_perf.parquet")  # fmt: skip
    assert [r.device for r in read_kernels(folder)] == names


# --- own names ---------------------------------------------------------------------------------


def test_columns_that_make_a_serving_table():
    assert is_serving({"gpu_model", "batch_cap", "energy_j"})
    assert not is_serving({"gpu_model", "batch_cap"})
    assert not is_serving({"gpu_model", "energy_j"})


def test_mapped_columns_are_named_where_they_are_missing_and_rows_counted(tmp_path):
    head = "gpu_model,batch_cap,e,note\n"
    rows = "".join(f"H,{k},{e},x\n" for k, e in enumerate((1.0, 0, -1, "inf", "", 0.5)))
    file = written(tmp_path / "t.csv", head + rows)
    jobs = read_serving(file, columns={"energy_per_token_j": "e", "app": "note"})
    assert jobs.frame["batch_cap"].to_list() == [0, 5]
    assert jobs.frame["app"].to_list() == ["x", "x"]
    said = "energy per token is no number above 0"
    assert jobs.notes == (Note(said, (1, 2, 3, 4), 4, dropped=True),)
    refused(lambda: read_serving(file, columns={"app": "y", "tp": "z"}),
            "mapped column y is missing", "mapped column z is missing")  # fmt: skip
    refused(lambda: read_serving(file), "no serving table: energy_per_token_j missing")
    said = "power: W of one GPU or of the deployment? state it: --unit power=W/gpu or "
    refused(lambda: read_serving(file, columns={"power": "e"}), said + "--unit power=W/deployment")
    refused(lambda: read_serving(written(tmp_path / "u.csv", "batch_cap,power\n1,1\n")),
            "no serving table: gpu_model missing", said + "--unit power=W/deployment")  # fmt: skip
    few = written(tmp_path / "v.csv", "gpu_model,batch_cap,energy_per_token_j\nH,1,0.5\n")
    assert read_serving(few).notes == ()


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
    asked = f"{name}: J per token or per request? state it: --unit energy=J/token or "
    assert energies({name: [2.0]}) == (None, None, [asked + "--unit energy=J/request"])


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
     (None, None, ["energy per request needs output_tokens, the tokens of an answer"])),
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
    choices = "energy=J/token, energy=J/request, power=W/gpu, power=W/deployment"
    made = energies({"energy_j": [1.0]}, {"energy": "J/day", "speed": "m/s"})
    said = [f"--unit: expected one of {choices}, got {w}" for w in ("energy=J/day", "speed=m/s")]
    assert made == (None, None, said)


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
        "itl_s": 0.01, "tokens_per_s": 6.0, "output_tokens": 3.0, "power_w": 12.0,
        "energy_per_token_j": 2.0, "params": 7e9, "active_params": 7e9}  # fmt: skip
    assert jobs.notes == ()
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
        ("no power_w or energy_j in the metadata: energy per token not known", (), 0, False),
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
    with pytest.raises(DataError, match="expected JSON of vllm bench serve: "):
        read_vllm_bench(written(tmp_path / "r", "{\n{"))
    with pytest.raises(DataError, match="expected JSON of vllm bench serve: "):
        read_vllm_bench(written(tmp_path / "r", "[" * 100_000))
    start = b' {"model_id": 1, "num_prompts": 2, "request_rate": 3}'
    assert is_vllm_bench(start)
    assert not is_vllm_bench(start.replace(b"num_prompts", b"prompts"))
    assert not is_vllm_bench(b"x" + start)


# --- requests and traffic ----------------------------------------------------------------------


@pytest.mark.parametrize(("given", "text"), [
    ({"prompt": "a"}, "a"), ({"instruction": "a", "input": "b"}, "a\nb"), ({}, None),
    ({"messages": [{"content": [{"text": "a"}, "b", 3, {"i": 1}]}, "x", {"content": 4}]}, "a\nb"),
    ({"messages": "no list", "prompt": "a"}, "a"), ({"messages": []}, None),
])  # fmt: skip
def test_the_text_of_a_request(given, text):
    assert prompt_text(given) == text


@pytest.mark.parametrize(("given", "length", "when"), [
    ({"output_tokens": 0.5}, 0.5, None), ({"usage": {"output_tokens": 2}}, 2.0, None),
    ({"usage": {"completion_tokens": 3, "output_tokens": 2}, "timestamp": 4}, 3.0, 4.0),
    ({"output_tokens": 7, "usage": {"completion_tokens": 3}, "submit_s": 2, "created": 5},
     7.0, 2.0),
    ({"output_tokens": True, "answer": "a b"}, 2.0, None),
    ({"output_tokens": "7", "completion": "a b c", "created": "x"}, 3.0, None),
    ({"usage": 5, "output": "a"}, 1.0, None),
])  # fmt: skip
def test_the_length_and_the_time_of_a_request(tmp_path, given, length, when):
    jobs = read_requests(written(tmp_path / "r", json.dumps({"prompt": "p", **given})))
    row = jobs.frame.row(0, named=True)
    assert (row["prompt"], row["output_tokens"], row.get("submit_s")) == ("p", length, when)


def test_a_table_of_requests_keeps_tokens_and_times_and_notes_rows(tmp_path):
    head = "prompt,prompt_tokens,output_tokens,submit_s,more\n"
    rows = [
        f"{'p' * n},3,{length},1.5,x"
        for n, length in (
            (1, 0.5),
            (LONGEST_PROMPT, 1),
            (LONGEST_PROMPT + 1, 1),
            (1, 0),
            (1, "inf"),
            (1, "y"),
        )
    ]
    jobs = read_requests(written(tmp_path / "r", head + "\n".join(rows) + "\n"))
    assert jobs.columns == ("prompt", "prompt_tokens", "output_tokens", "submit_s")
    assert jobs.frame["output_tokens"].to_list() == [0.5, 1.0]
    said = "no prompt of 1 to 1,000,000 characters, or no length of an answer above 0"
    assert jobs.notes == (Note(said, (2, 3, 4, 5), 4, dropped=True),)
    refused(lambda: read_requests(written(tmp_path / "r", "a,b\n1,2\n")),
            "found no column prompt and no output_tokens")  # fmt: skip
    refused(lambda: read_requests(written(tmp_path / "r", "prompt,output_tokens\np,0\n")),
            "no row has a prompt and a length of its answer above 0")  # fmt: skip


def test_traffic_keeps_blocks_of_prompts_and_the_order_of_arrival(tmp_path):
    rows = [(2500, 7, 1, [1, 2]), (500, 1, 9, [3]), (2500, 8, 2, [])]
    frame = pl.DataFrame(rows, schema=["timestamp", "input_length", "output_length", "hash_ids"],
                         orient="row")  # fmt: skip
    frame.write_ndjson(tmp_path / "m.jsonl")
    jobs = read_traffic(tmp_path / "m.jsonl")
    names = ("submit_s", "prompt_tokens", "output_tokens", "prefix_blocks")
    assert jobs.frame.select(names).rows() == [
        (0.0, 1.0, 9.0, [3]), (2.0, 7.0, 1.0, [1, 2]), (2.0, 8.0, 2.0, [])]  # fmt: skip
    assert jobs.notes == ()
    none = "submit_s,prompt_tokens,output_tokens\n1,0,5\n"
    refused(lambda: read_traffic(written(tmp_path / "t", none)),
            "no row has a time and lengths of 1 or more whole tokens")  # fmt: skip
    refused(lambda: read_traffic(written(tmp_path / "t", "submit_s,a\n1,0\n")),
            "found no column prompt_tokens and no output_tokens")  # fmt: skip
    own = "submit_s,prompt_tokens,output_tokens,prefix_blocks\n3,1,1,x\n5,0.5,1,x\ninf,1,1,x\n"
    jobs = read_traffic(written(tmp_path / "t", own))
    assert jobs.frame.rows() == [(0.0, 1.0, 1.0)]
    said = "no time, or a length below 1 or not whole"
    assert jobs.notes == (Note(said, (1, 2), 2, dropped=True),)


def test_instants_are_read_to_the_microsecond(tmp_path):
    head = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    times = ("2024-05-10 00:00:00.0000010+00:00", "2024-05-10 00:00:01.5000029")
    file = written(tmp_path / "a.csv", head + "".join(f"{t},3,4\n" for t in times))
    gap = read_traffic(file).frame["submit_s"][1]
    assert gap == pytest.approx(1.500001, abs=4e-7)


def test_a_record_of_requests_counts_from_the_first_and_notes_rows(tmp_path):
    head = "t,start_s,end_s,prompt_tokens,output_tokens\n"
    file = written(tmp_path / "r.csv", head + "9,9,9,1,1\n8,7,9,1,1\n5,6,8,2,3\n")
    jobs = read_recorded(file, columns={"submit_s": "t"})
    assert jobs.frame.rows() == [(0.0, 2.0, 3.0, 1.0, 3.0), (4.0, 1.0, 1.0, 4.0, 4.0)]
    said = "not answered after it came, or lengths below 1"
    assert jobs.notes == (Note(said, (1,), 1, dropped=True),)
    refused(lambda: read_recorded(written(tmp_path / "u", "start_s,end_s\n1,2\n")),
            "found no column submit_s and no prompt_tokens and no output_tokens")  # fmt: skip
