"""Replay one method on one pool and score it at every budget."""

from __future__ import annotations

import time
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from .methods.base import Entry, Method, PriorJob, Problem
from .metric import Judge
from .pools import PAIRS, Pool
from .regret import Question, choose, questions, regret_of

BUDGETS = (0, 1, 2, 4, 8, 12, 20)
METRIC_VERSION = "2"
Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A pool and the other applications' runs that a method may learn from."""

    pool: Pool
    prior: list[Pool]

    def problem(self, pair: tuple[int, int]) -> Problem:
        """What the method is shown."""
        scale = self.pool.scale
        jobs = [PriorJob(p.app, p.settings, scale.unit(p.settings), p.log_y) for p in self.prior]
        return Problem(self.pool.x, self.pool.settings, self.pool.knobs, pair, jobs)


def key_of(entry: Entry, case: Case, seed: int, budgets: tuple[int, ...] | None = None) -> str:
    """Cache key: what the rows depend on."""
    parts = [entry.name, entry.version, METRIC_VERSION, case.pool.name, case.pool.digest, str(seed)]
    parts += [] if budgets in (None, BUDGETS) else [str(budgets)]
    if entry.uses_prior:
        parts += sorted(p.digest for p in case.prior)
    return "|".join(parts)


def replay(
    entry: Entry, case: Case, seed: int, budgets: tuple[int, ...] | None = None
) -> list[Row]:
    """All rows of one (method, pool, seed); a trajectory that ignores the pair is walked once.

    Every budget is a run of its own, told beforehand how many evaluations it has.
    """
    groups = [list(PAIRS)] if entry.pair_free else [[name] for name in PAIRS]
    return [row for group in groups for row in _walk(entry, case, seed, group, budgets)]


def _walk(
    entry: Entry, case: Case, seed: int, pair_names: list[str], budgets: tuple[int, ...] | None
) -> list[Row]:
    pool = case.pool
    method = entry.build(case.problem(PAIRS[pair_names[0]]), seed)
    pairs = {name: list(PAIRS[name]) for name in pair_names}
    judges = {name: Judge(pool.log_y[:, p], pool.noise[p]) for name, p in pairs.items()}
    asked = {name: questions(pool, PAIRS[name]) for name in pair_names}
    rows: list[Row] = []
    started = time.process_time()
    for budget, ended in _runs(method, pool, budgets):
        every = [q for name in pair_names for q in asked[name]]
        full = len(ended.seen) == pool.n
        answers = [choose(pool.log_y, q) for q in every] if full else ended.recommend(every)
        cpu_s = time.process_time() - started
        for g, name in enumerate(pair_names):
            size = len(asked[name])
            row = {
                "method": entry.name,
                "pool": pool.name,
                "objectives": name,
                "budget": budget,
                "seed": seed,
            }
            row |= _score(
                judges[name], ended.seen, pool, asked[name], answers[g * size : (g + 1) * size]
            )
            rows.append(row | {"evaluations": len(ended.seen), "cpu_s": round(cpu_s, 4)})
    return rows


def _runs(
    method: Method, pool: Pool, budgets: tuple[int, ...] | None = None
) -> Iterator[tuple[int, Method]]:
    """The method at the end of a run for each budget.

    While more evaluations are left than a method looks ahead, runs for different budgets are the
    same: they share that beginning, and each goes its own way from a copy.  A method that looks one
    ahead ignores the budget, and one run passes through all of them.
    """
    for budget in budgets or BUDGETS:
        while budget < pool.n and budget - len(method.seen) >= method.ahead:
            _measure(method, pool, method.ahead)
        ended = method if method.ahead == 1 else deepcopy(method)
        _finish(ended, pool, budget)
        yield budget, ended


def _finish(method: Method, pool: Pool, budget: int) -> None:
    """Measure until the budget or the pool is spent; where all of it will be measured there is
    nothing to choose."""
    if budget >= pool.n:
        for i in method.unseen():
            method.seen.append(int(i))
            method.y.append(pool.log_y[i])
        return
    while len(method.seen) < budget:
        _measure(method, pool, budget - len(method.seen))


def _measure(method: Method, pool: Pool, left: int) -> None:
    i = method.ask(left)
    if i in method.seen:
        raise ValueError(f"{type(method).__name__} asked for setting {i} twice")
    method.tell(i, pool.log_y[i])


def _score(
    judge: Judge, seen: list[int], pool: Pool, asked: list[Question], answers: list[int]
) -> Row:
    pairs = list(zip(asked, answers, strict=True))
    judged = [regret_of(pool.log_y, q, a) for q, a in pairs]
    eased = [regret_of(pool.log_y, q, a, pool.noise)[0] for q, a in pairs]
    share, beyond = judge.attained(seen), judge.attained_beyond_noise(seen)
    return {
        "hv_fraction": round(judge.fraction(seen), 6),
        "hv_attainable": None if share is None else round(share, 6),
        "hv_attainable_noise": None if beyond is None else round(beyond, 6),
        "regret": round(float(np.mean([loss for loss, _ in judged])), 6),
        "regret_noise": round(float(np.mean(eased)), 6),
        "violation_rate": round(float(np.mean([broken for _, broken in judged])), 6),
    }
