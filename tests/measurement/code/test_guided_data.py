"""Data that a guided search makes: what hardly any input shows, and what no original bears."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rheostat.measurement.code import verifier
from rheostat.measurement.code.altered import guided_data as judged
from rheostat.measurement.code.altered.guided_data import guided_data
from rheostat.measurement.code.altered.guided_streams import FIXED, NAME, draws_of, only
from rheostat.measurement.code.altered.other_data import other_data
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInputs
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap
from rheostat.measurement.code.toolchain import absent

LACKING = Bubblewrap().why() or absent("gcc", "clang")
TEXT = """#include <stdio.h>
#include <stdlib.h>
static unsigned long s;
static int draw(unsigned below) {
  s ^= s << 13;
  s ^= s >> 7;
  s ^= s << 17;
  return (int)((unsigned)(s >> 33) % below);
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]);
  s = (unsigned long)atoi(argv[2]) * 2654435761u + 88172645463325252ul;
  long open = 0, sum = 0;
  for (int i = 0; i < n; i++) {
    int u = draw(600), v = draw(600), w = draw(50);
    int x = u > 590 ? u - 590 : 0, y = v > 592 ? v - 592 : 0;
    if (w == 7 && x * y > 20) {
      open++;
      sum += COST;
    }
    sum += u ^ v;
  }
  printf("%ld %ld\\n", open, sum);
  return 0;
}
"""
ANOTHER = {"x * y > 20": "x && y && (x * y | x) > 20"}
"""Wrong for one of 50,000 inputs."""
INPUTS = ProgramInputs({"n": InputRange(30, 90), "seed": InputRange(1, 9**6, kind="seed")},
                       ("{n}", "{seed}"))  # fmt: skip


LONGER = 5.0
"""CPU seconds of a search here, so that no slow machine ends it before."""


@pytest.fixture(autouse=True)
def _has_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judged, "SEARCH_S", LONGER)
    monkeypatch.setattr(judged, "AGAIN_S", 2 * LONGER)


def _program(changes: dict[str, str], cost: str = "i", language: str = "serial") -> Program:
    text = TEXT.replace("COST", cost)
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return Program({"a.c": text}, language, inputs=INPUTS)


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_what_one_in_50_000_inputs_shows_is_found_and_what_is_right_is_not() -> None:
    with verifier(_program({}), seed=5, count=2) as one:
        wrong = Case(_program(ANOTHER), one.reference)
        assert other_data(wrong) == []
        (found,) = guided_data(wrong)
        assert "where what it draws is" in found.message
        assert "expected" in found.message
        right = Case(_program({"x * y > 20": "x * y >= 21"}), one.reference)
        assert guided_data(right) == []


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_a_sum_that_comes_just_to_a_limit_is_made_of_what_it_lacked() -> None:
    sums = "sum += u ^ v"
    limit = (
        "sum += u ^ v;\n    far += draw(2000000000);\n    if (far > 51234567890L) open++, far = 0"
    )
    given = {sums: limit, "long open = 0,": "long open = 0, far = 0,"}
    with verifier(_program(given), seed=5, count=2) as one:
        at_limit = given | {sums: limit.replace("far >", "far >=")}
        wrong = Case(_program(at_limit), one.reference)
        assert other_data(wrong) == []
        assert len(guided_data(wrong)) == 1
        by_one = given | {sums: limit.replace("> 51234567890", ">= 51234567891")}
        assert guided_data(Case(_program(by_one), one.reference)) == []


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
@pytest.mark.parametrize(("cost", "count"), [("x * 900000000", 0), ("x * 900000", 1)])
def test_what_the_original_does_not_bear_is_no_doubt(cost: str, count: int) -> None:
    """It overflows wherever the gate is open, which no input that is drawn shows."""
    with verifier(_program({}, cost), seed=5, count=2) as one:
        found = guided_data(Case(_program({}, cost + "L + 1"), one.reference))
        assert len(found) == count


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_nothing_is_searched_where_pragmas_alone_differ() -> None:
    loop = "  for (int i = 0; i < n; i++)"
    with verifier(_program({}), seed=5, count=2) as one:
        case = Case(_program({loop: f"#pragma omp ordered\n{loop}"}), one.reference)
        assert guided_data(case) == []
        built = [name for b in case.bench.builds.values() for name in b.program.files]
        assert not any("guide" in name for name in built)


def test_runs_of_a_search_are_made_the_first_ones(tmp_path: Path) -> None:
    whole = np.zeros((), FIXED)
    whole["recipe"]["seed"][:4] = 10, 11, 12, 13
    whole["head"]["drew"] = 3
    whole["now"]["value"][:4] = 7, 8, 9, 5
    whole["now"]["inert"][1] = 1
    (tmp_path / NAME).write_bytes(whole.tobytes() + b"behind it")
    only(tmp_path, [3, 1])
    data = (tmp_path / NAME).read_bytes()
    seeds = np.frombuffer(data[: FIXED.itemsize], FIXED)[0]["recipe"]["seed"]
    assert seeds[:4].tolist() == [13, 11, 0, 0]
    assert data.endswith(b"behind it")
    assert draws_of(tmp_path) == [7, 9]
