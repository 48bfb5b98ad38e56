"""What kernel tables add to the law before anything is measured, after a little, and on a new GPU.

    python benchmarks/kernel_tables.py [--json] [--seeds N] [--first-seed K] [--samples 0 20 50]

Data: ML.ENERGY V3 and AIConfigurator's kernel tables with its list of measured deployments.

    own          fitted to random runs of ML.ENERGY, asked about the others: median error of energy
                 per token and its 90 % intervals; best choice and excess energy in three sets of
                 scenarios (`energylens.py`).  With 0 samples the prior answers alone
    H100->B200   fitted to 50 random runs of one type of GPU, asked about all of the other: energy,
    B200->H100   time between tokens, and the best choice where both types are offered
    deployments  fitted to 0 or 100 random runs of ML.ENERGY, asked about the time between tokens of
                 deployments that others measured, mostly with engines tuned further: by GPU type

Methods: the law alone; products (memory, arithmetic and watts of 16-bit products); products and one
more kind of table, of which 8 and 4 bits are not in the prior; all that are.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import energylens
import numpy as np
import polars as pl
from energylens import KERNELS, NOISE, TARGET, drawn, least, loaded, mean_of, scenarios
from rich.console import Console
from rich.table import Table

from rheostat.core.jobs import JobTable
from rheostat.core.vocabulary import table
from rheostat.measurement.serving.kernel_tables import read_kernels
from rheostat.prediction.accelerators import accelerator
from rheostat.prediction.serving_law import ServingLaw
from rheostat.prediction.serving_law.configurations import Configurations

PRODUCTS = ("bandwidth", "compute", "static", "moving", "computing")
PARTS = {
    "law": (), "products": PRODUCTS,
    "products, experts": (*PRODUCTS, "bandwidth of experts"),
    "products, 8 and 4 bits": (*PRODUCTS, "bandwidth of 8", "bandwidth of 4"),
    "products, attention": (*PRODUCTS, "cache"),
    "products, all-reduces": (*PRODUCTS, "join_s", "link"),
    "all": (*PRODUCTS, "bandwidth of experts", "cache", "join_s", "link"),
}  # fmt: skip
"""Beginnings of the names of the numbers that a method takes from the tables."""
SIZES = {"minimax-m2.5": (230e9, 10e9), "qwen3.5-397b": (397e9, 17e9), "deepseek-": (671e9, 37e9),
         "kimi-k2.5": (1e12, 32e9), "glm-5": (744e9, 40e9), "gpt-oss-120b": (117e9, 5e9),
         "qwen3-32b": (32e9, 32e9), "qwen3-235b": (235e9, 22e9), "llama-3.1-8b": (8e9, 8e9),
         "llama-3.1-70b": (70e9, 70e9)}  # fmt: skip
FORMATS = {"fp4": "nvfp4", "fp8": "fp8", "int4": "int4", "bf16": "bfloat16", None: "bfloat16"}
SETS = ("fixed-batch", "free", "slo")
Z90, MOST = 1.645, 200


def main() -> None:
    """Run the methods and print rows."""
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--json", action="store_true", help="one JSON document")
    args.add_argument("--seeds", type=int, default=3)
    args.add_argument("--first-seed", type=int, default=0)
    args.add_argument("--samples", type=int, nargs="+", default=[0, 20, 50])
    args.add_argument("--methods", nargs="+", default=list(PARTS), choices=list(PARTS))
    given = args.parse_args()
    if not energylens.FILE.exists() or not KERNELS.exists():
        sys.exit(f"measured data not found at {energylens.FILE.parents[1]}; set RHEOSTAT_DATA")
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    rows = [row for method in given.methods for row in every(method, given.samples, seeds)]
    print(json.dumps({"rows": rows})) if given.json else show(rows)


def every(method: str, samples: list[int], seeds: range) -> Iterator[dict[str, Any]]:
    """All rows of a method."""
    runs, tables = loaded(), numbers(method)
    gpu = np.array(runs.frame["gpu_model"].to_list())
    for size in samples:
        for seed in seeds if size else seeds[:1]:
            kept = drawn(runs, size, seed)
            asked = np.setdiff1d(np.arange(len(runs)), np.asarray(kept, dtype=np.int64))
            yield {"method": method, "set": "own", "samples": size, "seed": seed,
                   **scored(tables, runs, kept, asked)}  # fmt: skip
    for seed in seeds:
        for here, there in (("H100", "B200"), ("B200", "H100")):
            own, asked = np.flatnonzero(gpu == here), np.flatnonzero(gpu == there)
            kept = np.sort(np.random.default_rng(seed).choice(own, 50, replace=False))
            both = [g for g in scenarios(runs, "fixed-batch") if len(set(gpu[g])) == 2]
            yield {"method": method, "set": f"{here}->{there}", "samples": 50, "seed": seed,
                   **scored(tables, runs, kept, asked, {"fixed-batch": both})}  # fmt: skip
    deployed = deployments()
    for size in (0, 100):
        law = ServingLaw(kernels=tables).fit(runs.rows(drawn(runs, size, seeds[0])))
        for name in ("H100", "H200", "B200", "GB200"):
            some = deployed.rows((deployed.frame["gpu_model"] == name).to_numpy())
            some = some.rows(np.arange(len(some))[:: len(some) // MOST + 1])
            said = errors(law, some, np.arange(len(some)))[0]
            yield {"method": method, "set": f"deployments {name}", "samples": size,
                   "seed": seeds[0], **said}  # fmt: skip


def numbers(method: str) -> dict[str, Mapping[str, float]] | None:
    """The part of the tables' numbers that a method takes."""
    starts = PARTS[method]
    made = {d: dict(own) for d, own in energylens.kernel_tables(KERNELS).items()}
    for rates in read_kernels(KERNELS).rates:  # which `kernel_prior` does not take
        gpu = accelerator(rates.device)
        made[rates.device] |= {
            f"bandwidth of {bits} bits": min(p.memory_b_per_s / gpu.memory_b_per_s, 1.0)
            for bits, p in rates.products.items() if bits < 16
        }  # fmt: skip
    taken = {
        device: {k: v for k, v in own.items() if any(
            k == s if s in PRODUCTS else k.startswith(s) for s in starts)}
        for device, own in made.items()
    }  # fmt: skip
    return taken if starts else None


