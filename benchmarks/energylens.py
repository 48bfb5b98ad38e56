"""Which serving configuration takes the least energy per token: the law beside others.

    python benchmarks/energylens.py [--quick] [--json] [--seeds N] [--methods ours ours-next]
    python benchmarks/energylens.py --sources [NAME ...] [--quick] [--json] [--seeds N]

Data: ML.ENERGY V3 without fill-in-the-middle, 788 measured configurations.  A scenario is a group
of configurations among which one is chosen; a method is fitted to some measurements and its least
predicted energy is compared with the least measured one.

    fixed-batch   (task, model, batch cap) with two configurations or more
    free          (task, model)
    slo           as free, under limits on the time between tokens that rule out a fifth, two, three
                  and four fifths
    new-model     as fixed-batch, the model's own runs left out of the samples
    pipelines     ML.ENERGY V2, (task, model, batch cap) with pipeline parallelism among the choices
    splitwise     Splitwise's Llama 2 70B on A100, (prompt, batch): 2, 4 or 8 GPUs

Methods: ours, its law alone (ours-law), ours with measurements that it asked for itself (ours-next,
`rheostat llm fit --next`) and with kernel tables as prior (ours-kernels); the others learn from
random measurements; rules learn nothing.

Scores: top1, share of scenarios in which the choice is the best; excess_energy, mean of what the
choice takes above the best; pairwise, share of pairs ordered rightly; median_ape and coverage of
90 % intervals over rows that were not fitted.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import serving_sources
from closed_form import ClosedForm
from rich.console import Console
from rich.table import Table
from serving_sources import chosen, least
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LinearRegression

from rheostat.core.jobs import JobTable
from rheostat.core.vocabulary import table
from rheostat.measurement.read import read
from rheostat.measurement.serving.kernel_tables import read_kernels
from rheostat.prediction.serving_law import ServingLaw
from rheostat.prediction.serving_law.configurations import Configurations
from rheostat.prediction.serving_law.operon_law import OperonLaw
from rheostat.prediction.serving_law.predictor import NOISE
from rheostat.questions.llm.kernel_prior import kernel_prior
from rheostat.tradeoff.decisive import most_decisive

ROOT = Path(os.environ.get("RHEOSTAT_DATA", Path(__file__).parents[2] / "shared" / "data"))
FILE = ROOT / "llm" / "mlenergy_v3" / "mlenergy_v3_llm_mllm.csv"
V2 = ROOT / "llm" / "mlenergy_v2" / "mlenergy_v2_llm_mllm.csv"
SPLITWISE = ROOT / "llm" / "splitwise" / "perf_model.csv"
KERNELS = ROOT / "llm" / "aiconfigurator"
TARGET = "energy_per_token_j"
SAMPLES, ASKED, FIRST, BATCH, Z90 = (20, 50, 100, 300), (20, 30, 50, 100, 300), 5, 5, 1.645
Groups = list[np.ndarray]
Taken = list[np.ndarray]  # rows that are taken of each group, each as likely
Answer = tuple[Any, ...]  # log energy of every row, its standard deviation; what is taken, if said


def main() -> None:
    """Run the methods on the sets and print rows."""
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--quick", action="store_true", help="fewer samples and seeds")
    args.add_argument("--json", action="store_true", help="one JSON document")
    args.add_argument("--sources", nargs="*", help="leave one source out instead: all, or these")
    args.add_argument("--seeds", type=int, default=0)
    args.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    given = args.parse_args()
    if not FILE.exists():
        sys.exit(f"measured data not found at {FILE}; set RHEOSTAT_DATA")
    runs = loaded()
    seeds = given.seeds or (3 if given.quick else 20)
    if given.sources is not None:
        tables = {"mlenergy-v3": runs, "mlenergy-v2": with_pipelines()}
        serving_sources.main(ROOT / "llm", tables, RULES, seeds=seeds, as_json=given.json,
                             only=given.sources)  # fmt: skip
        return
    sizes = {m: ((30,) if m == "ours-next" else (50,)) if given.quick else
             ASKED if m == "ours-next" else SAMPLES for m in given.methods}  # fmt: skip
    rows = list(every(runs, sizes, seeds))
    print(json.dumps({"rows": rows})) if given.json else show(rows)


def loaded() -> JobTable:
    """The table without fill-in-the-middle, which has no measured latency of a chat."""
    runs = read(FILE)
    return runs.rows((runs.frame["workload"] != "sourcegraph-fim").to_numpy())


def with_pipelines() -> JobTable:
    """V2's language models, those rows that have an energy per token."""
    runs = read(V2)
    return runs.rows((runs.numpy(TARGET) > 0) & (runs.numpy("itl_s") > 0))


