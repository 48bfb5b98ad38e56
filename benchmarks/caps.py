"""How well is speed under caps predicted from a few tries, and what are the chosen caps worth?

    python benchmarks/caps.py [--quick] [--json] [--write-docs]

The measured tables of the authors of OPEN are looked for in ``../shared/data/power`` (or
``RHEOSTAT_DATA``); without them there is nothing to do.  Taught on the 17 Altis applications,
judged on 10 ECP applications that no method has seen, 77 pairs of caps, each run once.  Intervals
are 5 to 95 % over applications drawn with replacement.  Random tries of ours are repeated over two
seeds; baselines have one seed, and networks, which take minutes, only 4 tries (OPEN 2 and 4).
Tables of a single cap: whole programs (or networks) are left out in turn, known are the others.
"""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from caps_lib.protocol import (
    CapProtocol,
    fills,
    marked,
    run_baseline,
    run_ours,
    spaced,
    summary,
)
from caps_lib.published import PUBLISHED, baselines

from rheostat.core.vocabulary import table
from rheostat.prediction.completion.alone import Corners, Line, Process, corners
from rheostat.prediction.completion.model import CapModel
from rheostat.prediction.completion.table import CapTable, cap_table

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("RHEOSTAT_DATA", ROOT.parent / "shared" / "data")) / "power"
FILE = DATA / "open_dualcap_a100" / "author_normalised_tables.csv"
COUNTERS = {
    "Memory Throughput": "memory", "SM Clock": "clock", "DRAM Active": "dram", "FP Active": "fp",
}  # fmt: skip
ZEUS = DATA.parent / "runs" / "zeus_nsdi23"
SWEEPS = DATA / "zzheng_power_caps"
ALONE = {"line": Line, "Gaussian process, lower bound": Process}
REPORTED = {2: 93.38, 4: 95.79, 8: 96.56, 16: 96.23}  # the notebooks' NCF, ECP mean, percent


def measured() -> tuple[CapTable, CapTable]:
    """The authors' tables: Altis to learn from, ECP to be judged on."""
    frame = pl.read_csv(FILE, infer_schema_length=None).filter(pl.col("CPU Power Cap") >= 140)
    frame = frame.with_columns(runtime_s=1.0 / pl.col("Performance")).rename(
        {"CPU Power Cap": "cpu_cap_w", "GPU Power Cap": "gpu_cap_w", **COUNTERS}
    )
    keep = ["app", "cpu_cap_w", "gpu_cap_w", "runtime_s", *COUNTERS.values()]

    def part(suite: str, split: str) -> CapTable:
        rows = frame.filter((pl.col("suite") == suite) & (pl.col("split") == split))
        return cap_table(table(rows.select(keep)), tuple(COUNTERS.values()))

    return part("altis", "train"), part("ecp", "validation")


def singles() -> dict[str, tuple[CapTable, list[str]]]:
    """Tables of one cap, and what is left out together: programs, or networks, of each row."""
    found = {}
    for gpu in ("a40", "v100", "p100", "rtx6000"):
        frame = pl.read_csv(ZEUS / f"summary_power_{gpu}.csv", infer_schema_length=None)
        parts = ("network", "batch_size", "optimizer")
        found[f"Zeus, {gpu}"] = single(frame, parts, "power_limit", pl.col("time_per_epoch"))
    frame = pl.read_csv(SWEEPS / "cpu_cap_pcm_counters.csv")
    found["NPB and proxies, CPU"] = single(frame, ("app", "size"), "cpu_cap_w", pl.col("span_s"))
    frame = pl.read_csv(SWEEPS / "cap_sweeps_energy_runtime.csv", infer_schema_length=None)
    frame = frame.filter(pl.col("folder") == "altis_power_cap_res/single_cap")
    for device, column in (("cpu", "CPU Cap (W)"), ("gpu", "GPU Cap (W)")):
        own = frame.filter(pl.col("sweep") == device, pl.col("Runtime (s)") > 0)
        name = f"Altis, {device.upper()} of an A100 node"
        found[name] = single(own, ("app",), column, pl.col("Runtime (s)"))
    return found


