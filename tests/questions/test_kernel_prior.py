"""Kernel tables as prior: rates of a made-up GPU come back, and move what is not measured."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rheostat import table
from rheostat.cli import run
from rheostat.errors import DataError
from rheostat.measurement.serving.kernel_tables import read_kernels
from rheostat.prediction.serving_law import ServingLaw
from rheostat.prediction.serving_law.configurations import Configurations
from rheostat.prediction.serving_law.kernel_medians import medians
from rheostat.prediction.serving_law.law import MEDIAN, NAMES, step
from rheostat.questions.llm.kernel_prior import CACHE_READ, kernel_prior
from tests.prediction.test_serving_law import runs

B_PER_S, FLOP_PER_S, IDLE_W, BUSY_W = 2e12, 5e14, 100.0, 600.0
H100 = "NVIDIA H100 80GB HBM3"
PUBLIC = Path(__file__).parents[3] / "shared" / "data" / "llm" / "aiconfigurator"
WIDTH_B = {"bfloat16": 2.0, "fp8": 1.0, "fp8_block": 1.0, "nvfp4": 0.5625}


def write(folder, kind, rows, device):
    """A table of one device, under a name as AIConfigurator's."""
    folder.mkdir(exist_ok=True)
    rows = [{"device": device, **row} for row in rows]
    name = f"{device}_{len(list(folder.iterdir()))}__{kind}_perf.parquet".replace(" ", "_")
    pl.DataFrame(rows).write_parquet(folder / name)
    return folder


def kernels(folder, device=H100, *, watts=True, gemm_dtype="bfloat16", rate=B_PER_S, **more):
    """Products of a GPU that reads at 2 TB/s and computes at 500 Tflop/s, the longer of both."""
    rows = []
    for m, n, k in itertools.product((1, 16, 256, 4096, 16384), (256, 8192, 16384), (256, 8192)):
        read_b = WIDTH_B.get(gemm_dtype, 1.0) * n * k
        seconds = max(read_b / rate, 2.0 * m * n * k / FLOP_PER_S)
        power = {"power": IDLE_W if n * k < 1e6 else BUSY_W} if watts else {}
        rows.append({"gemm_dtype": gemm_dtype, "m": m, "n": n, "k": k, "latency": 1e3 * seconds,
                     **power, **more})  # fmt: skip
    return write(folder, "gemm", rows, device)


def experts(folder, device, rate, moe_dtype="bfloat16"):
    """Eight of 128 experts to a token, read at a rate; every shape by a slow kernel, too."""
    rows = []
    for tokens, wide, slow in itertools.product((16, 32, 64, 128, 256), (2048, 4096), (1, 5)):
        touched = 128 * (1 - (1 - 8 / 128) ** tokens)
        seconds = slow * 3 * wide * 2048 * touched * WIDTH_B[moe_dtype] / rate
        rows.append({"moe_dtype": moe_dtype, "num_tokens": tokens, "hidden_size": wide,
                     "inter_size": 2048, "topk": 8, "num_experts": 128, "moe_tp_size": 1,
                     "moe_ep_size": 1, "latency": 1e3 * seconds})  # fmt: skip
    return write(folder, "moe", rows, device)


def attention(folder, device, rate):
    """Caches of 64 requests with 8 heads of 128, read at a rate; with a window twice as fast."""
    rows = []
    for context, window in itertools.product(range(10_000, 50_000, 2000), (0, 128)):
        seconds = 2 * 2 * 64 * context * 8 * 128 / rate / (2 if window else 1)
        rows.append({"batch_size": 64, "isl": 0, "step": context, "num_key_value_heads": 8,
                     "head_dim": 128, "kv_cache_dtype": "bfloat16", "window_size": window,
                     "latency": 1e3 * seconds})  # fmt: skip
    return write(folder, "generation_attention", rows, device)


def joins(folder, device, seconds, rate, kind="nccl", dtype="nccl_dtype"):
    """All-reduces of alpha + bytes / bandwidth, 16-bit elements; another operation is slower."""
    rows = [{dtype: "half", "op_name": op, "num_gpus": gpus, "message_size": size,
             "latency": 1e3 * (slow * gpus * seconds + 2 * size / rate)}
            for op, slow in (("all_reduce", 1), ("alltoall", 9)) for gpus in (2, 4, 8)
            for size in (256, 4096, 2**30)]  # fmt: skip
    return write(folder, kind, rows, device)


def rates_of(folder):
    return {r.device: r for r in read_kernels(folder).rates}


