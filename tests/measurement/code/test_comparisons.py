"""Outputs, times and counts of two programs compared: tolerances, intervals, changes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rheostat.errors import DataError
from rheostat.measurement.code.costs.paired_times import (
    FASTER,
    SAME,
    SLOWER,
    UNTOLD,
    PairedTimes,
    in_turns,
    paired_times,
)
from rheostat.measurement.code.costs.work_counts import WorkCounts, counts_in
from rheostat.measurement.code.parsing import compare_output
from rheostat.measurement.code.parsing.compare_output import (
    OutputDifference,
    Tolerance,
    differences,
    output_lines,
    spread,
)

# --- outputs -----------------------------------------------------------------------------------


def test_a_tolerance_that_is_none_is_refused():
    with pytest.raises(DataError) as error:
        Tolerance(relative=-1, absolute="x", ulps=0, masked=("(",), outputs=(3,))
    said = error.value.problems
    assert said[:2] == (
        "relative: expected 0 or more, got -1",
        "absolute: expected 0 or more, got 'x'",
    )
    assert [s.partition(" is no")[0] for s in said[2:]] == ["'('", "3"]
    assert Tolerance(0, 0, 0) == Tolerance(0.0, 0.0, 0)
    plain = Tolerance()
    assert (plain.relative, plain.absolute, plain.ulps) == (None, 1e-12, 4)


@pytest.mark.parametrize(("tolerance", "value", "expected", "close"), [
    (Tolerance(0.5, 0, 0), "1.0", "2.0", True), (Tolerance(0.49, 0, 0), "1.0", "2.0", False),
    (Tolerance(0, 1, 0), "1.0", "2.0", True), (Tolerance(0, 0.99, 0), "1.0", "2.0", False),
    (Tolerance(0, 0, 1), "2.0", "2.0000000000000004", True),
    (Tolerance(0, 0, 1), "2.0", "2.000000000000001", False),
    (Tolerance(9, 9, 9), "1", "2", False), (Tolerance(9, 9, 9), "1", "2.0", True),
    (Tolerance(9, 9, 9), "+1", "1", True), (Tolerance(0, 0, 0), "1e3", "1e3", True),
    (Tolerance(9, 9, 9), "1e999", "2.0", False), (Tolerance(9, 9, 9), "2.0", "-1e999", False),
    (Tolerance(0.5, 0, 0), "-1.0", "-2.0", True), (Tolerance(0.5, 0, 0), "1.0", "-2.0", False),
])  # fmt: skip
def test_numbers_are_close_by_any_of_three_measures(tolerance, value, expected, close):
    assert tolerance.close(value, expected) is close


def test_lines_of_times_are_left_out_and_masks_replaced():
    text = "a 1\ntime: 3.5\n\ntook 2 s for 7\n  \nhost x7 12 ms\n"
    made = output_lines(text, Tolerance(masked=(r"x\d",)))
    assert [(x.line, x.tokens) for x in made] == [
        (1, ("a", "1")), (4, ("took", "#", "s", "for", "7"))]  # fmt: skip
    only = Tolerance(outputs=(r"a (\d)", r"b \d"))
    assert [x.tokens for x in output_lines("a 1 b 2\na 3", only)] == [("1",), ("3",), ("b", "2")]


def test_differences_have_their_lines_and_end_after_five():
    exact = Tolerance()
    assert differences("a 1\nb 2", "a 1\n\nc 2", exact) == [OutputDifference(2, "b 2", "c 2")]
    assert differences("a\nb\nc", "a", exact) == [OutputDifference(2, "b", "(no further line)")]
    assert differences("a", "a\n\nb\nc", exact) == [OutputDifference(3, "(no further line)", "b")]
    many = differences("\n".join("abcdefgh"), "\n".join("ABCDEFGH"), exact)
    assert [d.line for d in many] == [1, 2, 3, 4, 5]
    assert differences("a 1", "a 1 2", exact) != []
    assert differences("a 1", "a b", exact) == [OutputDifference(1, "a 1", "a b")]
    assert differences("1 b", "1 b", exact) == []


@pytest.mark.parametrize(("one", "other", "most"), [
    ("a 1.0 2", "a 1.0 2", 0.0), ("1.0 4", "0.5 4", 0.5), ("-2 1", "2 1", 2.0), ("0 5", "0 4", 0.2),
    ("8 1.0", "4 1.0", 0.5), ("a 3", "b 3", 0.0), ("0 0", "1e-9 0", 1.0),
])  # fmt: skip
def test_the_spread_is_the_largest_relative_difference(one, other, most):
    assert spread(one, other) == most
    assert math.isnan(spread(one, f"{other} 9"))
    assert math.isnan(spread(one, f"{other}\n9"))


# --- times and counts --------------------------------------------------------------------------


def test_the_interval_of_paired_times_holds_both_the_bootstrap_and_the_ranks():
    original, candidate = 1 + np.random.default_rng(1).random((2, 9))
    logs = np.log(candidate / original)
    draws = np.median(logs[np.random.default_rng(5).integers(9, size=(2000, 9))], axis=1)
    made = paired_times(original, candidate, minimum_effect=0.03, seed=5)
    low, high = np.exp(np.quantile(draws, [0.025, 0.975]))
    ranks = np.exp(np.sort(logs)[[1, 7]])  # P(2 to 7 of 9 below the median) = 0.961
    low, high = min(low, ranks[0]), max(high, ranks[1])
    assert (made.ratio, made.low, made.high, made.pairs) == pytest.approx(
        (float(np.exp(np.median(logs))), low, high, 9))  # fmt: skip
    assert (
        made.words
        == f"{made.ratio:.3g} times the original's time [{low:.3g}, {high:.3g}]: {made.change}"
    )


@pytest.mark.parametrize(("ratio", "effect", "change"), [
    (0.75, 0.25, "no significant change"), (0.75, 0.24, "faster"), (1.25, 0.24, "slower"),
    (1.0, 0.0, "no significant change"), (0.75, 0.0, "faster"),
    (1.25, 0.26, "no significant change"),
])  # fmt: skip
def test_a_change_is_beyond_one_and_beyond_the_least_effect(ratio, effect, change):
    ones = np.ones(6)
    made = paired_times(ones, ratio * ones, minimum_effect=effect)
    assert (made.change, made.low, made.high) == (
        change,
        pytest.approx(ratio),
        pytest.approx(ratio),
    )


@pytest.mark.parametrize("pairs", [3, 5, 6, 7, 9, 12])
def test_the_same_program_is_called_faster_or_slower_once_in_twenty_at_most(pairs):
    noise = np.random.default_rng(pairs).lognormal(0, 0.3, (400, 2, pairs))
    claims = [paired_times(a, b, minimum_effect=0.0).change for a, b in noise]
    assert sum(c in (FASTER, SLOWER) for c in claims) <= 0.075 * len(claims)
    assert pairs > 5 or set(claims) == {UNTOLD}


@pytest.mark.parametrize(("low", "high", "change"), [
    (0.96, 1.04, SAME), (0.94, 1.04, UNTOLD), (0.96, 1.06, UNTOLD), (1.01, 1.2, SLOWER),
])  # fmt: skip
def test_no_change_is_said_where_five_percent_would_have_been_seen(low, high, change):
    ratios = np.geomspace(low, high, 6)
    assert paired_times(np.ones(6), ratios, minimum_effect=0.01).change == change


def test_an_interval_that_holds_one_is_no_change():
    fast, slow = np.array([1.0, 1.0, 1.0, 1.0, 1.0]), np.array([0.5, 0.5, 0.5, 2.0, 2.0])
    for first, second in ((fast, slow), (slow, fast)):
        made = paired_times(first, second, minimum_effect=0.01)
        assert (made.low < 1 < made.high, made.change) == (True, UNTOLD)


def test_one_pair_has_a_ratio_and_no_interval():
    made = paired_times(np.array([2.0]), np.array([1.0]), minimum_effect=0.0)
    assert (made.ratio, made.change, made.pairs) == (0.5, UNTOLD, 1)
    assert math.isnan(made.low + made.high)
    assert made.words == "0.5 times the original's time in one run each: no interval"
    assert "2 times" in PairedTimes(2.0, 1.0, 3.0, "slower", 2).words
    first, second = in_turns(iter([1.0, 2.0, 3.0]).__next__, iter([7.0, 8.0, 9.0]).__next__, 3)
    assert (first.tolist(), second.tolist()) == ([1, 2, 3], [7, 8, 9])


def test_counts_are_all_four_or_none():
    text = "I   refs:  1,234\nD   refs: 500 (1 rd)\nD1  misses: 7\nLL misses: 3\n"
    assert counts_in(text) == WorkCounts(1234.0, 500.0, 7.0, 3.0)
    assert counts_in(text.replace("LL", "L2")) is None


def test_a_pattern_takes_linear_time_or_is_refused():
    """Python's own matcher would try 2^40 ways through this line, and a manifest is a file."""
    text = "a" * 40 + "b"
    assert output_lines(text, Tolerance(masked=("(a+)+$",)))[0].text == text
    assert output_lines(text, Tolerance(outputs=("(a+)+$",))) == []
    with pytest.raises(DataError, match="of linear time, as it must be: look-around"):
        Tolerance(outputs=("(?=a)b",))
    # a class in a class, of which Python's own reading would warn
    assert [x.text for x in output_lines("ab cb", Tolerance(outputs=("[[a]]b",)))] == ["ab"]


def test_of_equal_outputs_no_line_is_looked_at(monkeypatch) -> None:
    """A hundred thousand lines take more than a second, and are compared after every run."""
    monkeypatch.setattr(compare_output, "output_lines", None)
    assert differences("a nan\n1 2", "a nan\n1 2", Tolerance()) == []


def test_numbers_of_thousands_of_digits_are_compared_to_the_last() -> None:
    long = "1" * 200_000
    assert differences(f"hits {long}", f"hits 0{long}", Tolerance()) == []
    assert len(differences(f"hits {long}", f"hits {long[:-1]}2", Tolerance())) == 1
