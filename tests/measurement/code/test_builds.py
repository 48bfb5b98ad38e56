"""How programs are built and end: commands of compilers, the suite, CUDA on the host, signals."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rheostat.measurement.code import toolchain
from rheostat.measurement.code.device_kernels.cuda_on_host import (
    HEADER,
    NVIDIA_HEADERS,
    on_host,
    parser_absent,
    rewritten,
)
from rheostat.measurement.code.programs.kernel_suite import suite_kernels
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import InputRange
from rheostat.measurement.code.sandboxed.capture import SandboxLimits, SandboxRun
from rheostat.measurement.code.toolchain import BuildKind, build_command, compile_flags
from tests.measurement.exactly import written

# --- compilers ---------------------------------------------------------------------------------


def test_flags_of_each_way_to_build():
    openmp = Program({"a.c": ""}, "openmp", flags=("-O2", "-march=native", "-g", "-lm"))
    assert compile_flags(openmp, toolchain.GCC) == ["-O2", "-march=native", "-g", "-fopenmp"]
    assert compile_flags(openmp, toolchain.SANITIZED) == [
        "-g", "-O1", "-fopenmp", *toolchain.SANITIZE]  # fmt: skip
    assert compile_flags(openmp, replace(toolchain.NVCC, flags=()))[-1] == "-g"
    target = replace(openmp, language="target", flags=())
    assert compile_flags(target, toolchain.GCC) == ["-fopenmp", "-foffload=disable"]
    assert compile_flags(target, toolchain.CLANG) == ["-fopenmp"]
    checked = BuildKind("x", "gcc", ("-g", "-fsanitize=thread"))
    assert compile_flags(replace(target, language="serial"), checked) == [
        "-fno-sanitize=alignment", "-g", "-fsanitize=thread"]  # fmt: skip
    assert compile_flags(openmp, replace(checked, family="clang"))[-2:] == list(checked.flags)
    assert "-fno-sanitize=alignment" not in compile_flags(openmp, replace(checked, family="clang"))
    assert BuildKind("x") == BuildKind("x", "gcc", (), "", "")


@pytest.fixture
def tools(monkeypatch):
    """Every tool is there under /t."""
    monkeypatch.setattr(toolchain, "tool", "/t/{}".format)


@pytest.mark.usefixtures("tools")
def test_the_command_that_builds():
    program = Program({"a.c": "", "b.h": "", "c.c": ""}, flags=("-O2", "-lm"))
    assert build_command(program, toolchain.GCC) == [
        "/t/gcc", "-O2", "-o", "program", "a.c", "c.c", "-lm"]  # fmt: skip
    assert build_command(program, toolchain.CLANG, output=("-fsyntax-only",)) == [
        "/t/clang", "-O2", "-fsyntax-only", "a.c", "c.c", "-lm"]  # fmt: skip
    opencl = replace(program, language="opencl", files={"a.cpp": ""}, flags=())
    assert build_command(opencl, toolchain.GCC) == [
        "/t/g++", "-o", "program", "a.cpp", "-lOpenCL"]  # fmt: skip
    cuda = replace(opencl, language="cuda", files={"a.cu": ""})
    assert build_command(cuda, toolchain.CLANG) == [
        "/t/clang++", "-o", "program", "-x", "c++", "a.cu"]  # fmt: skip
    assert build_command(cuda, toolchain.NVCC) == [
        "/t/nvcc", "--cudart=shared", "-o", "program", "a.cu"]  # fmt: skip
    made = replace(program, build=("make", "C={cc} X={cxx}", "F={flags}"))
    assert build_command(made, toolchain.GCC) == ["make", "C=/t/gcc X=/t/g++", "F=-O2 -lm"]
    assert build_command(made, toolchain.GCC, output=("-c",))[0] == "/t/gcc"
    line = replace(program, build=("{cc}", "{flags}", "a.c"))  # a word of its own is several
    assert build_command(line, toolchain.GCC) == ["/t/gcc", "-O2", "-lm", "a.c"]
    # what nobody runs is linked by the quick one, unless a flag is for the linker
    counted = lambda *flags: build_command(replace(program, flags=flags), toolchain.COUNTED)  # noqa: E731
    assert counted("-lm")[:3] == ["/t/gcc", "-O1", "-fuse-ld=gold"]
    assert "-fuse-ld=gold" not in counted("-Wl,-s") + counted("-flto")
    assert "-fuse-ld=gold" not in build_command(program, toolchain.DEVICE)


def test_what_is_absent_is_named_with_its_package(monkeypatch):
    monkeypatch.setattr(toolchain, "tool", lambda n: "/t/sh" if n == "sh" else "")
    assert toolchain.absent("sh") == ""
    assert toolchain.absent("sh", "nm", "objdump", "odd") == (
        "nm, objdump, odd not installed: apt-get install binutils odd")  # fmt: skip
    c, cxx = Program({"a.c": ""}), Program({"a.cc": ""})
    first = lambda p, f: toolchain.compiler_absent(p, f).split()[0]  # noqa: E731
    assert [first(c, f) for f in ("gcc", "clang", "nvcc")] == ["gcc", "clang", "nvcc"]
    assert [first(cxx, f) for f in ("gcc", "clang", "nvcc")] == ["g++", "clang++", "nvcc"]
    assert toolchain.offload_absent().startswith("clang, clang-offload-packager not installed")
    assert toolchain.archer_absent().startswith("clang not installed")


@pytest.mark.usefixtures("tools")
def test_libraries_lie_beside_the_compiler(monkeypatch, tmp_path):
    monkeypatch.setattr(toolchain, "llvm_libraries", lambda: str(tmp_path))
    assert toolchain.offload_absent() == (
        "clang has no x86_64 offload plugin: apt-get install libomp-16-dev")  # fmt: skip
    assert toolchain.archer_absent() == "clang has no libarcher.so: apt-get install libomp-16-dev"
    for name in ("libomptarget.rtl.x86_64.so", "libomptarget.rtl.x86_64.so.16", "libarcher.so"):
        written(tmp_path / name, "")
    assert (toolchain.offload_absent(), toolchain.archer_absent()) == ("", "")
    monkeypatch.undo()
    (tmp_path / "lib" / "llvm-17" / "bin").mkdir(parents=True)
    clang = written(tmp_path / "lib" / "llvm-17" / "bin" / "clang", "")
    monkeypatch.setattr(toolchain, "tool", lambda _: str(clang))
    assert toolchain.symbolizer_absent() == (
        "no line known without clang's llvm-symbolizer: apt-get install llvm-17")  # fmt: skip
    assert toolchain.sanitizer_options("a=1") == "a=1"
    beside = written(clang.parent / "llvm-symbolizer", "")
    assert toolchain.symbolizer_absent() == ""
    assert toolchain.sanitizer_options("a=1") == f"a=1:external_symbolizer_path={beside}"
    for libraries, where in (
        (toolchain.llvm_libraries, "lib"),
        (toolchain.cuda_libraries, "lib64"),
    ):
        for found, expected in (("/a/bin/x", f"/a/{where}"), ("", "")):
            monkeypatch.setattr(toolchain, "tool", lambda _, found=found: found)
            assert libraries.__wrapped__() == expected


def test_the_newest_version_of_clang_is_taken(monkeypatch):
    def finds(*there):
        monkeypatch.setattr("shutil.which", lambda n: f"/b/{n}" if n in there else None)
        return toolchain.tool.__wrapped__

    assert finds("clang", "clang-22")("clang") == "/b/clang"
    assert finds("clang-22", "clang-23", "clang-16")("clang") == "/b/clang-22"
    assert finds("clang-14", "clang-13")("clang") == "/b/clang-14"
    assert finds("clang-13")("clang") == ""
    assert finds("gcc-16")("gcc") == ""


# --- the suite and CUDA on the host ------------------------------------------------------------


def test_a_kernel_of_the_suite_is_a_program_with_its_inputs():
    kernels = suite_kernels()
    assert list(kernels) == sorted(kernels)
    dot = kernels["dot"]
    assert dot.versions[:2] == ("serial", "openmp")
    ranges = dot.inputs.ranges
    assert (ranges["seed"], dot.inputs.arguments) == (
        InputRange(1, 1e6, kind="seed"), ("{n}", "{steps}", "{seed}"))  # fmt: skip
    assert (ranges["n"].low, ranges["n"].high, ranges["steps"].low, ranges["steps"].high) == (
        *dot.n, *dot.steps)  # fmt: skip
    assert 0 < dot.n[0] < dot.n[1]
    serial, cuda = dot.program(), dot.program("cuda")
    assert (list(serial.files), serial.language, serial.name) == (
        ["main.c"],
        "serial",
        "dot/serial",
    )
    assert (list(cuda.files), cuda.language, cuda.flags) == (["main.cu"], "cuda", ("-O2", "-lm"))
    naive = next(k for k in kernels.values() if "naive" in k.versions).program("naive")
    assert naive.language == "serial"


@pytest.mark.skipif(bool(parser_absent()), reason=parser_absent())
def test_a_cuda_program_for_the_host_in_full():
    text = "void g(int *a) { f<<<2, 32>>>(a); h<<<1, 1>>>(); }"
    flags = ("-O2", "-arch=sm_80", "-lm", "-lcudart", "-DN=3", "-g", "-std=c++17", "-Xptxas")
    program = Program({"a.cu": text, "t.txt": text, "cuda.h": "x"}, "cuda", ("make",),
                      ("./own", "7"), flags)  # fmt: skip
    made = on_host(program)
    assert (made.build, made.run) == ((), ("./program", "7"))
    assert made.flags == ("-include", HEADER, "-I.", "-O2", "-lm", "-DN=3", "-g", "-std=c++17")
    assert made.files["t.txt"] == text
    launch = "cuda_on_host::launch(cuda_on_host::Config"
    assert made.files["a.cu"] == (
        f'void g(int *a) {{ {launch}(2, 32), "f", [=](auto... x) {{ f(x...); }}, a); '
        f'{launch}(1, 1), "h", [=](auto... x) {{ h(x...); }}); }}')  # fmt: skip
    assert made.files["cuda.h"] == "x"
    assert {made.files[h] for h in NVIDIA_HEADERS[1:]} == {f'#include "{HEADER}"\n'}
    assert "namespace cuda_on_host" in made.files["cuda_on_host/threads.h"]


@pytest.mark.skipif(bool(parser_absent()), reason=parser_absent())
@pytest.mark.parametrize(("text", "made"), [
    ("#define R(x) k<<<x, 2>>>(x)\n",
     '#define R(x) cuda_on_host::launch(cuda_on_host::Config(x, 2), "k", '
     "[=](auto... x) { k(x...); }, x)\n"),
    ("#define R(x) k(x)\n", None), ("void f() { g(1); }", None), ("int a, b[3];", None),
    ("__global__ void k() {\n  __shared__ int a = 3;\n}\n", None),
    ("__global__ void k() {\n  __shared__ float s[4], *p;\n}\n",
     "__global__ void k() {\n  float (&s)[4] = cuda_on_host::shared<float[4], 192>(); "
     "float *(&p) = cuda_on_host::shared<float*, 193>();\n}\n"),
    ("__global__ void k() {\n  extern __shared__ int a[];\n}\n",
     "__global__ void k() {\n  int *a = (int *)cuda_on_host::dynamic_shared();\n}\n"),
    ("void f() { k<<<1,\n  2>>>(a, g<<<3, 4>>>(b)); }",
     'void f() { cuda_on_host::launch(cuda_on_host::Config(1,\n  2), "k", [=](auto... x) '
     '{ k(x...); }, a, cuda_on_host::launch(cuda_on_host::Config(3, 4), "g", [=](auto... x) '
     "{ g(x...); }, b)); }"),
])  # fmt: skip
def test_launches_and_shared_variables_are_rewritten_to_the_letter(text, made):
    assert rewritten(text) == (text if made is None else made)


def test_endings_of_runs_in_words():
    run = SandboxRun(0, "", "", 0.1, 0.1, 0)
    assert (run.ok, replace(run, stopped="x").ok, replace(run, status=1).ok) == (True, False, False)
    words = {-9: "ended by signal 9 (SIGKILL)", 137: "ended by signal 9 (SIGKILL)",
             -31: "ended by signal 31 (SIGSYS)", 1: "ended with status 1",
             128: "ended with status 128", 129: "ended by signal 1 (SIGHUP)",
             160: "ended with status 160", -32: "ended with status -32"}  # fmt: skip
    assert {s: replace(run, status=s).ending for s in words} == words
    assert replace(run, status=3, stopped="stopped after 2 s").ending == "stopped after 2 s"
    assert SandboxLimits() == SandboxLimits(20.0, 20.0, 2**31, 2**26, 64, 2**20)