def test_rates_and_watts_of_products_come_back(tmp_path):
    (rates,) = read_kernels(kernels(tmp_path / "k")).rates
    products = rates.products[16]
    assert (products.memory_b_per_s, products.flop_per_s) == pytest.approx((B_PER_S, FLOP_PER_S))
    assert (products.idle_w, products.moving_w, products.computing_w) == (IDLE_W, BUSY_W, BUSY_W)
    made = kernel_prior([rates])[H100]
    assert made["bandwidth"] == pytest.approx(2 / 3.35)
    assert made["compute"] == pytest.approx(500 / 989)
    assert made["static"] + made["moving"] * made["bandwidth"] == pytest.approx(600 / 700)


def test_experts_caches_and_joins_come_back(tmp_path):
    experts(tmp_path / "k", H100, 1.5e12, "fp8_block")
    attention(tmp_path / "k", H100, 2.5e12)
    joins(tmp_path / "k", H100, 3e-6, 200e9)
    rates = rates_of(tmp_path / "k")[H100]
    assert rates.experts[8].memory_b_per_s == pytest.approx(1.5e12)  # the fastest kernel
    assert rates.cache_b_per_s == pytest.approx(2.5e12)  # without windows
    assert rates.joins[4].seconds == pytest.approx(12e-6, rel=0.01)
    assert rates.joins[4].b_per_s == pytest.approx(200e9, rel=0.01)
    made = kernel_prior([rates])[H100]
    usual = math.exp(MEDIAN[NAMES.index("cache")])
    assert made["cache"] == pytest.approx(usual * CACHE_READ * 3.35 / 2.5)
    assert made["link of 8 GPUs"] == pytest.approx(200 / 900, rel=0.01)


def test_of_two_engines_vllm_counts_and_the_other_where_vllm_has_no_such_format(tmp_path):
    for engine, rate in (("VLLM", 2e12), ("TRTLLM", 3e12)):
        kernels(tmp_path / "k", framework=engine, version="1", rate=rate)
    kernels(tmp_path / "k", framework="VLLM", version="1", gemm_dtype="fp8_block", rate=1e11)
    kernels(tmp_path / "k", framework="TRTLLM", version="1", gemm_dtype="fp8", rate=1e12)
    rates = rates_of(tmp_path / "k")[H100]
    assert rates.products[16].memory_b_per_s == pytest.approx(2e12)
    assert rates.products[8].memory_b_per_s == pytest.approx(1e12)
    assert rates.sources == (
        "products of 16 bits VLLM 1 bfloat16",
        "products of 8 bits TRTLLM 1 fp8",
    )


def test_short_messages_take_the_engines_kernel_where_there_is_one(tmp_path):
    joins(tmp_path / "k", H100, 8e-6, 200e9)
    joins(tmp_path / "k", "NVIDIA H200", 9e-6, 210e9)
    joins(tmp_path / "k", H100, 2e-6, 100e9, "custom_allreduce", "allreduce_dtype")
    rates = rates_of(tmp_path / "k")
    assert rates[H100].joins[2].seconds == pytest.approx(4e-6, rel=0.02)
    assert math.isnan(rates["NVIDIA H200"].joins[2].seconds)
    kernels(tmp_path / "k", "NVIDIA H200")
    kernels(tmp_path / "k", H100)
    made = kernel_prior(read_kernels(tmp_path / "k").rates)["NVIDIA H200"]
    assert made["join_s of 2 GPUs"] == rates[H100].joins[2].seconds
    assert made["link of 2 GPUs"] == pytest.approx(210 / 900, rel=0.01)


def test_shares_are_lent_to_a_type_without_and_unknown_types_are_left_out(tmp_path):
    kernels(tmp_path / "k", "NVIDIA H200")
    experts(tmp_path / "k", "NVIDIA H200", B_PER_S / 2)
    joins(tmp_path / "k", "NVIDIA H200", 3e-6, 200e9)
    kernels(tmp_path / "k", "NVIDIA B200", watts=False, rate=4e12)
    kernels(tmp_path / "k", "TPU v9")
    made = kernel_prior(read_kernels(tmp_path / "k").rates)
    assert sorted(made) == ["NVIDIA B200", "NVIDIA H200"]
    lent, own = made["NVIDIA B200"], made["NVIDIA H200"]
    assert lent["static"] == own["static"]
    assert lent["link of 4 GPUs"] == own["link of 4 GPUs"]
    assert lent["bandwidth of experts of 16 bits"] == pytest.approx(0.5 * lent["bandwidth"])


