"""Races that only data of few different values show: places that two threads seldom share."""

from __future__ import annotations

import pytest

from rheostat.measurement.code import toolchain, verifier
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInputs
from rheostat.measurement.code.races.raced_data import raced_on_other_data
from rheostat.measurement.code.rungs_races import _race_options
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap

LACKING = Bubblewrap().why() or toolchain.absent("gcc", "clang") or toolchain.archer_absent()
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
  int n = atoi(argv[1]), *at = malloc(n * sizeof *at);
  s = (unsigned long)atoi(argv[2]) * 2654435761u + 88172645463325252ul;
  long *sum = calloc(1 << 20, sizeof *sum), all = 0;
  for (int i = 0; i < n; i++) at[i] = draw(1 << 20);
  SHARED
  for (int i = 0; i < n; i++) {
    EXCLUDED
    sum[at[i]] += i;
  }
  for (int i = 0; i < n; i++) all = (all * 31 + sum[at[i]]) % 1000003;
  printf("%ld\\n", all);
  free(at);
  free(sum);
  return 0;
}
"""
SHARED, ATOMIC = "#pragma omp parallel for", "#pragma omp atomic"
INPUTS = ProgramInputs({"n": InputRange(20, 60), "seed": InputRange(1, 9**6, kind="seed")},
                       ("{n}", "{seed}"))  # fmt: skip


def _program(shared: str = "", excluded: str = "") -> Program:
    text = TEXT.replace("SHARED", shared).replace("EXCLUDED", excluded)
    return Program({"a.c": text}, "openmp" if shared else "serial", inputs=INPUTS)


def _found(original: Program, candidate: Program) -> list[str]:
    with verifier(original, seed=3, count=2) as one:
        case = Case(candidate, one.reference)
        return [f.message for f in raced_on_other_data(case, _race_options(case))]


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_a_place_that_two_rows_in_ten_thousand_inputs_share_is_seen() -> None:
    (found,) = _found(_program(), _program(SHARED))
    assert found.startswith("data race")
    assert "of few different values" in found


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
@pytest.mark.parametrize("excluded", [ATOMIC, "#pragma omp critical"])
def test_what_excludes_others_is_no_race(excluded: str) -> None:
    assert _found(_program(), _program(SHARED, excluded)) == []


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_a_race_that_the_original_has_too_is_none_of_the_candidate_s() -> None:
    assert _found(_program(SHARED), _program(SHARED)) == []
