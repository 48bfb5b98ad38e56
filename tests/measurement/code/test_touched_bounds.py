"""Bounds that many inputs touch and none passes, and what is no such bound."""

from __future__ import annotations

import pytest

from rheostat.measurement.code.reached.constant_values import RECORD
from rheostat.measurement.code.reached.counted import Counted
from rheostat.measurement.code.reached.marks import Block, Comparison, Marked
from rheostat.measurement.code.reached.touched_bounds import _ends, _Noted

TEXT = """define dso_local i32 @main(i32 %argc, ptr %argv) {
entry:
  %n = alloca i32, align 4
  %k = alloca i32, align 4
  %part = alloca i32, align 4
  %given = alloca i32, align 4
  %call = call i32 @atoi(ptr %1)
  store i32 %call, ptr %n, align 4
  store i32 0, ptr %k, align 4
  %0 = load i32, ptr %k, align 4
  %inc = add nsw i32 %0, 1
  store i32 %inc, ptr %k, align 4
  %2 = load i32, ptr %n, align 4
  %less = sub nsw i32 %2, 1
  %3 = load i32, ptr %k, align 4
  %rare = sdiv i32 %3, 30000
  store i32 %rare, ptr %part, align 4
  %4 = load i32, ptr %part, align 4
  %5 = load ptr, ptr %a, align 8
  %at = getelementptr inbounds i32, ptr %5, i64 3
  %6 = load i32, ptr %at, align 4
  %room = add nsw i32 %2, %4
  %7 = load i32, ptr %given, align 4
  call void @fill(ptr %given)
  %8 = call i32 @low(i32 noundef %3), !dbg !9
  ret i32 0
}
define internal i32 @low(i32 noundef %m) {
entry:
  %m.addr = alloca i32, align 4
  store i32 %m, ptr %m.addr, align 4
  %0 = load i32, ptr %m.addr, align 4
  ret i32 %0
}
"""


@pytest.mark.parametrize(("value", "counted"), [
    ("%0", True), ("%less", True), ("%4", False), ("%6", False), ("%room", False), ("%7", False),
    ("%8", False), ("7", True),
])  # fmt: skip
def test_a_quotient_an_element_and_what_another_function_writes_are_not_counted(value, counted):
    assert Counted(TEXT).is_counted("main", value) is counted


def test_a_parameter_is_counted_where_all_that_calls_give_is():
    assert Counted(TEXT).is_counted("low", "%0")
    other = TEXT.replace("@low(i32 noundef %3)", "@low(i32 noundef %6)")
    assert not Counted(other).is_counted("low", "%0")
    assert not Counted(TEXT.replace("@fill(ptr %given)", "@fill(ptr @low)")).is_counted("low", "%0")


def _kept(difference, bound, runs):
    return b"".join(RECORD.pack(*x) for x in (difference, bound, (0, 0, runs, runs)))


def test_a_bound_is_touched_by_many_inputs_and_is_another_one_with_them():
    noted = _Noted((("a.c", 3, 9), "lt"), "lt", 0)
    assert noted.is_touched(_kept((-400, -1, 2, 900), (10, 600, 3, 3), 2000)) is True
    assert noted.is_touched(_kept((-400, -2, 2, 900), (10, 600, 3, 3), 2000)) is False
    assert noted.is_touched(_kept((-400, -1, 2, 127), (10, 600, 3, 3), 2000)) is False
    assert noted.is_touched(_kept((-400, -1, 2, 140), (10, 600, 3, 3), 4000)) is False
    assert noted.is_touched(_kept((-400, -1, 2, 900), (64, 64, 900, 900), 2000)) is False
    assert noted.is_touched(_kept((0, 0, 0, 0), (0, 0, 0, 0), 0)) is None


def test_what_is_read_from_data_has_to_differ_from_its_bound_too():
    """A checksum that is always what it is compared with is no bound that inputs touch."""
    data = _Noted((("a.c", 3, 9), "gt"), "gt", 0, counted=False)
    said = {(-400, 0): True, (-2, 0): True, (-1, 0): False, (0, 0): False}
    for (least, most), touched in said.items():
        kept = _kept((least, most, 2, 900), (10, 600, 3, 3), 2000)
        assert data.is_touched(kept) is touched
        assert _Noted((("a.c", 3, 9), "gt"), "gt", 0).is_touched(kept)


def test_which_side_is_touched_hangs_on_what_is_asked():
    above = _kept((0, 50, 900, 2), (10, 600, 3, 3), 2000)
    assert _Noted((("a.c", 3, 9), "lt"), "ge", 0).is_touched(above) is True
    assert _Noted((("a.c", 3, 9), "gt"), "gt", 0).is_touched(above) is False
    at_most = _kept((-50, 0, 2, 900), (10, 600, 3, 3), 2000)
    assert _Noted((("a.c", 3, 9), "gt"), "le", 0).is_touched(at_most) is True


def test_lines_of_an_error_behind_such_a_bound_are_no_question_and_others_are():
    c = Comparison(("a.c", 3, 9), "lt", "", False, 0, ("full", "on"), "main", value="%cmp")
    blocks = {("main", "full"): Block(2, places={("a.c", 4)}, targets=["ends", "lpad"]),
              ("main", "ends"): Block(3, places={("a.c", 5)}, stops=True),
              ("main", "lpad"): Block(4, stops=True, unasked=True),
              ("main", "on"): Block(5, places={("a.c", 6)}, targets=["back"])}  # fmt: skip
    m = Marked("", 6, comparisons=[c], blocks=blocks)
    assert _ends([m], [(c, True)]) == {("a.c", 4), ("a.c", 5)}
    blocks["main", "ends"].stops = False
    assert _ends([m], [(c, True)]) == set()
