"""Published tables of serving to the last field: ML.ENERGY, InferenceX, products of kernels."""

from __future__ import annotations

import gzip
import zlib

import polars as pl
import pytest

from rheostat.core.jobs import Note
from rheostat.errors import DataError, FileKindError
from rheostat.measurement.checks import rows_where
from rheostat.measurement.read import read
from rheostat.measurement.serving.frames import LONGEST, csv_frame, frame_of, unreadable
from rheostat.measurement.serving.inferencex import NAMES, is_inferencex, read_inferencex
from rheostat.measurement.serving.kernel_files import LEAST
from rheostat.measurement.serving.kernel_tables import read_kernels
from rheostat.measurement.serving.mlenergy import V2, V3, is_mlenergy, read_mlenergy
from rheostat.measurement.serving.model_size import params_of, with_params
from rheostat.measurement.serving.runs import read_serving
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
    (tmp_path / "x").write_bytes(b"{abc")
    with pytest.raises(FileKindError, match="expected a table, got "):
        frame_of(tmp_path / "x", "table")
    (tmp_path / "x").write_bytes(b"PAR1abc")
    with pytest.raises(DataError, match="the parquet file is cut off"):
        frame_of(tmp_path / "x", "table")
    (tmp_path / "x").write_bytes(b"a,b\n1,2\n1,2,3\n")
    with pytest.raises(FileKindError, match="expected a table, got text that begins with 'a,b'"):
        csv_frame(tmp_path / "x", "table")


ROW = b"submit_s,prompt_tokens,output_tokens\n"


@pytest.mark.parametrize(("content", "problem"), [
    (b"," * 10_000_000, "at most 10,000 columns"),
    (b'\n\n"a\nb"' + b"," * 50_000, "at most 10,000 columns, it has 50,001"),
    (b'"' + b"a" * 100_000 + b'","' * 9 + b"," * 10_000_000, "expected a table, got "),
    (b"a" * 1_000_001, "expected a table, got "),
    (b",".join([b"a" * 100_000] * 11), "first row of less than 1,000,000 bytes"),
    (b"{" + b",".join(b'"a%d":1' % i for i in range(10_001)) + b"}", "at most 10,000 columns"),
    (b"".join(b'{"a":{"%d":1}}\n' % i for i in range(10_001)), "at most 10,000 columns"),
    (gzip.compress(ROW + b"1,1,1\n" * 50_000_000, 1, mtime=0), "at most 256 MiB, it goes on"),
    (zlib.compress(ROW + b"1,1,1\n"), "packed otherwise"),
    (gzip.compress(gzip.compress(ROW), mtime=0), "packed otherwise"),
], ids=range(10))  # fmt: skip
def test_what_would_take_for_ever_is_refused_before_any_library_has_it(tmp_path, content, problem):
    """A million columns take polars minutes, and it would unpack to any size."""
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(DataError, match=problem):
        frame_of(tmp_path / "x", "table")


def test_gzip_is_unpacked_and_rows_of_many_different_lines_are_read(tmp_path):
    (tmp_path / "x").write_bytes(gzip.compress(ROW + b"1,2,3\n", mtime=0))
    assert frame_of(tmp_path / "x", "table").rows() == [(1, 2, 3)]
    (tmp_path / "x").write_bytes(gzip.compress(b'{"a": 1}\n{"b": {"a": 2}}\n', mtime=0))
    assert frame_of(tmp_path / "x", "table").rows() == [(1, None), (None, {"a": 2})]


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
    ("Qwen3-30B-A3B", (30e9, 3e9)), ("Qwen3_1.7B", (1.7e9, 1.7e9)),
    ("Mixtral-8x7B", (46.7e9, 12.9e9)), ("DeepSeek-R1-0528", (671e9, 37e9)),
    ("DeepSeek-R1-0528-Qwen3-8B", (8e9, 8e9)), ("DeepSeek-R1-Distill-Llama-70B", (70e9, 70e9)),
    ("openai/gpt-oss-20b", (20.9e9, 3.6e9)), ("Llama-4-Scout-17B-16E-Instruct", (109e9, 17e9)),
    ("GLM-4.5-Air-FP8", (106e9, 12e9)), ("GLM-4.7-Flash", (None, None)), ("ours", (None, None)),
    ("llama8b-sql-adapter", (8e9, 8e9)), ("gemma-3n-E4B", (None, None)),
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
        "the number of GPUs is not stated: taken to be tp",
        "no power and no energy per token (power_per_gpu, measured_power_per_gpu, "
        "avg_power_per_gpu): the energy law cannot learn from it; state the watts of all GPUs by "
        "--column power_w==2400",
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
    """(m, n, k, ms, watts) of products in 16 bits, each as often as makes a table."""
    folder.mkdir(exist_ok=True)
    frame = pl.DataFrame(
        [("G", "bfloat16", *map(float, row)) for row in rows * LEAST],
        schema=["device", "gemm_dtype", "m", "n", "k", "latency", "power"],
        orient="row",
    )
    frame = frame if power else frame.drop("power")
    frame.write_parquet(folder / "a_gemm_perf.parquet")
    return folder


