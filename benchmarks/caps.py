"""How well is speed under caps predicted from a few tries, and what are the chosen caps worth?

    python benchmarks/caps.py [--quick] [--json] [--write-docs]

The measured tables of the authors of OPEN are looked for in ``../shared/data/power`` (or
``RHEOSTAT_DATA``); without them there is nothing to do.  Taught on the 17 Altis applications,
judged on 10 ECP applications that no method has seen, 77 pairs of caps, each run once.  Intervals
are 5 to 95 % over applications drawn with replacement; random tries are repeated over two seeds.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from rheostat.core.vocabulary import table
from rheostat.predict.factor.judge import Protocol, run_ours, run_rival, summary
from rheostat.predict.factor.mixture import CapMixture
from rheostat.predict.factor.table import CapTable, cap_table
from rheostat.recipes.open_caps import PUBLISHED, rivals

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("RHEOSTAT_DATA", ROOT.parent / "shared" / "data")) / "power"
FILE = DATA / "open_dualcap_a100" / "author_normalised_tables.csv"
COUNTERS = {
    "Memory Throughput": "memory", "SM Clock": "clock", "DRAM Active": "dram", "FP Active": "fp",
}  # fmt: skip
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


def ours(
    known: CapTable, new: CapTable, how: Protocol, tries: tuple[int, ...], seeds: int
) -> list[dict[str, Any]]:
    """Ours with active and random tries, and with tries that show 3 % noise."""
    known, new = how.table(known), how.table(new)
    model = CapMixture(by_default=not how.sweep_normalised).fit(known)
    rows = []
    for n in tries:
        rows.append(line("ours", n, run_ours(model, new, n, how=how)))
        several = [run_ours(model, new, n, how=how, active=False, seed=s) for s in range(seeds)]
        rows.append(line("ours, random tries", n, list(chain(*several))))
        several = [run_ours(model, new, n, how=how, noise=0.03, seed=s) for s in range(seeds)]
        rows.append(line("ours, tries with 3 % noise", n, list(chain(*several))))
    return rows


def others(
    known: CapTable, new: CapTable, how: Protocol, tries: tuple[int, ...], seeds: int
) -> list[dict[str, Any]]:
    """Rivals on measured speeds at random tries; OPEN on speeds that it infers from counters."""
    from rheostat.predict.factor.neural import CounterSpeed

    known, new = how.table(known), how.table(new)
    found: dict[tuple[str, int], list[Any]] = {}
    for seed in range(seeds):
        methods = rivals(seed)
        heard = CounterSpeed(seed=seed).fit(known)
        for n in tries:
            for name, make in methods.items():
                cases = run_rival(make, known, new, n, how=how, seed=seed)
                found.setdefault((name, n), []).extend(cases)
            cases = run_rival(
                methods["collaborative filtering"], known, new, n, how=how, seed=seed, heard=heard
            )
            found.setdefault(("OPEN", n), []).extend(cases)
    return [line(name, n, cases) for (name, n), cases in found.items()]


def line(name: str, n: int, cases: list[Any]) -> dict[str, Any]:
    """One row of a table."""
    return {"method": name, "tries": n, **summary(cases)}


def leaks(known: CapTable, new: CapTable, seeds: int) -> list[dict[str, Any]]:
    """OPEN with 4 tries: as published, each leak closed alone, all closed."""
    ways = {
        "as published": PUBLISHED,
        "speeds relative to the default": replace(PUBLISHED, sweep_normalised=False),
        "judged on settings not tried": replace(PUBLISHED, judged_on_tried=False),
        "selection without the answers": replace(PUBLISHED, answer_key=False),
        "all three closed": Protocol(),
    }
    rows = []
    for name, how in ways.items():
        from rheostat.predict.factor.neural import CounterSpeed

        a, b = how.table(known), how.table(new)
        cases = []
        for seed in range(seeds):
            make = rivals(seed)["collaborative filtering"]
            heard = CounterSpeed(seed=seed).fit(a)
            cases += run_rival(make, a, b, 4, how=how, seed=seed, heard=heard)
        rows.append(line(name, 4, cases))
    return rows


def measure(quick: bool) -> dict[str, Any]:
    """Every table."""
    known, new = measured()
    tries, seeds = ((2, 4), 1) if quick else ((2, 4, 8, 16), 2)
    sweep = Protocol(sweep_normalised=True)
    facts: dict[str, Any] = {
        "strict": ours(known, new, Protocol(), tries, seeds),
        "sweep": ours(known, new, sweep, tries, seeds),
        "reversed": ours(new, known, Protocol(), tries, seeds),
    }
    facts["strict"] += others(known, new, Protocol(), tries, seeds)
    facts["leaks"] = leaks(known, new, seeds)
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
            f"{100 * r['violated'][0]:.0f} % [{100 * r['violated'][1]:.0f}, "
            f"{100 * r['violated'][2]:.0f}] | {cell(r['saved_w'], 0)} | {cell(r['regret_w'], 0)} |"
            for r in facts[key]
        ]
    return lines[1:]


def cell(value: tuple[float, float, float], digits: int) -> str:
    """A value and its interval."""
    return f"{value[0]:.{digits}f} [{value[1]:.{digits}f}, {value[2]:.{digits}f}]"


def main() -> None:
    """Measure, print, and rewrite the block of docs/benchmarks.md if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write-docs", action="store_true")
    args = parser.parse_args()
    if not FILE.is_file():
        print(f"nothing to do: no {FILE}")
        return
    facts = measure(args.quick)
    print(json.dumps(facts, indent=2) if args.json else "\n".join(page(facts)))
    if args.write_docs:
        from nodecount_lib.section import replace_section

        title = ["## Speed under caps", "", "    python benchmarks/caps.py --write-docs", ""]
        replace_section(ROOT / "docs" / "benchmarks.md", "caps", title + page(facts))


if __name__ == "__main__":
    main()
