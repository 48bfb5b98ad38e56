"""The section of docs/benchmarks.md on this benchmark, written from the rows."""

from __future__ import annotations

import datetime
import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from .claims import ablations
from .methods import REGISTRY
from .pools import Pool
from .section import replace_section
from .shortfall import by_pool
from .stats import METRICS, Scores, bootstrap, difference, verdict
from .verdicts import targets

LIBRARIES = (
    "botorch",
    "gpytorch",
    "torch",
    "optuna",
    "pymoo",
    "smac",
    "scikit-learn",
    "xgboost-cpu",
    "lightgbm",
    "pytorch-tabnet",
)
TITLES = {
    "hv_fraction": "Fraction of the true front's hypervolume",
    "hv_attainable": "Share of what that many evaluations can attain",
    "regret": "Constrained decision regret (lower is better)",
}

PARTIAL = """\
The command plans 20 seeds (5 for the slowest methods) and computes what is missing from its cache;
with `--cached-only` the page shows the runs finished so far. Seeds run per pool:
"""

PROTOCOL = """\
Objectives are logarithms scaled to each pool's own box, reference 1.1; box, reference, front and
questions are hidden from the methods. Hypervolume counts measured settings only. *Attainable* is
the best hypervolume of any set of that many settings (exact). *Regret* is the mean over 32 fixed
questions per pool (fastest under a power or energy bound, cheapest under a deadline) of
log(objective / best feasible), not below 0, plus the log excess over a broken bound; a method
with a model may name a setting it never measured. Every budget is a run of its own and known
beforehand. Only `ours` makes use of that, planning up to six evaluations ahead; the others choose
one by one, so that their longest run passes through all smaller budgets. Prior jobs, for methods
that use them, are the other applications of the same family and machine, never the target's own.
At budget 0 nothing is measured: hypervolume is 0, and a method without prior jobs advises the
middle of the space. Where a pool is smaller than the budget all of it is measured. Intervals:
95 %, bootstrap over pools and seeds; differences are paired on common pools and seeds; the best
peer is chosen afresh for every cell among the methods run on all pools.

`ours` was developed with these pools at hand (nothing in it is set per pool, but its design was
compared on them), so these figures may flatter it; tables kept aside are the fairer test. Why it
misses the targets it misses, and what was tried: [this system's page](systems/nodecount.md).
`paper-...` are reconstructions of arXiv 2601.15399, whose acquisition, budget, reference point
and splits are not public; they are given centred targets and heavier own runs; `paper-lgbm-raw`
goes without. `botorch-corners` is BoTorch from the two ends of the space instead of two
quasi-random points. Of Zeus, two of four GPU types are run to bound the cost.

Left out of the tables read:
"""


def write(scores: Scores, pools: list[Pool], *, command: str, docs: Path, notes: list[str]) -> None:
    """Replace this benchmark's section of `docs`/benchmarks.md and write the means as JSON beside
    it."""
    replace_section(docs / "benchmarks.md", "nodecount", _section(scores, pools, command, notes))
    folder = docs / "benchmarks"
    folder.mkdir(exist_ok=True)
    (folder / "nodecount.json").write_text(json.dumps(_means(scores), indent=1) + "\n")


def _section(scores: Scores, pools: list[Pool], command: str, notes: list[str]) -> list[str]:
    lines = ["## Who finds the front with fewest evaluations?", ""]
    lines += _protocol(scores, pools, command, notes)
    lines += ["", "### Targets", "", *_targets(scores)]
    lines += ["", "### Ours against the best peer", "", *_against_best(scores)]
    for objectives in scores.objectives:
        for metric in METRICS:
            lines += [
                "",
                f"### {TITLES[metric]}: {objectives}",
                "",
                *_means_table(scores, objectives, metric),
            ]
    lines += ablations(scores)
    lines += ["", "### Pool by pool", "", *by_pool(scores, pools)]
    return lines


