"""A run for one budget is the same run whether other budgets are scored beside it or not."""

from __future__ import annotations

import numpy as np
import pytest
from nodecount_lib.methods.base import Method, Problem
from nodecount_lib.pools import Pool, make_pool
from nodecount_lib.replay import _runs


@pytest.fixture
def pool() -> Pool:
    n = np.arange(1.0, 13.0)[:, None]
    y = np.column_stack([100 / n, 50 * n, np.full(12, 5000.0) + n[:, 0]])
    return make_pool("m/a", "m", "a", knobs=("nodes",), settings=n, y=y, source="")


class Planner(Method):
    """Chooses by a random number and by how many evaluations are left, up to three."""

    n_start, ahead = 0, 3

    def pick(self, remaining: int) -> int:
        left = self.unseen()
        return int(left[(self.rng.integers(100) + 7 * min(remaining, 3)) % len(left)])


def planner(pool: Pool) -> Planner:
    return Planner(Problem(pool.x, pool.settings, pool.knobs, (0, 1)), 0)


def alone(pool: Pool, budget: int) -> list[int]:
    method = planner(pool)
    while len(method.seen) < budget:
        i = method.ask(budget - len(method.seen))
        method.tell(i, pool.log_y[i])
    return method.seen


def test_shared_beginnings_change_no_run(pool: Pool) -> None:
    for budget, ended in _runs(planner(pool), pool):
        if budget < pool.n:
            assert ended.seen == alone(pool, budget)
        else:
            assert sorted(ended.seen) == list(range(pool.n))


def test_a_run_for_four_is_not_the_beginning_of_a_run_for_eight(pool: Pool) -> None:
    runs = {budget: list(ended.seen) for budget, ended in _runs(planner(pool), pool)}
    assert runs[8][:4] != runs[4]


def test_without_a_plan_one_run_passes_through_all_budgets(pool: Pool) -> None:
    class Plain(Planner):
        ahead = 1

    method = Plain(Problem(pool.x, pool.settings, pool.knobs, (0, 1)), 0)
    runs = {budget: list(ended.seen) for budget, ended in _runs(method, pool)}
    assert runs[8][:4] == runs[4]
