"""A target region runs on the device whatever its clauses say, and reaches there what is mapped."""

from __future__ import annotations

import pytest

from rheostat.measurement.code import toolchain
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.rungs_run import ON_DEVICE
from rheostat.measurement.code.sandboxed.sandbox import Unsafe
from rheostat.measurement.code.surroundings.device_regions import (
    always_on_device,
    never_on_device,
    with_closed_memory,
)
from rheostat.measurement.code.toolchain import DEVICE
from rheostat.measurement.code.workbench import Workbench

LACKING = toolchain.offload_absent()
FOLLOWS = """#include <stdio.h>
#include <stdlib.h>
struct numbers { int n; double *p; };
int main(int argc, char **argv) {
  struct numbers a = {argc, malloc(8 * sizeof *a.p)};
  double *p = a.p, sum = 0;
  for (int i = 0; i < 8; i++) p[i] = i;
  if (argc > 1) {
#pragma omp target map(to : a) map(tofrom : sum)
    sum = a.p[3];
  } else {
#pragma omp target map(to : p[0 : 8]) map(tofrom : sum)
    sum = p[3];
  }
  printf("%g\\n", sum);
  free(p);
  return 0;
}
"""


@pytest.mark.parametrize(
    ("clause", "kept"),
    [
        ("target if(n > 9)", "target"),
        ("target teams loop if(target : f(n, (1)) > 9) map(p)", "target teams loop map(p)"),
        ("target data \\\n if(n * m > 9) map(p)", "target data \\\n map(p)"),
        ("target parallel for if(parallel: n > 9)", "target parallel for if(parallel: n > 9)"),
        ("target parallel for if(simd: n > 9)", "target parallel for if(simd: n > 9)"),
        ("target if(0)", "target if(0)"),
        ("target update to(p) if(k == 0)", "target update to(p) if(k == 0)"),
        ("parallel for if(n > 9)", "parallel for if(n > 9)"),
    ],
)
def test_conditions_of_regions_alone_are_taken_away(clause, kept):
    made = always_on_device(Program({"a.c": f"#pragma omp {clause}\n;"}, "target")).text
    assert made.split() == f"#pragma omp {kept}\n;".split()


@pytest.mark.parametrize(
    ("clause", "kept"),
    [
        ("target if(n > f(9)) map(p)", "target if(0) map(p)"),
        ("target teams loop if(target : n > 9)", "target teams loop if(target : 0)"),
        ("target parallel for if(parallel: n > 9)", "target parallel for if(parallel: n > 9)"),
        ("target if(1)", "target if(1)"),
        ("target update to(p) if(k == 0)", "target update to(p) if(k == 0)"),
    ],
)
def test_conditions_of_regions_alone_are_false(clause: str, kept: str) -> None:
    made = never_on_device(Program({"a.c": f"#pragma omp {clause}\n;"}, "target")).text
    assert made == f"#pragma omp {kept}\n;"


def test_what_is_moved_under_the_condition_of_a_region_is_moved_with_it():
    moved = "#pragma omp target enter data map(to: p) if(n>9)\n#pragma omp target exit data if(k)\n"
    made = always_on_device(Program({"a.c": moved + "#pragma omp target if(n > 9)\n;"})).text
    assert "n" not in made.split("map(to: p)")[1].split("#")[0]
    assert "if(k)" in made


def test_memory_that_is_shared_by_request_stays_open():
    shared = Program({"a.c": "#pragma omp requires unified_shared_memory\n"}, "target")
    assert with_closed_memory(shared) is shared


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_a_region_cannot_follow_pointers_of_the_host(tmp_path):
    bench = Workbench(Unsafe(), tmp_path)
    made = bench.build(with_closed_memory(Program({"a.c": FOLLOWS}, "target")), DEVICE)
    mapped = bench.run(made, ProgramInput(), environment=ON_DEVICE)
    assert (mapped.stdout, mapped.ok) == ("3\n", True)
    follows = bench.run(made, ProgramInput(("1",)), environment=ON_DEVICE)
    assert not follows.ok
    assert "that it does not map" in follows.stderr
