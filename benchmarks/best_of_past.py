"""Guarded orders on logs not trained on: simple, learned, and the best of each site's past.

    python benchmarks/best_of_past.py [--replays 0] [--logs kth_sp2 ...] [--no-past]

The bar is the best simple order under EASY *with the guard* (1.5 x), chosen in hindsight for each
log by its mean bounded slowdown.  Beside it the learned order, guarded likewise, of the fold of
``benchmarks/learned.py`` that does not hold the log (of logs in neither fold the one that comes
with the library), and `best-of-past` with that order among its candidates (not with ``--no-past``).
The prize is what the best of the same guarded simple orders would save with true run times, and the
share is the learned order's part of it, of mean bounded slowdowns.
Everything on the same replays: the log as it is, and ``--replays`` more with submissions moved by
up to 120 s; per log the geometric mean over replays.  Overdue jobs are given longer estimates.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from guard import FIRST, LOGS, played
from learned import FOLDS, KEPT
from simulate import DATA

from rheostat.core.jobs import JobTable
from rheostat.measurement.read import read
from rheostat.simulation.comparison.jittered_replays import jittered
from rheostat.simulation.comparison.paired_comparison import over_traces
from rheostat.simulation.learned_priority.priority import SHIPPED, LearnedPriority, together
from rheostat.simulation.log_machine import machine_of
from rheostat.simulation.policies.best_of_past import ORDERS, BestOfPast
from rheostat.simulation.policies.learned_policy import LearnedPolicy


def unseen(stem: str) -> LearnedPriority:
    """The learned order that was not trained on this log."""
    for fold, other in (("A", "B"), ("B", "A")):
        if stem in {log for log, _ in FOLDS[fold].values()}:
            return together([LearnedPriority.load(KEPT / f"{other}{k}.json") for k in range(5)])
    return LearnedPriority.load(SHIPPED)


def replay(
    jobs: JobTable, machine: object, learned: LearnedPriority, past: bool
) -> dict[str, np.ndarray]:
    """(slowdown, longest wait s) by policy."""
    guarded = [f"{order}+easy+1.5x" for order in ORDERS]
    rows = {name: played(jobs, machine, name) for name in ("easy", *guarded)}
    rows["learned"] = played(jobs, machine, LearnedPolicy(learned))
    rows["true run times"] = min(played(jobs, machine, name, "perfect") for name in guarded)
    if past:
        rows["best of past"] = played(jobs, machine, BestOfPast(learned))
    return {name: np.array(row) for name, row in rows.items()}


def of_log(stem: str, replays: int, past: bool) -> tuple[str, dict[str, np.ndarray]]:
    """(name of the best guarded simple order, of each policy (ratio to it, longest wait ratio))."""
    jobs = read(DATA / f"{stem}.swf.gz")
    machine = machine_of(jobs, str(LOGS[stem] or ""))
    jobs = jobs.rows(np.arange(min(len(jobs), FIRST.get(stem, len(jobs)))))
    moved = [jobs, *(jittered(jobs, seed + 1) for seed in range(replays))]
    rows = [replay(some, machine, unseen(stem), past) for some in moved]
    slow = {name: np.mean([np.log(row[name][0]) for row in rows]) for name in rows[0]}
    longest = {name: max(row[name][1] / row["easy"][1] for row in rows) for name in rows[0]}
    best = min((name for name in slow if name.endswith("x")), key=lambda name: slow[name])
    return best, {n: np.array((slow[n] - slow[best], longest[n])) for n in slow}


def main() -> None:
    """A row per log, and the mean over logs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replays", type=int, default=0)
    parser.add_argument("--logs", nargs="*", default=list(LOGS))
    parser.add_argument(
        "--no-past", action="store_true", help="without best-of-past, which is slow"
    )
    args = parser.parse_args()
    shown = ("learned", "true run times", *([] if args.no_past else ["best of past"]))
    print("| log | best simple order, guarded | " + " | ".join(shown) + " | share of the prize |")
    print("|---" * (len(shown) + 3) + "|")
    told = []
    for stem in [s for s in args.logs if (DATA / f"{s}.swf.gz").is_file()]:
        best, facts = of_log(stem, args.replays, not args.no_past)
        cells = [f"{np.exp(facts[n][0]):.3f}, {facts[n][1]:.2f} x" for n in shown]
        share = shown_share(facts["learned"][0], facts["true run times"][0])
        print(
            f"| {stem} | {best}, {facts[best][1]:.2f} x | {' | '.join(cells)} | {share} |",
            flush=True,
        )
        told.append([facts[n] for n in shown])
    rows = np.array(told)
    worst = rows[:, :, 1].max(axis=0)
    cells = [
        "{:.3f} [{:.3f}, {:.3f}], {:.2f} x".format(*over_traces(rows[:, k, 0]), worst[k])
        for k in range(len(shown))
    ]
    share = shown_share(*rows[:, :2, 0].mean(axis=0))
    print(f"| {len(rows)} logs [95 %] | 1 | {' | '.join(cells)} | {share} |")


def shown_share(mine: float, ideal: float) -> str:
    """What part of the prize is won, of logarithms of slowdowns over the best simple order's.

    >>> shown_share(np.log(0.8), np.log(0.5)), shown_share(np.log(0.8), 0.0)
    ('40 %', '-')
    """
    return f"{100 * np.expm1(mine) / np.expm1(ideal):.0f} %" if ideal < 0 else "-"


if __name__ == "__main__":
    main()
