"""Zero, the reference itself, one quantity alone: where comparisons are decided by a hair."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat import Front, Knob, Outcome, table
from rheostat.tradeoff.all_settings import front as one_front
from rheostat.tradeoff.many_fronts import knee_heights
from rheostat.tradeoff.propose.acquisition import hypervolume_improvement
from rheostat.tradeoff.propose.candidate_view import CandidateView


def test_a_zero_in_the_front_keeps_the_axes_linear():
    """By hand: ranged (0, 1), (1/4, 1/4), (1, 0), so the middle lies 1/4 below the chord."""
    heights = knee_heights(np.array([[[0.0, 4.0], [1.0, 1.0], [4.0, 0.0]]]))[0]
    assert heights == pytest.approx([0.0, -0.25, 0.0], abs=1e-9)


def test_a_known_point_beyond_the_reference_takes_and_adds_nothing():
    """The draw (1/2, 1/2) gains a quarter below (1, 1), whatever lies beyond in one coordinate."""
    draw, reference = np.array([[[0.5, 0.5]]]), np.array([1.0, 1.0])
    for beyond in ([2.0, 0.1], [0.1, 2.0], [1.0, 0.2], [np.nan, 0.1]):
        gain = hypervolume_improvement(draw, np.array([beyond]), reference)
        assert gain == pytest.approx(np.array([[0.25]]))


def test_an_objective_that_cannot_improve_adds_its_raw_spread_to_uncertainty():
    """Where ideal and reference are one the span is 0, and the spread is not divided by it."""
    y = np.array([[[1.0, 5.0]], [[3.0, 5.0]]])  # draws, rows, objectives
    front = Front(table({"nodes": [1]}), Outcome({"runtime_s": y[:, :, 0]}), ("runtime_s",))
    view = CandidateView(
        settings=({"nodes": 1},), candidates=1, front=front, y=y, feasible=np.ones((2, 1), bool),
        observed=np.array([[2.0, 5.0]]), known=np.array([[2.0, 5.0]]),
        reference=np.array([4.0, 5.0]), log=False, fixed=(), baseline=(),
    )  # fmt: skip
    assert view.span.tolist() == [2.0, 0.0]
    assert view.uncertainty() == pytest.approx([0.25])


def test_one_quantity_alone_is_filled_by_a_model_of_one_quantity():
    class Six:
        def predict(self, jobs):
            return Outcome({"runtime_s": np.full((1, len(jobs)), 6.0)})

        def fit(self, jobs):
            return self

    runs = table({"nodes": [1, 4], "runtime_s": [9.0, 4.0]})
    knob = Knob("nodes", [1, 2, 4])
    front = one_front(runs.rows([0]), Six(), knob, ("runtime_s",), runs=runs)
    assert front.mean("runtime_s").tolist() == [9.0, 6.0, 4.0]
