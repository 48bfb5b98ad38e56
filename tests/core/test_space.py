"""What a space refuses to list."""

import pytest

from rheostat.core.space import Knob, Space
from rheostat.errors import DataError
from rheostat.questions.parse import parse_space

TOLD = "expected 100,000 values or settings at most, got"


def test_more_settings_than_can_be_forecast_are_refused_before_any_is_made() -> None:
    """By a knob's values, and by the product of several."""
    with pytest.raises(DataError, match=f"Knob nodes: {TOLD} 100001; take larger steps"):
        Knob("nodes", range(100_001))
    ten = [Knob(f"k{i}", range(10)) for i in range(12)]
    assert Space.of(ten[:5]).count == 100_000
    with pytest.raises(DataError, match=rf"Space of k0, .*: {TOLD} 1e\+12; take larger steps"):
        Space.of(ten).settings()


@pytest.mark.parametrize("most", ["1000000000000", "1e12", "1e308"])
def test_steps_as_they_are_typed_are_counted_before_they_are_made(most: str) -> None:
    """All mistakes of a call at once."""
    with pytest.raises(DataError, match=rf"1\.\.1e\+\d+/1: {TOLD} 1e\+\d+.*got 'oops'"):
        parse_space([f"nodes=1..{most}/1", "oops"])


@pytest.mark.parametrize("value", [2**53 + 1, -(10**30)])
def test_a_whole_number_beyond_what_floats_tell_apart_is_refused(value):
    with pytest.raises(DataError, match="expected whole numbers up to 9,007,199,254,740,992"):
        Knob("nodes", [1, value])
    assert Knob("nodes", [1, 2**53]).values == (1, 2**53)
