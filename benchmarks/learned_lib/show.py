"""The tables of learned orders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rheostat.simulation.comparison.paired_comparison import over_traces

TARGET, MOST = 0.9, 1.5
TEXT = "textbook"
KINDS = [
    ("learned", ("learned", TEXT)),
    ("seeds together", ("together", TEXT)),
    ("no guard", ("no guard", TEXT)),
    ("planned as asked", ("planned as asked", TEXT)),
    ("no history", ("no history", TEXT)),
    ("before training", ("before training", TEXT)),
    ("before training, no guard", ("before training, no guard", TEXT)),
    ("SJF, so planned, no guard", ("sjf, so planned", TEXT)),
    ("SAF, so planned, no guard", ("saf, so planned", TEXT)),
    ("learned, cqsim (clairvoyant)", ("learned", "cqsim")),
]


def page(facts: dict[str, Any]) -> list[str]:
    """Markdown."""
    rows = facts["logs"]
    seeds, generations = facts["seeds"], facts["generations"]
    lines = [
        f"Orders trained with {seeds} seeds for {generations} generations on one fold and judged "
        "on whole logs of the other; mean bounded slowdown relative to the best simple order under "
        "EASY, chosen in hindsight for each log (below 1 is better), geometric mean over seeds "
        "[95 % interval: of one log drawing its weeks, over logs Student's t]; longest wait of any "
        "seed over that of FCFS with EASY: of the whole log; and, per block, in the worst of the "
        "blocks of 10,000 jobs. No hindsight: run times are requested, or predicted from ended "
        "jobs.",
        "",
        "| log | best simple order, its longest wait, per block | learned "
        "| longest wait, per block | seeds |",
        "|---|---|---|---|---|",
    ]
    lines += [_row(r) for r in rows]
    heads = [name for name, _ in KINDS]
    lines += ["", "| over logs | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    real = [r for r in rows if "model" not in r["log"]]
    groups = [("all", rows)] if len(real) == len(rows) else [("real", real), ("all", rows)]
    lines += [_means(name, some) for name, some in groups]
    lines += ["", *_longest(rows), "", *_verdict(rows), ""]
    told = ", ".join(f"{v:,.0f} with {k} waiting" for k, v in facts["decisions"].items())
    lines.append(f"CPU-microseconds per decision, features and EASY included: {told}.")
    return lines


def _of(row: dict[str, Any], policy: str, semantics: str = "textbook") -> dict[str, Any]:
    return row[semantics]["policies"][policy]


def _ratio(row: dict[str, Any], policy: str, semantics: str = "textbook") -> float:
    return float(np.exp(np.mean(np.log(_of(row, policy, semantics)["ratio"]))))


def _row(row: dict[str, Any]) -> str:
    text, mine = row["textbook"], _of(row, "learned")
    low, high = np.exp(np.quantile(mine["log_draws"], (0.025, 0.975)))
    return (
        f"| {row['log']}, {row['jobs']:,} jobs | {text['best']} {text['best_slowdown']:.3g}, "
        f"{text['best_max_wait_ratio']:.2g} x, {text['best_block_wait_ratio']:.2g} x "
        f"| {_ratio(row, 'learned'):.3f} [{low:.3f}, {high:.3f}] | {_waits(mine)} "
        f"| {min(mine['ratio']):.3f} to {max(mine['ratio']):.3f} |"
    )


def _waits(told: dict[str, Any]) -> str:
    """The longest wait of any seed over that of FCFS with EASY, and that of the worst block."""
    return f"{max(told['max_wait_ratio']):.2f} x, {max(told['block_wait_ratio']):.2f} x"


def over(rows: Sequence[dict[str, Any]], policy: str, semantics: str = "textbook") -> list[float]:
    """Geometric mean of the ratio over logs, and Student's t interval over them."""
    return list(over_traces(np.array([np.log(_ratio(r, policy, semantics)) for r in rows])))


def _means(name: str, rows: Sequence[dict[str, Any]]) -> str:
    cells = ["{:.3f} [{:.3f}, {:.3f}]".format(*over(rows, *kind)) for _, kind in KINDS]
    return f"| {name}, {len(rows)} logs | " + " | ".join(cells) + " |"


def _longest(rows: Sequence[dict[str, Any]]) -> list[str]:
    lines = ["| log | learned | seeds together | no guard | planned as asked | no history "
             "| learned, cqsim | best simple order within 1.5 x | learned over it |",
             "|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for row in rows:
        text = row["textbook"]
        kept = text["best_within_limit_slowdown"]
        mine = float(np.exp(np.mean(np.log(_of(row, "learned")["slowdown"])))) / kept
        lines.append(
            f"| {row['log']} | {_ratio(row, 'learned'):.3f}, {_waits(_of(row, 'learned'))} "
            f"| {_ratio(row, 'together'):.3f}, {_waits(_of(row, 'together'))} "
            f"| {_ratio(row, 'no guard'):.3f}, {_waits(_of(row, 'no guard'))} "
            f"| {_ratio(row, 'planned as asked'):.3f} | {_ratio(row, 'no history'):.3f} "
            f"| {_ratio(row, 'learned', 'cqsim'):.3f}, "
            f"{max(_of(row, 'learned', 'cqsim')['max_wait_ratio']):.2f} x "
            f"| {text['best_within_limit']} {kept:.3g} | {mine:.3f} |"
        )
    return lines


def _verdict(rows: Sequence[dict[str, Any]]) -> list[str]:
    real = [r for r in rows if "model" not in r["log"]]
    mean, low, high = over(real, "learned")
    kept = [np.log(np.mean(_of(r, "learned")["slowdown"])
                   / r["textbook"]["best_within_limit_slowdown"]) for r in real]  # fmt: skip
    worst = max(max(_of(r, "learned")["max_wait_ratio"]) for r in rows)
    better = sum(_ratio(r, "learned") < 1 for r in real)
    free = over(real, "no guard")
    within = "reached" if worst <= MOST else "NOT reached"
    agreed = max(max(_of(r, "together")["max_wait_ratio"]) for r in real)
    blocks = max(max(_of(r, "together")["block_wait_ratio"]) for r in real)
    return [
        f"Target of at most {TARGET} of the best simple order on unseen logs: {_met(mean)} "
        f"({mean:.3f} [{low:.3f}, {high:.3f}] over {len(real)} logs, better on {better}); without "
        f"the guard {_met(free[0])} ({free[0]:.3f} [{free[1]:.3f}, {free[2]:.3f}]). "
        f"Against the best simple order whose own longest wait is within {MOST} x: "
        f"{np.exp(np.mean(kept)):.3f}. "
        f"Target of a longest wait within {MOST} x: {within} (worst seed {worst:.2f} x; seeds "
        f"together on real logs {agreed:.2f} x, per block {blocks:.2f} x)."
    ]


def _met(ratio: float) -> str:
    return "reached" if ratio <= TARGET else "NOT reached"
