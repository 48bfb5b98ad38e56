"""Products and sums that are rounded once: an exact tie becomes none on ARM's processors."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from rheostat.measurement.code import verifier
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInputs
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap
from rheostat.measurement.code.surroundings.fused_sums import fused_sums, to_last_digits
from rheostat.measurement.code.toolchain import absent
from rheostat.tradeoff.variants.from_cuda import from_cuda

CPU = Path("/proc/cpuinfo")
FUSES = platform.machine() == "x86_64" and CPU.exists() and " fma " in CPU.read_text()
LACKING = Bubblewrap().why() or absent("gcc") or ("" if FUSES else "no processor with fma")
BENDS = """#include <stdio.h>
#include <stdlib.h>
static double part(int i) { return (i % 5 + 1) / 7.0; }
int main(int argc, char **argv) {
  int n = atoi(argv[1]), bends = 0;
  double sum = 0;
  for (int i = 0; i < n; i++) {
    double a = part(i), b = part(i * 3), c = part(i * 7);
    sum += a * b;
    TURN
  }
  printf("%d %.15g\\n", bends, sum);
  return 0;
}
"""
PRODUCTS, DIFFERENCE = "bends += a * b < c * c;", "bends += a * b - c * c < 0;"


def bends(turn: str, **more) -> Program:
    inputs = ProgramInputs({"n": InputRange(30, 300)}, ("{n}",))
    return Program({"a.c": BENDS.replace("TURN", turn)}, inputs=inputs, flags=("-O2",), **more)


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
@pytest.mark.parametrize(("original", "candidate", "found"), [
    (PRODUCTS, DIFFERENCE, 1), (DIFFERENCE, "if (" + DIFFERENCE[9:-1] + ") bends++;", 0),
    (PRODUCTS, "bends += c * c > b * a;", 0),
    (PRODUCTS, "{ double one = a * b, two = c * c; bends += one < two; }", 0),
])  # fmt: skip
def test_a_difference_of_products_that_is_rounded_once_has_no_ties(original, candidate, found):
    with verifier(bends(original), seed=3, count=2) as one:
        said = fused_sums(Case(bends(candidate), one.reference))
    assert len(said) == found
    assert all("rounded once (-mfma), output line 1: expected" in f.message for f in said)


ON_DEVICE = """#include <cstdio>
#include <cstdlib>
__device__ double part(int i) { return (i % 5 + 1) / 7.0; }
__global__ void count(int *made, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, bends = 0;
  double a = part(i), b = part(i * 3), c = part(i * 7);
  TURN
  if (i < n && bends) atomicAdd(made, 1);
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), *made;
  cudaMallocManaged(&made, sizeof(int));
  *made = 0;
  count<<<(n + 63) / 64, 64>>>(made, n);
  cudaDeviceSynchronize();
  printf("%d\\n", *made);
}
"""
INPUTS = ProgramInputs({"n": InputRange(30, 300)}, ("{n}",))


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
@pytest.mark.parametrize(("turn", "count"), [(DIFFERENCE, 0), (PRODUCTS, 1)])
def test_kernels_on_the_host_are_fused_as_well(turn, count):
    original = Program({"a.cu": ON_DEVICE.replace("TURN", turn)}, "cuda", inputs=INPUTS)
    text = from_cuda(ON_DEVICE.replace("TURN", DIFFERENCE), "openmp").text
    candidate = Program({"a.cc": text}, "openmp", flags=("-O2", "-fopenmp"))
    with verifier(original, seed=3, count=2) as one:
        assert len(fused_sums(Case(candidate, one.reference))) == count


@pytest.mark.parametrize(("got", "same"), [
    ("a 7.760 3", True), ("a 7.761 3", True), ("a 7.759 3", True), ("a 7.762 3", False),
    ("a 7.761 4", False), ("a 7.761 3 1.0", False), ("a 7.7610 3", False), ("b 7.761 3", False),
])  # fmt: skip
def test_a_unit_of_the_last_digit_is_rounding_and_nothing_else_is(got, same):
    assert (to_last_digits(got, "a 7.760 3") == "a 7.760 3") is same
