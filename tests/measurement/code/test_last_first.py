"""Threads in the reverse order: which runs are made, and what is told of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rheostat.measurement.code import verifier
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInputs
from rheostat.measurement.code.races.last_first import last_first
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap
from rheostat.measurement.code.toolchain import absent, archer_absent
from tests.measurement.code.rung_cases import given, of
from tests.measurement.scripted import done

LACKING = Bubblewrap().why() or absent("gcc") or archer_absent()
TEXT = """#include <math.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 100, best = -1, at = 0;
  unsigned s = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
  double z = 0;
  int *a = malloc(n * sizeof *a);
  for (int i = 0; i < n; i++) {
    s = s * 1664525u + 1013904223u;
    z = 0.9 * z + s / 4294967296.0 - 0.5;
    a[i] = (int)lrint(z * 20);
  }
FIND
  printf("%d %d\\n", best, at);
  free(a);
  return 0;
}
"""
SERIAL = "for (int i = 0; i < n; i++) if (a[i] > best) { best = a[i]; at = i; }"
MERGED = """#pragma omp parallel
{
  int top = -1, mine = 0;
#pragma omp for nowait
  for (int i = 0; i < n; i++) if (a[i] > top) { top = a[i]; mine = i; }
#pragma omp critical
  if (top > bestTIE) { best = top; at = mine; }
}"""
FIRST = " || (top == best && mine < at)"
INPUTS = ProgramInputs({"n": InputRange(60, 400), "s": InputRange(1, 9**6, kind="seed")},
                       ("{n}", "{s}"))  # fmt: skip


def runs_of(box, whose):
    return [a for a in box.log if a.whose == whose and a.what.startswith("run")]


def test_quick_inputs_and_many_more_are_run_by_four_and_by_eight_threads(case, box):
    case.reference.many = tuple((given(k).given, f"sum {k}") for k in range(100))
    openmp = of(case, "openmp")
    box.says["candidate", "run work"] = done("", "", 1)
    assert last_first(openmp, openmp.candidate) == []
    asked = [(a.environment["OMP_NUM_THREADS"], a.environment["OMP_SCHEDULE"],
              a.environment["RHEOSTAT_LAST_FIRST"]) for a in runs_of(box, "candidate")]  # fmt: skip
    assert asked == [("4", "static", "1"), ("8", "static,1", "1")]
    count, _, _, _, *words = runs_of(box, "candidate")[0].stdin.split("\0")[:-1]
    assert (count, len(words)) == (
        "1",
        2 * (3 + 64),
    )  # of many the first


def test_what_the_reverse_order_prints_is_compared_with_what_the_original_prints_alone(case, box):
    case.reference.small, case.reference.expected = (given(5),), (given(700, 0.5),)
    case.reference.many = ()
    openmp = of(case, "openmp")
    box.says["candidate", "run work"] = done("sum 9")
    (found,) = last_first(openmp, openmp.candidate)
    assert found.message == (
        "with n=5 where the last of 4 threads comes first, output line 1: expected 'sum 5', "
        "got 'sum 9'")  # fmt: skip
    box.says["original", "run gcc"] = done("sum 9")  # alone it prints the same: no finding
    assert last_first(openmp, openmp.candidate) == []


def test_among_equals_one_thread_has_to_do_as_the_original(case, box):
    case.reference.small, case.reference.expected = (given(5),), (given(700, 0.5),)
    case.reference.many = ()
    own = replace(
        of(case, "openmp").candidate, files={"a.c": "int candidate;\n#pragma omp critical"}
    )
    openmp = replace(case, candidate=own)
    box.says["original", "run sh"] = done("sum 7")
    box.says["candidate", "run work"] = done("sum 5")
    box.says["candidate", "run sh"] = lambda a: done(
        "sum 7" if "RHEOSTAT_LAST_FIRST" not in a.environment else "sum 8")  # fmt: skip
    (found,) = last_first(openmp, own)
    assert found.message.startswith(
        "with n=5 where the last of 4 threads comes first and many values are equal, output line 1"
    )
    alone = next(a for a in box.asked("run sh") if a.whose == "candidate")
    assert (alone.stdin.split("\0")[1], alone.limits.cpu_s) == ("2000", 1.0)  # many never end
    box.says["candidate", "run sh"] = done("sum 8")  # on one thread, too
    assert last_first(openmp, own) == []


def program(find: str, language: str) -> Program:
    return Program({"a.c": TEXT.replace("FIND", find)}, language, inputs=INPUTS,
                   flags=("-O2", "-lm"))  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_of_equal_whole_numbers_the_first_has_to_be_taken() -> None:
    with verifier(program(SERIAL, "serial"), seed=3) as one:
        found = {
            tie: one.verify(program(MERGED.replace("TIE", tie), "openmp"), rungs=("races",))
            for tie in ("", FIRST)
        }
    assert found[""].rejected_by == "races"
    assert found[FIRST].accepted
