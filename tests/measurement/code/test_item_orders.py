"""Devices that do what standards leave open: work-items backward, copies late, waits for one."""

from __future__ import annotations

import pytest

from rheostat.measurement.code import rungs_races, verifier
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.device_kernels.cuda_on_host import parser_absent
from rheostat.measurement.code.device_kernels.item_orders import in_another_order
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import (
    InputRange,
    ProgramInput,
    ProgramInputs,
)
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap
from rheostat.measurement.code.toolchain import absent
from rheostat.measurement.code.verdict import FAILED

LACKING = Bubblewrap().why() or absent("gcc", "clang")
WITHOUT_OPENCL = LACKING or absent("oclgrind")
SERIAL = """#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  int n = atoi(argv[1]);
  long sum = 0;
  for (int i = 0; i < n; i++) sum += i % 7 * (3L * i + 1);
  printf("%ld\\n", sum);
  return 0;
}
"""
OPENCL = r"""#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
const char *text = "__kernel void f(__global int *x, __global int *at, int n) {"
  " int i = get_global_id(0); if (i < n) x[PLACE] = 3 * i + 1; }";
int main(int argc, char **argv) {
  int n = atoi(argv[1]), none = 0, *x = calloc(n, sizeof *x);
  cl_platform_id platform;
  cl_device_id device;
  clGetPlatformIDs(1, &platform, NULL);
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
  cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
  if (clBuildProgram(program, 1, &device, "", NULL, NULL)) return 1;
  cl_kernel f = clCreateKernel(program, "f", NULL);
  cl_mem d = clCreateBuffer(context, CL_MEM_READ_WRITE, n * sizeof *x, NULL, NULL);
  cl_mem at = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof none, NULL, NULL);
  size_t many = n;
  clEnqueueWriteBuffer(queue, at, CL_FALSE, 0, sizeof none, &none, 0, NULL, NULL);
  clSetKernelArg(f, 0, sizeof d, &d);
  clSetKernelArg(f, 1, sizeof at, &at);
  clSetKernelArg(f, 2, sizeof n, &n);
  clEnqueueNDRangeKernel(queue, f, 1, NULL, &many, NULL, 0, NULL, NULL);
  REFILL;
  clEnqueueReadBuffer(queue, d, CL_FALSE, 0, n * sizeof *x, x, 0, NULL, NULL);
  clFinish(queue);
  long sum = 0;
  for (int i = 0; i < n; i++) sum += i % 7 * (long)x[i];
  printf("%ld\n", sum);
  return 0;
}
"""
CUDA = r"""#include <cuda_runtime.h>
#include <stdio.h>
__global__ void put(int *x, int v) { *x = v; }
int main() {
  int *d, *e, *p, *q;
  cudaStream_t one, other;
  cudaEvent_t event;
  cudaMalloc(&d, sizeof *d);
  cudaMalloc(&e, sizeof *e);
  cudaMallocHost(&p, sizeof *p);
  cudaMallocHost(&q, sizeof *q);
  cudaStreamCreate(&one);
  cudaStreamCreate(&other);
  cudaEventCreate(&event);
  *p = 1, *q = 0;
  cudaMemcpyAsync(d, p, sizeof *p, cudaMemcpyHostToDevice, one);
  *p = 2;
  cudaMemcpyAsync(q, d, sizeof *q, cudaMemcpyDeviceToHost, one);
  put<<<1, 1, 0, other>>>(e, 7);
  cudaStreamSynchronize(other);
  printf("%d ", *q);
  cudaEventRecord(event, other);
  cudaEventSynchronize(event);
  printf("%d ", *q);
  printf("%d ", cudaStreamQuery(one) == cudaErrorNotReady);
  cudaStreamSynchronize(one);
  printf("%d %d\n", *q, cudaStreamQuery(one) == cudaSuccess);
  return 0;
}
"""
COUNTS = r"""#include <stdio.h>
__global__ void count(int *x) {
  int old;
  do old = x[0];
  while (atomicCAS(x, old, old + 1) != old && ++x[1]);
  old = x[2];
  atomicExch(x + 2, old + 1);
}
int main() {
  int *d, x[3] = {0};
  cudaMalloc(&d, sizeof x);
  cudaMemcpy(d, x, sizeof x, cudaMemcpyHostToDevice);
  count<<<1, 64>>>(d);
  cudaMemcpy(x, d, sizeof x, cudaMemcpyDeviceToHost);
  printf("%d %d %d\n", x[0], x[1] > 0, x[2] < 64);
  return 0;
}
"""
RECURRENCE = """#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  int n = atoi(argv[1]), *x = calloc(n + 1, sizeof *x);
  /*PRAGMA*/
  for (int i = 1; i <= n; i++) x[i] = (x[i - 1] + i) % 1009;
  printf("%d\\n", x[n]);
  return 0;
}
"""
INPUTS = ProgramInputs({"n": InputRange(2, 200)}, ("{n}",))