def splitwise() -> JobTable:
    """Means over repeats; watts are shares of an A100's 400 W on every GPU."""
    rows = pl.read_csv(SPLITWISE).filter(
        (pl.col("average_power") > 0) & (pl.col("model") == "llama2-70b")
    )
    joules = 400.0 * pl.col("average_power") * pl.col("tensor_parallel") * pl.col("e2e_time") / 1e3
    keys = ["prompt_size", "batch_size", "tensor_parallel"]
    means = rows.group_by(keys, maintain_order=True).agg(
        (joules / (pl.col("batch_size") * pl.col("token_size"))).mean().alias(TARGET),
        (pl.col("token_time") / 1e3).mean().alias("itl_s"),
    )
    return table(means.select(
        pl.lit("llama2-70b").alias("app"), pl.lit("A100").alias("gpu_model"),
        pl.lit(70e9).alias("params"), pl.format("{}", "prompt_size").alias("workload"),
        pl.col("prompt_size").cast(pl.Float64).alias("prompt_tokens"),
        pl.col("tensor_parallel").alias("gpus"), pl.col("batch_size").alias("batch_cap"),
        TARGET, "itl_s",
    ))  # fmt: skip


def scenarios(runs: JobTable, name: str) -> Groups:
    """Rows of each scenario of a set."""
    if name in ("pipelines", "splitwise"):
        groups = scenarios(runs, "fixed-batch")
        if name == "splitwise":
            return groups
        pp = runs.numpy("pp")
        return [g for g in groups if (pp[g] > 1).any()]
    keys = ["workload", "app", *(["batch_cap"] if name in ("fixed-batch", "new-model") else [])]
    grouped = runs.frame.with_row_index("_row").group_by(keys, maintain_order=True)
    groups = [g["_row"].to_numpy().astype(np.int64) for _, g in grouped if len(g) > 1]
    if name != "slo":
        return groups
    itl_s = runs.numpy("itl_s")
    limited = (
        g[itl_s[g] <= np.quantile(itl_s[g], share)]
        for g in groups
        for share in (0.2, 0.4, 0.6, 0.8)
    )
    return [g for g in limited if len(g) > 1]


def every(runs: JobTable, sizes: dict[str, Sequence[int]], seeds: int) -> Any:
    """All rows of the result, seed by seed; what one sample teaches serves all sets of a table."""
    sets = {name: runs for name in ("fixed-batch", "free", "slo", "new-model")}
    sets |= {"pipelines": with_pipelines()} if V2.exists() else {}
    sets |= {"splitwise": splitwise()} if SPLITWISE.exists() else {}
    groups = {name: scenarios(own, name) for name, own in sets.items()}
    for name, own in sets.items():
        log_energy = np.log(own.numpy(TARGET))
        for method, rank in RULES.items():
            yield score(method, name, 0, 0, groups[name], log_energy, (rank(own), None))
    for seed, method in itertools.product(range(seeds), sizes):
        fit = METHODS[method]
        for size in sizes[method]:
            answers: dict[int, Any] = {}
            for name, own in sets.items():
                log_energy = np.log(own.numpy(TARGET))
                if name == "new-model":
                    yield new_models(method, fit, own, groups[name], log_energy, size, seed)
                    continue
                key = hash(name) if fit is law_next else id(own)
                if key not in answers:
                    answers[key] = fit(own, groups[name], size, seed)
                rows, answer = answers[key]
                own_answer = (*answer[:2], chosen(own, rows, groups[name], *answer))
                yield score(method, name, size, seed, groups[name], log_energy, own_answer, rows)


