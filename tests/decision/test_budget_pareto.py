"""Watts without a common step: every sum worth its watts, and plans that are proven best."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.decision.budget.allocate import allocate, whole
from rheostat.decision.budget.hull import Level
from rheostat.decision.budget.pareto import sums

ROWS, OPTIONS = 4, 3


@st.composite
def problems(draw):
    """Watts in thousandths that mostly lie just beside a step of 10 W, values, a limit."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    beside = rng.integers(-4, 5, (ROWS, OPTIONS)) / 1000
    watts = np.cumsum(rng.integers(0, 3, (ROWS, OPTIONS)) * 10.0, axis=1) + 100 + beside
    value = rng.exponential(1.0, (ROWS, OPTIONS))
    return watts, value, float(watts.min(axis=1).sum() + rng.integers(0, 9) * 10)


def every(watts, value, limit):
    """(watts, value) of all choices within the limit."""
    rows = np.arange(len(watts))
    made = [list(c) for c in product(range(OPTIONS), repeat=len(watts))]
    both = [(watts[rows, c].sum(), value[rows, c].sum()) for c in made]
    return [(w, v) for w, v in both if w <= limit + 1e-6]


@given(problems())
def test_a_plan_of_watts_beside_a_grid_is_the_best_of_all(problem):
    watts, value, limit = problem
    best = max(v for _, v in every(watts, value, limit))
    plan = allocate(watts, value, limit)
    assert (plan.value, plan.exact) == (pytest.approx(best, rel=1e-12), True)
    pairs = Level(np.arange(ROWS) // 2, np.full(ROWS // 2, limit))  # no limit of their own
    nested = allocate(watts, value, [pairs, whole(ROWS, limit)])
    assert (nested.value, nested.exact) == (pytest.approx(best, rel=1e-12), True)


@given(problems())
def test_sums_are_those_that_no_cheaper_one_matches(problem):
    watts, value, limit = problem
    kept = [np.argsort(w, kind="stable") for w in watts]
    solved = sums(watts, value, kept, limit, 1e9, None)
    assert (np.diff(solved.watts) > 0).all()
    assert (np.diff(solved.values) > 0).all()
    for w, v in every(watts, value, limit):
        assert solved.values[np.searchsorted(solved.watts, w + 1e-6) - 1] >= v - 1e-9
    rows, cheapest = np.arange(ROWS), watts.argmin(axis=1)
    for point, (w, v) in enumerate(zip(solved.watts, solved.values, strict=True)):
        choice = solved.options(point, cheapest)
        assert watts[rows, choice].sum() == pytest.approx(w)
        assert value[rows, choice].sum() == pytest.approx(v)


def test_racks_at_the_edge_of_a_grid_that_is_rounded_are_proven_best():
    """A thousand nodes: steps of 10/7 W in three digits, budgets that are whole numbers of them."""
    rng = np.random.default_rng(0)
    watts = (290 + np.cumsum(rng.integers(0, 3, (1000, 17)) * 10.0, axis=1)) / 7
    value = np.cumsum(rng.exponential(0.05, (1000, 17)) * rng.random((1000, 1)), axis=1)
    racks = Level(np.arange(1000) // 8, np.full(125, 334 * 8 / 7))
    plan = allocate(watts.round(3), value, [racks, whole(1000, 330 * 1000 / 7)])
    assert (plan.exact, plan.gap) == (True, 0.0)
    used = np.bincount(racks.member, watts.round(3)[np.arange(1000), plan.choice])
    assert (used <= racks.budget_w + 1e-6).all()
