"""A candidate whose kernels decide nothing: it prints the same where none of them runs."""

from __future__ import annotations

import pytest

from rheostat.measurement.code import verifier
from rheostat.measurement.code.case import Case, RungOptions
from rheostat.measurement.code.device_kernels.idle_kernels import IDLE, idle_kernels
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInputs
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap
from rheostat.measurement.code.toolchain import absent

LACKING = Bubblewrap().why() or absent("gcc", "clang")
SERIAL = """#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  int n = atoi(argv[1]);
  long sum = 0;
  for (int i = 0; i < n; i++) sum += 3L * i + 1;
  printf("%ld\\n", sum);
  return 0;
}
"""
ON_DEVICE = """#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
__global__ void scaled(long *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = 3L * i + 1;
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]);
  long *x = (long *)malloc(n * sizeof *x), *d, sum = 0;
  cudaMalloc(&d, n * sizeof *d);
  cudaMemset(d, 0, n * sizeof *d);
  scaled<<<(n + 63) / 64, 64>>>(d, n);
  cudaMemcpy(x, d, n * sizeof *d, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i++) sum += SUMMED;
  printf("%ld\\n", sum);
  cudaFree(d);
  free(x);
  return 0;
}
"""
INPUTS = ProgramInputs({"n": InputRange(1, 200)}, ("{n}",))


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_a_host_that_computes_all_itself_is_told_from_one_that_takes_what_kernels_made() -> None:
    serial = Program({"a.c": SERIAL}, "serial", inputs=INPUTS)
    used, idle = (
        Program({"a.cu": ON_DEVICE.replace("SUMMED", summed)}, "cuda", inputs=INPUTS)
        for summed in ("x[i]", "3L * i + 1 + 0 * x[i]")
    )
    with verifier(serial, seed=3, count=2, options=RungOptions()) as one:
        assert idle_kernels(Case(used, one.reference)) == []
        assert [f.message for f in idle_kernels(Case(idle, one.reference))] == [IDLE]
        assert idle_kernels(Case(serial, one.reference)) == []
    with verifier(idle, seed=3, count=2, options=RungOptions()) as one:
        assert idle_kernels(Case(idle, one.reference)) == []
