"""An original in CUDA that does not agree with itself is nothing to compare with."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rheostat.errors import DataError
from rheostat.measurement.code import Program, verifier
from rheostat.measurement.code.device_kernels.cuda_on_host import parser_absent
from rheostat.measurement.code.parsing.compare_output import Tolerance
from rheostat.measurement.code.programs.expected import Expected
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.sandboxed.capture import SandboxRun
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap
from rheostat.measurement.code.surroundings.own_agreement import (
    OwnRun,
    not_its_own,
    otherwise,
    own_spread,
)
from rheostat.measurement.code.toolchain import absent

LACKING = Bubblewrap().why() or absent("g++") or parser_absent()
TEXT = """#include <cstdio>
#include <cstdlib>
__global__ void k(int *last, float *sum, int way) {
  if (way == 1) *last = threadIdx.x;
  if (way == 2) atomicAdd(sum, 1.0f / (1 + threadIdx.x));
  if (way == 3 && threadIdx.x == 5) *last = 7;
}
int main(int argc, char **argv) {
  int way = atoi(argv[1]), last = 0, *d, *unset = (int *)malloc(4);
  float sum = 0, *s;
  cudaMalloc(&d, sizeof *d);
  cudaMalloc(&s, sizeof *s);
  cudaMemset(s, 0, sizeof *s);
  k<<<1, 64>>>(d, s, way);
  if (way != 2) cudaMemcpy(&last, d, sizeof last, cudaMemcpyDeviceToHost);
  cudaMemcpy(&sum, s, sizeof sum, cudaMemcpyDeviceToHost);
  printf("%d %.8f\\n", way == 4 ? *unset : last, sum);
}
"""


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_what_hangs_on_the_order_of_threads_or_on_unset_memory_is_told_first():
    program = Program({"k.cu": TEXT}, "cuda", name="k")
    inputs = [ProgramInput((str(way),), "", {"way": str(way)}) for way in range(5)]
    with verifier(program, seed=1, count=1) as one:
        bench, built = one.reference.bench, one.reference.built
        known = [Expected(i, bench.run(built, i).stdout, 0.01, 0.01) for i in inputs]
        said = [not_its_own(otherwise(bench, built, [e]), Tolerance(relative=1e-6)) for e in known]
        assert "come backward, so" in said[1]
        assert "'63 0.0" in said[1]
        assert "never set" in said[0]
        assert "never set" in said[4]
        assert said[2:4] == ["", ""]  # sums agree to 1e-6; one thread has set it

        one.reference.expected = one.reference.small = (known[1],)
        with pytest.raises(DataError, match="the original itself prints something else"):
            _ = one.reference.agreed


def test_what_sums_differ_in_other_orders_widens_what_is_asked_of_candidates():
    nothing = SimpleNamespace(build=lambda *_: SimpleNamespace(ok=False))
    built, given = SimpleNamespace(program=None), Expected(ProgramInput(()), "sum 1.0", 0.0, 0.0)
    for other, wide in (("sum 1.000001", 1e-5), ("sum 1.1", 1e-4), ("none", 0.0)):
        runs = [OwnRun("", given, SandboxRun(0, other, "", 0, 0, 0))]
        assert own_spread(nothing, built, (), runs) == pytest.approx(wide, rel=1e-3)
