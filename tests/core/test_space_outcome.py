"""The claims of `core.space`, `core.outcome` and `core.units`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.core.outcome import Outcome
from rheostat.core.space import Knob, Space
from rheostat.core.units import format_quantity, parse_duration, parse_quantity
from rheostat.core.vocabulary import table
from rheostat.errors import DataError

finite_knobs = st.one_of(
    st.lists(st.integers(1, 4096), min_size=1, max_size=8).map(lambda v: Knob("nodes", v)),
    st.lists(st.sampled_from("abcdef"), min_size=1, max_size=5).map(lambda v: Knob("flag", v)),
)


@given(finite_knobs)
def test_scaling_is_a_round_trip_into_the_unit_interval(knob: Knob) -> None:
    u = knob.scale(knob.values)
    assert (u >= 0).all()
    assert (u <= 1).all()
    assert tuple(knob.unscale(x) for x in u) == knob.values


@given(st.floats(0, 1))
def test_range_knob_round_trip(u: float) -> None:
    for knob in (Knob("cap_w", low=100, high=250), Knob("cap_w", low=1, high=1000)):
        assert knob.scale([knob.unscale(u)])[0] == pytest.approx(u, abs=1e-9)


def test_wide_positive_knobs_scale_by_ratio() -> None:
    assert Knob("nodes", [1, 4, 16]).scale([4])[0] == pytest.approx(0.5)
    assert Knob("cap_w", [100, 200, 300]).scale([200])[0] == pytest.approx(0.5)


def test_alternatives_turn_the_knob_and_forget_what_ran() -> None:
    job = table(
        {"job_id": [5], "user": ["u"], "nodes": [64], "nodes_alloc": [64], "runtime_s": [9.0]}
    )
    turned = Space.of(Knob("nodes", [1, 2])).alternatives(job)
    assert turned.frame.to_dicts() == [
        {"job_id": 5, "user": "u", "nodes": 1},
        {"job_id": 5, "user": "u", "nodes": 2},
    ]
    assert Space.of(Knob("nodes", [1, 2])).alternatives().columns == ("nodes",)


def test_alternatives_want_one_job() -> None:
    with pytest.raises(DataError, match="expected one job"):
        Space.of(Knob("nodes", [1])).alternatives(table({"nodes": [1, 2]}))


def test_ranges_cannot_be_listed_and_bad_ranges_are_refused() -> None:
    with pytest.raises(DataError, match="cap_w is a range"):
        Space.of([Knob("cap_w", low=1, high=2)]).settings()
    with pytest.raises(DataError, match="low <= high"):
        Knob("cap_w", low=2, high=1)


def test_energy_is_derived_draw_by_draw() -> None:
    """Perfectly anti-correlated time and power give energy no spread at all."""
    time = np.array([[1.0], [2.0], [4.0]])
    o = Outcome({"runtime_s": time, "power_w": 8.0 / time})
    low, high = o.interval("energy_j")
    assert low[0] == high[0] == 8.0
    assert o.mean("edp_js")[0] == pytest.approx(8.0 * 7 / 3)


def test_any_two_of_time_power_energy_give_the_third() -> None:
    o = Outcome({"runtime_s": np.array([[2.0]]), "energy_j": np.array([[10.0]])})
    assert o.mean("power_w")[0] == 5.0
    assert "power_w" in o
    assert "edp_js" in o
    assert "power_w" not in Outcome({"energy_j": np.ones((1, 1))})


def test_unknown_quantity_and_ragged_draws_are_refused() -> None:
    o = Outcome({"runtime_s": np.ones((2, 3))})
    with pytest.raises(DataError, match="has no power_w; given: runtime_s"):
        o["power_w"]
    with pytest.raises(DataError, match="equal rows"):
        Outcome({"a": np.ones((2, 3)), "b": np.ones((2, 4))})


def test_abstained_rows_are_nan_everywhere_and_counted() -> None:
    o = Outcome({"runtime_s": np.array([[1.0, np.nan], [3.0, np.nan]])})
    assert o.mean("runtime_s")[0] == 2.0
    assert np.isnan(o.mean("runtime_s")[1])
    assert np.isnan(o.interval("runtime_s")[0][1])
    assert o.abstained.tolist() == [False, True]


@given(st.integers(0, 10**7))
def test_clock_text_round_trip(seconds: int) -> None:
    d, rest = divmod(seconds, 86400)
    text = f"{d}-{rest // 3600:02d}:{rest % 3600 // 60:02d}:{rest % 60:02d}"
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("1.5 kW", "W", 1500),
        ("2h", "s", 7200),
        ("3 MJ", "J", 3e6),
        ("2 kWh", "J", 7.2e6),
        ("8", "W", 8),
    ],
)
def test_quantities_people_write(text: str, unit: str, value: float) -> None:
    assert parse_quantity(text, unit) == value


@pytest.mark.parametrize(
    ("text", "unit"), [("15 apples", "W"), ("-2h", "s"), ("1 kWh", "W"), ("", "s")]
)
def test_nonsense_quantities_are_refused(text: str, unit: str) -> None:
    with pytest.raises(DataError, match="expected"):
        parse_quantity(text, unit)


def test_missing_value_is_a_dash() -> None:
    assert format_quantity(float("nan"), "J") == "-"
