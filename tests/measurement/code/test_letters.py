"""Kinds of characters that a candidate asks for as its original does, and what is none."""

from __future__ import annotations

import pytest

from rheostat.measurement.code.reached.letters import asks_kind, kinds_in
from rheostat.measurement.code.reached.marks import Comparison
from rheostat.measurement.code.reached.ties import Kinds

ROW = "if (c >= '0' && c <= '9') value = 10 * value + (c - '0');"
DIGITS = kinds_in("while (*p >= '0' && *p <= '9') p++;")


def _asked(how: str = "gt", constant: str = "57", *, letter: bool = True) -> Comparison:
    return Comparison(("a.c", 1, 20), how, constant, True, 0, None, "main", letter=letter)


@pytest.mark.parametrize(("c", "row", "theirs", "known"), [
    (_asked(), ROW, DIGITS, True),
    (_asked("lt", "48"), ROW, DIGITS, True),
    (_asked(constant="58"), ROW, DIGITS, False),
    (_asked("eq"), ROW, DIGITS, False),
    (_asked(letter=False), ROW, DIGITS, False),
    (_asked(), "if (c <= '9') value = c;", DIGITS, False),
    (_asked(), ROW, {("a", "z")}, False),
])  # fmt: skip
def test_an_end_of_a_kind_that_the_original_asks_for_is_known_of_bytes_alone(c, row, theirs, known):
    assert asks_kind(c, row, theirs) is known


def test_a_byte_is_what_was_one_before_it_was_made_wider():
    kinds = Kinds([], {"%c": "sext i8 %0 to i32", "%n": "sext i16 %1 to i32"})
    assert kinds.is_byte("%c")
    assert not kinds.is_byte("%n")
