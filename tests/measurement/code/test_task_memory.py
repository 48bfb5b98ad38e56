"""What libomp gives from one task to the next is no race; what tasks share without order is."""

from __future__ import annotations

import pytest

from rheostat.measurement.code import verifier
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInputs
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap
from rheostat.measurement.code.toolchain import absent, archer_absent

LACKING = Bubblewrap().why() or absent("gcc") or archer_absent()
pytestmark = pytest.mark.skipif(bool(LACKING), reason=LACKING)
PARALLEL = "#pragma omp parallel\n#pragma omp single\n"
TASK, GROUP, ATOMIC = "#pragma omp task\n", "#pragma omp taskgroup\n", "#pragma omp atomic\n"
TEXT = """#include <stdio.h>
#include <stdlib.h>
static long sum;
static void down(int depth, int number) {
  if (!depth) {
ATOMICsum += number;
    return;
  }
  for (int i = 0; i < 2; i++)
TASKdown(depth - 1, 2 * number + i);
}
int main(int argc, char **argv) {
  int depth = argc > 1 ? atoi(argv[1]) : 3;
PARALLEL
  {
GROUPdown(depth, 1);
    sum *= 3;
  }
  printf("%ld\\n", sum);
  return 0;
}
"""
INPUTS = ProgramInputs({"depth": InputRange(5, 7)}, ("{depth}",))
NONE = {"PARALLEL": "", "TASK": "", "GROUP": "", "ATOMIC": ""}
TASKS = {"PARALLEL": PARALLEL, "TASK": TASK, "GROUP": GROUP, "ATOMIC": ATOMIC}


def tree(words: dict[str, str], language: str) -> Program:
    text = TEXT
    for word, said in words.items():
        text = text.replace(word, said)
    return Program({"a.c": text}, language, inputs=INPUTS)


@pytest.mark.slow
def test_memory_of_ended_tasks_is_no_race_and_races_of_tasks_are_seen() -> None:
    with verifier(tree(NONE, "serial"), seed=1, count=1) as one:
        for _ in range(2):
            assert one.verify(tree(TASKS, "openmp"), rungs=("races",)).accepted
        for left_out in ("GROUP", "ATOMIC"):
            wrong = tree(TASKS | {left_out: ""}, "openmp")
            assert one.verify(wrong, rungs=("races",)).rejected_by == "races"
