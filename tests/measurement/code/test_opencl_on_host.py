"""OpenCL whose kernels are compiled beforehand: the library, and what is asked of it."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from rheostat.measurement.code import verifier
from rheostat.measurement.code.bundled import bundled
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.device_kernels.item_orders import in_another_order
from rheostat.measurement.code.device_kernels.opencl_on_host import (
    UNKNOWN,
    NotKnown,
    _defines,
    on_own_library,
)
from rheostat.measurement.code.device_kernels.two_libraries import (
    BY_ONE,
    LEFT,
    by_both,
    in_own_files,
    left_to_pocl,
)
from rheostat.measurement.code.kept_results import KeptResults
from rheostat.measurement.code.parsing.compare_output import Tolerance
from rheostat.measurement.code.programs.expected import Expected
from rheostat.measurement.code.programs.program import KERNELS, Program
from rheostat.measurement.code.programs.program_inputs import (
    InputRange,
    ProgramInput,
    ProgramInputs,
)
from rheostat.measurement.code.reached.marked_runs import unreached
from rheostat.measurement.code.reference import Reference
from rheostat.measurement.code.sandboxed.capture import SandboxLimits, SandboxRun
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap, sandbox, workspace
from rheostat.measurement.code.surroundings.another_library import SMALL_GROUP, asks_group
from rheostat.measurement.code.toolchain import CLANG, GCC, absent
from rheostat.measurement.code.verdict import NOT_SHOWN, Finding
from rheostat.measurement.code.workbench import Workbench
from tests.measurement.code.test_item_orders import OPENCL, SERIAL


def _lacking() -> str:
    header = "#include <CL/cl.h>\n"
    made = subprocess.run(["cc", "-E", "-x", "c", "-"], input=header, text=True,
                          capture_output=True, check=False)  # fmt: skip
    return "" if made.returncode == 0 else "no CL/cl.h: apt-get install ocl-icd-opencl-dev"


LACKING = Bubblewrap().why() or absent("gcc", "clang") or _lacking()
runs = pytest.mark.skipif(bool(LACKING), reason=LACKING)
INPUTS = ProgramInputs({"n": InputRange(2, 200)}, ("{n}",))
HEAD = r"""#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
const char *text = KERNELS;
int main(int argc, char **argv) {
  cl_platform_id platform;
  cl_device_id device;
  cl_int e;
  clGetPlatformIDs(1, &platform, NULL);
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  cl_command_queue queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, NULL);
  cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
  if (clBuildProgram(program, 1, &device, "-DSTEP=3 -cl-mad-enable", NULL, NULL)) return 1;
  cl_kernel f = clCreateKernel(program, "stat", &e);
