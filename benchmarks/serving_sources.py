"""Leave one source out: serving tables of which a few rows are one's own, and the rest judge.

    python benchmarks/energylens.py --sources [NAME ...] [--quick] [--json] [--seeds N]

Sources: ML.ENERGY V2 and V3, Splitwise (Llama 2 70B and BLOOM, prompts of 128 to 8192 tokens),
Argonne's LLM-Inference-Bench (48 rows with watts; and, without energy, its rows of tensor, pipeline
and expert parallelism, whose time per token is asked) and Wilkins et al. (prompts and answers of 8
to 4096 tokens; medians of repeated calls).  Of each, 20 and 50 random rows are measured and the
others are judged.  A scenario is a group of rows that differ in their placement alone.

Methods: ours; a Gaussian process, gradient-boosted trees and ridge on the logarithms of all columns
and indicators of names; the rules of `energylens` learn nothing.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import RidgeCV

from rheostat.core.jobs import JobTable
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.prediction.serving_law import ServingLaw
from rheostat.prediction.serving_law.configurations import Configurations
from rheostat.prediction.serving_law.predictor import NOISE
from rheostat.questions.llm.standing_rule import surer, unbroken
from rheostat.recipes.energylens import RULES as RULES_OF_PLAN

Z90 = 1.645
SAMPLES = (20, 50)
LENGTHS = ("prompt_tokens", "output_tokens")
NAMES = ("app", "workload", "gpu_model", "architecture", "weight_precision")
MIXTRAL = (46.7e9, 12.9e9)
ARGONNE_SIZES = {"Llama-2-7b": 6.7e9, "Llama-3-8B": 8e9, "Llama-2-70b": 69e9, "Llama-3-70B": 70e9,
                 "Qwen2-7B": 7.6e9, "Mistral-7B": 7.2e9, "Mixtral-8x7B": MIXTRAL[0]}  # fmt: skip
Answer = tuple[Any, ...]  # logarithm of every row, its deviation; covariance, if it is known


def splitwise(root: Any) -> JobTable:
    """Means over repeats; watts are shares of an A100's 400 W on every GPU."""
    rows = pl.read_csv(root / "splitwise" / "perf_model.csv").filter(pl.col("average_power") > 0)
    keys = ["model", "prompt_size", "batch_size", "token_size", "tensor_parallel"]
    means = rows.group_by(keys, maintain_order=True).agg(
        pl.col("average_power", "token_time", "e2e_time").mean()
    )
    watts = 400.0 * pl.col("average_power") * pl.col("tensor_parallel")
    speed = 1e3 * pl.col("batch_size") * pl.col("token_size") / pl.col("e2e_time")
    return table(means.select(
        pl.col("model").alias("app"), pl.lit("A100").alias("gpu_model"),
        params=pl.when(pl.col("model").str.contains("bloom")).then(176e9).otherwise(69e9),
        gpus=pl.col("tensor_parallel"), tp=pl.col("tensor_parallel"), batch_cap="batch_size",
        prompt_tokens="prompt_size", output_tokens="token_size", itl_s=pl.col("token_time") / 1e3,
        tokens_per_s=speed, energy_per_token_j=watts / speed,
    ))  # fmt: skip


def argonne_power(root: Any) -> JobTable:
    """Watts of one GPU in mW; throughput counts prompts too, so that tokens follow from latency."""
    rows = _argonne(root, "power_results.csv").rename({"avg_power": "_mw"})
    watts = pl.col("_mw") / 1e3 * pl.col("gpus")
    speed = pl.col("batch_cap") * pl.col("output_tokens") / pl.col("_latency")
    return table(rows.with_columns(tokens_per_s=speed, energy_per_token_j=watts / speed)
                 .drop("_latency", "_mw"))  # fmt: skip


