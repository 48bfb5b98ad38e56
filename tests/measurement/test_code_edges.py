"""Mistakes that show at the edges of a range, or with many threads, alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rheostat.measurement.code.ladder import Verifier, verifier
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInputs
from rheostat.measurement.code.toolchain import absent

pytestmark = pytest.mark.skipif(bool(absent("gcc")), reason=absent("gcc"))
HEAD = """#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  long n = atol(argv[1]);
  double s = 0;
"""
TAIL = """  printf("%.15g\\n", s);
  return 0;
}
"""
LOOP = "  for (long i = 0; i < n; i++) s += 0.5 * (double)(i % 1000);\n"
PARTS = """  double part[8] = {0};
#pragma omp parallel
  for (long i = OMP_T; i < n; i += OMP_N) if (OMP_T < 8) part[OMP_T] += 0.5 * (double)(i % 1000);
  for (int t = 0; t < 8; t++) s += part[t];
"""


def program(body: str, language: str = "serial") -> Program:
    head = "#include <omp.h>\n" + HEAD if language == "openmp" else HEAD
    body = body.replace("OMP_T", "omp_get_thread_num()").replace("OMP_N", "omp_get_num_threads()")
    inputs = ProgramInputs({"n": InputRange(1, 50_000)}, ("{n}",))
    return Program({"sum.c": head + body + TAIL}, language, inputs=inputs, name="sum")


@pytest.fixture(scope="module")
def ladder() -> Iterator[Verifier]:
    with verifier(program(LOOP), seed=5) as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize(("body", "language", "rung"), [
    (PARTS, "openmp", "threads"),  # an array of a fixed size by thread number
    ("  if (n % 64 == 63) n--;\n" + LOOP, "serial", "output"),  # a tail of vectors left out
    (LOOP.replace("(double)(i % 1000)", "(double)(i % 1000 + (n == 1))"), "serial", "output"),
    (LOOP + "  if ((int)(n * n) < 0) s++;\n", "serial", "output"),  # beyond 46,340
])  # fmt: skip
def test_a_mistake_at_an_edge_is_rejected(ladder, body, language, rung) -> None:
    rungs = ("compile", "output", "threads")
    assert ladder.verify(program(body, language), rungs=rungs).rejected_by == rung


@pytest.mark.slow
def test_what_is_right_with_sixty_four_threads_is_accepted(ladder) -> None:
    right = "#pragma omp parallel for reduction(+ : s)\n" + LOOP
    verdict = ladder.verify(program(right, "openmp"), rungs=("compile", "output", "threads"))
    assert verdict.accepted, verdict.findings


def test_the_inputs_at_the_edges_are_those_of_stated_ranges(ladder) -> None:
    inputs = ladder.reference.original.inputs
    assert [g.values["n"] for g in inputs.edges()] == ["1", "50000", "64", "63", "2", "49999", "4"]
    assert ladder.reference.edges
    real = InputRange(0, 1, kind="real")
    two = ProgramInputs({"n": InputRange(8, 512, multiple_of=8), "f": real}, ("{n}", "{f}"))
    assert [g.arguments for g in two.edges()] == [
        ("8", "0"), ("512", "1"), ("64", "0"), ("56", "1"),
        ("16", "0"), ("504", "1"), ("32", "0"), ("512", "0"), ("8", "1")]  # fmt: skip
    assert ProgramInputs({"n": InputRange(1, 9)}, ("{n}",), guessed=True).edges() == ()