def test_the_most_particular_number_of_a_row_counts():
    rows = table({"app": ["m"] * 4, "params": [8e9] * 4, "active_params": [8e9, 8e9, 1e9, 1e9],
                  "weight_precision": ["bfloat16", "fp8", "fp8", "nvfp4"], "batch_cap": [8] * 4,
                  "gpu_model": ["H100"] * 4, "gpus": [1, 4, 1, 1]})  # fmt: skip
    numbers = {"bandwidth": 0.8, "bandwidth of 8 bits": 0.7, "bandwidth of experts of 8 bits": 0.6,
               "join_s of 4 GPUs": 5e-6, "link of 4 GPUs": 0.25}  # fmt: skip
    at = np.exp(medians({"H100": numbers}, Configurations.of(rows)))
    assert at[:, NAMES.index("bandwidth")] == pytest.approx([0.8, 0.7, 0.6, 0.8])
    # 8e9 parameters: 32 layers, 64 all-reduces, over two doublings; nothing to join on one GPU
    usual = np.exp(MEDIAN)
    sync, exchange = (at[:, NAMES.index(name)] for name in ("sync", "exchange"))
    half_way = [usual[NAMES.index(n)] for n in ("sync", "exchange")]
    assert sync[1] == pytest.approx(math.sqrt(half_way[0] * 64 * 5e-6 / 2))
    width = math.sqrt(1e9 / (12 * 32))
    assert exchange[1] == pytest.approx(math.sqrt(half_way[1] * 64 * 2 * width / 0.25 / 2))
    assert sync[[0, 2, 3]] == pytest.approx(usual[NAMES.index("sync")])


def test_the_prior_of_its_gpu_moves_and_no_other(tmp_path):
    asked = table({"app": ["m"] * 2, "params": [7e10] * 2, "gpu_model": ["H100", "B200"],
                   "gpus": [4, 4], "batch_cap": [8, 8]})  # fmt: skip
    prior = kernel_prior(read_kernels(kernels(tmp_path / "k")).rates)
    prior = {device: {**numbers, "bandwidth": 0.4} for device, numbers in prior.items()}
    plain, told = (
        ServingLaw(kernels=k).fit(asked.rows([])).predict(asked).mean("itl_s")
        for k in (None, prior)
    )
    assert told[0] > 1.05 * plain[0]
    assert told[1] == pytest.approx(plain[1])
    seen = runs(24)
    near = [ServingLaw(kernels=k).fit(seen).predict(seen).mean("itl_s") for k in (None, prior)]
    assert np.median(np.abs(np.log(near[1] / near[0]))) < 0.05  # measurements outweigh it


def test_the_hosts_overhead_per_step_and_request_is_fitted_beside_the_kernels(tmp_path):
    numbers = kernel_prior(read_kernels(kernels(tmp_path / "k")).rates)
    shape = runs(24, gpu_model=["H100"] * 24, gpus=[1] * 24, batch_cap=[4, 8, 16, 64, 256, 512] * 4)
    at = medians(numbers, Configurations.of(shape))
    at[:, NAMES.index("host")], at[:, NAMES.index("request")] = np.log(20e-3), np.log(3e-4)
    time, energy, _ = np.exp(step(at, Configurations.of(shape)))
    kept = shape.frame.drop("tokens_per_s").with_columns(
        itl_s=pl.Series(time), energy_per_token_j=pl.Series(energy)
    )
    law = ServingLaw(kernels=numbers).fit(table(kept))
    # time that no kernel explains, per token d / B + c: of a step (d) and of a request (c)
    batch = Configurations.of(shape).batch

    def overhead(log_parameters):
        host, request = (np.exp(log_parameters[:, NAMES.index(n)]) for n in ("host", "request"))
        return host / batch + request

    fitted = overhead(law.log_parameters_of(Configurations.of(shape)))
    assert fitted == pytest.approx(20e-3 / batch + 3e-4, rel=0.2)
    assert (fitted > 2.5 * overhead(medians(numbers, Configurations.of(shape)))).all()


