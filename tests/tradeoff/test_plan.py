"""Planning on a finite space: exact against brute force, better than one step at a time, regret."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip("gpytorch")

from rheostat import Knob, Outcome, table
from rheostat.tradeoff.limits import Deadline
from rheostat.tradeoff.propose.law_guided import LawGuided
from rheostat.tradeoff.propose.lookahead import least_regret, plan, scaled


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
    nodes = np.arange(1, 17)
    x = np.log(nodes)
    return [
        (nodes, rng.normal(7, 1) + rng.normal(-0.8, 0.1) * x, 5.5 + rng.normal(0.9, 0.03) * x)
        for _ in range(6)
    ]


def prior_of(jobs):
    nodes, t, p = (np.concatenate(column) for column in zip(*jobs, strict=True))
    app = np.repeat([f"app{i}" for i in range(len(jobs))], 16)
    return table({"app": app, "nodes": nodes, "runtime_s": np.exp(t), "power_w": np.exp(p)})


def told(search, nodes, t, p) -> None:
    """Tell the search what these node counts cost."""
    at = np.asarray(nodes) - 1
    rows = search.space.alternatives(None, [{"nodes": int(n)} for n in nodes])
    search.tell(rows, Outcome({"runtime_s": np.exp(t[None, at]), "power_w": np.exp(p[None, at])}))


def test_four_evaluations_show_nearly_all_that_four_can():
    jobs = past(np.random.default_rng(3))
    nodes, t, p = jobs[0]
    search = LawGuided(
        Knob("nodes", nodes), ("runtime_s", "power_w"), prior=prior_of(jobs[1:]), budget=4
    )
    asked = []
    for _ in range(4):
        asked += search.ask().frame["nodes"].to_list()
        told(search, asked[-1:], t, p)
    y = scaled(np.stack([t, p], axis=1)[None])
    samples = np.random.default_rng(4).uniform(0, 1.1, size=(1500, 2))
    attained = dominated_area(y[0][np.array(asked) - 1], samples)
    best = max(dominated_area(y[0][list(s)], samples) for s in itertools.combinations(range(16), 4))
    assert attained >= 0.95 * best


def test_recommends_the_oracle_setting_once_the_law_is_known():
    jobs = past(np.random.default_rng(6))
    nodes, t, p = jobs[0]
    search = LawGuided(Knob("nodes", nodes), prior=prior_of(jobs[1:]))
    told(search, [1, 8, 16], t, p)
    deadline = Deadline(float(np.exp((t[8] + t[9]) / 2)))
    assert abs(search.recommend("power_w", deadline)["nodes"] - 10) <= 1