def scored(
    tables: Any, runs: JobTable, kept: np.ndarray, asked: np.ndarray,
    groups: Mapping[str, Any] | None = None,
) -> dict[str, float]:  # fmt: skip
    """Errors on the rows asked about, and the choice in scenarios of all rows."""
    law = ServingLaw(kernels=tables).fit(runs.rows(kept))
    result, mean = errors(law, runs, asked)
    y = np.log(runs.numpy(TARGET))
    for name, some in (groups or {s: scenarios(runs, s) for s in SETS}).items():
        best = [y[g].min() for g in some]
        taken = list(zip(least(mean, some), best, strict=True))
        result[f"{name} top1"] = float(np.mean([np.mean(y[t] <= b) for t, b in taken]))
        result[f"{name} excess"] = float(np.mean([np.mean(np.expm1(y[t] - b)) for t, b in taken]))
    return result


def errors(
    law: ServingLaw, runs: JobTable, asked: np.ndarray
) -> tuple[dict[str, float], np.ndarray]:
    """Median error and share inside 90 % intervals, of what was measured; means of the last."""
    names = [q for q in (TARGET, "itl_s") if q in runs.columns][::-1]
    mean, spread = law.posterior(Configurations.of(runs), names)
    deviation = np.sqrt(np.maximum(np.diag(spread), 0.0) + NOISE**2)
    result = {}
    for k, name in enumerate(names):
        rows = asked + k * len(runs)
        off = np.abs(mean[rows] - np.log(runs.numpy(name)[asked]))
        signed = np.abs(np.expm1(mean[rows] - np.log(runs.numpy(name)[asked])))
        word = "itl" if name == "itl_s" else "energy"
        result[f"{word} error"] = float(np.median(signed))
        result[f"{word} coverage"] = float(np.mean(off <= Z90 * deviation[rows]))
    return result, mean[-len(runs) :]


def deployments() -> JobTable:
    """Deployments on up to eight GPUs without data-parallel attention, of models of known size."""
    frame = pl.read_parquet(KERNELS / "silicon_sample.parquet").filter(
        pl.col("mode") == "agg", pl.col("tp_size") <= 8, pl.col("silicon_tpot_ms") > 0,
        pl.col("attention_dp_size").fill_null(1) <= 1,
    )  # fmt: skip
    rows = []
    for r in frame.iter_rows(named=True):
        path, gpu = r["model_path"].lower(), r["system"].split("_")[0].upper()
        sizes = next((s for name, s in SIZES.items() if name in path), None)
        if sizes is None or gpu not in ("H100", "H200", "B200", "GB200"):
            continue
        said = "mxfp4" if "gpt-oss" in path else FORMATS[r["precision"]]
        rows.append({"app": r["model_path"], "workload": f"{r['isl']} {r['osl']}",
                     "gpu_model": gpu, "gpus": r["tp_size"], "batch_cap": r["batch_size"],
                     "params": sizes[0], "active_params": sizes[1], "weight_precision": said,
                     "itl_s": r["silicon_tpot_ms"] / 1e3})  # fmt: skip
    return table(pl.DataFrame(rows))


def show(rows: list[dict[str, Any]]) -> None:
    """Means over seeds, a table for each set."""
    for name in dict.fromkeys(r["set"] for r in rows):
        some = [r for r in rows if r["set"] == name]
        columns = [k for k in some[0] if k not in ("method", "set", "samples", "seed")]
        said = Table("samples", "method", *columns, title=name)
        for size, method in dict.fromkeys((r["samples"], r["method"]) for r in some):
            own = [r for r in some if (r["samples"], r["method"]) == (size, method)]
            said.add_row(str(size), method, *(mean_of(own, k) for k in columns))
        Console(width=140).print(said)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