def test_a_gpu_type_from_tables_alone_has_wider_intervals_and_attention_alone_is_not_enough(
    tmp_path,
):
    seen = runs(24, gpu_model=["H100"] * 24)
    asked = runs(24, gpu_model=["H200"] * 24)
    law = ServingLaw(kernels=kernel_prior(rates_of(kernels(tmp_path / "k", "H200")).values()))
    answer, measured = law.fit(seen).predict(asked), law.predict(seen)
    assert not answer.abstained.any()
    low, high = np.log(answer.interval("energy_per_token_j", 0.9))
    near, far = np.log(measured.interval("energy_per_token_j", 0.9))
    assert np.median(high - low) > 1.5 * np.median(far - near)
    less = kernel_prior(rates_of(attention(tmp_path / "a", "H200", 2e12)).values())
    assert ServingLaw(kernels=less).fit(seen).predict(asked).abstained.all()


def test_plan_answers_for_a_type_that_only_tables_cover_and_says_how_sure(tmp_path, capsys):
    runs(24).frame.write_csv(tmp_path / "runs.csv")
    knobs = ("gpu_model=GB200", "gpus=1", "batch_cap=64")
    call = ["llm", "plan", str(tmp_path / "runs.csv"), "--app", "m0", "--workload", "chat"]
    call += [word for knob in knobs for word in ("--knob", knob)]
    assert run(call) == 3
    assert "GPU type never measured" in capsys.readouterr().err
    tables = str(kernels(tmp_path / "k", "NVIDIA GB200"))
    assert run([*call, "--json", "--kernels", tables]) == 0
    (row,) = json.loads(capsys.readouterr().out)["front"]
    low, high = row["intervals"]["energy_per_token_j"]
    assert high > 1.3 * low


def test_what_is_no_kernel_table_is_named(tmp_path, capsys):
    with pytest.raises(DataError, match="folder of kernel tables, got nothing there"):
        read_kernels(tmp_path / "none")
    (tmp_path / "k").mkdir()
    with pytest.raises(DataError, match=r"expected files \*gemm_perf\.parquet"):
        read_kernels(tmp_path / "k")
    (tmp_path / "k" / "x_gemm_perf.parquet").write_bytes(b"PAR1 but no more")
    (tmp_path / "k" / "y_gemm_perf.parquet").write_text("m,n,k\n1,2,3\n")
    with pytest.raises(DataError, match=r"(?s)x_gemm_perf.*expected a kernel table.*y_gemm_perf"):
        read_kernels(tmp_path / "k")
    folder = write(tmp_path / "c", "gemm", [{"m": 1}], "B200")
    with pytest.raises(DataError, match=r"columns missing: latency, gemm_dtype, n, k"):
        read_kernels(folder)
    with pytest.raises(DataError, match="expected a kernel table"):
        read_kernels(kernels(tmp_path / "t", n="wide"))
    with pytest.raises(DataError, match="in a known format, got none"):
        read_kernels(kernels(tmp_path / "f", gemm_dtype="ternary"))
    runs(12).frame.write_csv(tmp_path / "runs.csv")
    assert run(["llm", "fit", str(tmp_path / "runs.csv"), "--kernels", str(tmp_path / "none")]) == 1
    assert "folder of kernel tables" in capsys.readouterr().err


def test_a_part_of_the_tables_works_and_what_is_absent_is_told(tmp_path, capsys):
    runs(12).frame.write_csv(tmp_path / "runs.csv")
    folder = kernels(tmp_path / "k")
    write(folder, "gemm", [{"m": 1}], "B200")
    assert run(["llm", "fit", str(tmp_path / "runs.csv"), "--kernels", str(folder)]) == 0
    said = capsys.readouterr().err
    assert "bandwidth 0.597" in said
    assert "products of 16 bits unknown engine" in said
    assert "no kernel tables of experts" in said
    assert "left out: B200_1__gemm_perf.parquet" in said


@pytest.mark.skipif(not PUBLIC.exists(), reason="AIConfigurator's tables are not there")
def test_the_public_tables_have_every_kind_and_shares_below_one():
    tables = read_kernels(PUBLIC)
    rates = {r.device: r for r in tables.rates}
    assert sorted(d.split()[1][:4] for d in rates) == ["A100", "B200", "GB20", "H100", "H200"]
    assert sorted(rates["NVIDIA GB200"].products) == [4, 8, 16]
    assert sorted(rates[H100].joins) == [2, 4, 8]
    assert all("vllm" in s.lower() for s in rates["NVIDIA GB200"].sources)
    assert any("2.23" in note and "device" in note for note in tables.notes)
    for numbers in kernel_prior(tables.rates).values():
        shares = {k: v for k, v in numbers.items() if k.startswith(("bandwidth", "link"))}
        assert all(0.1 < v < 1 for v in shares.values())
        assert len(shares) > 6
