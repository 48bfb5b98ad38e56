"""Steps measured on an H100 and an H200, forecast without a run: how far off, and how sure.

    python benchmarks/measured_steps.py --every 2     # half of the steps, ten CPU-minutes

Each network of `gpu_steps.py` is read as `rheostat dnn predict gpu_steps.py:NAME` reads it.  Memory
is that of PyTorch's allocator: what the driver holds is taken off the forecast.  Networks of
torchvision are left out, and counted, where it is not installed.  ``fp32`` and ``tf32`` are what a
user switched and the command cannot be asked for: they are forecast as the default.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rheostat.errors import RheostatError
from rheostat.measurement.graphs.step_source import StepSource, open_step
from rheostat.prediction.step_cost.sheet_forecast import forecast_step

HERE = Path(__file__).parent
RECORDED = HERE.parent / "tests/prediction/recorded/h100_h200_steps.csv"
STEP = ["app", "batch_size", "precision", "optimizer"]


def main() -> None:
    """Print errors and how often 90 % intervals held, by device and precision."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--every", type=int, default=1, help="every which step is forecast")
    steps = measured()
    chosen = steps.select(STEP).unique(maintain_order=True).gather_every(asked.parse_args().every)
    rows: list[dict[str, Any]] = []
    for step in chosen.rows(named=True):
        try:
            opened = open_step(
                f"{HERE / 'gpu_steps.py'}:{step['app']}", step["batch_size"], step["optimizer"]
            )
        except RheostatError as error:
            print(f"left out: {step['app']}: {str(error)[:120]}")
            continue
        here = steps.filter(pl.all_horizontal(pl.col(c) == step[c] for c in STEP))
        rows += [forecast(opened, run) for run in here.rows(named=True)]
    report(pl.DataFrame(rows))


def measured() -> pl.DataFrame:
    """Steps of training that ended, a row for each device."""
    runs = pl.read_csv(RECORDED).filter(pl.col("mode") == "training", pl.col("status") == "ok")
    return runs.filter(pl.col("layout").is_null() | (pl.col("layout") == ""))


def forecast(step: StepSource, run: dict[str, Any]) -> dict[str, Any]:
    """Forecast over measured, and whether the interval held."""
    bits = 16 if run["precision"] == "bf16" else 32
    made = forecast_step(step.graph, run["device"], step.optimizer, bits=bits)
    middle, low, high = made.runtime_s
    lives = made.memory.peak_b - made.memory.workspace_b
    return {
        "device": run["device"],
        "precision": run["precision"],
        "step": f"{run['app']} x {run['batch_size']}",
        "time": middle / run["runtime_s"],
        "held": low <= run["runtime_s"] <= high,
        "memory": lives / run["memory_peak_b"],
    }


def report(found: pl.DataFrame) -> None:
    """Each step, then medians."""
    for row in found.rows(named=True):
        print(f"{row['device']} {row['precision']:8s} {row['step']:28s} "
              f"time {row['time']:.2f} memory {row['memory']:.2f} of measured")  # fmt: skip
    whole = found.with_columns(precision=pl.lit("all"))
    for (device, precision), own in pl.concat([found, whole]).group_by(
        "device", "precision", maintain_order=True
    ):
        off = {q: float(np.median(np.abs(own[q].to_numpy() - 1))) for q in ("time", "memory")}
        held = f"90 % intervals held {own['held'].mean():.0%}"
        print(f"{device} {precision}: half of {len(own)} steps within {off['time']:.1%} of the "
              f"time ({held}), {off['memory']:.1%} of the memory")  # fmt: skip


if __name__ == "__main__":
    main()