@pytest.mark.slow
@pytest.mark.skipif(bool(WITHOUT_OPENCL), reason=WITHOUT_OPENCL)
@pytest.mark.parametrize(("place", "refill", "is_right"), [
    ("i + *at", "", True),
    ("atomic_inc(at)", "", False),
    ("i + *at", "none = 1", False),
])  # fmt: skip
def test_work_items_come_backward_and_copies_late(place, refill, is_right) -> None:
    text = OPENCL.replace("PLACE", place).replace("REFILL", refill)
    candidate = Program({"a.c": text}, "opencl", flags=("-lOpenCL",), inputs=INPUTS)
    serial = Program({"a.c": SERIAL}, "serial", inputs=INPUTS)
    with verifier(serial, seed=3, count=2) as one:
        assert (in_another_order(Case(candidate, one.reference)) == []) == is_right


@pytest.mark.skipif(bool(LACKING or parser_absent()), reason=LACKING or parser_absent())
def test_cuda_waits_for_what_it_names_and_reads_page_locked_memory_in_its_turn() -> None:
    """The copy reads what was put there afterwards; another stream's end says nothing of it."""
    serial = Program({"a.c": SERIAL}, "serial", inputs=INPUTS)
    with verifier(serial, seed=3, count=2) as one:
        case = Case(Program({"a.cu": CUDA}, "cuda"), one.reference)
        run = case.bench.run(case.built, ProgramInput())
        assert run.stdout == "0 0 1 2 1\n"


@pytest.mark.skipif(bool(LACKING or parser_absent()), reason=LACKING or parser_absent())
def test_threads_of_cuda_get_between_what_another_reads_and_its_exchange() -> None:
    """Where they are shuffled; one after the other no exchange fails and nothing is lost."""
    serial = Program({"a.c": SERIAL}, "serial", inputs=INPUTS)
    with verifier(serial, seed=3, count=2) as one:
        case = Case(Program({"a.cu": COUNTS}, "cuda"), one.reference)
        said = [case.bench.run(case.built, ProgramInput(), environment={"CUDA_ORDER": n}).stdout
                for n in "012"]  # fmt: skip
        assert said == ["64 0 0\n", "64 0 0\n", "64 1 1\n"]


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_what_an_iteration_wrote_the_next_lane_reads_from_memory() -> None:
    """Compilers keep such a number in a register, and a wrong pragma then does no harm."""
    original = Program({"a.c": RECURRENCE}, "serial", inputs=INPUTS)
    with verifier(original, seed=3, count=2) as one:
        for simdlen, state in ((1, None), (4, FAILED)):
            text = RECURRENCE.replace("/*PRAGMA*/", f"#pragma omp simd simdlen({simdlen})")
            case = Case(Program({"a.c": text}, "openmp", inputs=INPUTS), one.reference)
            lanes = rungs_races.in_lanes(case.candidate)
            assert lanes is not None
            stopped = rungs_races._by_lanes(case, lanes)
            assert (stopped and stopped.state) == state
