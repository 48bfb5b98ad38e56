"""An original that is at fault itself is refused with the line where it is."""

from __future__ import annotations

import pytest

from rheostat.errors import DataError
from rheostat.measurement.code import Program, verifier
from rheostat.measurement.code.device_kernels.cuda_on_host import parser_absent
from rheostat.measurement.code.parsing.compare_output import Tolerance
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.sandboxed.capture import SandboxRun
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap
from rheostat.measurement.code.surroundings.own_faults import OwnFaults, is_invalid, never_set
from rheostat.measurement.code.toolchain import absent
from rheostat.measurement.code.verdict import Finding

LACKING = Bubblewrap().why() or absent("g++") or absent("clang") or parser_absent()
needs_host = pytest.mark.skipif(bool(LACKING), reason=LACKING)
TEXT = """#include <cstdio>
#include <cstdlib>
__global__ void k(int *a, int *b, int n) {
  int i = threadIdx.x;
  %s
}
int main() {
  int n = 40, sum = 0, *a, *b, *host = new int[n];
  cudaMalloc(&a, n * sizeof *a);
  cudaMalloc((void **)&b, n * sizeof *b);
  cudaMemset(a, 0, n * sizeof *a);
  k<<<1, 64>>>(a, b, n);
  cudaMemcpy(host, a, n * sizeof *a, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i++) sum += host[i];
  printf("%%d\\n", sum);
}
"""


def refused(statement: str) -> str:
    program = Program({"k.cu": TEXT % statement}, "cuda", name="k")
    with verifier(program, seed=1, count=1) as one, pytest.raises(DataError) as said:
        _ = one.reference.agreed
    return str(said.value)


@needs_host
@pytest.mark.parametrize(("statement", "wanted"), [
    ("a[i] = i;", "k.cu:5: AddressSanitizer"),
    ("if (i < n) a[i] = a[(i + 1) % n] + 1;", "k.cu:5: data race"),
    ("if (i < n) a[i] = b[i] & 3;", "nothing is copied to or set on the device in b (line 10)"),
])  # fmt: skip
def test_the_line_of_the_fault_is_named(statement, wanted):
    assert wanted in refused(statement)


@pytest.mark.parametrize(("text", "wanted"), [
    ("int main() {\n  srand((unsigned)time(NULL));\n}", "; a.cu:2 draws by the clock: let an arg"),
    ("std::mt19937 gen(std::random_device{}());", "; a.cu:1 draws by the clock"),
    ("srand(7);\nt = time(NULL);", "; a time needs a word or a unit beside it, or a mask"),
])  # fmt: skip
def test_what_differs_each_time_is_shown_with_what_to_do(text, wanted):
    runs = [SandboxRun(0, f"sum 3\n0.{n}\n", "", 0, 0, 0) for n in (1, 2)]
    said = OwnFaults(None, Program({"a.cu": text}, "cuda")).each_time(
        ProgramInput(()), *runs, Tolerance()
    )
    assert "each time: output line 2 is '0.1', then '0.2'" + wanted in said


def test_only_what_no_program_may_do_counts_as_invalid():
    assert is_invalid(Finding("s", "a.cu", 3, "AddressSanitizer: heap-buffer-overflow"))
    assert not is_invalid(Finding("s", "a.cu", 3, "signed integer overflow"))
    assert not is_invalid(Finding("s", "", 0, "AddressSanitizer: heap-buffer-overflow"))


def test_memory_that_is_copied_to_is_set():
    text = "cudaMallocManaged(&a, 8);\ncudaMalloc(&b, 8);\ncudaMemcpyAsync(b, h, 8, kind, s);"
    assert never_set(text) == [("a", 1)]
