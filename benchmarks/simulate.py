"""How fast is the simulator?  Jobs per CPU-second, beside what others were measured at.

    python benchmarks/simulate.py [--quick] [--json] [--write-docs]

Engine figures are CPU time of the compiled engine alone, the median of several runs with the range;
whole-process figures are CPU and wall seconds of the command, compiled code already on disk.  The
measured traces are looked for in ``../shared/data/swf`` (or ``RHEOSTAT_DATA``) and left out, with a
word, where they are not; the deep queues are generated.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.vocabulary import table
from rheostat.measurement.read import read
from rheostat.simulation.simulate import simulate_run

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("RHEOSTAT_DATA", ROOT.parent / "shared" / "data")) / "swf"
TRACES = {
    "SDSC-SP2": ("sdsc_sp2", 128),
    "lublin_256 (deep queue)": ("lublin_256", 256),
    "Theta 2018": ("theta_2018_cqgym", 4360),
    "KTH-SP2": ("kth_sp2", 100),
    "CTC-SP2": ("ctc_sp2", 338),
    "HPC2N": ("hpc2n", 240),
}
OTHERS = (  # jobs per CPU-second on SDSC-SP2 under EASY, measured on two cores of the same kind
    ("CQSim d8bdbb0", 3_279),
    ("AccaSim 1.1.3", 1_690),
    ("RLScheduler's simulator", 18_661),
)
CQGYM = 171  # observations per second at 4,360 nodes
POLICIES = (
    "fcfs", "easy", "conservative", "sjf+easy", "saf+easy", "sqf+easy", "lxf+easy", "wfp3+easy",
    "unicef+easy", "f1+easy", "f2+easy", "multifactor+easy",
)  # fmt: skip
DEEP = {
    "sizes are powers of two": lambda rng, n: 2 ** rng.integers(0, 13, n),
    "sizes 1 to 64": lambda rng, n: rng.integers(1, 65, n),
    "sizes 1 to 1,000": lambda rng, n: rng.integers(1, 1001, n),
    "sizes 1 to 20,000": lambda rng, n: rng.integers(1, 20_001, n),
}


def deep(kind: str, n: int, seed: int) -> JobTable:
    """``n`` jobs within an hour, far more than 100,000 processors get done."""
    rng = np.random.default_rng(seed)
    run = np.maximum(1, rng.lognormal(7.5, 1.5, n)).round()
    return table(
        {
            "job_id": np.arange(n),
            "submit_s": np.sort(rng.uniform(0, 3600, n)).round(),
            "runtime_s": run,
            "cores": DEEP[kind](rng, n),
            "time_limit_s": (run * rng.uniform(1, 8, n)).round(),
        }
    )


def rate(jobs: JobTable, policy: str, procs: int, runs: int) -> dict[str, Any]:
    """Median and range of jobs per CPU-second, and the deepest queue."""
    found = [simulate_run(jobs, policy, procs) for _ in range(runs)]
    speeds = sorted(r.jobs_per_cpu_s for r in found)
    done = found[0].jobs
    moves = np.concatenate([done.numpy("submit_s"), done.numpy("start_s")])
    step = np.concatenate([np.ones(len(done)), -np.ones(len(done))])
    return {
        "jobs": len(done),
        "policy": policy,
        "median": float(np.median(speeds)),
        "low": speeds[0],
        "high": speeds[-1],
        "deepest_queue": int(np.cumsum(step[np.lexsort((-step, moves))]).max()),
    }


def engine(runs: int) -> list[dict[str, Any]]:
    """Each trace under EASY; the first under other policies as well."""
    rows = []
    for k, (name, (stem, procs)) in enumerate(TRACES.items()):
        path = DATA / f"{stem}.swf.gz"
        if not path.is_file():
            print(f"left out: {name}, {path.name} is not there", file=sys.stderr)
            continue
        jobs = read(path)
        more = ("fcfs", "sjf+easy", "wfp3+easy", "multifactor+easy", "conservative")
        for policy in ("easy", *(more if k == 0 else ())):
            rows.append({"trace": name, **rate(jobs, policy, procs, runs)})
    return rows


def deep_queues(n: int, runs: int) -> list[dict[str, Any]]:
    """Jobs far beyond 100,000 processors, the fewer the more of those that wait count in a pass."""
    depths = {n: ("easy", "sjf+easy"), 20_000: ("conservative", "wfp3+easy"),
              5_000: ("wfp3+conservative",)}  # fmt: skip
    return [
        {"trace": kind, **rate(deep(kind, depth, seed=0), policy, 100_000, runs)}
        for depth, policies in depths.items()
        for kind in DEEP
        for policy in policies
    ]


def command(*arguments: str, runs: int = 3) -> dict[str, float]:
    """Least CPU and wall seconds of a whole process, after one run that is not counted."""
    best = {"cpu_s": np.inf, "wall_s": np.inf}
    for k in range(runs + 1):
        before, clock = os.times(), time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "rheostat", *arguments], check=True, capture_output=True
        )
        after = os.times()
        cpu = after.children_user + after.children_system
        cpu -= before.children_user + before.children_system
        if k:
            best = {
                "cpu_s": min(best["cpu_s"], cpu),
                "wall_s": min(best["wall_s"], time.perf_counter() - clock),
            }
    return best


def whole(runs: int) -> list[dict[str, Any]]:
    """The command line on the largest and on the smallest trace, and a sweep over all of them."""
    rows = []
    for name in ("HPC2N", "Theta 2018"):
        stem, procs = TRACES[name]
        path = DATA / f"{stem}.swf.gz"
        if path.is_file():
            words = ("simulate", str(path), "--machine", str(procs), "--policy", "easy", "--json")
            rows.append({"what": f"rheostat simulate {name}, EASY", **command(*words, runs=runs)})
    return rows


def many(runs: int) -> list[dict[str, Any]]:
    """Twelve policies on six traces in one command, all cores."""
    paths = [DATA / f"{stem}.swf.gz" for stem, _ in TRACES.values()]
    if not all(p.is_file() for p in paths):
        return []
    words = ["compare", "--policies", ",".join(POLICIES), "--json"]
    for path in paths:
        words += ["--traces", str(path)]
    return [{"what": "12 policies on 6 traces, one command", **command(*words, runs=runs)}]


def environments(steps: int) -> list[dict[str, Any]]:
    """Decisions per CPU-second of 64 environments stepped together, masks taken at each step."""
    from rheostat.training.env import VectorSchedulingEnv

    rows = []
    for name in ("SDSC-SP2", "lublin_256 (deep queue)"):
        stem, procs = TRACES[name]
        path = DATA / f"{stem}.swf.gz"
        if not path.is_file():
            continue
        jobs = read(path)
        for agent, choose in AGENTS.items():
            env = VectorSchedulingEnv(jobs, procs, num_envs=64)
            env.reset(seed=0)
            rng = np.random.default_rng(0)
            env.step(choose(rng, env.action_masks()))
            clock = time.process_time()
            for _ in range(steps):
                env.step(choose(rng, env.action_masks()))
            speed = steps * 64 / (time.process_time() - clock)
            rows.append({"trace": name, "agent": agent, "decisions_per_cpu_s": speed})
    return rows


AGENTS: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
    "first legal": lambda rng, mask: mask.argmax(axis=1),
    "random legal": lambda rng, mask: (rng.random(mask.shape, np.float32) * mask).argmax(axis=1),
}


def measure(quick: bool) -> dict[str, Any]:
    """Everything, fewer repetitions when ``quick``."""
    runs = 3 if quick else 9
    return {
        "schema": "rheostat.bench-simulate/1",
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "engine": engine(runs),
        "deep": deep_queues(100_000 if quick else 250_000, 1 if quick else 3),
        "process": whole(1 if quick else 3) + many(1),
        "environments": environments(300 if quick else 2000),
    }


def page(facts: dict[str, Any]) -> list[str]:
    """The tables as Markdown."""
    sdsc = next((r for r in facts["engine"] if r["trace"] == "SDSC-SP2"), None)
    lines = [
        f"Load of the machine when it began: {facts['load']:.1f} on {facts['cores']} cores.",
        "",
        "| trace | jobs | policy | jobs per CPU-second, median [range] | deepest queue |",
        "|---|---|---|---|---|",
    ]
    for r in facts["engine"] + facts["deep"]:
        lines.append(
            f"| {r['trace']} | {r['jobs']:,} | {r['policy']} | {r['median']:,.0f} "
            f"[{r['low']:,.0f}, {r['high']:,.0f}] | {r['deepest_queue']:,} |"
        )
    lines += ["", "| simulator, SDSC-SP2 under EASY | jobs per CPU-second | ours is faster by |",
              "|---|---|---|"]  # fmt: skip
    for name, speed in OTHERS if sdsc else ():
        lines.append(f"| {name} | {speed:,} | {sdsc['median'] / speed:,.0f} times |")
    lines += ["", "| whole process | CPU s | wall s |", "|---|---|---|"]
    lines += [f"| {r['what']} | {r['cpu_s']:.2f} | {r['wall_s']:.2f} |" for r in facts["process"]]
    lines += ["", "| 64 environments | agent | decisions per CPU-second |", "|---|---|---|"]
    for r in facts["environments"]:
        speed = r["decisions_per_cpu_s"]
        lines.append(f"| {r['trace']} | {r['agent']} | {speed:,.0f} |")
    lines += ["", f"CQGym builds {CQGYM} observations per second at 4,360 nodes."]
    return lines


def main() -> None:
    """Measure, print, and rewrite the block of docs/benchmarks.md if asked."""
    from nodecount_lib.section import run

    run("simulate", __doc__, title="Simulator", name="simulator", measure=measure, page=page)


if __name__ == "__main__":
    main()
