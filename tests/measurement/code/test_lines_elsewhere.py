"""Lines that a translation has from its original are the original's own, and none beside them."""

from __future__ import annotations

import pytest

from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.reached.lines_elsewhere import lines_of
from rheostat.measurement.code.surroundings.same_text import without_blanks
from rheostat.measurement.code.surroundings.unseen import clocks

KERNEL = """__device__ __forceinline__ int low(long x) { return __ffsll(x) - 1; }
__global__ void k(float *a, int n) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < n) a[at] += __popc(n);
}
"""


@pytest.mark.parametrize(
    ("line", "own"),
    [
        ("int low(long x) { return __builtin_ffsll(x) - 1; }", True),
        ("int low(long x) { return __builtin_ffsll(x); }", False),
        ("  if (at < n) a[at] += __builtin_popcount(n);", True),
        ("  for (int at = 0; at < (int)(gridDim.x * blockDim.x); at++) {", True),
        ("  for (long index_y = 0; index_y < (long)(gridDim.y * blockDim.y); index_y++)", True),
        ("  for (int at = 0; at < (int)(gridDim.x * blockDim.x) - 1; at++) {", False),
        ("  for (int at = 0; at < (int)(gridDim.y * blockDim.x); at++) {", False),
    ],
)
def test_what_a_rule_writes_for_a_line_is_that_line(line, own):
    assert (without_blanks(line) in lines_of(Program({"a.cu": KERNEL}, "cuda"))) is own


def test_an_original_that_has_events_recorded_asks_its_device_for_the_time():
    assert clocks("cudaEventRecord(start);", ["omp_get_wtime"]) == []
    assert clocks("cudaEventCreate(&start);", ["omp_get_wtime"]) == ["omp_get_wtime"]
