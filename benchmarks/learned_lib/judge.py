"""One log: what the simple orders and the learned ones make of it, under both semantics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.decision.policies.batch_policy import batch_policy
from rheostat.simulation.comparison.paired_comparison import (
    block_sums,
    blocks,
    drawn_means,
    longest_by_block,
)
from rheostat.simulation.comparison.protocol import HEURISTICS
from rheostat.simulation.learned_priority.priority import LearnedPriority, together
from rheostat.simulation.learned_priority.queue_features import NAMES
from rheostat.simulation.learned_priority.scoring_network import SPREAD, length
from rheostat.simulation.policies.dispatch import schedule
from rheostat.simulation.schedule_metrics import bounded_slowdown
from rheostat.simulation.workload import Workload, users, workload
from rheostat.training.priority.evolve import begun

DRAWS = 1000
MOST = 1.5


@dataclass(frozen=True)
class Log:
    """A log and its machine, as the engines want them."""

    name: str
    jobs: JobTable
    machine: Machine
    load: Workload
    user: np.ndarray

    @classmethod
    def of(cls, name: str, jobs: JobTable, machine: Machine) -> Log:
        """Prepare it once."""
        load = workload(jobs, machine)
        return cls(name, jobs, machine, load, users(jobs, load))


def judge(log: Log, rankers: Sequence[LearnedPriority], trained_on: str) -> dict[str, Any]:
    """Facts of one log; ratios are to the simple order that is best in hindsight."""
    found: dict[str, Any] = {
        "log": log.name, "jobs": len(log.load), "processors": log.machine.procs,
        "trained_on": trained_on, "unasked": log.load.unasked,
    }  # fmt: skip
    for semantics in ("textbook", "cqsim"):
        found[semantics] = _judged(log, rankers, semantics)
    return found


def _judged(log: Log, rankers: Sequence[LearnedPriority], semantics: str) -> dict[str, Any]:
    simple = {h: _simple(log, h, semantics) for h in HEURISTICS}
    best = min(simple, key=lambda h: simple[h][0].mean())
    easy_wait = simple["easy"][1]
    longest = float(easy_wait.max())
    kept = {h: s[0].mean() for h, s in simple.items() if s[1].max() <= MOST * longest}
    bar, draws = simple[best][0], _Draws(log.load.submit_s)
    rows = {"learned": list(rankers)}
    if semantics == "textbook":
        rows |= {
            "together": [together(rankers)],
            "no guard": [replace(r, limit=np.inf) for r in rankers],
            "no history": [replace(r, history=False) for r in rankers],
            "planned as asked": [replace(r, trust=()) for r in rankers],
            "sjf, so planned": [_plain("ask")],
            "saf, so planned": [_plain("ask", "share")],
            "before training": [begun()],
            "before training, no guard": [begun(limit=np.inf)],
        }
    played = {name: [_ranked(log, r, semantics) for r in some] for name, some in rows.items()}
    return {
        "best": best, "best_slowdown": float(bar.mean()),
        "best_max_wait_ratio": float(simple[best][1].max()) / longest,
        "best_block_wait_ratio": _by_block(simple[best][1], easy_wait),
        "easy_slowdown": float(simple["easy"][0].mean()), "easy_max_wait_s": longest,
        "best_within_limit": min(kept, key=lambda h: kept[h]),
        "best_within_limit_slowdown": float(min(kept.values())),
        "policies": {n: _summed(p, bar, easy_wait, draws) for n, p in played.items()},
    }  # fmt: skip


def _plain(*names: str) -> LearnedPriority:
    """The smallest product of these first, planned as learned orders are before training."""
    weights = np.zeros(length(0))
    for name in names:
        weights[NAMES.index(name)] = SPREAD[NAMES.index(name)]
    return replace(begun(limit=np.inf), weights=tuple(map(float, weights)))


class _Draws:
    """The same drawings of time blocks for every policy on a log."""

    def __init__(self, submit_s: np.ndarray) -> None:
        self.block = blocks(submit_s)[0]

    def ratios(self, mine: np.ndarray, bar: np.ndarray) -> np.ndarray:
        count, sums = block_sums(self.block, mine, bar)
        means = drawn_means(count, sums, seed=0, draws=DRAWS)
        return means[:, 0] / means[:, 1]


def _by_block(wait: np.ndarray, easy: np.ndarray) -> float:
    """The worst block's longest wait over that of FCFS with EASY in the same block."""
    mine, theirs = longest_by_block(wait), longest_by_block(easy)
    return float((mine / np.maximum(theirs, 1.0)).max())


def _summed(
    played: Sequence[tuple[np.ndarray, np.ndarray]], bar: np.ndarray, easy: np.ndarray,
    draws: _Draws,
) -> dict[str, Any]:  # fmt: skip
    """Over training seeds: ratio, its draws, and the longest waits over FCFS with EASY."""
    drawn = [np.log(draws.ratios(slow, bar)) for slow, _ in played]
    return {
        "slowdown": [float(slow.mean()) for slow, _ in played],
        "ratio": [float(slow.mean() / bar.mean()) for slow, _ in played],
        "max_wait_ratio": [float(wait.max() / easy.max()) for _, wait in played],
        "block_wait_ratio": [_by_block(wait, easy) for _, wait in played],
        "log_draws": np.round(np.mean(drawn, axis=0), 4).tolist(),
    }


def _simple(log: Log, name: str, semantics: str) -> tuple[np.ndarray, np.ndarray]:
    rule = batch_policy(name, semantics=semantics, overdue="extend")  # as learned orders plan
    start, _, _ = schedule(log.jobs, log.load, rule, log.machine.procs, log.load.ask_s)
    return _of(log, start)


def _ranked(log: Log, ranker: LearnedPriority, semantics: str) -> tuple[np.ndarray, np.ndarray]:
    seen = semantics == "cqsim"
    return _of(log, ranker.starts(log.load, log.user, log.machine.procs, clairvoyant=seen)[0])


def _of(log: Log, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(bounded slowdowns, waits s)."""
    wait = start - log.load.submit_s
    return bounded_slowdown(wait, log.load.run_s), wait