def argonne_time(root: Any) -> JobTable:
    """Rows of each kind of parallelism; no energy was measured."""
    rows = _argonne(root, "TP_EP_PP_results.csv")
    kind, gpus = pl.col("Parallelism Type"), pl.col("gpus")
    both = kind.str.contains("(?i)hyb")
    experts, stages = kind.str.contains("EP"), kind.str.contains("(?i)pipeline|PP")
    part = pl.when(both).then(2).otherwise(gpus)
    rows = rows.with_columns(
        pp=pl.when(stages).then(part).otherwise(1), ep=pl.when(experts).then(part).otherwise(1),
        energy_per_token_j=pl.lit(None, pl.Float64),
    ).with_columns(tp=gpus // pl.col("pp"))  # fmt: skip
    return table(rows.drop("_latency", "Parallelism Type").unique(maintain_order=True))


def _argonne(root: Any, name: str) -> pl.DataFrame:
    rows = pl.read_csv(root / "argonne_llm_inference_bench" / name, infer_schema_length=None)
    rows = rows.filter(pl.col("Hardware").is_not_null() & (pl.col("Latency") > 0))
    size = pl.coalesce(
        pl.when(pl.col("Model").str.contains(part)).then(n) for part, n in ARGONNE_SIZES.items()
    )
    mixture = pl.col("Model").str.contains("Mixtral")
    tokens = pl.col("Input Output Length")
    return rows.select(
        pl.col("Model").alias("app"), pl.col("Framework").alias("workload"),
        pl.col("Hardware").str.extract(r"(A100|GH200|H100)").replace("A100", "A100-40")
        .alias("gpu_model"),
        gpus=pl.col("Num of Hardware"), batch_cap="Batch Size", params=size,
        active_params=pl.when(mixture).then(MIXTRAL[1]).otherwise(size),
        prompt_tokens=tokens, output_tokens=tokens, itl_s=pl.col("Latency") / tokens,
        _latency="Latency", **{c: pl.col(c) for c in ("avg_power", "Parallelism Type")
                               if c in rows.columns},
    )  # fmt: skip


def wilkins(root: Any) -> JobTable:
    """Medians over the calls of one configuration: the first call of a length warms up."""
    parts = []
    for name in ("input", "input-scale", "output", "output-scale"):
        rows = pl.read_csv(
            root / "wilkins_energy" / f"all-{name}-stats.csv", infer_schema_length=None
        )
        said = "Output Token Limit" if "Output Token Limit" in rows.columns else None
        rows = rows.filter(pl.col("Phase").str.starts_with("start-inference"))
        parts.append(rows.select(
            "Model", "System", gpus="Number of GPUs", batch_cap="Batch Size",
            prompt_tokens="Number of Input Tokens", output_tokens=said or "Number of Output Tokens",
            _s="Runtime (s)", _j="GPU Energy (J)",
        ).cast({"_j": pl.Float64}, strict=False))  # fmt: skip
    rows = pl.concat(parts).filter((pl.col("_j") > 0) & ~pl.col("System").str.contains("M1"))
    keys = [c for c in rows.columns if not c.startswith("_")]
    rows = rows.group_by(keys, maintain_order=True).agg(pl.col("_s", "_j").median())
    mixture = pl.col("Model").str.contains("8x7B")
    size = pl.col("Model").str.extract(r"(\d+)B").cast(pl.Float64) * 1e9
    size = pl.when(mixture).then(MIXTRAL[0]).otherwise(size)
    tokens = pl.col("batch_cap") * pl.col("output_tokens")
    made = rows.select(
        pl.col("Model").alias("app"), pl.col("System").alias("workload"),
        pl.when(pl.col("System").str.contains("V100")).then(pl.lit("V100"))
        .otherwise(pl.lit("A100-40")).alias("gpu_model"),
        *keys[2:], params=size, active_params=pl.when(mixture).then(MIXTRAL[1]).otherwise(size),
        itl_s=pl.col("_s") / pl.col("output_tokens"), tokens_per_s=tokens / pl.col("_s"),
        energy_per_token_j=pl.col("_j") / tokens,
    )  # fmt: skip
    return table(made)


def scenarios(runs: JobTable, source: str) -> list[np.ndarray]:
    """Rows that differ in their placement alone; the systems of Wilkins are placements."""
    keys = ["app", "batch_cap", *(["workload"] if source != "wilkins" else []),
            *(LENGTHS if "prompt_tokens" in runs.columns else ())]  # fmt: skip
    keys = [k for k in keys if k in runs.columns]
    grouped = runs.frame.with_row_index("_row").group_by(keys, maintain_order=True)
    return [g["_row"].to_numpy().astype(np.int64) for _, g in grouped if len(g) > 1]


def columns(runs: JobTable) -> np.ndarray:
    """Logarithms of all numbers that are known before a run, and indicators of names."""
    c = Configurations.of(runs)
    numbers = [c.gpus, c.pp, c.ep, c.batch, c.params, c.active, c.weight_b, c.memory_b_per_s,
               c.flop_per_s, c.power_w]  # fmt: skip
    lengths = LENGTHS if "prompt_tokens" in runs.columns else ()
    numbers += [runs.numpy(k) for k in ("tp", "dp", *lengths) if k in runs.columns]
    names = [runs.frame[k].cast(pl.String).fill_null("").to_numpy() for k in NAMES
             if k in runs.columns]  # fmt: skip
    kinds = [(n == v).astype(float) for n in names for v in np.unique(n)]
    every = np.column_stack([*(np.log2(np.nan_to_num(x, nan=1.0)) for x in numbers), *kinds])
    return np.asarray(every[:, np.ptp(every, axis=0) > 0])


def least(mean: np.ndarray, groups: list[np.ndarray]) -> list[np.ndarray]:
    """Where an answer knows no difference, each is as likely to be taken."""
    return [g[mean[g] <= mean[g].min() + 1e-12] for g in groups]


def chosen(
    runs: JobTable, rows: Sequence[int], groups: list[np.ndarray], mean: np.ndarray,
    deviation: np.ndarray | None, covariance: np.ndarray | None = None,
) -> list[np.ndarray]:  # fmt: skip
    """As `rheostat llm plan` takes: a rule that nothing measured contradicts stands."""
    taken = least(mean, groups)
    kept = {} if covariance is None else unbroken(runs.rows(np.asarray(rows)))
    settings = runs.frame.rows(named=True) if kept else []
    for (name, pairs), (k, group) in itertools.product(kept.items(), enumerate(groups)):
        keys = {i: RULES_OF_PLAN[name](settings[i]) for i in group}
        both = np.array([taken[k][0], min(keys, key=keys.__getitem__)])
        differ = keys[both[0]] != keys[both[1]]
        if differ and not surer(mean[both], covariance[np.ix_(both, both)], pairs):
            taken[k] = both[1:]
    return taken


def ours(runs: JobTable, rows: np.ndarray, target: str, seed: int) -> Answer:
    """The law."""
    law = ServingLaw().fit(runs.rows(rows))
    mean, spread = law.posterior(Configurations.of(runs), [target])
    return mean, np.sqrt(np.maximum(np.diag(spread), 0) + NOISE**2), spread


def gaussian(runs: JobTable, rows: np.ndarray, target: str, seed: int) -> Answer:
    """A Gaussian process with a length for each column, by the marginal likelihood."""
    x, y = columns(runs), np.log(runs.numpy(target))
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    kernel = ConstantKernel(1.0, (1e-2, 1e2)) * RBF(
        np.full(x.shape[1], 3.0), (0.3, 100.0)
    ) + WhiteKernel(0.01, (1e-5, 1.0))
    model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=seed)
    mean, deviation = model.fit(x[rows], y[rows]).predict(x, return_std=True)
    return mean, deviation


