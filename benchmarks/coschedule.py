"""Co-scheduling on three measured nodes: fidelity of the replay, policies, interference, latency.

    python benchmarks/coschedule.py                 # about 1 CPU-minute
    python benchmarks/coschedule.py --exact 60      # also CP-SAT as a yardstick, per queue
    python benchmarks/coschedule.py --write-docs    # the tables, from the results kept in --out

Measured profiles and logs (V100, A100, H100; queues of 10 to 25 jobs) are read from ../shared/data
(RHEOSTAT_DATA overrides) and are not part of this repository.  Results go to --out as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from coschedule_lib.ecosched_logs import measured_runs, queue_in_log, recorded_rows
from coschedule_lib.learn_truth import learn_truth
from coschedule_lib.log_replay import Recorded
from nodecount_lib.section import replace_section

from rheostat.decision.coschedule.constraint_programme import optimum
from rheostat.decision.coschedule.expected_schedule import NodeSite
from rheostat.decision.coschedule.gpu_profiles import Mode
from rheostat.decision.coschedule.many_nodes import Matched
from rheostat.decision.coschedule.queue_files import read_profiles
from rheostat.decision.coschedule.shared_node import Node, NodeState, Tenant, Waiting
from rheostat.recipes.ecosched import ANCHOR, IDLE_W, TOLERANCE, gain, make_policy
from rheostat.simulation.coschedule.node_simulation import run_queue

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("RHEOSTAT_DATA", ROOT.parent / "shared" / "data"))
FOLDER = DATA / "power" / "ecosched"
VOLUMES = ("low", "med", "high")
CROWDS = (0.0, 0.05, 0.1, 0.2)
LOGS = {"sequential-most": "run_cosched_sequential", "marble": "run_cosched_marble",
        "sequential-fastest": "run_cosched_sequential_bestGPU",
        "ecosched": "EcoPack_cmab_run", "oracle": "solver_execution_run"}  # fmt: skip


def profiles(system: str):
    """The measured profiles; hpgmg on H100, not in the table, from its archived telemetry."""
    found = dict(read_profiles(FOLDER / "gpu_count_scaling.csv", {"system": system}))
    if "hpgmg" not in found:
        found["hpgmg"] = _hpgmg(system)
    return found


def _hpgmg(system: str) -> tuple[Mode, ...]:
    path = FOLDER / "telemetry" / "gpu_metrics_long.csv.gz"
    rows = pl.read_csv(path, infer_schema_length=None).filter(
        (pl.col("app") == "hpgmg") & (pl.col("system") == system)
    )
    modes = []
    for (g,), part in sorted(rows.group_by("gpu_count")):
        total = {
            k: sum(part[f"GPU{i}_{k}"].mean() for i in range(g))
            for k in ("Power (W)", "DRAM_Active", "SM_Clock (MHz)")
        }
        fp = sum(part[f"GPU{i}_FP{b}_Active"].mean() for i in range(g) for b in (16, 32, 64))
        last = float(part["Time (s)"].max())
        modes.append(Mode("hpgmg", g, last, total["Power (W)"], None, total["DRAM_Active"], fp,
                          total["SM_Clock (MHz)"]))  # fmt: skip
    return tuple(modes)


def truth_without(runs: pl.DataFrame, logs: pl.DataFrame, system: str, log: str, known):
    """What the other logs of a machine say, those of the same folder first."""
    mine = pl.col("log").str.starts_with(system) & (pl.col("log") != log)
    near = [x for x in logs["log"] if x.rsplit("/", 1)[0] == log.rsplit("/", 1)[0]]
    return learn_truth(runs.filter(mine), logs.filter(mine), known, IDLE_W[system], near=near)


def fidelity(of: str = "") -> list[dict]:
    """Each parallel log (with ``of`` in its name) replayed by what was learnt from the others."""
    runs, logs = measured_runs(FOLDER)
    found = []
    for row in logs.drop_nulls("makespan_s").sort("log").rows(named=True):
        log, system = row["log"], row["log"][:4]
        if of not in log or (of and "volume" in log):
            continue
        known = profiles(system)
        rows = recorded_rows(runs, log)
        if any((r["app"], r["gpus"]) not in {(a, m.gpus) for a in known for m in known[a]}
               for r in rows):  # fmt: skip
            continue
        truth = truth_without(runs, logs, system, log, known)
        queue = [Waiting(r["job"], r["app"]) for r in rows]
        got = run_queue(queue, Recorded(rows, known), Node(idle_w=IDLE_W[system]), truth)
        found.append({
            "log": log, "makespan_s": row["makespan_s"], "printed_s": row["printed_s"],
            "makespan_error": got.makespan_s / row["makespan_s"] - 1,
            "energy_error": got.energy_j / row["energy_j"] - 1,
        })  # fmt: skip
    return found


def cases() -> list[str]:
    """Folders of the three main queues and the nine of the volume study."""
    return [f"{s}{v}" for s in IDLE_W for v in ("", *(f"/volume/{v}" for v in VOLUMES))]


def policies(case: str, *, crowd: float | None = None, tenants: int = 4, seed: int = 0):
    """Outcomes of every policy on one queue under the same learnt truth."""
    system, known = case[:4], profiles(case[:4])
    runs, logs = measured_runs(FOLDER)
    truth = truth_without(runs, logs, system, f"{case}/none", known)
    ours = {"tenants": tenants, "seed": seed}
    if crowd is not None:  # neighbours that cost more than measured, and the planner is told
        truth, ours = replace(truth, crowd=crowd), {**ours, "crowd": crowd}
    name = f"{case}/{LOGS['marble']}.txt".replace("/", "__")
    queue = queue_in_log((FOLDER / "results" / name).read_text(), "Selected Marble GPU counts:")
    busy = float(np.mean([m.power_w / m.gpus for j in queue for m in known[j.app]]))
    anchor = ANCHOR if any(j.app == ANCHOR for j in queue) else None
    eco = {"tolerance": TOLERANCE[system], "busy_w": busy, "anchor": anchor}
    options = {"packed": ours, "ecosched": eco,
               "ecosched-score": eco}  # fmt: skip
    node = Node(idle_w=IDLE_W[system])
    return {
        p: run_queue(queue, make_policy(p, known, IDLE_W[system], **options.get(p, {})), node,
                     truth)
        for p in ("sequential-most", "sequential-fastest", "marble", "ecosched", "packed")
    }, queue  # fmt: skip


def abstract() -> dict[str, tuple[float, float, float]]:
    """Savings of the measured runs against two baselines, in percent: energy, makespan, EDP."""
    _, logs = measured_runs(FOLDER)
    known = {r["log"]: (r["energy_j"], r["printed_s"]) for r in logs.rows(named=True)}
    return {
        f"{s} against {b}": gain(known[f"{s}/{LOGS['ecosched']}.txt"], known[f"{s}/{LOGS[b]}.txt"])
        for s in IDLE_W
        for b in ("sequential-fastest", "marble")
    }


def same_decisions(log: str) -> tuple[int, int]:
    """(equal, all): decisions of our EcoSched in the states that a released log went through."""
    system, known = log[:4], profiles(log[:4])
    text = (FOLDER / "results" / log.replace("/", "__")).read_text()
    queue = queue_in_log(text, "  candidate modes:")
    number = {k: float(re.search(rf"{k}\s*=\s*([\d.]+)", text)[1])
              for k in ("slowdown_tol", "mean_busy_power")}  # fmt: skip
    policy = make_policy("ecosched", known, IDLE_W[system], tolerance=number["slowdown_tol"],
                         busy_w=number["mean_busy_power"], anchor=ANCHOR)  # fmt: skip
    tenants: list[Tenant] = []
    equal = count = 0
    starts: list[tuple[str, int]] = []
    for line in text.splitlines():
        event = re.match(r"\s+t=\s*([\d.]+)s \| (START|END)\s+(\S+)\s*\|(?: freed)? (\d) GPUs "
                         r"\[([\d, ]+)\] \| NUMA (\d)", line)  # fmt: skip
        update = re.search(r"CMAB update .*reward=(-[\d.]+)", line)
        if event and event[2] == "END":
            tenants = [t for t in tenants if t.job.name != event[3]]
        elif event:
            starts.append((event[3], int(event[4])))
            job = next(j for j in queue if j.name == event[3])
            mode = next(m for m in known[job.app] if m.gpus == int(event[4]))
            ids = tuple(int(i) for i in event[5].split(","))
            last = Tenant(job, mode, ids, int(event[6]), float(event[1]), 1e9)
            if len(starts) == 1:
                mine = policy.choose(queue, NodeState(Node(), tuple(tenants)))
            queue = [j for j in queue if j is not job]
            tenants.append(last)
        elif update:
            count += 1
            equal += {(j.split("#")[0], g) for j, g in starts} == {
                (s.job.app, s.mode.gpus) for s in mine
            }
            policy.reward(float(update[1]))
            starts = []
    return equal, count


def latency() -> dict[str, float]:
    """Milliseconds of CPU for one decision with 1,000 waiting jobs, plan included."""
    known = profiles("H100")
    names = sorted(known)
    queue = [Waiting(f"{i}", names[i % len(names)]) for i in range(1000)]
    state, found = NodeState(Node(idle_w=70.0)), {}
    for name in ("packed", "ecosched", "marble"):
        times = []
        for _ in range(7):
            policy = make_policy(name, known, 70.0)
            began = time.process_time()
            policy.choose(queue, state)
            times.append(1e3 * (time.process_time() - began))
        found[name] = float(np.median(times))
    return found


def cluster(nodes: int) -> dict[str, tuple[float, float]]:
    """1,000 jobs on many nodes: (makespan, energy) of matching and of Marble node by node."""
    known, node = profiles("H100"), Node(idle_w=70.0)
    names = sorted(known)
    queue = [Waiting(f"{i}", names[i % len(names)]) for i in range(1000)]
    matched = Matched(known, 70.0)
    ours = run_queue(queue, None, node, nodes=nodes, chooser=matched.choose)
    theirs = run_queue(queue, make_policy("marble", known, 70.0), node, nodes=nodes)
    return {"matched": (ours.makespan_s, ours.energy_j), "marble": (theirs.makespan_s,
                                                                    theirs.energy_j)}  # fmt: skip


def write_docs(facts: dict) -> None:
    """The tables of docs/systems/ecosched.md, from results."""
    lines = [
        "| queue | measured: Marble, EcoSched | simulated: Marble | EcoSched | packed, 2 | "
        "packed, 4 | EDP of packed 2, 4 against EcoSched |",
        "|---|---|---|---|---|---|---|",
    ]
    _, logs = measured_runs(FOLDER)
    known = {r["log"]: (r["makespan_s"], r["energy_j"]) for r in logs.rows(named=True)}
    for case in cases():
        mine = {(r["tenants"], r["crowd"]): r for r in facts["policies"] if r["case"] == case}
        two, four = mine[2, None], mine[4, 0.05]
        seen = [_said(known[f"{case}/{LOGS[p]}.txt"]) for p in ("marble", "ecosched")]
        edp = [_product(r["packed"]) / _product(r["ecosched"]) - 1 for r in (two, four)]
        lines.append(
            f"| {case} | {', '.join(seen)} | {_said(two['marble'])} | {_said(two['ecosched'])} | "
            f"{_said(two['packed'])} | {_said(four['packed'])} | "
            f"{100 * edp[0]:+.0f} %, {100 * edp[1]:+.0f} % |"
        )
    rows = [
        "| neighbours slow by | queues where packed beats Marble in both | EDP below EcoSched's |",
        "|---|---|---|",
    ]
    for crowd in CROWDS:
        mine = [r for r in facts["policies"] if r["tenants"] == 4 and r["crowd"] == crowd]
        both = sum(r["packed"][0] <= r["marble"][0] and r["packed"][1] <= r["marble"][1]
                   for r in mine)  # fmt: skip
        edp = sum(_product(r["packed"]) < _product(r["ecosched"]) for r in mine)
        rows.append(f"| {100 * crowd:.0f} % each | {both} of {len(mine)} | {edp} of {len(mine)} |")
    page = ROOT / "docs" / "systems" / "ecosched.md"
    replace_section(page, "policies", lines)
    replace_section(page, "crowd", rows)


def _said(outcome) -> str:
    return f"{outcome[0]:.0f} s {outcome[1] / 1e3:.0f} kJ"


def _product(outcome) -> float:
    return outcome[0] * outcome[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--exact", type=float, default=0.0, metavar="EFFORT")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "coschedule.json")
    parser.add_argument("--write-docs", action="store_true")
    asked = parser.parse_args()
    if asked.write_docs and asked.out.is_file():
        write_docs(json.loads(asked.out.read_text()))
        return
    if not FOLDER.is_dir():
        sys.exit(f"measured data not found at {FOLDER}: set RHEOSTAT_DATA")
    facts: dict[str, object] = {"abstract": abstract(), "fidelity": fidelity()}
    for k, v in facts["abstract"].items():
        print(f"{k}: energy {v[0]:.1f} %, makespan {v[1]:.1f} %, EDP {v[2]:.1f} % less")
    for log in ("H100/EcoPack_cmab_run.txt", "H100/arxiv/EcoPack_cmab_run.txt"):
        print("same decisions", log, *same_decisions(log))
    for r in facts["fidelity"]:
        print(f"replay {r['log']:42} makespan {100 * r['makespan_error']:+5.1f} %  "
              f"energy {100 * r['energy_error']:+5.1f} %")  # fmt: skip
    table = []
    for case in cases():
        for tenants, crowd in ((2, None), *((4, c) for c in CROWDS)):
            got, queue = policies(case, tenants=tenants, crowd=crowd)
            row = {"case": case, "tenants": tenants, "crowd": crowd,
                   **{p: (r.makespan_s, r.energy_j) for p, r in got.items()}}  # fmt: skip
            table.append(row)
            edp = {p: r.edp_js for p, r in got.items()}
            against = ", ".join(f"{p} {100 * (edp['packed'] / edp[p] - 1):+.0f} %"
                                for p in ("marble", "ecosched"))  # fmt: skip
            m, p = got["marble"], got["packed"]
            print(f"{case:17} tenants {tenants} crowd {crowd}: packed {p.makespan_s:.0f} s "
                  f"{p.energy_j / 1e3:.1f} kJ, marble {m.makespan_s:.0f} s "
                  f"{m.energy_j / 1e3:.1f} kJ; EDP against {against}")  # fmt: skip
        if asked.exact:
            site = NodeSite(4, 4, IDLE_W[case[:4]])
            best = optimum(queue, profiles(case[:4]), site, effort=asked.exact)
            print(f"{case:17} CP-SAT, 4 tenants, least energy: {best.makespan_s:.0f} s "
                  f"{best.energy_j / 1e3:.1f} kJ, proven {best.proven}")  # fmt: skip
    facts |= {"policies": table, "latency_ms": latency(),
              "cluster": {n: cluster(n) for n in (16, 100)}}  # fmt: skip
    print("decision with 1,000 waiting, ms:", facts["latency_ms"])
    print("1,000 jobs, (s, J):", facts["cluster"])
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()
