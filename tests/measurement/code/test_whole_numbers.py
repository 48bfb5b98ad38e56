"""Whole numbers that go through floating point, in LLVM's text, and up to where that is right."""

from __future__ import annotations

import pytest

from rheostat.measurement.code.reached.whole_numbers import NEVER, whole_of_floats

SCALED = """define i32 @cell(i32 %x, i32 %side) {
  %scale = alloca float
  %conv = sitofp i32 %side to float
  %div = fdiv float %conv, 0x4130000000000000
  store float %div, ptr %scale
  %place = sitofp i32 %x to float
  %1 = load float, ptr %scale
  %at = fmul float %place, %1
  %cell = fptosi float %at to i32
  ret i32 %cell
}
"""
"""``float scale = (float)side / 1048576; (int)(x * scale)``"""


def test_a_product_with_a_quotient_by_a_power_of_two_is_one_of_two_whole_numbers():
    """The quotient has all digits of the whole number, the product has those of both."""
    made = whole_of_floats(SCALED)
    assert made == {("cell", "%conv"): 2**12, ("cell", "%place"): 2**12}
    alone = SCALED.replace("fmul float %place, %1", "fadd float %place, %1")
    assert set(whole_of_floats(alone).values()) == {2**24}


@pytest.mark.parametrize(("before", "after"), [
    ("0x4130000000000000", "1.000000e+06"),  # no power of two: the quotient is rounded
    ("0x4130000000000000", "%extent"),
])  # fmt: skip
def test_a_product_with_a_rounded_quotient_is_never_safe(before, after):
    rounded = SCALED.replace(before, after)
    if after == "%extent":
        rounded = rounded.replace("  %div", "  %extent = sitofp i32 %n to float\n  %div")
    assert set(whole_of_floats(rounded).values()) == {NEVER}
    cell_size = rounded.replace("fmul float %place", "fdiv float %place")
    assert set(whole_of_floats(cell_size).values()) == {NEVER}


def test_a_quotient_of_two_whole_numbers_is_right_as_long_as_they_are_held():
    plain = SCALED.replace("fmul float %place, %1", "fdiv float %place, %conv")
    assert set(whole_of_floats(plain).values()) == {2**24}
    assert set(
        whole_of_floats(plain.replace("%conv\n  %cell", "1.000000e+03\n  %cell")).values()
    ) == {2**24}
