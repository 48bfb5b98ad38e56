"""Inputs of programs: ranges, what is drawn from them, what is guessed from a source."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from rheostat.measurement.code.programs.program_inputs import (
    InputRange,
    ProgramInput,
    ProgramInputs,
    inputs_of,
    powers_of_two,
)
from tests.measurement.exactly import refused


@pytest.mark.parametrize(("given", "said"), [
    ({"kind": "x"}, "kind: expected size, seed or real, got 'x'"),
    ({"low": 2}, "expected low <= high, got 2 and 1"),
    ({"low": -math.inf, "kind": "real"}, "expected low <= high, got -inf and 1"),
    ({"high": 2.0**63}, "expected low <= high, got 1 and 9.22337e+18"),
    ({"low": -1}, "low: a size is not negative, got -1"),
    ({"multiple_of": 0}, "multiple_of: expected 1 or more, got 0"),
])  # fmt: skip
def test_a_range_that_is_none_is_refused(given, said):
    refused(lambda: InputRange(**given), said)


def test_ranges_at_their_edges():
    for given in ({"low": 0, "high": 0}, {"low": -5, "kind": "seed"}, {"high": 2.0**62},
                  {"low": 9, "values": ("a",)}, {"low": -9, "values": ("a",)}):  # fmt: skip
        InputRange(**given)
    plain = InputRange()
    assert (plain.low, plain.high, plain.multiple_of, plain.words) == (1.0, 1.0, 1, "1 to 1")
    assert InputRange(values=("a", "b")).words == "a or b"


def drawn(given, part=(0.0, 1.0), count=200):
    rng = np.random.default_rng(0)
    return [given.draw(rng, part) for _ in range(count)]


def test_what_is_drawn_lies_in_the_range_and_reaches_its_ends():
    assert set(drawn(InputRange(3, 6, kind="seed"))) == {"3", "4", "5", "6"}
    real = list(map(float, drawn(InputRange(-1, 3, kind="real"))))
    assert (min(real) >= -1, max(real) <= 3, min(real) < -0.9, max(real) > 2.9) == (True,) * 4
    sizes = sorted(map(int, set(drawn(InputRange(0.5, 7.8, multiple_of=2)))))
    assert sizes == [1, 2, 4, 6, 7]
    assert set(drawn(InputRange(5, 9), (1.0, 1.0))) == {"9"}
    assert set(drawn(InputRange(5, 9), (0.0, 0.0))) == {"5"}
    logs = np.log1p(list(map(float, drawn(InputRange(0, 1e6), (0.25, 0.75)))))
    assert logs.min() / math.log(1e6) == pytest.approx(0.25, abs=0.01)
    assert logs.max() / math.log(1e6) == pytest.approx(0.75, abs=0.01)
    assert logs.mean() / math.log(1e6) == pytest.approx(0.5, abs=0.03)


def test_of_listed_sizes_small_inputs_take_the_first():
    listed = InputRange(values=("1", "2", "3", "4"))
    assert set(drawn(listed, (0.0, 0.25))) == {"1"}
    assert set(drawn(listed, (0.0, 0.5))) == {"1", "2"}
    assert set(drawn(listed, (0.0, 0.01))) == {"1"}
    assert set(drawn(listed)) == set(listed.values)
    assert set(drawn(replace(listed, kind="seed"), (0.0, 0.25))) == set(listed.values)


def test_values_are_written_where_their_names_stand():
    ranges = {"n": InputRange(7, 7), "m": InputRange(values=("x",))}
    inputs = ProgramInputs(ranges, ("-n", "{n}{m}"), "{m} {n}")
    made = inputs.draw(np.random.default_rng(0))
    assert made == ProgramInput(("-n", "7x"), "x 7", {"n": "7", "m": "x"})
    assert (made.words, ProgramInput().words, inputs.guessed) == ("n=7, m=x", "no input", False)
    large = ProgramInputs({"n": InputRange(1, 1e6)}, ("{n}",))
    least = [int(large.draw(np.random.default_rng(k)).arguments[0]) for k in range(60)]
    assert (min(least) < 100, max(least) > 3e5) == (True, True)
    refused(lambda: ProgramInputs({}, ("{b}",), "{a}"), "{a} has no range; there are: none",
            "{b} has no range; there are: none")  # fmt: skip
    refused(lambda: ProgramInputs(ranges, ("{z}",)), "{z} has no range; there are: n, m")


@pytest.mark.parametrize(("text", "ranges"), [
    ("int n = argc > 1 ? atoi(argv[1]) : 64;", {"n": InputRange(4, 80)}),
    ("int n = argc > 1 ? atoi(argv[1]) : 640;", {"n": InputRange(20, 800)}),
    ("int n = argc > 1 ? atoi(argv[1]) : 3;", {"n": InputRange(3, 4)}),
    ("int n = argc > 1 ? atoi(argv[1]) : 1;", {"n": InputRange(1, 2)}),
    ("int n = argc > 1 ? atoi(argv[1]) : 0;", {"n": InputRange(48, 384)}),
    ("f(atoi(argv[1]));", {"a1": InputRange(48, 384)}),
    ("double h = atof(argv[1]);", {"h": InputRange(0.5, 2, kind="real")}),
    ("double h = argc > 1 ? atof(argv[1]) : 1.5e1;", {"h": InputRange(7.5, 30, kind="real")}),
    ("double h = argc > 1 ? atof(argv[1]) : 0;", {"h": InputRange(0.5, 2, kind="real")}),
    ("int rng = atoi(argv[1]);", {"rng": InputRange(1, 1e6, kind="seed")}),
    ("#define N (320\nint n = argc > 1 ? atoi(argv[1]) : N;", {"n": InputRange(10, 400)}),
    ("int _d = 640; _d = 320; n = argc > 1 ? atoi(argv[1]) : _d;", {"n": InputRange(10, 400)}),
    ("n = argc > 1 ? atoi(argv[1]) : nowhere;", {"n": InputRange(48, 384)}),
    ("int n = 640; if (argc > 1) n = atoi(argv[1]);", {"n": InputRange(20, 800)}),
    ("b = atoi(argv[2]); a = atoi(argv[1]); c = atoi(argv[1]);",
     {"a": InputRange(48, 384), "b": InputRange(48, 384)}),
    ("a = atoi(argv[2]);", {}), ("a = atoi(argv[1]); a = atoi(argv[2]);", {}),
    ("a = atoi(argv[1]); b = atoi(argv[3]);", {}), ("int main;", {}),
])  # fmt: skip
def test_inputs_are_guessed_from_the_source(text, ranges):
    made = inputs_of(text)
    assert dict(made.ranges) == ranges
    assert made.arguments == tuple(f"{{{n}}}" for n in ranges)
    assert made.guessed is bool(ranges)


def test_sizes_become_the_powers_of_two_of_their_range():
    ranges = {"n": InputRange(2, 8), "few": InputRange(9, 15), "s": InputRange(1, 9, kind="seed"),
              "all": InputRange(0, 2.0**50), "one": InputRange(1, 1)}  # fmt: skip
    made = powers_of_two(ProgramInputs(ranges, ("{n}",))).ranges
    assert made["n"].values == ("2", "4", "8")
    assert [made[k] for k in ("few", "s", "one")] == [ranges[k] for k in ("few", "s", "one")]
    assert made["all"].values == tuple(str(2**k) for k in range(1, 40))