def of_16_bits(folder):
    """Rates of the products of the first device."""
    return read_kernels(folder).rates[0].products[16]


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
    assert [r.device for r in read_kernels(kernels(tmp_path / "k", *rows)).rates] == ["G"]
    made = of_16_bits(tmp_path / "k")
    assert made.memory_b_per_s == pytest.approx(2 * 25e6 / 0.5e-3)
    assert made.flop_per_s == pytest.approx(2 * 4096 * 4e8 / 8e-3)
    assert (made.idle_w, made.moving_w, made.computing_w) == (90.0, 300.0, 700.0)
    made = of_16_bits(kernels(tmp_path / "k", LARGE, HUGE, power=False))
    assert str((made.idle_w, made.moving_w, made.computing_w)) == "(nan, nan, nan)"


def test_power_without_load_is_what_few_short_kernels_draw(tmp_path):
    tiny = [(16, 10, 10, 0.01, float(w)) for w in range(100, 121)]
    made = of_16_bits(kernels(tmp_path / "k", LARGE, HUGE, *tiny))
    assert made.idle_w == 102.0


def test_products_of_other_formats_or_sizes_are_no_rates(tmp_path):
    none = tmp_path / "none"
    refused(lambda: read_kernels(none), "expected a folder of kernel tables, got nothing there")
    file = written(tmp_path / "f", "word")
    refused(lambda: read_kernels(file),
            "expected a folder of kernel tables, got text that begins with 'word'")  # fmt: skip
    none.mkdir()
    refused(lambda: read_kernels(none),
            "no kernel table: expected files *gemm_perf.parquet, *moe_perf.parquet, "
            "*generation_attention_perf.parquet, *nccl_perf.parquet, "
            "*custom_allreduce_perf.parquet, got none")  # fmt: skip
    said = ("expected products of 50 to 800 MB of weights with m <= 16 and m >= 4096, "
            "experts, attention or all-reduces in a known format, got none")  # fmt: skip
    for rows in (
        [LARGE],
        [HUGE],
        [LARGE, (4096, 2e4, 20001, 1.0, 1)],
        [(16, 4999, 5e3, 1, 1), HUGE],
    ):
        refused(lambda rows=rows: read_kernels(kernels(none, *rows)), said)
    pl.read_parquet(kernels(none, LARGE, HUGE) / "a_gemm_perf.parquet").head(LEAST).write_parquet(
        none / "a_gemm_perf.parquet")  # fmt: skip
    assert list(read_kernels(none).rates[0].products) == [16]
    pl.read_parquet(none / "a_gemm_perf.parquet").head(LEAST - 1).write_parquet(
        none / "a_gemm_perf.parquet")  # fmt: skip
    refused(lambda: read_kernels(none), said)


def test_devices_come_in_the_order_of_their_names(tmp_path):
    folder = kernels(tmp_path / "k", LARGE, HUGE)
    own = pl.read_parquet(folder / "a_gemm_perf.parquet")
    names = [f"D{k}" for k in range(9, 0, -1)]
    pl.concat([own.with_columns(device=pl.lit(n)) for n in names]).write_parquet(
        folder / "a_gemm_perf.parquet")  # fmt: skip
    assert [r.device for r in read_kernels(folder).rates] == sorted(names)


THEIRS = """model,GPU,num_gpus,max_num_seqs,ITL (ms),watts_per_gpu,tok/s
llama-3.1-8b,H100,1,32,12.0,420,2400
llama-3.1-8b,H100,2,64,16.0,400,3200
"""


def test_a_table_in_the_names_of_others_is_read_with_its_units(tmp_path):
    file = tmp_path / "theirs.csv"
    file.write_text(THEIRS)
    frame = read(file).frame
    assert frame["itl_s"].to_list() == pytest.approx([0.012, 0.016])
    assert frame["power_w"].to_list() == [420, 800]
    assert frame["energy_per_token_j"].to_list() == pytest.approx([420 / 2400, 800 / 3200])
    assert frame["gpus"].to_list() == [1, 2]
    assert frame["params"].to_list() == [8e9, 8e9]


def test_watts_in_the_names_of_others_are_asked_about_too(tmp_path):
    file = tmp_path / "theirs.csv"
    file.write_text(THEIRS.replace("watts_per_gpu", "watts"))
    with pytest.raises(DataError, match="W of one GPU or of the deployment"):
        read(file)


def test_energy_and_throughput_that_contradict_the_watts_are_named_by_row(tmp_path):
    """Millijoules read as joules: a thousand times the power."""
    path = tmp_path / "runs.csv"
    head = "app,gpu_model,gpus,batch_cap,params,itl_s,energy_per_token_j,tokens_per_s,power_w\n"
    row = "m,H100,1,8,8e9,0.01,{},1000,600\n"
    path.write_text(head + row.format(0.6) + row.format(600))
    with pytest.raises(DataError, match=r"row 2 says 600 J x 1000 /s .*factor of 1e\+03"):
        read_serving(path)
    path.write_text(head + row.format(0.6) + row.format(0.9))
    assert len(read_serving(path)) == 2


def test_whether_a_batch_cap_is_of_each_copy_is_asked(tmp_path):
    path = tmp_path / "runs.csv"
    head = "app,gpu_model,gpus,dp,batch_cap,params,itl_s,energy_per_token_j\n"
    path.write_text(head + "m,H100,2,2,8,8e9,0.01,0.6\nm,H100,2,1,8,8e9,0.01,0.6\n")
    with pytest.raises(DataError, match=r"--unit batch=requests/replica"):
        read_serving(path)
    caps = {u: read_serving(path, units={"batch": f"requests/{u}"}).numpy("batch_cap").tolist()
            for u in ("replica", "deployment")}  # fmt: skip
    assert caps == {"replica": [16, 8], "deployment": [8, 8]}
