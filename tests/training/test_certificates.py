"""Certificates of trees: how wide their intervals are, and what they say of each leaf."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.decision.policies.priority_tree import PriorityTree, TreeFeature
from rheostat.training.distill.dagger import accounted
from rheostat.training.distill.decision_states import States
from rheostat.training.distill.fidelity import _interval, loss


def test_an_interval_of_the_certificate_holds_95_percent_of_a_mean():
    """Of decisions that are independent it is as wide as the normal law has it."""
    rng, n = np.random.default_rng(5), 4000
    said = [_interval(rng.standard_normal(n), seed) for seed in range(40)]
    wide = np.mean([s["high"] - s["low"] for s in said])
    assert wide == pytest.approx(2 * 1.96 / np.sqrt(n), rel=0.06)
    assert all(s["low"] < s["mean"] < s["high"] for s in said)


def test_an_interval_of_a_loss_holds_95_percent_of_independent_weeks():
    week, teacher = 7 * 86_400.0 * np.arange(400), np.full(400, 2.0)
    rng = np.random.default_rng(8)
    said = [loss(2.0 + 0.2 * rng.standard_normal(400), teacher, week) for _ in range(8)]
    wide = np.mean([s["high"] - s["low"] for s in said])
    assert wide == pytest.approx(2 * 1.96 * 0.1 / np.sqrt(400), rel=0.1)


def test_a_tree_says_how_many_jobs_came_through_each_node_and_what_its_leaves_are_worth():
    x = np.arange(100.0)[:, None]
    names, two = (TreeFeature("a"),), np.full(50, 2)
    states = States(names, x, np.arange(0, 100, 2), two, x[:, 0], two)
    tree = PriorityTree.of(
        names, feature=[0, -1, 0, -1, -1], threshold=[19.5, 0, 59.5, 0, 0],
        left=[1, -1, 3, -1, -1], right=[2, -1, 4, -1, -1], value=[0, 1.0, 0, 2.0, 3.0],
        slope=[-1, 0, -1, -1, -1],
    )  # fmt: skip
    said = accounted(tree, states, {"procs": 4})
    assert said.support.tolist() == [100, 20, 80, 40, 40]
    assert said.facts["procs"] == 4
    worths = said.facts["worths"]
    assert sorted(worths) == ["1", "3", "4"]
    assert (worths["3"], worths["4"]) == ([2.0] * 3, [3.0] * 3)
    value = tree.predict(x[:20])
    assert worths["1"] == pytest.approx(np.quantile(value, [0.5, 0.05, 0.95]).tolist())
    assert worths["1"][1] < worths["1"][0] < worths["1"][2]
