"""Iteration times on a shared Dragonfly network, forecast before each iteration.

    python benchmarks/network.py [--quick] [--json] [--data DIR] [--smart] [--hybrid]

Data: every folder of DIR that holds a run (`rheostat network read`).  Splits are chronological: the
first 30 % of the iterations are learned from only, the others are forecast and then shown, one
after the other.  A row is one method on one application of one run, so many iterations ahead:

    mape           mean absolute relative error in percent
    coverage       share of truths in the 90 % intervals
    ms_per_answer  CPU milliseconds of a forecast of 30 iterations and of learning from one

"noise-floor" sees the whole series, the future included, and predicts each iteration from the
others around it: no forecast can be expected below it.  Methods that draw (SMART) run with five
seeds (two with --quick), all others give the same with every seed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from rheostat.measurement.network.folder import LOGS, NetworkRun, read_network_run
from rheostat.prediction.iteration_time.noise_floor import noise_floor
from rheostat.prediction.iteration_time.simple_forecasters import BASELINES
from rheostat.prediction.iteration_time.smart_nets import SmartConfig
from rheostat.recipes.hybrid_run import hybrid_run
from rheostat.recipes.smart import ALWAYS, LEAST, OURS, TRAIN, backtest, method, scores, smart

ROOT = Path(os.environ.get("RHEOSTAT_DATA", Path(__file__).parents[2] / "shared" / "data"))
QUICK_STEPS, STEPS = (1, 8, 30), (1, 2, 4, 8, 16, 30)
PACKET_CPU_S = 8.4 * 60.0
"""CPU seconds of the packet simulation of codes72_milc_lammps_ur: 400 iterations of each."""


def main() -> None:
    """Run the methods on the runs and print rows."""
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--quick", action="store_true", help="fewer baselines, horizons and seeds")
    args.add_argument("--json", action="store_true", help="one JSON document")
    args.add_argument("--data", type=Path, default=ROOT / "network", help="folder of runs")
    args.add_argument("--smart", action="store_true", help="also SMART's nets (torch), with seeds")
    args.add_argument("--language", default="", help="with --smart: only SMART, with two layers of "
                      "this local language model (folder or GGUF file)")  # fmt: skip
    args.add_argument("--hybrid", action="store_true", help="also the simulation time saved")
    given = args.parse_args()
    runs = list(loaded(given.data))
    if not runs:
        sys.exit(f"no run found in {given.data}; set RHEOSTAT_DATA or --data")
    seeds = 2 if given.quick else 5
    rows = [row for run in runs for row in every(run, quick=given.quick)]
    if given.smart:
        rows += [row for run in runs for row in nets(run, seeds, given.language)]
    saved = [r for run in runs for r in savings(run, seeds)] if given.hybrid else []
    if given.json:
        print(json.dumps({"rows": rows, **({"hybrid": saved} if given.hybrid else {})}))
    else:
        show(rows, saved)


def loaded(folder: Path) -> Iterator[NetworkRun]:
    """Runs with an application of ten iterations or more; the folder itself may be one."""
    for path in (folder, *sorted(folder.iterdir() if folder.is_dir() else [])):
        if any((path / name).exists() for name in LOGS):
            yield read_network_run(path)


def every(run: NetworkRun, *, quick: bool) -> Iterator[dict[str, Any]]:
    """Rows of one run."""
    steps = QUICK_STEPS if quick else STEPS
    names = (*ALWAYS, OURS) if quick else (*BASELINES, OURS)
    for app in run.applications:
        if len(run.iteration_s(app)) < LEAST:
            continue
        for name in names:
            tested = backtest(run, app, method(name))
            for step, score in scores(tested, steps).items():
                if score["mape"] is None:
                    continue  # the run is over before
                yield row(run, app, name, step, **score, ms_per_answer=tested.ms_per_answer)
        times = run.iteration_s(app)
        errors = np.abs(noise_floor(times) / times - 1.0)[int(TRAIN * len(times)) :]
        for step in (s for s in steps if s <= len(errors)):
            yield row(run, app, "noise-floor", step, mape=100.0 * float(errors[step - 1 :].mean()))


def row(run: NetworkRun, app: str, name: str, step: int, **figures: Any) -> dict[str, Any]:
    """One row of the result."""
    blank = {"mape": None, "coverage": None, "ms_per_answer": None}
    return {"run": run.name, "app": app, "method": name, "horizon": step, "seed": 0,
            **blank, **figures}  # fmt: skip


NETS = {
    "smart-no-lm": SmartConfig(),
    "smart-random-lm": SmartConfig(language="random"),
    "smart-patch": SmartConfig(language="patch"),
    "lstm": SmartConfig(net="lstm"),
    "dcrnn": SmartConfig(net="dcrnn"),
}
"""SMART without the weights of a language model, and the nets that were published beside it."""


def nets(run: NetworkRun, seeds: int, language: str) -> Iterator[dict[str, Any]]:
    """Rows of the published system and the nets beside it, one iteration ahead."""
    if run.ports is None or run.network is None:
        return
    local = {"smart": SmartConfig(language=language, language_layers=2)} if language else NETS
    for app in run.applications:
        if len(run.iteration_s(app)) < 2 * LEAST:
            continue
        for name, config in local.items():
            for seed in range(seeds):
                tested = backtest(run, app, smart(run, app, config=config, seed=seed), steps=1)
                yield row(run, app, name, 1, **scores(tested, (1,))[1], seed=seed,
                          ms_per_answer=tested.ms_per_answer)  # fmt: skip


def savings(run: NetworkRun, seeds: int) -> Iterator[dict[str, Any]]:
    """Share of the simulation that each method saves; the total runtime is to be within 1 %."""
    for app in run.applications:
        if len(run.iteration_s(app)) < 10 * LEAST:
            continue
        for name in (*ALWAYS, OURS):
            for seed in range(seeds):
                made = hybrid_run(run, app, lambda name=name: method(name), seed=seed)
                yield {"run": run.name, "app": app, "method": name, "seed": seed,
                       "saved": made.saved, "error": made.error,
                       "windows": made.windows}  # fmt: skip


def show(rows: list[dict[str, Any]], saved: list[dict[str, Any]]) -> None:
    """Tables for people."""
    console = Console()
    table = Table("run", "app", "method", "ahead", "MAPE %", "coverage", "ms")
    for r in rows:
        figures = [r["mape"], r["coverage"], r["ms_per_answer"]]
        table.add_row(r["run"], r["app"], r["method"], str(r["horizon"]),
                      *("" if f is None else f"{f:.3g}" for f in figures))  # fmt: skip
    console.print(table)
    if saved:
        table = Table("run", "app", "method", "saved %", "error %", "largest error %")
        pairs = dict.fromkeys((r["run"], r["app"], r["method"]) for r in saved)
        every_app = dict.fromkeys(("all", "all", r["method"]) for r in saved)
        for key in (*pairs, *every_app):
            some = [r for r in saved if (r["run"], r["app"], r["method"]) == key
                    or key == ("all", "all", r["method"])]  # fmt: skip
            error = [100 * r["error"] for r in some]
            figures = [100 * np.mean([r["saved"] for r in some]), np.mean(error), max(error)]
            table.add_row(*key, *(f"{f:.2f}" for f in figures))
        console.print(table)


if __name__ == "__main__":
    main()
