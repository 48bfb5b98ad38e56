"""The claims of `core.front`: closed forms, invariants, ties, abstention, infeasibility."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rheostat.core.dominance import hypervolume_2d, knee_index, non_dominated
from rheostat.core.front import Front, Objective
from rheostat.core.outcome import Outcome
from rheostat.core.vocabulary import table
from rheostat.errors import DataError, Infeasible

points = arrays(
    float, st.tuples(st.integers(0, 12), st.just(2)), elements=st.integers(0, 6).map(float)
)


@given(points)
def test_front_is_what_no_row_dominates(y: np.ndarray) -> None:
    mask = non_dominated(y)
    for i in range(len(y)):
        beaten = any((y[j] <= y[i]).all() and (y[j] < y[i]).any() for j in range(len(y)))
        assert mask[i] == (not beaten)


@given(points)
def test_front_of_the_front_is_itself(y: np.ndarray) -> None:
    front = y[non_dominated(y)]
    assert non_dominated(front).all()


@given(points)
@settings(max_examples=60)
def test_hypervolume_counts_dominated_cells(y: np.ndarray) -> None:
    """On integer points the area is the number of unit cells below the reference."""
    cells = sum(
        bool(len(y)) and bool(((y <= (i, j)).all(axis=1)).any()) for i in range(8) for j in range(8)
    )
    assert hypervolume_2d(y, (8.0, 8.0)) == cells


@pytest.mark.parametrize("n", [1, 2, 7])
def test_hypervolume_of_a_staircase(n: int) -> None:
    """Points (i, n-1-i) against (n, n) dominate n*n - n*(n-1)/2 unit cells."""
    y = np.array([[i, n - 1 - i] for i in range(n)], dtype=float)
    assert hypervolume_2d(y, (n, n)) == n * n - n * (n - 1) / 2


def test_knee_is_the_bend_of_two_lines() -> None:
    y = np.exp(np.array([[0.0, 10.0], [1.0, 5.0], [2.0, 1.0], [6.0, 0.5], [10.0, 0.0]]))
    assert knee_index(y) == 2


def test_knee_ignores_dominated_rows_and_units() -> None:
    y = np.exp(np.array([[0.0, 10.0], [2.0, 1.0], [2.1, 1.1], [10.0, 0.0]]))
    assert knee_index(y) == knee_index(y * [1000.0, 1e-3]) == 1


def _front(runtime: list[float], power: list[float], objectives=("runtime_s", "power_w")) -> Front:
    draws = {"runtime_s": np.array([runtime]), "power_w": np.array([power])}
    jobs = table({"job_id": [7] * len(runtime), "nodes": list(range(1, len(runtime) + 1))})
    return Front(jobs, Outcome(draws), objectives)


@dataclass(frozen=True)
class _Least:
    name: str

    def score(self, front: Front) -> np.ndarray:
        return front.mean(self.name)


@dataclass(frozen=True)
class _AtMost:
    name: str
    limit: float

    def excess(self, front: Front) -> np.ndarray:
        return front.mean(self.name) / self.limit - 1.0

    def __str__(self) -> str:
        return f"{self.name} <= {self.limit}"


def test_choice_is_the_best_allowed_row_and_says_why() -> None:
    front = _front([9.0, 5.0, 4.0], [1.0, 2.0, 4.0])
    choice = front.choose(_Least("runtime_s"), limits=_AtMost("power_w", 3.0))
    assert (choice.job, choice.setting, choice.index) == (7, {"nodes": 2}, 1)
    assert choice.because.runner_up == {"nodes": 1}
    assert choice.because.compared["runtime_s"] == pytest.approx(5 / 9)
    assert choice.because.limits == ("power_w <= 3.0",)


def test_infeasible_names_the_nearest_row() -> None:
    front = _front([9.0, 5.0, 4.0], [1.0, 2.0, 4.0])
    with pytest.raises(Infeasible, match=r"nodes=3, 33\.3 % over") as caught:
        front.choose(_Least("power_w"), limits=_AtMost("runtime_s", 3.0))
    assert caught.value.nearest == 2


def test_abstained_rows_are_never_chosen() -> None:
    front = _front([9.0, np.nan, 4.0], [1.0, 0.1, 4.0])
    assert front.mask.tolist() == [True, False, True]
    assert front.choose(_Least("power_w")).index == 0
    with pytest.raises(Infeasible, match="abstains on all"):
        _front([np.nan], [np.nan]).choose(_Least("power_w"))


def test_node_hours_and_maximised_objectives() -> None:
    front = _front([3600.0, 1800.0], [1.0, 2.0], ("runtime_s", Objective("power_w", "max")))
    assert front.mean("node_hours").tolist() == [1.0, 1.0]
    assert front.mask.tolist() == [False, True]


def test_probability_of_being_on_the_front_counts_draws() -> None:
    draws = {
        "runtime_s": np.array([[1.0, 2.0], [1.0, 2.0]]),
        "power_w": np.array([[2.0, 1.0], [1.0, 2.0]]),
    }
    front = Front(table({"nodes": [1, 2]}), Outcome(draws), ("runtime_s", "power_w"))
    assert front.probability.tolist() == [1.0, 0.5]


def test_lengths_must_agree() -> None:
    with pytest.raises(DataError, match="2 alternatives but outcomes for 1"):
        Front(table({"nodes": [1, 2]}), Outcome({"runtime_s": np.ones((1, 1))}), ("runtime_s",))
