"""Floating-point operations by width: of each instruction, and of a program that is run."""

from __future__ import annotations

import shutil

import pytest

from rheostat.measurement.code.costs.flops import flops_of
from rheostat.measurement.code.costs.work_counts import WorkCounts, count_flops
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.sandboxed.capture import SandboxLimits
from rheostat.measurement.code.sandboxed.sandbox import sandbox, workspace
from rheostat.measurement.code.toolchain import GCC
from rheostat.measurement.code.workbench import Workbench


@pytest.mark.parametrize(("instruction", "scalar", "vector"), [
    ("addsd  %xmm0,%xmm1", 1, 0), ("mulss  0x8(%rax),%xmm1", 1, 0), ("addpd  %xmm0,%xmm1", 0, 2),
    ("vmulps %ymm0,%ymm1,%ymm2", 0, 8), ("vdivpd (%rdi),%zmm1,%zmm2", 0, 8),
    ("vfmadd213sd %xmm0,%xmm1,%xmm2", 2, 0), ("vfnmsub231pd %ymm0,%ymm1,%ymm2", 0, 8),
    ("sqrtsd %xmm0,%xmm0", 1, 0), ("movapd %xmm0,%xmm1", 0, 0), ("add    %rax,%rbx", 0, 0),
    ("subq   $0x1,%rax", 0, 0), ("paddd  %xmm0,%xmm1", 0, 0),
])  # fmt: skip
def test_an_instruction_has_the_operations_of_its_width(instruction, scalar, vector):
    code = f"    1139:\t{instruction}\n"
    assert flops_of("ob=/s/program\n0x1139 10 2\n", code, "program") == (10 * scalar, 10 * vector)


def test_only_the_program_s_own_instructions_count_and_each_once():
    code = " 10:\taddsd %xmm0,%xmm1\n"
    profile = (
        "ob=/lib/libm.so\n0x10 7\nob=/s/program\nfn=main\n0x10 5\ncalls=2 0x10\n0x10 400\n0x14 1\n"
    )
    assert flops_of(profile, code, "program") == (5.0, 0.0)
    assert flops_of("0x10 nothing\n", code, "program") == (0.0, 0.0)


TRIAD = """int main(int argc, char **argv) {
  static double a[4096], b[4096];
  for (int k = 0; k < 10; k++) {
    for (int i = 0; i < 4096; i++) a[i] += b[i] * 1.5;
    __asm__ volatile("" ::"r"(a), "r"(b) : "memory");
  }
  return argc > 9;
}
"""


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind counts")
@pytest.mark.parametrize(("flags", "kind"), [
    (("-O1",), "scalar_flops"), (("-O3",), "vector_flops"), (("-O3", "-mavx2"), "vector_flops"),
])  # fmt: skip
def test_a_program_is_run_and_its_operations_counted(flags, kind):
    with workspace() as folder:
        bench = Workbench(sandbox(), folder)
        made = bench.build(Program({"a.c": TRIAD}, "serial", flags=flags), GCC)
        counts = count_flops(bench, made, ProgramInput(), SandboxLimits())
    assert isinstance(counts, WorkCounts)
    assert counts.scalar_flops + counts.vector_flops == getattr(counts, kind) == 2 * 4096 * 10
