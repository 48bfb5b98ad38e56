"""What does the guard cost each simple order, and how near does it keep the longest wait?

    python benchmarks/guard.py [--replays 5] [--guard 1.5] [--bursts 2000] [--logs ...]

Each order under EASY, with and without the guard, on whole logs (of RICC the first 40,000 jobs) and
on replays with submissions moved by up to 120 s; everything against FCFS with EASY in the same
replay, overdue jobs given longer estimates.  ``--bursts`` then plays random traces that are hard on
a guard, and counts those beyond the limit.  Logs are looked for as `benchmarks/simulate.py` does;
``--logs none`` leaves the table out.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from bursts import KINDS, SIZE, burst
from simulate import DATA

from rheostat.core.jobs import JobTable
from rheostat.measurement.read import read
from rheostat.simulation.comparison.jittered_replays import jittered
from rheostat.simulation.log_machine import machine_of
from rheostat.simulation.schedule_metrics import bounded_slowdown
from rheostat.simulation.simulate import simulate_run

LOGS = {
    "theta_2018_cqgym": 4360, "kth_sp2": 100, "ctc_sp2": 338, "sdsc_sp2": 128, "hpc2n": 240,
    "SDSC-DS-2004-2.1-cln": 0, "LLNL-Atlas-2006-2.1-cln": 0, "Sandia-Ross-2001-1.1-cln": 0,
    "LPC-EGEE-2004-1.2-cln": 0, "RICC-2010-2": 0,
}  # fmt: skip
FIRST = {"RICC-2010-2": 40_000}
ORDERS = ("sjf", "saf", "lxf", "wfp3", "unicef", "f1", "f4")
ALL = (*ORDERS, "multifactor")


def played(
    jobs: JobTable, machine: object, name: str, estimates: str = "user"
) -> tuple[float, float]:
    """(mean bounded slowdown, longest wait s)."""
    ran = simulate_run(jobs, name, machine, overdue="extend", estimates=estimates).jobs  # type: ignore[arg-type]
    wait = ran.numpy("wait_s")
    return float(bounded_slowdown(wait, ran.numpy("runtime_s")).mean()), float(wait.max())


def of_log(stem: str, names: list[str], replays: int) -> np.ndarray:
    """(replays + 1, names, 2) slowdown and longest wait over those of FCFS with EASY."""
    jobs = read(DATA / f"{stem}.swf.gz")
    machine = machine_of(jobs, str(LOGS[stem] or ""))
    jobs = jobs.rows(np.arange(min(len(jobs), FIRST.get(stem, len(jobs)))))
    rows = []
    for seed in range(replays + 1):
        moved = jittered(jobs, seed) if seed else jobs
        base = played(moved, machine, "easy")
        rows.append([np.divide(played(moved, machine, name), base) for name in names])
    return np.array(rows)


def table(limit: float, replays: int, stems: list[str], orders: list[str]) -> list[str]:
    """Markdown: a row per order, geometric means and the worst over logs and replays."""
    names = [f"{o}+easy{g}" for o in orders for g in ("", f"+{limit:g}x")]
    logs = []
    for stem in stems:
        print(stem, file=sys.stderr, flush=True)
        logs.append(of_log(stem, names, replays))
    lines = ["| order under EASY | slowdown | guarded | longest wait, worst | guarded |",
             "|---|---|---|---|---|"]  # fmt: skip
    slow = np.exp(np.mean([np.log(x[:, :, 0]).mean(axis=0) for x in logs], axis=0))
    worst = np.max([x[:, :, 1].max(axis=0) for x in logs], axis=0)
    for k, order in enumerate(orders):
        a, b = 2 * k, 2 * k + 1
        lines.append(f"| {order} | {slow[a]:.3f} | {slow[b]:.3f} "
                     f"| {worst[a]:.2f} x | {worst[b]:.2f} x |")  # fmt: skip
    return lines


def broken(number: int, limit: float) -> list[str]:
    """A line per kind of burst: how many of them, and by how much of the longest job."""
    lines = []
    for kind in KINDS:
        beyond, without, most = 0, 0, 0.0
        for seed in range(number // len(KINDS)):
            jobs, order = burst(kind, seed), ORDERS[seed % len(ORDERS)]
            allowed = limit * played(jobs, SIZE, "easy")[1]
            over = played(jobs, SIZE, f"{order}+easy+{limit:g}x")[1] - allowed
            beyond += over > 0
            without += played(jobs, SIZE, f"{order}+easy")[1] > allowed
            most = max(most, over / jobs.numpy("runtime_s").max())
        lines.append(
            f"{kind}: {beyond} of {number // len(KINDS)} beyond the limit "
            f"({without} without a guard), by {most:.2f} of the longest run time at most"
        )
    return lines


def _there(asked: list[str]) -> list[str]:
    """The logs of ``asked`` that can be read; on stderr, which are left out."""
    asked = [] if asked == ["none"] else asked
    if unknown := sorted(set(asked) - set(LOGS)):
        sys.exit(f"--logs: expected none, or some of {', '.join(LOGS)}; got {', '.join(unknown)}")
    missing = [stem for stem in asked if not (DATA / f"{stem}.swf.gz").is_file()]
    for stem in missing:
        print(f"left out: no {DATA / f'{stem}.swf.gz'}", file=sys.stderr)
    return [stem for stem in asked if stem not in missing]


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replays", type=int, default=5)
    parser.add_argument("--guard", type=float, default=1.5)
    parser.add_argument("--bursts", type=int, default=2000)
    parser.add_argument("--logs", nargs="*", default=list(LOGS), metavar="LOG", help="or none")
    parser.add_argument("--orders", nargs="*", default=list(ALL), choices=ALL)
    args = parser.parse_args()
    there = _there(args.logs)
    lines = broken(args.bursts, args.guard)
    if there:
        lines += ["", *table(args.guard, args.replays, there, args.orders)]
    print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main()
