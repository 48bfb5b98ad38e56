"""What does sharing a power budget by surfaces gain, and what does it cost to work it out?

    python benchmarks/budget.py [--quick] [--json] [--write-docs]

Sharing is judged on measured tables, looked for in ``../shared/data/power`` (or ``RHEOSTAT_DATA``)
and left out, with a word, where they are not.  On the A100 node every setting ran once: plans are
made on the monotone fit and judged on the fit and on the raw runs.  On the RTX 6000 nodes settings
ran about three times: plans are made on all runs but the last and judged on the last, which no plan
has seen.  Intervals are 5 to 95 % over applications drawn with replacement.  Time is CPU time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.vocabulary import table
from rheostat.decision.budget.allocate import allocate, whole
from rheostat.decision.budget.allocate_power import BudgetPlan, allocate_power, reclaimed
from rheostat.decision.budget.change_limit import programme
from rheostat.decision.budget.hull import Level
from rheostat.decision.budget.node_options import BudgetObjective, not_below
from rheostat.decision.budget.nodes import NodeFleet, fleet
from rheostat.decision.budget.sharing_rules import BASELINES
from rheostat.decision.caps import CapAdvice, as_runs
from rheostat.measurement.read import read
from rheostat.prediction.completion.cap_choice import keep, next_try
from rheostat.prediction.completion.model import CapModel
from rheostat.prediction.completion.table import CapTable, cap_table
from rheostat.prediction.surface import Surface, surfaces
from rheostat.recipes.ecoshift import dealt, drawn

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("RHEOSTAT_DATA", ROOT.parent / "shared" / "data")) / "power"
A100 = DATA / "open_dualcap_a100" / "dualcap_raw_aggregated.csv"
RTX = DATA / "zzheng_power_caps" / "cap_sweeps_energy_runtime.csv"


def curves(n: int, k: int = 17, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Watts and gains of n nodes, no two alike, steps of 0 to 20 W."""
    rng = np.random.default_rng(seed)
    watts = 290.0 + np.cumsum(rng.integers(0, 3, (n, k)) * 10.0, axis=1)
    value = np.cumsum(rng.exponential(0.05, (n, k)) * rng.random((n, 1)), axis=1)
    return watts, value - value[:, :1]


