"""Durations and quantities: what people write, what they read, and that the two agree."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.core.units import format_duration, format_quantity, parse_duration, parse_quantity
from rheostat.errors import DataError

DAY = 24 * 60 * 60


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1d", DAY),
        ("1-00:00:00", DAY),
        ("2-03:04:05", 2 * DAY + 3 * 3600 + 4 * 60 + 5),
        ("03:04:05", 3 * 3600 + 4 * 60 + 5),
        ("04:05", 4 * 60 + 5),
        ("1d2h3m4s", DAY + 2 * 3600 + 3 * 60 + 4),
        ("1.5 h 30 min", 2 * 3600),
        (" 90 ", 90),
        ("2e3", 2000),
        (7, 7),
    ],
)
def test_a_duration_is_read_as_it_is_written(text, seconds) -> None:
    assert parse_duration(text) == seconds
    assert parse_quantity(text, "s") == seconds


@pytest.mark.parametrize("text", ["", "h", "1x", "1:2:3:4", "-5", "1h and 2m", "1d-2"])
def test_what_is_no_duration_is_refused(text) -> None:
    with pytest.raises(DataError, match="expected like 2h"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (DAY, "1d 0h 0m"),
        (DAY - 1, "23h 59m 59s"),
        (2 * DAY + 3 * 3600 + 4 * 60 + 5, "2d 3h 4m"),
        (3600, "1h 0m 0s"),
        (3599, "59m 59s"),
        (60, "1m 0s"),
        (59, "59 s"),
        (0.0125, "0.0125 s"),
    ],
)
def test_a_duration_is_shown_in_the_units_that_matter(seconds, text) -> None:
    assert format_duration(seconds) == text
    assert format_quantity(seconds, "s") == text


@given(st.integers(60, 400 * DAY))
def test_what_is_shown_reads_back_as_the_same_seconds_or_minute(seconds) -> None:
    """Above a day seconds are left out, and nothing else is lost."""
    again = parse_duration(format_duration(seconds))
    assert again == (seconds if seconds < DAY else seconds - seconds % 60)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("3 mW", "W", 0.003),
        ("3W", "W", 3),
        ("1.5 kW", "W", 1500),
        ("2 MW", "W", 2e6),
        ("2GJ", "J", 2e9),
        ("2T", "J", 2e12),
        ("2 Wh", "J", 7200),
        ("2 MWh", "J", 7.2e9),
        ("40", "node_h", 40),
        (0.5, "W", 0.5),
    ],
)
def test_a_quantity_is_read_with_its_prefix(text, unit, value) -> None:
    assert parse_quantity(text, unit) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(("text", "unit"), [("5 J", "W"), ("5 Wh", "W"), ("x", "W"), ("5 XW", "W")])
def test_a_quantity_of_another_unit_is_refused(text, unit) -> None:
    with pytest.raises(DataError, match=f"expected a number in {unit}"):
        parse_quantity(text, unit)


@given(st.floats(1e-2, 9e14), st.sampled_from(["W", "J"]))
def test_a_quantity_reads_back_within_its_three_figures(value, unit) -> None:
    assert parse_quantity(format_quantity(value, unit), unit) == pytest.approx(value, rel=5.1e-3)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (999.4, "W", "999 W"),
        (999.6, "W", "1 kW"),
        (-2e6, "J", "-2 MJ"),
        (3e12, "J s", "3 TJ s"),
        (12345.6, "", "1.235e+04"),
        (2.0, "1", "2"),
        (2.4e9, "Hz", "2.4 GHz"),
        (math.inf, "W", "-"),
        (math.nan, "", "-"),
    ],
)
def test_a_quantity_is_shown_with_the_nearest_prefix(value, unit, text) -> None:
    assert format_quantity(value, unit) == text


@pytest.mark.parametrize("seconds", [5e14, 1e15, -1e15, 1e300, float("inf"), float("nan")])
def test_a_moment_of_no_calendar_is_its_number(seconds):
    from rheostat.core.units import format_moment

    assert format_moment(seconds) == f"{seconds:.6g} s"
