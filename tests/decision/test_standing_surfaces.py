"""A setting that nobody measured, beside those that were: every field of the longer surface."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.core.outcome import Outcome
from rheostat.decision.budget.standing import placed, with_setting
from rheostat.prediction.surface import Surface

GRID = np.array([(2.0, c, g) for c in (100.0, 200.0) for g in (100.0, 300.0)])
KNOBS = ("gpus", "cpu_cap_w", "gpu_cap_w")


def surface(support=None) -> Surface:
    draws = {"runtime_s": np.array([[8.0, 5.0, 6.0, 4.0], [16.0, 10.0, 12.0, 8.0]]),
             "power_w": np.array([[50.0, 60.0, 70.0, 90.0]] * 2)}  # fmt: skip
    return Surface("app", KNOBS, GRID, Outcome(draws, support), noise=0.1)


@pytest.mark.parametrize(("caps", "kind", "rate", "power"), [
    ((150.0, 200.0), "between", 3 / 16, 70.0),  # half way from the lowest to the highest
    ((100.0, 150.0), "between", 0.125 + 0.075 / 4, 52.5),
    ((200.0, 400.0), "above", 1 / 4, 90.0),
    ((300.0, 100.0), "above", 1 / 6, 70.0),
    ((99.0, 300.0), "below", 1 / 8, 50.0),
])  # fmt: skip
def test_speed_and_power_lie_between_the_settings_around_it(caps, kind, rate, power) -> None:
    longer, where = with_setting(surface(), np.array(caps))
    assert where == kind
    assert longer.values[:4].tolist() == GRID.tolist()
    assert longer.values[4].tolist() == [2.0, *caps]
    first, drawn = longer.rate[:, 4] * [1, 2], longer.outcome["power_w"][:, 4]
    assert first.mean() == pytest.approx(rate)  # the second draw is half as fast everywhere
    assert drawn.mean() == pytest.approx(power)
    assert len(set(drawn)) == (2 if where == "between" else 1)
    assert ((drawn >= 50.0) & (drawn <= 90.0)).all()
    assert longer.outcome["power_w"][:, :4].tolist() == [[50.0, 60.0, 70.0, 90.0]] * 2
    assert (longer.app, longer.knobs, longer.noise) == ("app", KNOBS, 0.1)


def test_no_run_supports_it() -> None:
    caps = np.array([150.0, 200.0])
    longer, _ = with_setting(surface(np.array([1.0, 0.5, 1.0, 0.2])), caps)
    assert longer.outcome.support.tolist() == [1.0, 0.5, 1.0, 0.2, 0.0]
    assert with_setting(surface(), caps)[0].outcome.support is None


def test_nodes_that_stand_alike_share_a_surface_and_unstated_caps_are_the_lowest() -> None:
    known = [surface(), Surface("one", ("cap_w",), np.array([[200.0], [100.0]]),
                                Outcome({"runtime_s": np.array([[1.0, 2.0]])}))]  # fmt: skip
    app = np.array([0, 0, 0, 0, 0])
    caps = np.array([[150.0, 200.0], [200.0, 300.0], [150.0, 200.0], [np.nan] * 2, [50.0, 100.0]])
    stand = placed(known, app, caps)
    assert stand.app.tolist() == [3, 0, 3, 0, 2]
    assert stand.now.tolist() == [4, 3, 4, 0, 4]
    assert len(stand.surfaces) == 4
    assert stand.below.tolist() == [False] * 4 + [True]
    assert stand.between.tolist() == [True, False, True, False, False]
    assert not stand.above.any()
    assert placed(known, np.array([1]), np.array([[np.nan]])).now.tolist() == [1]
