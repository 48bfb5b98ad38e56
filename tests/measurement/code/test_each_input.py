"""Many inputs from one start of the sandbox: what each child begins with."""

from __future__ import annotations

import re

import pytest

from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.sandboxed.capture import SandboxLimits
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap, workspace
from rheostat.measurement.code.toolchain import CLANG, absent
from rheostat.measurement.code.workbench import Workbench

LACKING = Bubblewrap().why() or absent("clang", "gcc")
SUM = """#include <stdio.h>
#include <stdlib.h>
int main(int n, char **words) {
  int sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < atoi(words[n - 1]); i++) sum += i;
  printf("%d\\n", sum);
  return 0;
}
"""
LOOKED = re.compile(r"(\d+):\s+trying file=\S*libmemkind\.so")


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
@pytest.mark.parametrize("shares", [False, True])
def test_children_of_llvms_openmp_do_not_look_again_for_what_is_not_there(shares):
    """Its start asks for a library in 150 places, which took longer than most runs."""
    program = Program({"a.c": SUM}, "openmp")
    every = [ProgramInput((str(n),)) for n in (3, 5, 9)]
    said = {"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": "/cache/said"}
    with workspace() as folder:
        bench = Workbench(Bubblewrap(), folder)
        built = bench.build(program, CLANG)
        with bench.run_folder("said") as place:
            run = bench.run_many if shares else bench.run_each
            limits = SandboxLimits(cpu_s=5.0)
            outputs = run(built, every, limits, most_cpu_s=5.0, environment=said, kept=place)
            looked = LOOKED.findall("".join(p.read_text() for p in place.iterdir()))
    assert outputs == ["3\n", "10\n", "36\n"]
    first, *others = (looked.count(pid) for pid in dict.fromkeys(looked))
    assert first > 20 > max(others, default=0)