def scale(sizes: tuple[int, ...], highs: int) -> list[dict[str, Any]]:
    """CPU seconds and certificates at 40 W per node."""
    rows = []
    for n in sizes:
        watts, value = curves(n)
        total = float(watts.min(axis=1).sum() + 40 * n)
        ways: dict[str, Any] = {"one budget": total}
        for size in (40, 8):
            racks = Level(np.arange(n) // size, np.full(-(-n // size), (44.0 + 290) * size))
            ways[f"racks of {size} in a site"] = [racks, whole(n, total)]
        for name, budget in ways.items():
            seconds, found = timed(partial(allocate, watts, value, budget))
            rows.append(row(n, name, seconds, found))
        if n <= highs:
            seconds, found = timed(partial(programme, watts, value, [whole(n, total)]))
            rows.append(row(n, "one budget, HiGHS", seconds, found))
    return rows


def row(n: int, name: str, seconds: float, found: Any) -> dict[str, Any]:
    """One line of the table of times."""
    return {"nodes": n, "problem": name, "cpu_s": seconds, "gap": found.gap, "exact": found.exact}


def timed(call: Any) -> tuple[float, Any]:
    """CPU seconds of a call, and its result."""
    began = time.process_time()
    found = call()
    return time.process_time() - began, found


def end_to_end(known: Mapping[str, Surface], sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """From surfaces to a plan with its price and intervals."""
    rows = []
    for n in sizes:
        f = fleet(dealt(known, n), known, start="lowest")
        seconds, spent = timed(partial(allocate_power, f, float(f.now_w.sum()) + 40 * len(f)))
        rows.append(row(n, "whole plan, A100 surfaces", seconds, spent.certificate))
    return rows


def shares(
    learnt: Mapping[str, Surface], judged: Mapping[str, Surface], extras: tuple[float, ...],
    **start: float,
) -> list[dict[str, Any]]:  # fmt: skip
    """Mean gain of each rule, one node per application, by the tables it is judged on."""
    f = fleet(pl.DataFrame({"app": list(learnt)}), learnt, start=start or "lowest")
    rows = []
    for extra in extras:
        total = float(f.now_w.sum() + extra * len(f))
        plans = {
            "ours": allocate_power(f, total).rows,
            "ours, 90 % sure": allocate_power(f, total, BudgetObjective(risk=0.9)).rows,
            "ours, max-min": allocate_power(f, total, BudgetObjective("max-min")).rows,
        }
        plans |= {name: rule(f, total) for name, rule in BASELINES.items()}
        for name, chosen in plans.items():
            gain = judged_gain(f, chosen, judged)
            rows.append(
                {
                    "extra_w": extra,
                    "rule": name,
                    "used_w": float(f.at(chosen).now_w.sum() - f.now_w.sum()) / len(f),
                    "mean": float(gain.mean()),
                    "interval": resampled(gain),
                    "least": float(gain.min()),
                }
            )
    return rows


def reclaimed_shares(
    learnt: Mapping[str, Surface], judged: Mapping[str, Surface], starts: list[dict[str, float]]
) -> list[dict[str, Any]]:
    """No watt more: what can be done with those that donors' caps allow and they do not draw."""
    rows = []
    for start in starts:
        f = drawn(fleet(pl.DataFrame({"app": list(learnt)}), learnt, start=start))
        total = float(f.now_w.sum())
        published = allocate_power(f, total, reclaim_w=10.0)
        plans = {
            "reclaimed, 10 W margin": published.rows,
            "donors to their draw, evenly to the others": evenly(f, published),
            "replanned": allocate_power(f, total).rows,
        }
        for name, chosen in plans.items():
            gain = judged_gain(f, chosen, judged)
            where = " and ".join(f"{w:g}" for w in start.values())
            rows.append(
                {
                    "start": where,
                    "rule": name,
                    "mean": float(gain.mean()),
                    "interval": resampled(gain),
                    "least": float(gain.min()),
                }
            )
    return rows


def evenly(f: NodeFleet, published: BudgetPlan) -> np.ndarray:
    """Donors at their draw and 10 W; what they gave in equal parts to the others."""
    giving = np.zeros(len(f), dtype=bool)
    giving[published.donors] = True
    floors, _ = reclaimed(f, 10.0)
    rows = f.now.copy()
    for i in published.donors:
        fits = not_below(f, int(i), floors[i]) == 0
        rows[i] = np.where(fits, f.surfaces[f.app[i]].total_w, np.inf).argmin()
    given = float((f.now_w - f.at(rows).now_w).sum())
    rest = np.flatnonzero(~giving)
    others = replace(
        f, names=tuple(f.names[i] for i in rest), app=f.app[rest], now=f.now[rest],
        now_w=f.now_w[rest], weight=f.weight[rest], draw_w=f.draw_w[rest], groups={},
        fixed=np.zeros(0, dtype=np.int64),
    )  # fmt: skip
    rows[rest] = BASELINES["fair share, even"](others, float(others.now_w.sum()) + given)
    return rows


def judged_gain(f: NodeFleet, chosen: np.ndarray, judged: Mapping[str, Surface]) -> np.ndarray:
    """Gain of each node in the tables that judge; settings missing there count as no gain."""
    gains = np.zeros(len(f))
    for i, a in enumerate(f.app):
        own, truth = f.surfaces[a], judged[f.surfaces[a].app]
        before, after = (
            np.flatnonzero((truth.values == own.values[r]).all(axis=1))
            for r in (f.now[i], chosen[i])
        )
        if len(before) and len(after):
            gains[i] = truth.gain(int(before[0]))[:, int(after[0])].mean()
    return gains


def resampled(gain: np.ndarray, resamples: int = 1000) -> tuple[float, float]:
    """5 and 95 % of the mean over applications drawn with replacement."""
    rng = np.random.default_rng(0)
    means = gain[rng.integers(0, len(gain), (resamples, len(gain)))].mean(axis=1)
    low, high = np.quantile(means, [0.05, 0.95])
    return float(low), float(high)


def a100() -> tuple[dict[str, Surface], dict[str, Surface]]:
    """Monotone fit and raw runs, caps of 140 to 200 W and 150 to 250 W."""
    runs = read(A100).rows(pl.col("cpu_cap_w") >= 140)
    return surfaces(runs), surfaces(runs, monotone=False)


def rtx() -> tuple[dict[str, Surface], dict[str, Surface]]:
    """All runs but the last of each setting, and the last."""
    runs = read(RTX).rows(pl.col("folder").str.ends_with("dual_cap_small"))
    keys = ("app", "cpu_cap_w", "gpu_cap_w")
    frame = runs.frame.with_columns(
        turn=pl.int_range(pl.len()).over(keys), turns=pl.len().over(keys)
    )
    last = (frame["turn"] == frame["turns"] - 1).to_numpy()
    some = (frame["turns"] > 1).to_numpy()

    def part(rows: np.ndarray) -> JobTable:
        return runs.rows(rows & some)

    return surfaces(part(~last)), surfaces(part(last), monotone=False)


def few_tries(tries: tuple[int, ...], extra: float) -> list[dict[str, Any]]:
    """Surfaces of the ECP applications believed after a few tries, taught by Altis; then a plan."""
    runs = read(A100).rows(pl.col("cpu_cap_w") >= 140)
    known = cap_table(runs.rows(pl.col("suite") == "altis"))
    own = runs.rows((pl.col("suite") == "ecp") & (pl.col("app") != "CRADL"))
    new, model = cap_table(own), CapModel().fit(known)
    truth, fit = surfaces(own, monotone=False), surfaces(own)
    f = fleet(pl.DataFrame({"app": list(fit)}), fit, start="lowest")
    total = float(f.now_w.sum() + extra * len(f))
    plans = {"every setting known": allocate_power(f, total).rows}
    plans |= {name: rule(f, total) for name, rule in BASELINES.items() if name.startswith("fair")}
    for n in tries:
        believed = surfaces(believed_runs(known, new, model, n))
        g = fleet(pl.DataFrame({"app": list(fit)}), believed, start="lowest")
        plans[f"{n} tries"] = same_rows(g, allocate_power(g, total).rows, f)
        plans[f"{n} tries, 90 % sure"] = same_rows(
            g, allocate_power(g, total, BudgetObjective(risk=0.9)).rows, f
        )
    return [
        {"rule": name, "mean": float(gain.mean()), "interval": resampled(gain),
         "least": float(gain.min())}
        for name, gain in ((k, judged_gain(f, rows, truth)) for k, rows in plans.items())
    ]  # fmt: skip


def believed_runs(known: CapTable, new: CapTable, model: CapModel, n: int) -> JobTable:
    """What is believed of each application after n tries, the default among them, as runs."""
    tables = []
    for app, row in zip(new.apps, new.speed, strict=True):
        tried = [known.default]
        while len(tried) < n:
            found = model.complete(tried, row[tried])
            tried.append(next_try(model, found, known.saved_w, 0.05))
        found = model.complete(tried, row[tried])
        kept = keep(found, known.saved_w, 0.05, model.needed(tried, 0.05, 0.9), known.default)
        tables.append(as_runs(CapAdvice(known, app, row, 100.0, found, kept, -1)).frame)
    return table(pl.concat(tables))


def same_rows(g: NodeFleet, rows: np.ndarray, f: NodeFleet) -> np.ndarray:
    """Settings of one fleet as rows of another with the same applications."""
    return np.array(
        [f.surfaces[b].index(g.surfaces[a].setting(int(r)))
         for a, b, r in zip(g.app, f.app, rows, strict=True)]
    )  # fmt: skip


def measure(quick: bool) -> dict[str, Any]:
    """Every table."""
    sizes = (28, 200, 1000, 10_000) if quick else (28, 200, 1000, 10_000, 100_000)
    facts: dict[str, Any] = {"scale": scale(sizes, 200 if quick else 1000), "shares": {}}
    if A100.is_file():
        fit, raw = a100()
        facts["scale"] += end_to_end(fit, sizes)
        extras = (20.0, 40.0, 80.0)
        facts["shares"]["A100, 28 applications, judged on the fit"] = shares(fit, fit, extras)
        facts["shares"]["A100, 28 applications, judged on the raw runs"] = shares(fit, raw, extras)
        facts["few"] = few_tries((2, 4, 8), 40.0)
        starts = [{"cpu_cap_w": c, "gpu_cap_w": g} for c, g in ((160.0, 200.0), (180.0, 200.0))]
        facts["reclaimed"] = reclaimed_shares(fit, raw, starts)
    else:
        print(f"left out: no {A100}")
    if RTX.is_file():
        learnt, last = rtx()
        both = {k: learnt[k] for k in learnt if k in last}
        name = f"RTX 6000, {len(both)} applications, judged on runs not planned with"
        facts["shares"][name] = shares(both, last, (20.0, 40.0))
    else:
        print(f"left out: no {RTX}")
    return facts


def page(facts: dict[str, Any]) -> list[str]:
    """The tables as markdown."""
    lines = ["| nodes | problem | CPU s | certified gap | proven best |", "|---|---|---|---|---|"]
    lines += [
        f"| {r['nodes']:,} | {r['problem']} | {r['cpu_s']:.3f} | {100 * r['gap']:.5f} % | "
        f"{'yes' if r['exact'] else 'no'} |"
        for r in facts["scale"]
    ]
    for name, rows in facts["shares"].items():
        lines += ["", f"**{name}**", "", "| W more per node | rule | W used | mean gain | worst |",
                  "|---|---|---|---|---|"]  # fmt: skip
        lines += [
            f"| {r['extra_w']:.0f} | {r['rule']} | {r['used_w']:.0f} | {100 * r['mean']:.1f} % "
            f"[{100 * r['interval'][0]:.1f}, {100 * r['interval'][1]:.1f}] | "
            f"{100 * r['least']:.1f} % |"
            for r in rows
        ]
    if "few" in facts:
        lines += ["", "**A100, 10 ECP applications, +40 W per node, judged on the raw runs**", ""]
        lines += ["| surfaces or rule | mean gain | worst |", "|---|---|---|"]
        lines += [
            f"| {r['rule']} | {100 * r['mean']:.1f} % [{100 * r['interval'][0]:.1f}, "
            f"{100 * r['interval'][1]:.1f}] | {100 * r['least']:.1f} % |"
            for r in facts["few"]
        ]
    if "reclaimed" in facts:
        lines += ["", "**A100, no watt more, judged on the raw runs**", "",
                  "| caps before, W | rule | mean gain | worst |", "|---|---|---|---|"]  # fmt: skip
        lines += [
            f"| {r['start']} | {r['rule']} | {100 * r['mean']:.1f} % "
            f"[{100 * r['interval'][0]:.1f}, {100 * r['interval'][1]:.1f}] | "
            f"{100 * r['least']:.1f} % |"
            for r in facts["reclaimed"]
        ]
    return lines


def main() -> None:
    """Measure, print, and rewrite the block of docs/benchmarks.md if asked."""
    from nodecount_lib.section import run

    run("budget", __doc__, title="Power budgets", name="budget", measure=measure, page=page)


if __name__ == "__main__":
    main()