def plain(make: Callable[[int], Any], runs: JobTable, rows: np.ndarray, target: str,
          seed: int) -> Answer:  # fmt: skip
    """A regressor of the logarithm, without intervals."""
    x, y = columns(runs), np.log(runs.numpy(target))
    return make(seed).fit(x[rows], y[rows]).predict(x), None


METHODS: dict[str, Callable[..., Answer]] = {
    "ours": ours, "gp": gaussian,
    "gbm": partial(plain, lambda seed: GradientBoostingRegressor(
        n_estimators=200, max_depth=3, random_state=seed)),
    "ridge": partial(plain, lambda seed: RidgeCV(np.logspace(-3, 2, 11))),
}  # fmt: skip


def every(
    sources: dict[str, JobTable], rules: dict[str, Any], seeds: int, methods: Sequence[str]
) -> Any:
    """All rows of the result."""
    for name, runs in sources.items():
        target = "itl_s" if np.isnan(runs.numpy("energy_per_token_j")).all() else (
            "energy_per_token_j")  # fmt: skip
        groups, y = scenarios(runs, name), np.log(runs.numpy(target))
        for rule, rank in rules.items():
            yield score(rule, name, 0, 0, groups, y, (rank(runs), None))
        for size in (s for s in SAMPLES if s <= len(runs) / 2 + 1):
            for seed in range(seeds):
                rows = np.sort(np.random.default_rng(seed).choice(len(runs), size, replace=False))
                for method in methods:
                    try:
                        answer = METHODS[method](runs, rows, target, seed)
                    except DataError as error:  # a table that a method cannot read is a result
                        print(f"{name}, {method}: {error}", file=sys.stderr)
                        continue
                    answer = (*answer[:2], chosen(runs, rows, groups, *answer))
                    yield score(method, name, size, seed, groups, y, answer, rows)