def machine() -> str:
    """Processor, cores, system, Python."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.exists() else []:
        if line.startswith("model name"):
            name = line.split(":", 1)[1].strip()
            break
    system = f"{platform.system()} {platform.machine()}"
    return f"{name}, {os.cpu_count()} cores, {system}, Python {platform.python_version()}"


def _versions() -> str:
    found = []
    for library in LIBRARIES:
        try:
            found.append(f"{library} {version(library)}")
        except PackageNotFoundError:
            found.append(f"{library} not installed")
    return ", ".join(found)


def _range(sizes: list[int]) -> str:
    low, high = min(sizes), max(sizes)
    return str(low) if low == high else f"{low} to {high}"


def _seeds(scores: Scores, method: str) -> dict[str, int]:
    """Seeds run for each pool."""
    cell = scores.of("regret", method, scores.objectives[0], scores.budgets[-1])
    counts = np.isfinite(cell).sum(axis=1)
    return {p: int(n) for p, n in zip(scores.pools, counts, strict=True)}


def _seed_table(scores: Scores, families: dict[str, list[Pool]]) -> list[str]:
    """Seeds by method and family: `20`, or `5 to 20` where pools of a family differ."""
    lines = ["| method | " + " | ".join(families) + " |", "|---|" + "---|" * len(families)]
    for m in scores.methods:
        run = _seeds(scores, m)
        cells = [_range([run.get(p.name, 0) for p in pools]) for pools in families.values()]
        lines.append(f"| {m} | " + " | ".join(cells) + " |")
    return lines


def _protocol(scores: Scores, pools: list[Pool], command: str, notes: list[str]) -> list[str]:
    families: dict[str, list[Pool]] = {}
    for p in pools:
        families.setdefault(p.family, []).append(p)
    groups = [
        f"{f} ({len(ps)} x {_range([p.n for p in ps])} settings, {' x '.join(ps[0].knobs)})"
        for f, ps in families.items()
    ]
    fronts = f"{len(pools)} pools of real measured runs, each complete, so that its front is known"
    return [
        f"    {command}",
        "",
        f"{datetime.date.today().isoformat()}; {machine()}; {_versions()}.",
        "",
        f"{fronts}: {'; '.join(groups)}.",
        PARTIAL,
        *_seed_table(scores, families),
        "",
        PROTOCOL,
        *[f"- {n}" for n in notes],
    ]


def _targets(scores: Scores) -> list[str]:
    if "ours" not in scores.methods:
        return ["`ours` was not run."]
    rows = [
        f"| {t.asked} | {t.measured} | {'reached' if t.reached else '**not reached**'} |"
        for t in targets(scores)
    ]
    return ["| target | measured | verdict |", "|---|---|---|", *rows]


def _against_best(scores: Scores) -> list[str]:
    head = (
        "| objectives | evaluations | "
        + " | ".join(f"{m}: best peer | ours - peer | " for m in METRICS)
        + "\n"
    )
    head += "|---|---|" + "---|---|---|" * len(METRICS)
    lines = [head.replace(" |  |", " | |")]
    for o in scores.objectives:
        for b in scores.budgets:
            lines.append(
                f"| {o} | {b} | " + " | ".join(_versus(scores, m, o, b) for m in METRICS) + " |"
            )
    return lines if "ours" in scores.methods else []


def _versus(scores: Scores, metric: str, objectives: str, budget: int) -> str:
    peer = scores.best_peer(metric, objectives, budget)
    if peer is None or (budget == 0 and metric != "regret"):
        return "- | - | "
    d = difference(scores, metric, "ours", peer, cell=(objectives, budget))
    return f"{peer} | {d.text()} | {verdict(metric, d)}"


def _means_table(scores: Scores, objectives: str, metric: str) -> list[str]:
    budgets = [b for b in scores.budgets if b or metric == "regret"]
    lines = [
        "| method | " + " | ".join(str(b) for b in budgets) + " |",
        "|---|" + "---|" * len(budgets),
    ]
    for m in scores.methods:
        cells = [bootstrap(scores.of(metric, m, objectives, b)).text() for b in budgets]
        lines.append(f"| {_named(scores, m)} | " + " | ".join(cells) + " |")
    return lines


def _named(scores: Scores, method: str) -> str:
    """The method's name, with the number of pools where it was not run on all."""
    cell = scores.of("regret", method, scores.objectives[0], scores.budgets[-1])
    run = int(np.isfinite(cell).any(axis=1).sum())
    return method if run == len(scores.pools) else f"{method} ({run} pools only, not comparable)"


def _means(scores: Scores) -> dict[str, object]:
    cells = [
        {"method": m, "objectives": o, "budget": b}
        | {metric: _json(scores.mean(metric, m, o, b)) for metric in METRICS}
        for m in scores.methods
        for o in scores.objectives
        for b in scores.budgets
    ]
    return {
        "schema": "rheostat.bench-nodecount-means/1",
        "versions": {m: REGISTRY[m].version for m in scores.methods},
        "seeds": {m: _seeds(scores, m) for m in scores.methods},
        "cells": cells,
    }


def _json(value: float) -> float | None:
    return None if np.isnan(value) else round(value, 6)
