"""Patterns of linear time, and CUDA's texts for a CPU: shared variables, launches, flags."""

from __future__ import annotations

import os

import pytest

from rheostat.measurement.code.device_kernels.cuda_on_host import on_host, parser_absent, rewritten
from rheostat.measurement.code.parsing import linear_regex
from rheostat.measurement.code.programs.program import Program

# --- patterns and CUDA -------------------------------------------------------------------------


def test_a_pattern_that_is_too_large_is_refused_with_what_is_said_of_it():
    said = linear_regex.problem("(?:a{999}){999}")
    assert "is no regular expression of linear time, as it must be: " in said
    assert not said.endswith(": ")
    assert linear_regex.problem(3).startswith("3 is no regular expression: ")
    assert linear_regex.matches(r"a(b)?", "ab a") == ["b", ""]
    assert linear_regex.matches("x", "") == []


needs_parser = pytest.mark.skipif(bool(parser_absent()), reason=parser_absent() or "there")


@needs_parser
@pytest.mark.parametrize(("text", "wanted"), [
    ("__shared__ float s[16];", "float (&s)[16] = cuda_on_host::shared<float[16], "),
    ("__shared__ double x;", "double (&x) = cuda_on_host::shared<double, "),
    ("__shared__ int *p[4];", "int *(&p)[4] = cuda_on_host::shared<int*[4], "),
    ("extern __shared__ float d[];", "float *d = (float *)cuda_on_host::dynamic_shared();"),
    ("__shared__ __align__(8) float s[2][3];", "float (&s)[2][3] = cuda_on_host::shared<float[2]"),
    ("static __shared__ unsigned int u;", "unsigned int (&u) = cuda_on_host::shared<unsigned "),
])  # fmt: skip
def test_shared_variables_are_memory_of_their_block(text, wanted):
    made = rewritten(f"__global__ void f() {{\n  {text}\n}}\n")
    assert wanted in made
    assert made.count("\n") == 3
    assert "__shared__" not in made


@needs_parser
def test_two_shared_variables_of_one_line_have_places_of_their_own():
    made = rewritten("__global__ void f() { __shared__ int a[2], b; }")
    sites = [part.split(">()")[0].split(", ")[-1] for part in made.split("shared<")[1:]]
    assert len(set(sites)) == 2
    assert int(sites[1]) == int(sites[0]) + 1
    assert "__shared__" in rewritten("void f() { __shared__ int a = 3; }")  # CUDA has no such thing
    assert rewritten("void f() { int a[2]; }") == "void f() { int a[2]; }"


@needs_parser
def test_launches_in_macros_and_over_lines_keep_every_line():
    text = "#define RUN(k) k<<<2, 3>>>(7)\nvoid g() {\n  f<int>\n  <<<2,\n 3>>>();\n}\n"
    made = rewritten(text)
    assert made.count("\n") == text.count("\n")
    assert made.startswith('#define RUN(k) cuda_on_host::launch(cuda_on_host::Config(2, 3), "k", ')
    assert '"f", [=](auto... x) { f<int>(x...); });' in made.replace("\n", "")
    assert made.splitlines()[-1] == "}"


@needs_parser
def test_a_launch_over_lines_of_a_macro_stays_one_macro():
    rows = ["#define RUN(n)", "k<int,", "  4>", "  <<<n,", "  32>>>(a,", "  b);", "done();"]
    made = rewritten(" \\\n".join(rows) + "\nint z;\n")
    *macro, last, _ = made.split("\n")
    assert last == "int z;"
    assert [row.endswith("\\") for row in macro] == [True] * 6 + [False]
    assert '"k", [=](auto... x) { k<int, 4>(x...); }' in made


def test_a_program_for_the_host_keeps_the_flags_that_a_compiler_of_cpp_knows():
    flags = ("-O3", "-arch=sm_70", "-std=c++17", "-lcudart", "-lm", "-DN=3", "--use_fast_math",
             "-Xcompiler", "-Wall", "-Iinc", "-g", "-fopenmp", "-O")  # fmt: skip
    own = Program({"a.cu": "int a;", "data.txt": "f<<<1, 2>>>(3);", "cuda.h": "mine"}, "cuda",
                  flags=flags, run=("./other", "7"), build=("make",))  # fmt: skip
    made = on_host(own)
    assert made.flags == ("-include", "cuda_on_host.h", "-I.", "-O3", "-std=c++17", "-lm", "-DN=3",
                          "-Wall", "-Iinc", "-g", "-fopenmp", "-O")  # fmt: skip
    assert (made.run, made.build) == (("./program", "7"), ())
    assert made.files["data.txt"] == "f<<<1, 2>>>(3);"
    assert made.files["cuda.h"] == "mine"
    assert made.files["cuda_runtime.h"] == '#include "cuda_on_host.h"\n'
    assert "namespace cuda_on_host" in made.files["cuda_on_host/threads.h"]
    assert os.sep not in made.run[0][2:]
