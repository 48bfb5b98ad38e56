"""The usual rules to the last watt: the quadratic and its inverse, draws, ties and roundings."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rheostat.core.outcome import Outcome
from rheostat.decision.budget.nodes import fleet
from rheostat.decision.budget.sharing_rules import (
    BASELINES,
    _draw,
    _lift,
    _quadratic,
    _watts,
    fair_best,
)
from rheostat.prediction.surface import Surface

CAPS = np.array([[100.0], [200.0], [300.0], [400.0]])


def surface(app: str, runtime_s, **more) -> Surface:
    draws = {"runtime_s": np.atleast_2d(np.asarray(runtime_s, dtype=float)), **more}
    return Surface(app, ("cap_w",), CAPS, Outcome(draws))


def nodes(known, apps, caps, draws=None):
    columns = {"app": apps, "cap_w": caps} | ({} if draws is None else {"draw_w": draws})
    return fleet(pl.DataFrame(columns), {s.app: s for s in known})


@pytest.mark.parametrize("fit", [(2.0, 1.0), (3.0, 0.0), (0.005, 1.0), (0.0, 3.0), (0.0, 0.005)])
def test_the_watts_of_a_slowdown_are_those_at_which_the_quadratic_says_it(fit) -> None:
    a, b = fit
    for x in (0.0, 0.25, 1.0):
        assert _watts(fit, a * x**2 + b * x + 1) == pytest.approx(1 - x, abs=1e-9)


def test_who_is_never_slower_needs_no_watts() -> None:
    assert _watts((0.0, 0.0), 1.5) == 0.0


@pytest.mark.parametrize("fit", [(2.0, 1.0), (0.5, 0.0), (0.0, 1.5)])
def test_the_quadratic_of_quadratic_slowdowns_is_theirs_over_the_mean_of_the_draws(fit) -> None:
    x = 1 - CAPS[:, 0] / 400.0
    time = 7.0 * (fit[0] * x**2 + fit[1] * x + 1)
    two = surface("two", np.stack([0.5 * time, 1.5 * time]))
    assert _quadratic(two) == pytest.approx(fit, abs=1e-9)


def test_the_share_drawn_is_measured_else_modelled_up_to_the_caps_else_all() -> None:
    power = {"power_w": np.array([[50.0, 80.0, 360.0, 60.0], [70.0, 80.0, 360.0, 60.0]])}
    known = surface("known", [4, 3, 2, 1], **power), surface("dark", [4, 3, 2, 1])
    f = nodes(known, ["known"] * 4 + ["dark"] * 2, [100.0, 100.0, 200.0, 300.0, 100.0, 100.0],
              [30.0, None, None, None, None, 25.0])  # fmt: skip
    # 360 W at 300 W is all of it; 0.6 is the mean of two draws
    assert [_draw(f, i) for i in range(6)] == pytest.approx([0.3, 0.6, 0.4, 1.0, 1.0, 0.25])


def test_watts_go_by_use_and_unknown_use_is_full_use() -> None:
    f = nodes([surface("dark", [4, 3, 2, 1])], ["dark", "dark"], [100.0, 100.0], [50.0, None])
    assert BASELINES["utilisation"](f, 500.0).tolist() == [1, 2]  # 100 W and 200 W of 300 W


def test_the_best_use_of_an_equal_share_is_by_the_mean_rate_of_what_fits_exactly() -> None:
    # rates: means 2, 2.5, 2.25, 9; medians would say otherwise
    dip = surface("dip", 1.0 / np.array([[2.0, 1.0, 2.2, 9.0], [2.0, 4.0, 2.3, 9.0]]))
    f = nodes([dip, surface("flat", [1, 1, 1, 1])], ["dip", "flat"], [100.0, 300.0])
    assert fair_best(f, 800.0).tolist() == [1, 0]  # 300 W; 400 W would do most
    assert fair_best(f, 600.0).tolist() == [1, 0]  # exactly 200 W
    assert fair_best(f, 599.9).tolist() == [0, 0]
    assert fair_best(f, 100.0).tolist() == [0, 0]  # nothing fits: the lowest caps


def test_equal_slowdown_takes_quadratic_fits_and_leaves_nobody_below_the_lowest_cap() -> None:
    x = 1 - CAPS[:, 0] / 400.0
    curved, flat = surface("curved", 4 * x**2 + 1), surface("flat", np.ones(4))
    f = nodes([curved, flat], ["curved", "curved", "flat"], [100.0] * 3)
    rule = BASELINES["equal slowdown (GEOPM)"]
    for watts, rows in ((900.1, [3, 3, 0]), (899.0, [2, 2, 0]), (700.1, [2, 2, 0]),
                        (699.0, [1, 1, 0]), (500.1, [1, 1, 0]), (499.0, [0, 0, 0]),
                        (10.0, [0, 0, 0])):  # fmt: skip
        assert rule(f, watts).tolist() == rows, watts
    assert rule(nodes([flat], ["flat"], [400.0]), 400.0).tolist() == [0]


def test_watts_are_lifted_by_parts_that_need_not_be_equal() -> None:
    grid = np.array([(a, b) for a in (100.0, 110.0, 130.0) for b in (100.0, 110.0, 130.0)])
    two = Surface("two", ("cpu_cap_w", "gpu_cap_w"), grid, Outcome({"runtime_s": np.ones((1, 9))}))
    assert grid[_lift(two, 0, 40.0, np.array([1.0, 3.0]))].tolist() == [110.0, 130.0]
    assert grid[_lift(two, 0, 40.0)].tolist() == [110.0, 110.0]
    assert grid[_lift(two, 0, 60.0, np.array([1.0, 3.0]))].tolist() == [130.0, 130.0]
