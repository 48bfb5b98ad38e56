"""Kernel tables as prior: rates of a made-up GPU come back, and move what is not measured."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest

from rheostat import table
from rheostat.cli import run
from rheostat.errors import DataError
from rheostat.measurement.serving.kernel_tables import read_kernels
from rheostat.prediction.serving_law import ServingLaw
from rheostat.recipes.kernel_prior import kernel_prior
from tests.prediction.test_serving_law import runs

B_PER_S, FLOP_PER_S, IDLE_W, BUSY_W = 2e12, 5e14, 100.0, 600.0


def kernels(folder, device="NVIDIA H100 80GB HBM3", *, watts=True, **more):
    """Products of a GPU that reads at 2 TB/s and computes at 500 Tflop/s, the longer of both."""
    rows = []
    for m, n, k in itertools.product((1, 16, 256, 4096, 16384), (256, 8192, 16384), (256, 8192)):
        seconds = max(2.0 * n * k / B_PER_S, 2.0 * m * n * k / FLOP_PER_S)
        power = {"power": IDLE_W if n * k < 1e6 else BUSY_W} if watts else {}
        rows.append({"device": device, "gemm_dtype": "bfloat16", "m": m, "n": n, "k": k,
                     "latency": 1e3 * seconds, **power, **more})  # fmt: skip
    folder.mkdir(exist_ok=True)
    pl.DataFrame(rows).write_parquet(folder / f"{device.replace(' ', '_')}__gemm_perf.parquet")
    return folder


def test_rates_and_watts_of_products_come_back(tmp_path):
    (rates,) = read_kernels(kernels(tmp_path / "k"))
    assert (rates.memory_b_per_s, rates.flop_per_s) == pytest.approx((B_PER_S, FLOP_PER_S))
    assert (rates.idle_w, rates.moving_w, rates.computing_w) == (IDLE_W, BUSY_W, BUSY_W)
    made = kernel_prior([rates])["NVIDIA H100 80GB HBM3"]
    assert made["bandwidth"] == pytest.approx(2 / 3.35)
    assert made["compute"] == pytest.approx(500 / 989)
    assert made["static"] + made["moving"] * made["bandwidth"] == pytest.approx(600 / 700)


def test_shares_of_watts_are_lent_to_a_type_without_and_unknown_types_are_left_out(tmp_path):
    kernels(tmp_path / "k", "NVIDIA H200")
    kernels(tmp_path / "k", "NVIDIA B200", watts=False)
    kernels(tmp_path / "k", "TPU v9")
    made = kernel_prior(read_kernels(tmp_path / "k"))
    assert sorted(made) == ["NVIDIA B200", "NVIDIA H200"]
    assert made["NVIDIA B200"]["static"] == made["NVIDIA H200"]["static"]


def test_the_prior_of_its_gpu_moves_and_no_other(tmp_path):
    asked = table({"app": ["m"] * 2, "params": [7e10] * 2, "gpu_model": ["H100", "B200"],
                   "gpus": [4, 4], "batch_cap": [8, 8]})  # fmt: skip
    prior = kernel_prior(read_kernels(kernels(tmp_path / "k")))
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


def test_what_is_no_kernel_table_is_named(tmp_path, capsys):
    with pytest.raises(DataError, match="folder of kernel tables, got nothing there"):
        read_kernels(tmp_path / "none")
    (tmp_path / "k").mkdir()
    with pytest.raises(DataError, match=r"gemm_perf\.parquet"):
        read_kernels(tmp_path / "k")
    (tmp_path / "k" / "x_gemm_perf.parquet").write_bytes(b"PAR1 but no more")
    with pytest.raises(DataError, match="expected a kernel table"):
        read_kernels(tmp_path / "k")
    pl.DataFrame({"device": ["B200"]}).write_parquet(tmp_path / "k" / "x_gemm_perf.parquet")
    with pytest.raises(DataError, match="latency"):
        read_kernels(tmp_path / "k")
    kernels(tmp_path / "f", gemm_dtype="fp8")
    with pytest.raises(DataError, match="16-bit products"):
        read_kernels(tmp_path / "f")
    runs(12).frame.write_csv(tmp_path / "runs.csv")
    assert run(["llm", "fit", str(tmp_path / "runs.csv"), "--kernels", str(tmp_path / "none")]) == 1
    assert "folder of kernel tables" in capsys.readouterr().err
    assert run(["llm", "fit", str(tmp_path / "runs.csv"), "--kernels",
                str(kernels(tmp_path / "g"))]) == 0  # fmt: skip
    assert "bandwidth 0.60" in capsys.readouterr().err