def single(
    frame: pl.DataFrame, parts: tuple[str, ...], cap: str, runtime_s: pl.Expr
) -> tuple[CapTable, list[str]]:
    """A table of one cap from runs; applications without a run at the highest are left out."""
    frame = frame.select(
        pl.concat_str(parts, separator=" ").alias("app"), cap_w=pl.col(cap).cast(pl.Float64),
        runtime_s=runtime_s,
    ).drop_nulls()  # fmt: skip
    top = frame.filter(pl.col("cap_w") == frame["cap_w"].max())["app"].unique()
    made = cap_table(table(frame.filter(pl.col("app").is_in(top.implode()))))
    made = made.only([i for i, row in enumerate(made.speed) if np.isfinite(row).sum() >= 6])
    return made, [app.split()[0] for app in made.apps]


def rulers(tries: tuple[int, ...] = (3, 4, 8)) -> list[dict[str, Any]]:
    """A few runs and a ruler, beside ours from the same runs and from the runs it asks for."""
    rows = []
    for name, (whole, group) in singles().items():
        cases: dict[tuple[int, str], list[Any]] = {}
        fewest = np.isfinite(whole.speed).sum(axis=1).min()
        for left in dict.fromkeys(group):
            known = whole.only([i for i, g in enumerate(group) if g != left])
            new = whole.only([i for i, g in enumerate(group) if g == left])
            model, how = CapModel().fit(known), CapProtocol()
            same = {"how": how, "choose": spaced}
            for n in (n for n in tries if n < fewest):
                for method, found in (
                    ("line, evenly spaced runs", run_baseline(Line, known, new, n, **same)),
                    ("ours, the same runs", run_ours(model, new, n, **same)),
                    ("ours, the runs it asks for", run_ours(model, new, n, how=how)),
                ):
                    cases.setdefault((n, method), []).extend(found)
        rows += [{"table": name, **line(method, n, c)} for (n, method), c in cases.items()]
    return rows


def ours(
    known: CapTable, new: CapTable, how: CapProtocol, tries: tuple[int, ...], seeds: int
) -> list[dict[str, Any]]:
    """Ours with active and random tries, and with tries that show 3 % noise."""
    known, new = how.table(known), how.table(new)
    model = CapModel(by_default=not how.sweep_normalised).fit(known)
    rows = []
    for n in tries:
        rows.append(line("ours", n, run_ours(model, new, n, how=how)))
        several = [run_ours(model, new, n, how=how, active=False, seed=s) for s in range(seeds)]
        rows.append(line("ours, random tries", n, list(chain(*several))))
        several = [run_ours(model, new, n, how=how, noise=0.03, seed=s) for s in range(seeds)]
        rows.append(line("ours, tries with 3 % noise", n, list(chain(*several))))
    return rows


def others(
    known: CapTable, new: CapTable, how: CapProtocol, tries: tuple[int, ...], deep: tuple[int, ...]
) -> list[dict[str, Any]]:
    """Baselines on measured speeds at random tries; networks (minutes) only at ``deep`` tries."""
    known, new = how.table(known), how.table(new)
    rows = []
    for n in tries:
        methods = {**ALONE, **baselines(deep=n in deep)}
        rows += [
            line(name, n, run_baseline(make, known, new, n, how=how))
            for name, make in methods.items()
        ]
    four = {"how": how, "choose": lambda table, truth, n: corners(table)}
    rows.append(
        line("bilinear through the corners", 4, run_baseline(Corners, known, new, 4, **four))
    )
    return rows