"""
KERNEL_TEXT = r"""
"inline int more(int a) { return a + STEP; }\n"
"__kernel void stat(__global const int *x, __global int *y, __local int *tree,\n"
"                   float2 v, char c) {\n"
"  __local int last;\n"
"  int l = get_local_id(0), g = get_global_id(0);\n"
"  tree[l] = more(x[g]);\n"
"  barrier(CLK_LOCAL_MEM_FENCE);\n"
"  for (int d = get_local_size(0) / 2; d; d /= 2) {\n"
"    if (l < d) tree[l] += tree[l + d];\n"
"    barrier(CLK_LOCAL_MEM_FENCE);\n"
"  }\n"
"  if (l == 3) last = c;\n"
"  barrier(CLK_LOCAL_MEM_FENCE);\n"
"  if (!l) y[get_group_id(0)] = tree[0] * (int)v.y + last + clamp(g, 0, 5)\n"
"    + clz((uint)c) - 29 + popcount((char)-c) - 6;\n"
"  if (!l) atomic_max(y + 9, g);\n"
"}\n"
"__kernel void other(__global int *y) { y[get_global_id(0)] += y[get_global_id(0)] > 99; }\n"
"""
WHOLE = (
    HEAD.replace("KERNELS", KERNEL_TEXT)
    + r"""
  int x[32], y[16], k = 0;
  for (int i = 0; i < 32; i++) x[i] = i * atoi(argv[1]);
  cl_mem in = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof x, x, &e);
  cl_mem out = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof y, NULL, &e);
  size_t many = 32, group = 8, odd = 5;
  float v[2] = {1, 2};
  char c = 7;
  printf("%d ", clEnqueueNDRangeKernel(queue, f, 1, NULL, &many, &group, 0, NULL, NULL));
  printf("%d %d ", clSetKernelArg(f, 9, 4, &k), clSetKernelArg(f, 4, 4, &k));
  printf("%d\n", clSetKernelArg(NULL, 0, sizeof in, &in));
  clSetKernelArg(f, 0, sizeof in, &in);
  clSetKernelArg(f, 1, sizeof out, &out);
  clSetKernelArg(f, 2, group * sizeof(int), NULL);
  clSetKernelArg(f, 3, sizeof v, v);
  clSetKernelArg(f, 4, sizeof c, &c);
  clEnqueueFillBuffer(queue, out, &k, sizeof k, 0, sizeof y, 0, NULL, NULL);
  printf("%d ", clEnqueueNDRangeKernel(queue, f, 1, NULL, &many, &odd, 0, NULL, NULL));
  printf("%d ", clEnqueueReadBuffer(queue, out, CL_TRUE, 4, sizeof y, y, 0, NULL, NULL));
  cl_event done;
  clEnqueueNDRangeKernel(queue, f, 1, NULL, &many, &group, 0, NULL, &done);
  clWaitForEvents(1, &done);
  cl_ulong from = 1, to = 0;
  clGetEventProfilingInfo(done, CL_PROFILING_COMMAND_START, sizeof from, &from, NULL);
  clGetEventProfilingInfo(done, CL_PROFILING_COMMAND_END, sizeof to, &to, NULL);
  cl_map_flags how = CL_MAP_READ | CL_MAP_WRITE;
  int *s = clEnqueueMapBuffer(queue, out, CL_TRUE, how, 0, sizeof y, 0, NULL, NULL, &e);
  printf("%d %d: %d %d %d %d %d\n", e, from <= to, s[0], s[1], s[2], s[3], s[9]);
  s[0] = 100;
  clEnqueueUnmapMemObject(queue, out, s, 0, NULL, NULL);
  cl_kernel g = clCreateKernel(program, "other", NULL);
  clSetKernelArg(g, 0, sizeof out, &out);
  many = 2;
  clEnqueueNDRangeKernel(queue, g, 1, NULL, &many, NULL, 0, NULL, NULL);
  clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof y, y, 0, NULL, NULL);
  clCreateKernel(program, "none", &e);
  cl_mem fresh = clCreateBuffer(context, CL_MEM_READ_WRITE, 4, NULL, NULL);
  clEnqueueReadBuffer(queue, fresh, CL_TRUE, 0, 4, &k, 0, NULL, NULL);
  printf("%d %d %d\n", y[0], e, k);
  return 0;
}
"""
)
SAID = "-52 -49 -51 -48\n-54 -30 0 1: 167 428 684 940 24\n101 -46 -1\n"
"""Arguments that are not set, no such one, another size, no kernel; groups that do not divide, more
than there is; and memory that nobody set."""


def _bench(folder: Path) -> Workbench:
    walls = sandbox()
    return Workbench(walls, folder, ours=KeptResults.ours(walls.name))


def _natively(bench: Workbench, text: str, *given: str, said: str = SAID) -> Program:
    built = bench.build(Program({"a.c": text}, "opencl", flags=("-O1",)), GCC)
    known = [(ProgramInput(given), said)]
    return on_own_library(bench, built, known, SandboxLimits(), Tolerance())


@runs
def test_kernels_that_are_compiled_beforehand_do_what_opencl_says() -> None:
    """Barriers, local memory, vectors, options, errors, maps; and in the order of last to first."""
    with workspace() as folder:
        bench = _bench(folder)
        built = bench.build(_natively(bench, WHOLE, "2"), CLANG)
        every = [ProgramInput(("2",))] * 3
        assert bench.run_many(built, every, SandboxLimits(), 5.0) == [SAID] * 3
        for how in ("RHEOSTAT_BACKWARD", "RHEOSTAT_LATE", "RHEOSTAT_TURNS"):
            assert bench.run(built, every[0], environment={how: "1"}).stdout == SAID
        without = bench.run(built, every[0], environment={"RHEOSTAT_WITHOUT_KERNELS": "1"}).stdout
        assert without.splitlines()[1].endswith("0 0 0 0 0")


COUNTS_UP = r"""
"__kernel void stat(__global int *y) {\n"
"  atomic_inc(y);\n"
"  atomic_max(y + 1, (int)get_local_size(0));\n"
"}\n"
"""
GROUPED = (
    HEAD.replace("KERNELS", COUNTS_UP)
    + r"""
  size_t most, by, sizes[3], many = 72, group[2] = {8, 9}, *in[3] = {group, group + 1, NULL};
  clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof most, &most, NULL);
  clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, NULL);
  clGetKernelWorkGroupInfo(f, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof by, &by, NULL);
  cl_int y[2] = {0};
  cl_mem out = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof y, y, &e);
  clSetKernelArg(f, 0, sizeof out, &out);
  for (int i = 0; i < 3; i++)
    printf("%d ", clEnqueueNDRangeKernel(queue, f, 1, NULL, &many, in[i], 0, NULL, NULL));
  clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof y, y, 0, NULL, NULL);
  printf("%d %d: %zu %zu %zu\n", y[0], y[1], most, sizes[1], by);
  return 0;
}
"""
)


@runs
def test_a_device_may_hold_fewer_items_in_a_group() -> None:
    """Larger groups are refused, and so are they chosen where the program leaves it open."""
    with workspace() as folder:
        bench = _bench(folder)
        known = "0 0 0 216 36: 4096 4096 4096\n"
        built = bench.build(_natively(bench, GROUPED, said=known), CLANG)
        run = bench.run(built, ProgramInput(()), environment={SMALL_GROUP: "8"})
        assert run.stdout == "0 -55 0 144 8: 8 8 8\n"


def test_a_program_that_asks_for_a_group_s_size_is_tried_on_other_devices() -> None:
    asks = GROUPED.replace("CL_KERNEL_WORK_GROUP_SIZE", "CL_KERNEL_PRIVATE_MEM_SIZE")
    beside = {f"{KERNELS}.c": ""}
    assert asks_group(Program({"a.c": asks, **beside}, "opencl"))
    assert not asks_group(Program({"a.c": WHOLE, **beside}, "opencl"))
    assert not asks_group(Program({"a.c": GROUPED}, "opencl")), "the other library's device is one"


COUNTS = r"""
"__kernel void stat(__global int *y) {\n"
"  int old;\n"
"  do old = y[0]; while (UPDATE);\n"
"}\n"
"""
PUT = r"""  size_t many = 64;
  int y[3] = {0};
  cl_mem out = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof y, y, NULL);
  clSetKernelArg(f, 0, sizeof out, &out);
  clEnqueueNDRangeKernel(queue, f, 1, NULL, &many, &many, 0, NULL, NULL);
  clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof y, y, 0, NULL, NULL);
  printf("%d %d\n", y[0], y[1] > 0);
  return 0;
}
"""


@runs
@pytest.mark.parametrize(("update", "is_whole", "fails"), [
    ("atomic_cmpxchg(y, old, old + 1) != old && ++y[1]", True, True),
    ("atomic_xchg(y, old + 1) < 0", False, False),
])  # fmt: skip
def test_work_items_take_turns_before_atomics(update, is_whole, fails) -> None:
    """One after the other no exchange fails, and an update in two steps loses nothing."""
    kernel = COUNTS.replace("UPDATE", update)
    with workspace() as folder:
        bench = _bench(folder)
        program = _natively(bench, HEAD.replace("KERNELS", kernel) + PUT, said="64 0\n")
        built = bench.build(program, CLANG)
        run = bench.run(built, ProgramInput(), environment={"RHEOSTAT_TURNS": "1"})
        count, failed = map(int, run.stdout.split())
        assert (count == 64, bool(failed)) == (is_whole, fails)


@runs
def test_a_group_finds_nothing_of_the_former_one_in_its_local_variables() -> None:
    """`last` is set in the first group alone; the others find bytes of 0xFF, the number -1."""
    text = WHOLE.replace("if (l == 3)", "if (l == 3 && !get_group_id(0))")
    with workspace() as folder:
        said = SAID.replace("428 684 940", "420 676 932")
        program = _natively(_bench(folder), text, "2", said=said)
        assert "__local int last" in program.text


@runs
def test_kernels_are_of_the_edition_that_their_options_name() -> None:
    """Their text alone is compiled so; C beside it would be taken for OpenCL C."""
    text = WHOLE.replace("-DSTEP=3", "-DSTEP=3 -cl-std=CL2.0")
    text = text.replace('"  barrier(', '"  work_group_barrier(')
    with workspace() as folder:
        program = _natively(_bench(folder), text, "2")
        assert program.own_flags == {f"{KERNELS}0.cl": ("-cl-std=CL2.0",)}


TURNS = r"""#include "stacks.h"
#include <stdio.h>
static Stack mine, other;
static char low[1 << 16];
static void turns(void) {
  for (int n = 1;; n *= 2) {
    printf("%d %.1f ", n, 0.5 * n);
    change_stacks(&other, &mine);
  }
}
int main(void) {
  begin_stack(&other, low, sizeof low, turns);
  for (int i = 0; i < 3; i++) change_stacks(&mine, &other);
  return 0;
}
"""


@pytest.mark.skipif(bool(absent("gcc")), reason="no gcc")
@pytest.mark.parametrize("how", ["-O2", "-DWITH_UCONTEXT"])
def test_functions_take_turns_on_stacks_of_their_own(how: str, tmp_path: Path) -> None:
    """By instructions of the processor, and by the C library where these are not known."""
    for name, text in {"a.c": TURNS, "stacks.h": bundled("runtimes", "stacks.h")}.items():
        (tmp_path / name).write_text(text)
    subprocess.run(["gcc", how, "-o", "a", "a.c"], cwd=tmp_path, check=True)
    said = subprocess.run(["./a"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert said.stdout == "1 0.5 2 1.0 4 2.0 "


@runs
@pytest.mark.parametrize(("before", "after", "why"), [
    ("-DSTEP=3", "-cl-std=CLC++", "not known [(]-cl-std=CLC[+][+][)]"),
    ("-DSTEP=3", "-x", "not known"),
    ("float2 v,", "float2 v, __read_only image2d_t i,", "takes image2d_t"),
    ("STEP; }", "; }", "do not compile: expected expression$"),
    ("inline", '#include \\"a.h\\"\\n"\n"inline', "include a file"),
])  # fmt: skip
def test_what_is_not_known_is_left_to_the_other_library(before, after, why) -> None:
    with workspace() as folder:
        bench = _bench(folder)
        with pytest.raises(NotKnown, match=why):
            _natively(bench, WHOLE.replace(before, after), "2")


@runs
def test_a_function_that_is_not_there_is_no_verdict() -> None:
    """The program does not link without it, and PoCL runs it as before."""
    text = WHOLE.replace("  int x[32]", "  clCreateUserEvent(context, NULL);\n  int x[32]")
    with workspace() as folder:
        bench = _bench(folder)
        with pytest.raises(NotKnown, match=r"kernels: not there are clCreateUserEvent$"):
            _natively(bench, text, "2")


def test_options_become_definitions() -> None:
    assert _defines("-D N=4 -DK -cl-mad-enable -w", "").endswith("#define N 4\n#define K 1\n")


def test_a_finding_in_a_kernel_stands_at_the_line_of_the_host() -> None:
    host = Program({"a.c": 'int x;\n"  if (a == \\"b\\") c();\\n"\n'}, "opencl")
    kernels = Program({f"{KERNELS}0.cl": '#define f g\n  if (a == "b") c();\nlast();'}, "serial")
    case, native = (Case(p, None) for p in (host, kernels))  # type: ignore[arg-type]
    found = Finding("output", f"{KERNELS}0.cl", 2, "never")
    assert in_own_files(case, native, found).words == "a.c:2: never"
    other = in_own_files(case, native, replace(found, line=3))
    assert other.words == "a.c: in a kernel, 'last();': never"


def test_what_pocl_alone_vouches_for_is_not_shown_where_the_original_bears_thousands() -> None:
    case = Case(Program({"a.c": ""}, "opencl"), None)  # type: ignore[arg-type]
    wrong = case.failed("output", [case.finding("output", "x")])
    right = case.passed("output", "4 inputs")
    assert left_to_pocl(case, right) is right, "nor is the original compiled beforehand"
    case.not_natively = NotKnown("an option of its kernels is not known (-cl-x)")
    assert left_to_pocl(case, wrong) is wrong
    made = left_to_pocl(case, right)
    assert made.state == NOT_SHOWN
    assert made.reason == (
        "a.c: its kernels cannot be compiled beforehand: an option of its kernels is not known "
        f"(-cl-x); {LEFT}")  # fmt: skip


def test_a_run_that_ends_for_what_the_library_does_not_know_is_in_no_other_order() -> None:
    """Options that hang on the input are known for the first ones alone."""
    reference = Reference(Program({"a.c": ""}), None, 1)  # type: ignore[arg-type]
    reference.small = (Expected(ProgramInput(("5",)), "5", 0.1, 0.1),)
    reference.expected, reference.edges, reference.agreed = reference.small, (), Tolerance()
    said = SandboxRun(86, "", f"{UNKNOWN}kernels of other texts or options", 0, 0, 0)

    class Bench:
        build = staticmethod(lambda *_: None)
        run_each = staticmethod(lambda built, every, *_, **__: [None] * len(every))
        run = staticmethod(lambda *_, **__: said)

    reference.bench = Bench()  # type: ignore[assignment]
    case = Case(Program({"a.c": "", f"{KERNELS}.c": ""}), reference)
    assert in_another_order(case) == []
    said = SandboxRun(1, "", "", 0, 0, 0)
    assert [f.message[-20:] for f in in_another_order(case)] == [" ended with status 1"]


@pytest.mark.slow
@runs
def test_decisions_in_kernels_are_asked_and_one_library_alone_rejects_nothing() -> None:
    """The other library agrees where it is the same one here: what differs is what is asked."""
    text = OPENCL.replace("REFILL", "").replace("PLACE", "i")
    rare = text.replace("3 * i + 1", "3 * i + 1 + (i * i == 39602)")
    serial = Program({"a.c": SERIAL}, "serial", inputs=INPUTS)
    with verifier(serial, seed=3, count=2) as one:
        reference = one.reference
        case = Case(Program({"a.c": rare}, "opencl", inputs=INPUTS), reference)
        native = case.natively
        assert native is not None, case.not_natively
        said = " ".join(in_own_files(case, native, f).words for f in unreached(native))
        assert "a.c: in a kernel" in said
        assert "never equal to 39602" in said  # 199 x 199 is 39601
        late = Case(Program({"a.c": text.replace("3 * i + 1", "3 * i + 1 ")},
                            "opencl", inputs=INPUTS), reference)  # fmt: skip
        made = by_both(late, lambda c: c.failed("output", [c.finding("output", "x")]), "output")
        assert made is not None
        assert (made.state, made.reason.endswith(BY_ONE)) == (NOT_SHOWN, True)
