"""Surrogates side by side on generated sites whose truth is known.

For each seed a site is generated, the older four fifths of its log are learnt, and the model is
marked twice: on the newest fifth as it was submitted (error, coverage of 90 % intervals), and on
those jobs at node counts they were not run at, against the noise-free truth.  "naive" is the same
forest with every submit-time column and plain totals as targets.

    python benchmarks/predictors.py [--seeds 3] [--jobs 3000] [--methods forest,xgboost] [--json]
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
import polars as pl

from rheostat.core.vocabulary import table
from rheostat.measurement.synthetic import World
from rheostat.prediction.baselines import UserNeighbours
from rheostat.prediction.surrogate.surrogate import Surrogate

NODES = [1, 2, 4, 8, 16, 32, 64, 128]
METHODS = {
    "user neighbours": UserNeighbours,
    "naive": lambda: Surrogate("forest", turned=None, scaled=False),
    "forest": lambda: Surrogate("forest"),
    "xgboost": lambda: Surrogate("xgboost"),
    "lightgbm": lambda: Surrogate("lightgbm"),
    "tabnet": lambda: Surrogate("tabnet"),
    "attention": lambda: Surrogate("attention"),
    "forest + attention": lambda: Surrogate("forest", embedding="attention"),
    "forest + tabnet": lambda: Surrogate("forest", embedding="tabnet"),
}


def marks(name: str, seed: int, n: int) -> dict[str, object]:
    world = World(seed)
    past, recent = world.jobs(n).split_by_time(0.8)
    recent = recent.rows(~recent.frame["censored"].to_numpy())
    began = time.process_time()
    model = METHODS[name]().fit(past)
    row: dict[str, object] = {"method": name, "seed": seed}
    row["fit_cpu_s"] = round(time.process_time() - began, 2)
    knob = pl.DataFrame({"nodes": NODES}, schema={"nodes": pl.Int64})
    jobs = recent.rows(np.arange(0, len(recent), max(1, len(recent) // 100)))
    asked = table(jobs.frame.drop("nodes").join(knob, how="cross"))
    as_run, turned, truth = model.predict(recent), model.predict(asked), world.truth(asked)
    for quantity in ("runtime_s", "power_w", "energy_j"):
        low, high = as_run.interval(quantity, 0.9)
        y, there = recent.numpy(quantity), ~as_run.abstained
        error = np.abs(np.log(as_run.quantile(quantity, 0.5) / y))[there]
        other = np.abs(np.log(turned.quantile(quantity, 0.5) / truth.mean(quantity)))
        held = ((y >= low) & (y <= high))[there]
        row[f"{quantity} as run"] = round(float(np.median(error)), 3)
        row[f"{quantity} coverage"] = (
            round(float(held.mean()), 3) if len(as_run[quantity]) > 1 else None
        )
        row[f"{quantity} turned"] = round(float(np.median(other[~turned.abstained])), 3)
    row["turned answered"] = round(float(1 - turned.abstained.mean()), 3)
    return row


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=3000)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    names = options.methods.split(",")
    rows = [marks(m, s, options.jobs) for m in names for s in range(options.seeds)]
    if options.json:
        print(json.dumps({"schema": "rheostat.bench.predictors/1", "rows": rows}))
        return
    frame = pl.DataFrame(rows).group_by("method", maintain_order=True).mean().drop("seed")
    columns = [c for c in frame.columns if c != "method"]
    print("| method | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for row in frame.iter_rows(named=True):
        print(f"| {row['method']} | " + " | ".join(_cell(row[c]) for c in columns) + " |")


if __name__ == "__main__":
    main()