def published(
    known: CapTable, new: CapTable, tries: tuple[int, ...]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """OPEN, on speeds that it infers from counters: without leaks, and what each leak does."""
    from caps_lib.neural import CounterSpeed

    make = baselines()["collaborative filtering"]
    rows, kept = [], {}
    for sweep in (False, True):
        how = CapProtocol(sweep_normalised=sweep)
        a, b = how.table(known), how.table(new)
        heard = CounterSpeed().fit(a)
        for n in (4,) if sweep else tries:
            found = fills(make, a, b, n, how=how, heard=heard)
            if n == 4:
                kept[sweep] = b, found
            if not sweep:
                rows.append(line("OPEN", n, marked(found, b, how)))
    ways = {
        "as published": PUBLISHED,
        "speeds relative to the default": replace(PUBLISHED, sweep_normalised=False),
        "judged on settings not tried": replace(PUBLISHED, judged_on_tried=False),
        "selection without the answers": replace(PUBLISHED, answer_key=False),
        "all three closed": CapProtocol(),
    }
    leaks = []
    for name, how in ways.items():
        new_table, found = kept[how.sweep_normalised]
        leaks.append(line(name, 4, marked(found, new_table, how)))
    return rows, leaks


def line(name: str, n: int, cases: list[Any]) -> dict[str, Any]:
    """One row of a table."""
    return {"method": name, "tries": n, **summary(cases)}


def measure(quick: bool) -> dict[str, Any]:
    """Every table."""
    known, new = measured()
    tries, seeds = ((2, 4), 1) if quick else ((2, 3, 4, 8, 16), 2)
    sweep = CapProtocol(sweep_normalised=True)
    facts: dict[str, Any] = {
        "strict": ours(known, new, CapProtocol(), tries, seeds),
        "sweep": ours(known, new, sweep, tries, seeds),
        "reversed": ours(new, known, CapProtocol(), tries, seeds),
    }
    facts["strict"] += others(known, new, CapProtocol(), tries, (4,))
    rows, facts["leaks"] = published(known, new, (2, 4))
    facts["strict"] += rows
    facts["singles"] = rulers()
    return facts


TITLES = {
    "strict": "Speeds relative to the default, whose run is one of the tries; no leaks",
    "sweep": "Speeds over the fastest of the sweep (the published unit; needs the whole sweep)",
    "reversed": "No leaks, taught on ECP, judged on the 17 Altis applications",
    "leaks": "OPEN, 4 tries: what each leak does",
}


def page(facts: dict[str, Any]) -> list[str]:
    """The tables as markdown."""
    lines = []
    for key, title in TITLES.items():
        lines += ["", f"**{title}**", "",
                  "| method | tries | accuracy, % | R2 | loss over 5 % | saved, W | regret, W |",
                  "|---|---|---|---|---|---|---|"]  # fmt: skip
        lines += [
            f"| {r['method']} | {r['tries']} | {cell(r['accuracy'], 2)} | {cell(r['r2'], 2)} | "
            f"{share(r['violated'])} | {cell(r['saved_w'], 0)} | {cell(r['regret_w'], 0)} |"
            for r in facts[key]
        ]
    lines += ["", "**One cap; every program or network left out in turn**", "",
              "| table | method | tries | accuracy, % | loss over 5 % | saved, W |",
              "|---|---|---|---|---|---|"]  # fmt: skip
    lines += [
        f"| {r['table']} | {r['method']} | {r['tries']} | {cell(r['accuracy'], 2)} | "
        f"{share(r['violated'])} | {cell(r['saved_w'], 0)} |"
        for r in facts["singles"]
    ]
    reported = ", ".join(f"{a:.2f} % at {n}" for n, a in REPORTED.items())
    return [*lines[1:], "", f"The notebooks report, with the leaks: {reported} tries."]


def share(value: tuple[float, float, float]) -> str:
    """A share in percent and its interval."""
    return f"{100 * value[0]:.0f} % [{100 * value[1]:.0f}, {100 * value[2]:.0f}]"


def cell(value: tuple[float, float, float], digits: int) -> str:
    """A value and its interval."""
    return f"{value[0]:.{digits}f} [{value[1]:.{digits}f}, {value[2]:.{digits}f}]"


def main() -> None:
    """Measure, print, and rewrite the block of docs/benchmarks.md if asked."""
    from nodecount_lib.section import run

    if not FILE.is_file():
        print(f"nothing to do: no {FILE}")
        return
    run("caps", __doc__, title="Speed under caps", name="caps", measure=measure, page=page)


if __name__ == "__main__":
    main()