def new_models(
    method: str, fit: Any, runs: JobTable, groups: Groups, y: np.ndarray, size: int, seed: int
) -> dict[str, Any]:
    """Each model's scenarios answered by a fit to runs of the others; five folds of models."""
    apps = np.array(runs.frame["app"].to_list())
    folds = np.random.default_rng(seed).permutation(np.unique(apps))
    mean, deviation = np.zeros(len(y)), np.full(len(y), np.nan)
    for held in np.array_split(folds, 5):
        known, asked = np.flatnonzero(~np.isin(apps, held)), np.flatnonzero(np.isin(apps, held))
        inside = [np.searchsorted(known, g) for g in groups if np.isin(g, known).all()]
        _, (at, spread, *_) = fit(runs.rows(known), inside, size, seed, also=runs.rows(asked))
        mean[asked] = at
        deviation[asked] = np.nan if spread is None else spread
    answer = (mean, None if np.isnan(deviation).all() else deviation)
    return score(method, "new-model", size, seed, groups, y, answer)


def score(
    method: str, name: str, size: int, seed: int, groups: Groups, y: np.ndarray, answer: Answer,
    fitted: Sequence[int] = (),
) -> dict[str, Any]:  # fmt: skip
    """One row: what the answer chooses in each scenario, against what was measured."""
    mean, deviation, *own = answer
    best = np.array([y[g].min() for g in groups])
    taken = own[0] if own else least(mean, groups)
    pairs = [(i, j) for g in groups for i, j in itertools.combinations(g, 2)]
    right = [(y[i] < y[j]) == (mean[i] < mean[j]) for i, j in pairs]
    rest = np.setdiff1d(np.arange(len(y)), fitted)
    error = np.abs(mean - y)[rest]
    inside = (
        None
        if deviation is None or not len(rest)
        else float(np.mean(error <= Z90 * deviation[rest]))
    )
    none_left = method in RULES or not len(rest)
    return {
        "method": method, "set": name, "samples": size, "seed": seed,
        "top1": float(np.mean([np.mean(y[t] <= b) for t, b in zip(taken, best, strict=True)])),
        "excess_energy": float(np.mean([
            np.mean(np.expm1(y[t] - b)) for t, b in zip(taken, best, strict=True)])),
        "pairwise": float(np.mean(right)),
        "median_ape": None if none_left else float(np.median(np.abs(np.expm1(mean - y))[rest])),
        "coverage": inside,
    }  # fmt: skip


def drawn(runs: JobTable, size: int, seed: int) -> np.ndarray:
    """Rows of a random sample."""
    size = min(size, len(runs))
    return np.sort(np.random.default_rng(seed).choice(len(runs), size, replace=False))


def law(residual: bool, kernels: Path | None = None) -> Callable[..., tuple[np.ndarray, Answer]]:
    """Ours, fitted to a random sample; with kernel tables as prior where given."""

    def fit(runs: JobTable, groups: Groups, size: int, seed: int, also: Any = None) -> Any:
        rows = drawn(runs, size, seed)
        prior = kernel_tables(kernels) if kernels else None
        model = ServingLaw(residual=residual, kernels=prior)
        return rows, asked(model.fit(runs.rows(rows)), also or runs)

    return fit


@cache
def kernel_tables(directory: Path) -> dict[str, dict[str, float]]:
    """Prior medians from the tables, read once."""
    return kernel_prior(read_kernels(directory).rates)


