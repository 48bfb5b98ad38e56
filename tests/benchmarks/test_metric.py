"""Hypervolume against closed forms, and the subset programme against brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from nodecount_lib.metric import Judge, attainable, front_of, hypervolume, normalise


def test_one_point_dominates_a_rectangle() -> None:
    assert hypervolume(np.array([[0.3, 0.5]])) == pytest.approx(0.8 * 0.6)


def test_no_point_has_no_hypervolume_and_dominated_points_add_none() -> None:
    assert hypervolume(np.empty((0, 2))) == 0.0
    f = np.array([[0.0, 0.0], [0.5, 0.5]])
    assert hypervolume(f) == pytest.approx(1.21)


def test_front_keeps_one_of_equal_points() -> None:
    assert len(front_of(np.array([[0.2, 0.2], [0.2, 0.2], [0.1, 0.9], [0.3, 0.3]]))) == 2


@pytest.mark.parametrize("seed", range(8))
def test_best_subsets_are_those_of_brute_force(seed: int) -> None:
    f = normalise(np.random.default_rng(seed).random((11, 2)))
    best = attainable(f)
    assert len(best) == len(front_of(f)) + 1
    for k in range(1, len(best)):
        brute = max(hypervolume(f[list(c)]) for c in combinations(range(11), k))
        assert best[k] == pytest.approx(brute)


def test_attained_is_one_for_the_best_set_and_never_more() -> None:
    rng = np.random.default_rng(3)
    y = rng.random((14, 2))
    judge = Judge(y)
    assert judge.fraction(list(judge.front)) == pytest.approx(1.0)
    assert judge.attained(list(range(14))) == pytest.approx(1.0)
    assert judge.attained([]) is None
    for k in range(1, 14):
        share = judge.attained(list(rng.choice(14, k, replace=False)))
        assert share is not None
        assert 0.0 < share <= 1.0 + 1e-12


def test_scores_do_not_depend_on_units() -> None:
    y = np.random.default_rng(5).random((9, 2))
    chosen = [0, 3, 4]
    assert Judge(y).fraction(chosen) == pytest.approx(Judge(y * 7 + 2).fraction(chosen))
