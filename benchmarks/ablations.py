"""Two claims of the paper put to the test on generated logs, whose truth is known.

    python benchmarks/ablations.py [--seeds 5] [--json] [--write-docs]

1. Loss-proportional sampling: does a forest learn more from rows a cheap model finds hard than from
a uniform
   draw of the same size?  Error on the last fifth of the log, and error of the what-if answers at
   other node counts, which only a generated site can judge.
2. Leakage: how much of a runtime model's skill on an Adastra-shaped log vanishes when the columns
that hold
   energy (a constant times the elapsed time) are withheld, as at submission they must be?

Multi- against single-objective search and embeddings on or off are rows of benchmarks/nodecount.py.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent))

from nodecount_lib.catalogue import REPO
from nodecount_lib.section import replace_section
from nodecount_lib.stats import Estimate, bootstrap
from published_logs import write_adastra

from rheostat.core.jobs import JobTable
from rheostat.measurement.synthetic import World
from rheostat.prediction.surrogate.loss_sampling import LossProportional, Uniform
from rheostat.prediction.surrogate.surrogate import Surrogate

SCHEMA = "rheostat.bench-ablations/1"
JOBS = 2000
NODES = (1, 4, 16, 64)
Row = dict[str, Any]
SAMPLERS: dict[str, Callable[[float], Any]] = {
    "all rows": lambda fraction: None,
    "uniform": Uniform,
    "loss-proportional, weighted": lambda fraction: LossProportional(fraction, weights=True),
    "loss-proportional, unweighted": lambda fraction: LossProportional(fraction, weights=False),
}


def sampling_rows(seed: int) -> list[Row]:
    """Errors of one generated site's forest under each sampler and size."""
    world = World(seed=seed)
    past, recent = world.jobs(JOBS).split_by_time(0.8)
    ended = recent.rows(~recent.numpy("censored").astype(bool))
    turned = _turned(ended)
    rows: list[Row] = []
    for name, sampler in SAMPLERS.items():
        for fraction in (1.0,) if name == "all rows" else (0.25, 0.73):
            model = Surrogate(
                "forest", sample=sampler(fraction), min_support=0, n_draws=8, seed=seed
            ).fit(past)
            for what, jobs in (("as submitted", ended), ("what if", turned)):
                rows.append(
                    {"sampler": name, "fraction": fraction, "asked": what, "seed": seed}
                    | _errors(model, jobs, world)
                )
    return rows


def _turned(jobs: JobTable) -> JobTable:
    """The first hundred jobs at other node counts."""
    some = min(len(jobs), 100)
    table = jobs.rows(np.repeat(np.arange(some), len(NODES)))
    return table.with_columns([jobs.schema["nodes"]], nodes=np.tile(NODES, some))


def _errors(model: Surrogate, jobs: JobTable, world: World) -> Row:
    """Mean absolute log error against the site's noise-free truth."""
    answer, truth = model.predict(jobs), world.truth(jobs)
    return {
        f"{q}_log_error": float(np.nanmean(np.abs(np.log(answer.mean(q) / truth.mean(q)))))
        for q in ("runtime_s", "power_w")
    }


def leakage_rows(seed: int) -> list[Row]:
    """Runtime error of a forest on an Adastra-shaped log, with and without the energy columns."""
    from sklearn.ensemble import RandomForestRegressor

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adastra.parquet"
        write_adastra(path, JOBS, seed)
        frame = pl.read_parquet(path)
    known = ["num_nodes_req", "num_cores_req", "num_gpus_req", "mem_req", "user_id"]
    leaks = ["cpu_power_consumption", "mem_power_consumption"]
    frame = frame.filter(pl.col("job_state") == "COMPLETED").with_columns(
        *[_total(frame.schema[c], c) for c in leaks]
    )
    y = np.log(np.maximum(frame["run_time"].to_numpy(), 1))
    cut = int(0.8 * len(frame))
    rows = []
    for name, columns in (("withheld", known), ("given", known + leaks)):
        x = frame.select(pl.col(c).cast(pl.Float64) for c in columns).fill_null(-1).to_numpy()
        forest = RandomForestRegressor(60, min_samples_leaf=2, random_state=seed, n_jobs=1)
        error = np.abs(forest.fit(x[:cut], y[:cut]).predict(x[cut:]) - y[cut:])
        rows.append(
            {"energy columns": name, "seed": seed, "runtime_log_error": float(error.mean())}
        )
    return rows


