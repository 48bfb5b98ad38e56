"""Hypervolume against closed forms, and the subset programme against brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from nodecount_lib.metric import Judge, attainable, front_of, hypervolume, normalise
from nodecount_lib.noise import of_neighbours, of_repeats


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


def test_repeats_and_neighbours_tell_a_known_noise() -> None:
    rng = np.random.default_rng(7)
    true = np.array([0.01, 0.02, 0.05])
    repeats = [rng.normal(0, 1, 3) + rng.normal(0, true, (k, 3)) for k in [2] * 300 + [5] * 100]
    assert of_repeats(repeats) == pytest.approx(true, rel=0.15)
    assert of_repeats([np.zeros((1, 3))]) is None
    x = np.stack(np.meshgrid(np.linspace(0, 1, 30), np.geomspace(0.1, 1, 12)), -1).reshape(-1, 2)
    line = x @ np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 0.0]])
    assert of_neighbours(x, line + rng.normal(0, true, line.shape)) == pytest.approx(true, rel=0.2)
    assert of_neighbours(x[:2], line[:2]).tolist() == [0.0, 0.0, 0.0]


def test_what_noise_hides_costs_nothing_and_earns_nothing() -> None:
    """Third row: as good as the second but for 0.01; fourth: far from the front."""
    y = np.array([[0.0, 1.0], [0.4, 0.4], [0.41, 0.41], [0.9, 0.9], [1.0, 0.0]])
    exact, noisy = Judge(y), Judge(y, np.array([0.02, 0.02]))
    for chosen in ([1], [2], [3], [0, 2, 4], [0, 1, 4]):
        assert exact.attained_beyond_noise(chosen) == pytest.approx(exact.attained(chosen))
        assert noisy.attained_beyond_noise(chosen) >= noisy.attained(chosen)
    assert noisy.attained([0, 2, 4]) < 0.99
    assert noisy.attained_beyond_noise([0, 2, 4]) > 0.995
    assert noisy.attained_beyond_noise([0, 1, 4]) <= 1.0
    assert noisy.attained_beyond_noise([3]) < 0.2
    assert noisy.attained_beyond_noise([]) is None
