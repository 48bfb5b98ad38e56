"""Learned orders under the guard, its constants picked for each log on the other logs.

    python benchmarks/guard_choice.py [--replays 5] [--first JOBS] [--logs ...] [--write-docs]

The guard of a learned order has two constants: how late its levels are (in limits of 1.5 x) and
what a wait counts in the score (ageing).  For each log a pair of `SETTINGS` is picked that, on all
*other* logs and their replays, keeps the longest wait within 1.5 times that of FCFS with EASY at
the least slowdown; if none does, the one that keeps it shortest.  The order is that of the fold
without the log (of logs in neither fold the one that comes with the library).

Slowdown is relative to the simple order that, of ten with the same guard, is best in hindsight on
the log as it is.  Everything on whole logs, or their ``--first`` jobs, and on ``--replays`` more
with submissions moved by up to 120 s; intervals are Student's t over replays, or over logs.  Blocks
of 10,000 jobs in which FCFS with EASY waits less than 10 minutes count as if it waited so long.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from best_of_past import unseen
from guard import LOGS
from nodecount_lib.section import replace_section
from simulate import DATA, ROOT

from rheostat.core.jobs import JobTable
from rheostat.measurement.read import read
from rheostat.simulation.comparison.jittered_replays import jittered
from rheostat.simulation.comparison.paired_comparison import longest_by_block, over_traces
from rheostat.simulation.learned_priority.priority import AGEING, LIMIT
from rheostat.simulation.learned_priority.two_level_guard import LATER
from rheostat.simulation.log_machine import machine_of
from rheostat.simulation.policies.best_of_past import ORDERS
from rheostat.simulation.policies.learned_policy import LearnedPolicy
from rheostat.simulation.schedule_metrics import bounded_slowdown
from rheostat.simulation.simulate import simulate_run

SETTINGS = list(itertools.product((4 / 3, 2.0), (1.0, 2.0, 4.0)))
"""(levels later than the limit, ageing); what ships is one of them."""
SHIPPED = SETTINGS.index((LATER, AGEING))
SIMPLE = [f"{order}+easy+{LIMIT:g}x" for order in ORDERS]
FLOOR_S = 600.0


@dataclass(frozen=True)
class GuardedLog:
    """What one log gave, replay by replay; the first replay is the log as it is.

    ``simple`` (r,), of the order ``best``, and ``slowdown`` (r, settings) are mean bounded
    slowdowns, ``longest`` (r, settings) and ``blocks`` (r, settings) longest waits over those of
    FCFS with EASY, whole and in the worst block; ``noise`` (r - 1,) is the latter of FCFS with EASY
    against itself.
    """

    best: str
    simple: np.ndarray
    slowdown: np.ndarray
    longest: np.ndarray
    blocks: np.ndarray
    noise: np.ndarray

    def ratios(self, setting: int) -> np.ndarray:
        """(r,) logarithms: slowdown over that of the best simple order."""
        return np.asarray(np.log(self.slowdown[:, setting] / self.simple))


def played(jobs: JobTable, machine: Any, policy: Any) -> tuple[float, np.ndarray]:
    """(mean bounded slowdown, longest wait s of each block)."""
    ran = simulate_run(jobs, policy, machine, overdue="extend").jobs
    wait = ran.numpy("wait_s")
    slow = float(bounded_slowdown(wait, ran.numpy("runtime_s")).mean())
    return slow, longest_by_block(wait[np.argsort(ran.numpy("submit_s"), kind="stable")])


def of_log(stem: str, replays: int, first: int) -> GuardedLog:
    """Every setting on one log and its replays; of its ``first`` jobs, 0: of all."""
    jobs = read(DATA / f"{stem}.swf.gz")
    machine = machine_of(jobs, str(LOGS[stem] or ""))
    jobs = jobs.rows(np.arange(min(len(jobs), first or len(jobs))))
    order = unseen(stem)
    ours = [LearnedPolicy(replace(order, limit=LIMIT * later / LATER, ageing=ageing))
            for later, ageing in SETTINGS]  # fmt: skip
    moved = [jobs, *(jittered(jobs, seed + 1) for seed in range(replays))]
    easy = [played(some, machine, "easy")[1] for some in moved]
    best = min(SIMPLE, key=lambda name: played(jobs, machine, name)[0])
    simple = [played(some, machine, best)[0] for some in moved]
    rows = [[played(some, machine, policy) for policy in ours] for some in moved]
    return GuardedLog(
        best,
        np.array(simple),
        np.array([[slow for slow, _ in row] for row in rows]),
        np.array([[wait.max() / base.max() for _, wait in row]
                  for row, base in zip(rows, easy, strict=True)]),
        np.array([[_worst(wait, base) for _, wait in row]
                  for row, base in zip(rows, easy, strict=True)]),
        np.array([_worst(again, easy[0]) for again in easy[1:]]),
    )  # fmt: skip


def _worst(wait: np.ndarray, base: np.ndarray) -> float:
    return float((wait / np.maximum(base, FLOOR_S)).max())


def picked(others: Sequence[GuardedLog]) -> int:
    """The setting that these logs would choose."""
    longest = np.max([log.longest.max(axis=0) for log in others], axis=0)
    slow = np.mean([[log.ratios(k).mean() for k in range(len(SETTINGS))] for log in others], axis=0)
    within = longest <= LIMIT
    return int(np.where(within, slow, np.inf).argmin() if within.any() else longest.argmin())


def page(logs: Mapping[str, GuardedLog]) -> list[str]:
    """Markdown: a row per log, then what all settings do."""
    choice = {name: picked([log for other, log in logs.items() if other != name]) for name in logs}
    lines = ["| log | best simple order, guarded | levels, ageing | slowdown over it "
             "| longest wait, worst replay | worst block | EASY's own, moved | as shipped |",
             "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    lines += [_row(name, log, choice[name]) for name, log in logs.items()]
    means = np.array([log.ratios(choice[name]).mean() for name, log in logs.items()])
    shipped = np.array([log.ratios(SHIPPED).mean() for log in logs.values()])
    worst = max(log.longest[:, choice[name]].max() for name, log in logs.items())
    beyond = sum(int((log.longest[:, choice[name]] > LIMIT).sum()) for name, log in logs.items())
    runs = sum(len(log.longest) for log in logs.values())
    lines += ["", f"Over {len(logs)} logs the slowdown is {_interval(means)} of that of the best "
              f"guarded simple order ({_interval(shipped)} as shipped), below it on "
              f"{int((means < 0).sum())}; the longest wait is beyond {LIMIT:g} times that of FCFS "
              f"with EASY in {beyond} of {runs} replays, {worst:.2f} x at most.",
              "", "| levels, ageing | slowdown over the best guarded simple order "
              "| longest wait, worst log and replay | beyond 1.5 x | worst block |",
              "|---|---|---|---|---|"]  # fmt: skip
    return [*lines, *(_setting_row(list(logs.values()), k) for k in range(len(SETTINGS)))]


def _row(name: str, log: GuardedLog, k: int) -> str:
    noise = f"{log.noise.max():.2f} x" if len(log.noise) else "-"
    return (f"| {name} | {log.best} {log.simple[0]:.3g} | {_named(k)} "
            f"| {_interval(log.ratios(k))} | {log.longest[:, k].max():.2f} x "
            f"| {log.blocks[:, k].max():.2f} x | {noise} | {_interval(log.ratios(SHIPPED))}, "
            f"{log.longest[:, SHIPPED].max():.2f} x |")  # fmt: skip


def _setting_row(logs: Sequence[GuardedLog], k: int) -> str:
    longest = np.concatenate([log.longest[:, k] for log in logs])
    means = np.array([log.ratios(k).mean() for log in logs])
    ships = " (ships)" if k == SHIPPED else ""
    return (f"| {_named(k)}{ships} | {_interval(means)} | {longest.max():.2f} x "
            f"| {int((longest > LIMIT).sum())} of {len(longest)} "
            f"| {max(log.blocks[:, k].max() for log in logs):.2f} x |")  # fmt: skip


def _named(k: int) -> str:
    return "{:.2f}, {:g}".format(*SETTINGS[k])


def _interval(logarithms: np.ndarray) -> str:
    return "{:.3f} [{:.3f}, {:.3f}]".format(*over_traces(logarithms))


def main() -> None:
    """Measure, print, and rewrite the block of docs/benchmarks.md if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replays", type=int, default=5)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--logs", nargs="*", default=list(LOGS))
    parser.add_argument("--write-docs", action="store_true")
    args = parser.parse_args()
    logs = {}
    for stem in [s for s in args.logs if (DATA / f"{s}.swf.gz").is_file()]:
        print(stem, file=sys.stderr, flush=True)
        logs[stem] = of_log(stem, args.replays, args.first)
    lines = page(logs)
    print("\n".join(lines))
    if args.write_docs:
        write(lines, list(logs))


def write(lines: Sequence[str], stems: Sequence[str]) -> None:
    """The section of docs/benchmarks.md."""
    some = "" if set(stems) == set(LOGS) else f" --logs {' '.join(stems)}"
    title = ["## Learned orders under the guard", "",
             f"    python benchmarks/guard_choice.py --write-docs{some}", ""]  # fmt: skip
    told = __doc__ or ""
    about = [" ".join(part.split()) for part in told.split("\n\n")[2:]]
    section = [*title, about[0], "", *about[1:], "", *lines]
    replace_section(ROOT / "docs" / "benchmarks.md", "guard_choice", section)


if __name__ == "__main__":
    main()