def _total(dtype: pl.DataType, name: str) -> pl.Expr:
    return pl.col(name).list.sum() if isinstance(dtype, pl.List) else pl.col(name)


def _mean(rows: list[Row], metric: str, **where: Any) -> Estimate:
    values = [r[metric] for r in rows if all(r[k] == v for k, v in where.items())]
    return bootstrap(np.array(values)[:, None])


def _paired(rows: list[Row], metric: str, a: dict[str, Any], b: dict[str, Any]) -> Estimate:
    def chosen(where: dict[str, Any]) -> list[float]:
        return [r[metric] for r in rows if all(r[k] == v for k, v in where.items())]

    return bootstrap((np.array(chosen(a)) - np.array(chosen(b)))[:, None])


def report(sampling: list[Row], leakage: list[Row], seeds: int) -> list[str]:
    """The section as Markdown lines."""
    lines = [
        "## Sampling and leakage, on generated logs",
        "",
        f"    python benchmarks/ablations.py --seeds {seeds} --write-docs",
        "",
    ]
    lines += [
        f"{seeds} generated sites of {JOBS} jobs, first 80 % learnt from; mean absolute log error"
    ]
    lines += [
        "against the noise-free truth, 95 % bootstrap interval over sites. The paired column is",
        "loss-proportional minus uniform of the same size.",
        "",
    ]
    lines += [
        "| asked | sampler | share of rows | runtime | power | paired, runtime |",
        "|---|---|---|---|---|---|",
    ]
    for asked in ("as submitted", "what if"):
        for name in SAMPLERS:
            for fraction in (1.0,) if name == "all rows" else (0.25, 0.73):
                at = {"asked": asked, "sampler": name, "fraction": fraction}
                cells = [
                    _mean(sampling, f"{q}_log_error", **at).text() for q in ("runtime_s", "power_w")
                ]
                paired = "-"
                if name.startswith("loss"):
                    paired = _paired(
                        sampling, "runtime_s_log_error", at, at | {"sampler": "uniform"}
                    ).text()
                lines.append(
                    f"| {asked} | {name} | {fraction:.2f} | {cells[0]} | {cells[1]} | {paired} |"
                )
    lines += [
        "",
        "Leakage, Adastra's schema: a forest predicts runtime from what is known at submission,",
        "and again with the two columns that hold energy.",
        "",
    ]
    lines += ["| energy columns | error of log runtime |", "|---|---|"]
    for name in ("withheld", "given"):
        lines.append(
            f"| {name} | {_mean(leakage, 'runtime_log_error', **{'energy columns': name}).text()} |"
        )
    return lines


def main(argv: list[str]) -> int:
    """Run both ablations."""
    p = argparse.ArgumentParser(prog="ablations.py", description=__doc__)
    p.add_argument("--seeds", type=int, default=5)
    p.add_argument("--json", action="store_true")
    p.add_argument("--write-docs", action="store_true")
    args = p.parse_args(argv)
    sampling = [r for s in range(args.seeds) for r in sampling_rows(s)]
    leakage = [r for s in range(args.seeds) for r in leakage_rows(s)]
    lines = report(sampling, leakage, args.seeds)
    sys.stderr.write("\n".join(lines) + "\n")
    if args.write_docs:
        replace_section(REPO / "docs" / "benchmarks.md", "ablations", lines)
    if args.json:
        rows = {"schema": SCHEMA, "sampling": sampling, "leakage": leakage}
        sys.stdout.write(json.dumps(rows) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