def law_next(runs: JobTable, groups: Groups, size: int, seed: int, also: Any = None) -> Any:
    """Ours, fitted to measurements that it asked for itself: a tenth of those made, or five."""
    rows, asked_of = list(drawn(runs, FIRST, seed)), Configurations.of(runs)
    while True:
        model = ServingLaw().fit(runs.rows(np.sort(rows)))
        more = min(max(BATCH, len(rows) // 10), size - len(rows))
        if more <= 0:
            return rows, asked(model, also or runs)
        mean, spread = model.posterior(asked_of, [TARGET])
        named = most_decisive(mean, spread, groups, more, measured=set(rows))
        if not named:
            return rows, asked(model, also or runs)
        rows += named


def asked(model: ServingLaw, runs: JobTable) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log energies with the standard deviation of a measurement of them, and their covariance."""
    mean, spread = model.posterior(Configurations.of(runs), [TARGET])
    return mean, np.sqrt(np.maximum(np.diag(spread), 0) + NOISE**2), spread


def closed_form(runs: JobTable, groups: Groups, size: int, seed: int, also: Any = None) -> Any:
    """Twelve numbers."""
    rows = drawn(runs, size, seed)
    found = ClosedForm().fit(runs.rows(rows)).predict(also or runs)
    return rows, (np.log(found.mean(TARGET)), None)


def operon(runs: JobTable, groups: Groups, size: int, seed: int, also: Any = None) -> Any:
    """Genetic programming."""
    rows = drawn(runs, size, seed)
    answer = OperonLaw(seed=seed).fit(runs.rows(rows)).predict(also or runs)
    return rows, (np.nan_to_num(np.log(answer.mean(TARGET)), nan=50.0), None)


def features(runs: JobTable) -> np.ndarray:
    """Logarithms of what a configuration is, and its names as indicators."""
    c = Configurations.of(runs)
    numbers = [c.gpus, c.batch, c.params, c.active, c.weight_b, c.memory_b_per_s, c.power_w]
    kinds = [(c.workload == w).astype(float) for w in sorted(set(ALL_WORKLOADS))]
    return np.column_stack([*(np.log2(x) for x in numbers), *kinds])


ALL_WORKLOADS = ("lm-arena-chat", "gpqa", "image-chat", "video-chat")


def boosted(runs: JobTable, groups: Groups, size: int, seed: int, also: Any = None) -> Any:
    """Gradient-boosted trees on the logarithm."""
    rows = drawn(runs, size, seed)
    model = GradientBoostingRegressor(n_estimators=200, max_depth=3, random_state=seed)
    model.fit(features(runs)[rows], np.log(runs.numpy(TARGET))[rows])
    return rows, (model.predict(features(also or runs)), None)


def wilkins(runs: JobTable, groups: Groups, size: int, seed: int, also: Any = None) -> Any:
    """A linear model, after Wilkins et al. (2024), here of logarithms."""
    rows = drawn(runs, size, seed)
    x = features(runs)
    model = LinearRegression().fit(x[rows], np.log(runs.numpy(TARGET))[rows])
    return rows, (model.predict(features(also or runs)), None)


METHODS: dict[str, Any] = {
    "ours": law(residual=True), "ours-law": law(residual=False), "ours-next": law_next,
    "energylens": closed_form, "wilkins": wilkins, "gbm": boosted,
}  # fmt: skip
if KERNELS.exists():
    METHODS["ours-kernels"] = law(True, KERNELS)
if find_spec("pyoperon"):
    METHODS["operon"] = operon
RULES: dict[str, Callable[[JobTable], np.ndarray]] = {
    "fewest-gpus": lambda r: Configurations.of(r).gpus - 1e-4 * np.log2(r.numpy("batch_cap")),
    "newest-then-fewest": lambda r: (
        Configurations.of(r).gpus * 10 - Configurations.of(r).flop_per_s / 1e12
        - 1e-4 * np.log2(r.numpy("batch_cap"))),
    "random": lambda r: np.random.default_rng(0).random(len(r)),
}  # fmt: skip


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Means over seeds."""
    said = Table(
        "set", "samples", "method", "top-1", "excess energy", "pairwise", "median APE", "coverage"
    )
    keys = dict.fromkeys((r["set"], r["samples"], r["method"]) for r in rows)
    for key in keys:
        some = [r for r in rows if (r["set"], r["samples"], r["method"]) == key]
        cells = [
            mean_of(some, k)
            for k in ("top1", "excess_energy", "pairwise", "median_ape", "coverage")
        ]
        said.add_row(key[0], str(key[1]), key[2], *cells)
    Console(width=120).print(said)


def mean_of(rows: Sequence[dict[str, Any]], key: str) -> str:
    """Mean in per cent, blank where there is none."""
    values = [r[key] for r in rows if r[key] is not None]
    return f"{100 * np.mean(values):.1f} %" if values else ""


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