def score(
    method: str, source: str, size: int, seed: int, groups: Sequence[np.ndarray], y: np.ndarray,
    answer: Answer, rows: Sequence[int] = (),
) -> dict[str, Any]:  # fmt: skip
    """Choices over all scenarios; errors and coverage over rows that were not measured."""
    mean, deviation, *own = answer
    rest = np.setdiff1d(np.arange(len(y)), rows)
    error, learned = (mean - y)[rest], size > 0
    taken = own[0] if own else least(mean, groups)
    best = [y[g].min() for g in groups]
    both = list(zip(taken, best, strict=True))
    return {
        "source": source, "samples": size, "method": method, "seed": seed, "rows": len(y),
        "scenarios": len(groups),
        "top1": float(np.mean([np.mean(y[t] <= b) for t, b in both])) if both else None,
        "excess": float(np.mean([np.mean(np.expm1(y[t] - b)) for t, b in both])) if both else None,
        "median_ape": float(np.median(np.abs(np.expm1(error)))) if learned else None,
        "coverage": None if deviation is None else float(
            np.mean(np.abs(error) <= Z90 * deviation[rest])),
    }  # fmt: skip


def main(root: Any, sources: dict[str, JobTable], rules: dict[str, Any], *, seeds: int,
         as_json: bool, only: Sequence[str] = ()) -> None:  # fmt: skip
    """Score all methods on all sources, and print."""
    sources = {
        **sources, "splitwise": splitwise(root), "argonne": argonne_power(root),
        "argonne-time": argonne_time(root), "wilkins": wilkins(root),
    }  # fmt: skip
    if unknown := set(only) - set(sources):
        sys.exit(f"--sources: expected some of {', '.join(sources)}, got {', '.join(unknown)}")
    sources = {name: runs for name, runs in sources.items() if not only or name in only}
    rows = list(every(sources, rules, seeds, tuple(METHODS)))
    print(json.dumps({"rows": rows})) if as_json else show(rows)


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Means over seeds, and their standard errors."""
    said = Table("source", "rows", "scenarios", "samples", "method", "median error", "coverage",
                 "top-1", "excess energy")  # fmt: skip
    for key in dict.fromkeys((r["source"], r["samples"], r["method"]) for r in rows):
        some = [r for r in rows if (r["source"], r["samples"], r["method"]) == key]
        cells = [_mean(some, k) for k in ("median_ape", "coverage", "top1", "excess")]
        count = (str(some[0]["rows"]), str(some[0]["scenarios"]))
        said.add_row(key[0], *count, str(key[1]), key[2], *cells)
    Console(width=120).print(said)


def _mean(rows: Sequence[dict[str, Any]], key: str) -> str:
    values = [100 * r[key] for r in rows if r[key] is not None]
    if len(values) < 2:
        return f"{values[0]:.1f} %" if values else ""
    return f"{np.mean(values):.1f} ± {np.std(values, ddof=1) / len(values) ** 0.5:.1f} %"
