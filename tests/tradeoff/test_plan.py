"""Planning on a finite space: exact against brute force, better than one step at a time, regret."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip("gpytorch")

from rheostat.tradeoff.lookahead import LawSearch, least_regret, plan, scaled


def dominated_area(points: np.ndarray, samples: np.ndarray) -> float:
    """Share of the box [0, 1.1]^2 that ``points`` dominate, by counting samples."""
    return float((points[None] <= samples[:, None]).all(axis=2).any(axis=1).mean())


def curved(n: int, power: float) -> np.ndarray:
    """n points of a convex front as one certain draw, (1, n, 2)."""
    x = np.linspace(0, 1, n)
    return np.stack([x, (1 - x) ** power], axis=1)[None]


def test_the_plan_is_the_best_subset_by_monte_carlo():
    y = scaled(np.random.default_rng(0).normal(size=(3, 7, 2)))
    samples = np.random.default_rng(1).uniform(0, 1.1, size=(4000, 2))
    worth = {
        subset: np.mean([dominated_area(d[list(subset)], samples) for d in y])
        for subset in itertools.combinations(range(7), 2)
    }
    assert worth[tuple(sorted(plan(y, [], 2)))] >= max(worth.values()) - 0.01


def test_a_plan_of_two_beats_two_greedy_steps():
    """The best single setting is the knee; the best pair is a setting on either side of it."""
    samples = np.random.default_rng(2).uniform(0, 1.1, size=(20000, 2))
    y = curved(21, 1.0)
    greedy = plan(y, [], 1)
    greedy += plan(y, greedy, 1)
    planned = plan(y, [], 2)
    gain = dominated_area(y[0][planned], samples) - dominated_area(y[0][greedy], samples)
    assert gain > 0.02


def test_plan_leaves_out_what_is_measured_and_ends_with_the_space():
    y = curved(5, 2.0)
    assert sorted(plan(y, [1, 3], 9)) == [0, 2, 4]
    assert plan(y, [0, 1, 2, 3, 4], 3) == []


def test_least_regret_prefers_the_safe_side_of_a_limit():
    """Half of the draws say setting 0 breaks the limit badly; setting 1 costs a little more."""
    objective = np.array([[0.0, 0.1], [0.0, 0.1]])
    limited = np.array([[-0.1, -0.5], [1.0, -0.5]])
    assert least_regret(objective, limited, 0.0) == 1
    assert least_regret(objective, limited - 2.0, 0.0) == 0


def test_least_regret_with_no_feasible_setting_takes_the_nearest():
    assert least_regret(np.array([[0.0, 5.0]]), np.array([[3.0, 1.0]]), 0.0) in (0, 1)
    assert least_regret(np.array([[0.0, 0.5]]), np.array([[3.0, 1.0]]), 0.0) == 1


def past(rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    nodes = np.arange(1.0, 17.0)[:, None]
    x = np.log(nodes[:, 0])
    return [
        (nodes, rng.normal(7, 1) + rng.normal(-0.8, 0.1) * x, 5.5 + rng.normal(0.9, 0.03) * x)
        for _ in range(6)
    ]


def test_four_evaluations_show_nearly_all_that_four_can():
    rng = np.random.default_rng(3)
    jobs = past(rng)
    nodes, t, p = jobs[0]
    search = LawSearch(nodes, ["nodes"], jobs[1:], objectives=("runtime", "power"))
    for left in (4, 3, 2, 1):
        i = search.ask(left)
        search.tell(i, np.exp(t[i]), np.exp(p[i]))
    y = scaled(np.stack([t, p], axis=1)[None])
    samples = np.random.default_rng(4).uniform(0, 1.1, size=(1500, 2))
    attained = dominated_area(y[0][search.model.measured], samples)
    best = max(dominated_area(y[0][list(s)], samples) for s in itertools.combinations(range(16), 4))
    assert attained >= 0.95 * best


def test_every_setting_is_asked_once_and_then_it_says_so():
    nodes, t, p = past(np.random.default_rng(5))[0]
    search = LawSearch(nodes[:4], ["nodes"])
    asked = []
    for _ in range(4):
        asked.append(search.ask())
        search.tell(asked[-1], np.exp(t[asked[-1]]), np.exp(p[asked[-1]]))
    assert sorted(asked) == [0, 1, 2, 3]
    with pytest.raises(IndexError, match="measured"):
        search.ask()


def test_recommends_the_oracle_setting_once_the_law_is_known():
    jobs = past(np.random.default_rng(6))
    nodes, t, p = jobs[0]
    search = LawSearch(nodes, ["nodes"], jobs[1:])
    for i in (0, 7, 15):
        search.tell(i, np.exp(t[i]), np.exp(p[i]))
    deadline = (t[8] + t[9]) / 2
    chosen = search.recommend("power", "runtime", np.exp(deadline))
    assert abs(chosen - 9) <= 1
