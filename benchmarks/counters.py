"""Power and runtime from hardware counters: every method on two measured sets, two splits.

    python benchmarks/counters.py              # all of it: about 10 CPU-minutes
    python benchmarks/counters.py --quick      # the law, the chain and two learners: 1 CPU-minute
    python benchmarks/counters.py --write-docs # from the results kept in --out

Sets: Intel PCM samples of 13 applications under 10 package caps (220 runs), and LIKWID runs of nine
SPEChpc 2021 codes on one cluster and LULESH on one node.  All are read from ../shared/data
(RHEOSTAT_DATA overrides) and are not part of this repository.  Results go to --out as JSON and to
stdout as a table.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
from nodecount_lib.section import replace_section

from rheostat.core.jobs import Column, JobTable, Moment
from rheostat.core.vocabulary import table
from rheostat.measurement.counters import read_pcm
from rheostat.prediction.counters.counter_columns import runs_of
from rheostat.prediction.counters.counter_model import CounterModel
from rheostat.prediction.counters.learners import LEARNERS
from rheostat.prediction.counters.leave_application_out import compare_counters
from rheostat.prediction.counters.leverage import leverage

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("RHEOSTAT_DATA", ROOT.parent / "shared" / "data"))
PCM = DATA / "power" / "zzheng_power_caps" / "cpu_cap_pcm_samples.csv.gz"
SPEC = DATA / "runs" / "spechpc2021_likwid" / "spechpc_likwid_runs.csv"
LULESH = DATA / "runs" / "lulesh_likwid" / "lulesh_omp.csv"
ALL = ("mummi", *LEARNERS, "law", "law+trees")
FEW = ("mummi", "ridge", "extra", "law")


def spechpc() -> JobTable:
    """Full nodes of cluster B with energy: power and rates of one node."""
    frame = pl.read_csv(SPEC, infer_schema_length=None).filter(
        (pl.col("cluster") == "B") & (pl.col("procs") == pl.col("hosts") * 104)
        & (pl.col("power_pkg_W") > 0) & (pl.col("workload") == "small")
    )  # fmt: skip
    hosts, end = pl.col("hosts"), Moment.END
    frame = frame.select(
        app="bench", nodes="hosts", ipc=1 / pl.col("cpi_mean"),
        flops_per_s=pl.col("dp_mflops") * 1e6 / hosts,
        memory_b_per_s=pl.col("mem_bw_MBs") * 1e6 / hosts,
        package_power_w=pl.col("power_pkg_W") / hosts, dram_power_w=pl.col("power_dram_W") / hosts,
        runtime_s="rt_unhalted_max",
    ).drop_nulls()  # fmt: skip
    units = {"ipc": "", "flops_per_s": "1/s", "memory_b_per_s": "B/s", "package_power_w": "W",
             "dram_power_w": "W"}  # fmt: skip
    return table(frame, [Column(n, u, end) for n, u in units.items()])


def lulesh() -> JobTable:
    """LULESH on an Ice Lake node, 1 to 72 threads; each problem size counts as an application."""
    frame = pl.read_csv(LULESH, infer_schema_length=None).filter(
        (pl.col("dataset") == "1-OMP-ICL") & (pl.col("power_cpu_W") > 0)
    )
    frame = frame.select(
        app=pl.format("size {}", "size"), threads="threads",
        flops_per_s=pl.col("dp_mflops") * 1e6, memory_b_per_s=pl.col("membw_MBs") * 1e6,
        package_power_w="power_cpu_W", dram_power_w="power_dram_W", runtime_s="wall_s",
    ).drop_nulls()  # fmt: skip
    units = {"flops_per_s": "1/s", "memory_b_per_s": "B/s", "package_power_w": "W",
             "dram_power_w": "W"}  # fmt: skip
    return table(frame, [Column(n, u, Moment.END) for n, u in units.items()])


def rows(name: str, jobs: JobTable, methods, targets, splits, seeds) -> list[dict]:
    """Marks of each method alone, so that the time of each is known."""
    found = []
    for target in targets:
        for method in methods:
            for seed in seeds if method in ("forest", "extra", "boosting", "tree") else seeds[:1]:
                began = time.process_time()
                marks = [
                    m for m in compare_counters(jobs, [method], [target], splits=splits, seed=seed)
                    if m.method == method
                ]  # fmt: skip
                for m in marks:
                    facts = {k: v for k, v in m.__dict__.items() if k != "errors"}
                    cpu = round(time.process_time() - began, 1)
                    found.append({"set": name, "seed": seed, **facts, "cpu_s": cpu})
                    print(_line(found[-1]), flush=True)
    return found


def _line(r: dict) -> str:
    low, high = (100 * v for v in r["mape"][1:])
    return (
        f"{r['set']:9} {r['target']:16} {r['split']:12} {r['method']:11} seed {r['seed']} "
        f"{100 * r['mape'][0]:6.2f} % [{low:.1f}, {high:.1f}]  worst {r['worst_application'][0]} "
        f"{100 * r['worst_application'][1]:.0f} %  R2 {r['r2']:.2f}  covers {r['coverage']:.2f}  "
        f"width {100 * r['width']:.0f} %"
    )


def write_docs(facts: dict) -> None:
    """The tables of docs/systems/mummi.md, from results."""
    page = ROOT / "docs" / "systems" / "mummi.md"
    names = {
        "pcm": "PCM intervals",
        "pcm means": "PCM means of runs",
        "spechpc": "SPEChpc, LIKWID",
        "lulesh": "LULESH, LIKWID",
    }
    lines = ["| set | target | method | left-out application | worst | covers | random split |",
             "|---|---|---|---|---|---|---|"]  # fmt: skip
    key = ("set", "target", "method")
    for name in dict.fromkeys(tuple(r[k] for k in key) for r in facts["rows"]):
        mine = [r for r in facts["rows"] if tuple(r[k] for k in key) == name]
        seen = {s: [r for r in mine if r["split"] == s] for s in ("application", "random")}
        out, rest = seen["application"], seen["random"]
        low, high = (100 * np.mean([r["mape"][k] for r in out]) for k in (1, 2))
        mean = 100 * np.mean([r["mape"][0] for r in out])
        worst, share = out[0]["worst_application"]
        other = f"{100 * np.mean([r['mape'][0] for r in rest]):.1f}" if rest else "-"
        lines.append(
            f"| {names[name[0]]} | `{name[1]}` | {name[2]} | {mean:.1f} [{low:.1f}, {high:.1f}] | "
            f"{worst} {100 * share:.0f} | {np.mean([r['coverage'] for r in out]):.2f} | {other} |"
        )
    replace_section(page, "counters", lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "counters.json")
    parser.add_argument("--write-docs", action="store_true")
    asked = parser.parse_args()
    if asked.write_docs and asked.out.is_file():
        write_docs(json.loads(asked.out.read_text()))
        return
    if not PCM.is_file() or not SPEC.is_file():
        sys.exit(f"measured data not found under {DATA}: set RHEOSTAT_DATA")
    both, unseen = ("application", "random"), ("application",)
    pcm = read_pcm(PCM)
    methods = FEW if asked.quick else ALL
    seeds = (0,) if asked.quick else (0, 1, 2)
    found = rows("pcm", pcm, ("cap", *methods), ["package_power_w"], both, seeds)
    coarse = runs_of(pcm)
    found += rows("pcm means", coarse, ("law",), ["package_power_w"], unseen, (0,))
    if not asked.quick:
        few = ("cap", "mummi", "ridge", "extra", "law")
        found += rows("pcm", pcm, few, ["dram_power_w", "power_w"], both, (0,))
        found += rows("pcm", pcm, few[:-1], ["runtime_s"], both, (0,))
        spec = spechpc()
        power = ["package_power_w", "dram_power_w"]
        found += rows("spechpc", spec, few[:-1], power, both, (0,))
        found += rows("lulesh", lulesh(), few[:-1], power, both, (0,))
    law = CounterModel("law", ("package_power_w",)).fit(pcm)
    told = [{"counter": next(iter(w.factors)), "change": w.change} for w in leverage(law, pcm)]
    for w in told:
        print(f"20 % less {w['counter']}: {100 * w['change'][0]:+.1f} % package power")
    numbers = law.fitted_["package_power_w"].method.law_.parameters_
    print("law:", {k: float(np.round(v, 2)) for k, v in numbers.items()})
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps({"rows": found, "leverage": told, "law": numbers}, indent=1))


if __name__ == "__main__":
    main()
