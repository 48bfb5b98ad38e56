"""Decoding measured on an H100 and an H200: does the law carry a model over to another GPU?"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rheostat as rh

RECORDED = pl.read_csv(Path(__file__).parent / "recorded" / "h100_h200_decode.csv").filter(
    pl.col("engine") == "cuda-graph"
)
QUANTITIES = ("itl_s", "energy_per_token_j")
H200, LARGE = pl.col("gpu_model") == "NVIDIA H200", pl.col("app") == "llama-8b"


def test_a_model_that_never_ran_on_a_gpu_is_forecast_by_a_small_one_there(tmp_path):
    """Four runs of 1 billion parameters on the H200, and runs of both models on the H100."""
    runs = tmp_path / "runs.csv"
    RECORDED.filter(~(H200 & LARGE)).write_csv(runs)
    measured = RECORDED.filter(
        H200 & LARGE & (pl.col("prompt_tokens") == 512) & (pl.col("output_tokens") == 128)
    ).sort("batch_cap")
    batches = ",".join(map(str, measured["batch_cap"]))
    answer = rh.llm.plan(
        runs,
        "llama-8b",
        knobs=[f"batch_cap={batches}", "gpu_model=NVIDIA H200"],
        prompt_tokens=512,
        output_tokens=128,
    )
    forecast = answer.table().sort("batch_cap")
    assert len(measured) == 8
    for quantity in QUANTITIES:
        draws = np.array(forecast[quantity].to_list())
        off = np.abs(draws.mean(axis=1) / measured[quantity].to_numpy() - 1)
        assert off.max() < 0.08, (quantity, json.dumps(off.round(3).tolist()))
        low, high = np.quantile(draws, [0.05, 0.95], axis=1)
        truth = measured[quantity].to_numpy()
        assert ((low < truth) & (truth < high)).all()


def test_a_setting_left_out_of_a_sweep_is_forecast(tmp_path):
    """Batch 64 of the larger model, from all other runs on the H100; first tokens wait for all."""
    runs = tmp_path / "runs.csv"
    own = RECORDED.filter(~H200)
    at = LARGE & (pl.col("batch_cap") == 64) & (pl.col("prompt_tokens") == 512)
    own.filter(~at).write_csv(runs)
    truth = own.filter(at).row(0, named=True)
    answer = rh.llm.plan(
        runs, "llama-8b", knobs=["batch_cap=64"], prompt_tokens=512, output_tokens=128
    )
    row = answer.table().row(0, named=True)
    for quantity, share in (("itl_s", 0.05), ("energy_per_token_j", 0.1), ("ttft_s", 0.3)):
        assert np.mean(row[quantity]) == pytest.approx(truth[quantity], rel=share), quantity
