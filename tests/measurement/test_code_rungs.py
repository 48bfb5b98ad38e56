"""Rungs of verification on programs that end as a test says: evidence to the last word."""

from __future__ import annotations

import math
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rheostat.errors import DataError
from rheostat.measurement.code import hecbench, rungs_measure, rungs_run, rungs_static, toolchain
from rheostat.measurement.code.capture import SandboxLimits
from rheostat.measurement.code.case import Case, RungOptions, RungUnavailable
from rheostat.measurement.code.compare_output import Tolerance
from rheostat.measurement.code.ladder import NO_INPUT, Verifier, verifier, verify
from rheostat.measurement.code.program import Program
from rheostat.measurement.code.program_inputs import InputRange, ProgramInput, ProgramInputs
from rheostat.measurement.code.reference import SANITIZER_OPTIONS, Expected, Reference
from rheostat.measurement.code.toolchain import CLANG, GCC
from rheostat.measurement.code.verdict import (
    FAILED,
    NOT_AVAILABLE,
    PASSED,
    SKIPPED,
    Evidence,
    Finding,
)
from rheostat.measurement.code.work_counts import WorkCounts, count_work
from rheostat.measurement.code.workbench import BUILDING, Workbench, identity, roomy
from tests.measurement.exactly import refused
from tests.measurement.scripted import Scripted, done

INPUTS = ProgramInputs({"n": InputRange(1, 1000)}, ("{n}",))


def program(whose: str, language: str = "serial", ending: str = "c", **more) -> Program:
    return Program({f"a.{ending}": f"int {whose};\n"}, language, name=whose,
                   **{"inputs": INPUTS, **more})  # fmt: skip


def given(n: int, cpu_s: float = 0.01, wall_s: float = 0.02) -> Expected:
    return Expected(ProgramInput((str(n),), "", {"n": str(n)}), f"sum {n}", cpu_s, wall_s)


LARGE, MIDDLE, SMALL, SMALLER = given(900, 0.5), given(700, 0.02), given(5), given(3)


@pytest.fixture
def tools(monkeypatch):
    """Every tool is there under /t but those that a test takes away, nvcc among them."""
    missing = {"nvcc"}
    monkeypatch.setattr(toolchain, "tool", lambda n: "" if n in missing else f"/t/{n}")
    monkeypatch.setattr(toolchain, "llvm_libraries", lambda: "/t/lib")
    monkeypatch.setattr("rheostat.measurement.code.workbench.llvm_libraries", lambda: "/t/lib")
    monkeypatch.setattr(toolchain, "archer_absent", lambda: "")
    monkeypatch.setattr(toolchain, "offload_absent", lambda: "")
    monkeypatch.setattr(rungs_measure, "meters", list)
    return missing


@pytest.fixture
def box():
    return Scripted()


@pytest.fixture
def case(tools, box, tmp_path):
    """A serial candidate and an original whose inputs are known."""
    reference = Reference(program("original"), Workbench(box, tmp_path), seed=1, count=2)
    reference.expected, reference.small = (LARGE, MIDDLE), (SMALL, SMALLER)
    reference.clean, reference.agreed = True, Tolerance()
    return Case(program("candidate"), reference)


def of(case: Case, language: str, ending: str = "c", **more) -> Case:
    return replace(case, candidate=program("candidate", language, ending, **more))


def lacks(call, *words: str) -> None:
    with pytest.raises(RungUnavailable) as reason:
        call()
    assert str(reason.value) == " ".join(words)


def wrong(rung: str, *messages: str) -> tuple[Finding, ...]:
    return tuple(Finding(rung, "a.c", 0, m) for m in messages)


def failed(rung: str, *findings: Finding, **numbers) -> Evidence:
    return Evidence(rung, FAILED, findings[0].words, findings, numbers=numbers)


# --- the case ----------------------------------------------------------------------------------


def test_what_a_case_is_given(case):
    assert RungOptions() == RungOptions((1, 2, 4), 7, 0.03, 10.0, 10.0, 0.1, 2)
    assert (case.seed, case.on_host, case.cannot_run, case.cannot_time) == (0, False, "", "")
    assert case.inputs() == (SMALL, SMALLER, LARGE, MIDDLE)
    assert case.limits(LARGE) == LARGE.limits(1) == SandboxLimits(wall_s=55.4, cpu_s=11.0)
    assert case.limits(LARGE, 3).cpu_s == 33.0
    assert (case.is_parallel, case.kind, case.file) == (False, GCC, "a.c")
    case.reference.__dict__["expected"] = ()
    headers = replace(case, candidate=Program({"b.h": ""}, build=("make",)))
    assert headers.file == "b.h"
    assert [of(case, x).is_parallel for x in ("openmp", "target", "opencl")] == [True, True, False]


def test_cuda_without_a_device_is_run_on_the_host(case, tools, box):
    cuda = of(case, "cuda", "cu")
    assert (cuda.on_host, cuda.cannot_run) == (True, "")
    assert cuda.cannot_time == "no device: the host's time tells nothing of a GPU's"
    assert of(case, "opencl").cannot_time == cuda.cannot_time
    assert cuda.inputs() == (SMALL, SMALLER, MIDDLE)
    edge = replace(case.reference)
    edge.expected, edge.small = (given(1, 0.05),), (given(2, 9.0),)
    assert replace(cuda, reference=edge).inputs() == (given(2, 9.0),)
    more = SandboxLimits(wall_s=LARGE.limits().wall_s + 30, cpu_s=LARGE.limits().cpu_s + 30)
    assert cuda.limits(LARGE) == more
    case.reference.original = program("original", "cuda", "cu")
    assert cuda.limits(LARGE) == LARGE.limits()
    assert case.limits(LARGE) == LARGE.limits()
    box.says["candidate", "build gcc"] = done("", "a.cu:3:1: error: no tex\n", 1)
    failing = replace(cuda, candidate=replace(cuda.candidate, flags=("-O3",)))
    assert failing.cannot_run == (
        "no CUDA device, and the host cannot build it: a.cu:3: no tex")  # fmt: skip
    tools.add("g++")
    assert cuda.cannot_run.startswith("clang++ not installed") is False
    tools.add("clang++")
    assert cuda.cannot_run.startswith("clang++ not installed: apt-get install clang-16")


def test_a_device_takes_cuda(case, monkeypatch):
    monkeypatch.setattr(Workbench, "gpu", True)
    cuda = of(case, "cuda", "cu")
    assert (cuda.on_host, cuda.kind, cuda.cannot_time) == (False, toolchain.NVCC, "")
    assert cuda.inputs() == (SMALL, SMALLER, LARGE, MIDDLE)
    assert rungs_run.sanitizers(cuda) == Evidence(
        "sanitizers", SKIPPED, "the device's code has no sanitizer here")  # fmt: skip
    lacks(lambda: rungs_run.races(cuda), rungs_run.CUDA_RACES)
    lacks(lambda: rungs_measure.work(cuda), "valgrind counts no work of a GPU")
    case.reference.original = program("original", "cuda", "cu")
    assert case.reference.family == "nvcc"


def test_a_run_that_went_wrong_is_said_in_one_line_each(case):
    ended = done("", "note\n\nfatal ERROR here\nlast\n", 3)
    (found,) = case.wrong("x", ended, SMALL, " and more")
    assert found == Finding(
        "x", "a.c", 0, "with n=5 and more: ended with status 3: fatal ERROR here"
    )
    (found,) = case.wrong("x", replace(ended, stderr="a\nlast\n\n"), SMALL, "")
    assert found.message == "with n=5: ended with status 3: last"
    (found,) = case.wrong("x", replace(ended, stderr=" \n"), SMALL, "")
    assert found.message == "with n=5: ended with status 3"
    assert [f.message for f in case.wrong("x", done("sum 6\nsum 7"), SMALL, "")] == [
        "with n=5, output line 1: expected 'sum 5', got 'sum 6'",
        "with n=5, output line 2: expected '(no further line)', got 'sum 7'"]  # fmt: skip
    assert case.wrong("x", done("sum 5\n"), SMALL, "") == []


def test_a_build_for_a_checker_is_made_or_said_to_be_impossible(case, tools, box):
    assert case.build(CLANG).ok
    box.says["candidate", "build sanitizers"] = done("", "no such library", 1)
    lacks(lambda: case.build(toolchain.SANITIZED), "no build: ended with status 1: no such library")
    tools.add("clang")
    lacks(lambda: case.build(CLANG), toolchain.absent("clang"))
    other = program("changed")
    assert case.build(GCC, other).program == other


# --- the workbench -----------------------------------------------------------------------------


def test_a_build_is_made_once_and_written_below_its_folder(box, tmp_path, tools):
    bench = Workbench(box, tmp_path)
    one = Program({"a.c": "int candidate;", "d/e/b.h": "x", "d/c.h": "y"}, flags=("-O2",))
    made = bench.build(one, GCC)
    assert bench.build(replace(one), GCC) is made
    assert (made.ok, made.command, made.kind) == (True, ("./program",), GCC)
    assert (made.folder / "d" / "e" / "b.h").read_text() == "x"
    assert (made.folder / "d" / "c.h").read_text() == "y"
    (asked,) = box.log
    assert (asked.command, asked.limits) == (("/t/gcc", "-O2", "-o", "program", "a.c"), BUILDING)
    assert SandboxLimits(300.0, 120.0, 0, 512 * 2**20, 128, 2**22) == BUILDING
    bench.discard({"nothing"})
    assert (bench.builds, made.folder.exists()) == ({}, False)
    again = bench.build(one, GCC)
    bench.discard({one.text})
    assert again.folder.exists()
    assert len(identity(one, GCC)) == 20
    assert len({identity(one, GCC), identity(one, CLANG), identity(one, GCC, ("-c",)),
                identity(replace(one, flags=()), GCC)}) == 4  # fmt: skip
    again.folder.rename(tmp_path / "elsewhere")
    bench.discard(())
    assert bench.builds == {}


def test_a_run_has_its_threads_libraries_and_wrapper(box, tmp_path, tools):
    bench = Workbench(box, tmp_path)
    made = bench.build(program("candidate"), GCC)
    bench.run(made, ProgramInput(("7",), "in"), wrapper=("time",))
    asked = box.log[-1]
    assert (asked.command, asked.stdin, asked.limits) == (("time", "./program", "7"), "in", None)
    assert asked.environment == {"OMP_NUM_THREADS": "1", "OMP_DYNAMIC": "false",
                                 "OMP_WAIT_POLICY": "passive"}  # fmt: skip
    bench.run(bench.build(program("candidate"), CLANG), ProgramInput(), threads=3,
              environment={"OMP_DYNAMIC": "x"}, limits=BUILDING)  # fmt: skip
    asked = box.log[-1]
    assert (asked.environment["OMP_NUM_THREADS"], asked.environment["OMP_DYNAMIC"]) == ("3", "x")
    assert (asked.environment["LD_LIBRARY_PATH"], asked.limits) == ("/t/lib", BUILDING)
    bench.run(bench.build(program("candidate", "cuda", "cu"), toolchain.NVCC), ProgramInput())
    assert box.log[-1].environment["LD_LIBRARY_PATH"] == toolchain.cuda_libraries()
    room = roomy(SandboxLimits(wall_s=2.0, cpu_s=3.0))
    assert room == replace(SandboxLimits(), wall_s=20.0, cpu_s=30.0, address_space_b=0)
    assert roomy(SandboxLimits(wall_s=2.0, cpu_s=3.0), 2.0).cpu_s == 6.0


def test_a_device_is_used_where_there_is_one_and_the_sandbox_lets_it(box, tmp_path, monkeypatch):
    bench = Workbench(box, tmp_path)
    for there, name, used in ((True, "bubblewrap", True), (True, "scripted", False),
                              (False, "bubblewrap", False)):  # fmt: skip
        monkeypatch.setattr("os.path.exists", lambda _, there=there: there)
        object.__setattr__(box, "name", name)
        assert bench.gpu is used


def test_cuda_is_built_for_the_host_by_any_compiler_but_nvcc(box, tmp_path, tools):
    bench = Workbench(box, tmp_path)
    cuda = program("candidate", "cuda", "cu")
    names = [sorted(p.name for p in bench.build(cuda, k).folder.iterdir()) for k in
             (GCC, toolchain.NVCC)]  # fmt: skip
    assert ("cuda_on_host.h" in names[0], names[1]) == (True, ["a.cu"])


# --- the original ------------------------------------------------------------------------------


def reference_of(box, folder, **more) -> Reference:
    own = Path(tempfile.mkdtemp(dir=folder))
    return Reference(more.pop("original", program("original")), Workbench(box, own), **more)


def test_inputs_are_drawn_by_the_seed_and_the_largest_comes_first(tools, box, tmp_path):
    def slower(asked):
        n = int(asked.command[-1])
        return done(f"sum {n}", cpu_s=n / 1e4, wall_s=n / 1e3)

    box.says["original", "run gcc"] = slower
    made = reference_of(box, tmp_path, seed=5)
    sizes = [int(e.given.arguments[0]) for e in made.expected]
    assert (len(sizes), sizes) == (4, sorted(sizes, reverse=True))
    rng = np.random.default_rng([5, 0])
    drawn = []
    while len(set(drawn)) < 4:
        drawn.append(int(INPUTS.draw(rng).arguments[0]))
    assert set(sizes) == set(drawn)
    first = made.expected[0]
    assert (first.output, first.cpu_s, first.wall_s) == (
        f"sum {sizes[0]}",
        sizes[0] / 1e4,
        sizes[0] / 1e3,
    )
    rng = np.random.default_rng([5, 1])
    small = [INPUTS.draw(rng, (0.0, 0.25)).arguments[0] for _ in range(24)]
    assert [e.given.arguments[0] for e in made.small] == list(dict.fromkeys(small))[:2]
    assert len(reference_of(box, tmp_path, count=1).small) == 1
    assert reference_of(box, tmp_path).seed == 0
    assert (made.clean, made.family, made.notes) == (True, "gcc", [])


def test_an_input_is_admitted_by_the_quicker_of_two_equal_runs(tools, box, tmp_path):
    times = iter([(0.2, 0.5), (0.3, 0.4)] * 9)
    box.says["original", "run gcc"] = lambda a: done(
        "sum 1", **dict(zip(("cpu_s", "wall_s"), next(times), strict=True)))  # fmt: skip
    plain = program("original", inputs=ProgramInputs())
    made = reference_of(box, tmp_path, original=plain, count=4)
    assert made.expected == (Expected(ProgramInput(), "sum 1", 0.2, 0.4),)
    assert len(box.asked("run gcc")) == 2
    (checked,) = box.asked("run sanitizers")
    assert checked.environment == {
        "OMP_NUM_THREADS": "1", "OMP_DYNAMIC": "false", "OMP_WAIT_POLICY": "passive",
        "LD_LIBRARY_PATH": "/t/lib", **SANITIZER_OPTIONS}  # fmt: skip
    assert "hard_rss_limit_mb=2048:max_allocation_size_mb=2048" in SANITIZER_OPTIONS["ASAN_OPTIONS"]
    assert checked.limits == roomy(Expected(ProgramInput(), "", 0.2, 0.5).limits())


@pytest.mark.parametrize(("says", "why"), [
    (done("", "", 4), "with {} the original ended with status 4"),
    (done("\n"), "with {} the original prints nothing that could be compared"),
    (None, "with {} the original prints something else each time"),
])  # fmt: skip
def test_without_an_admitted_input_the_first_reason_is_told(tools, box, tmp_path, says, why):
    numbers = iter(range(10_000))
    box.says["original", "run gcc"] = says or (lambda a: done(f"sum {next(numbers)}"))
    made = reference_of(box, tmp_path, count=2)
    first = INPUTS.draw(np.random.default_rng([0, 0])).words
    advice = "say in a manifest which inputs it takes ([inputs])"
    refused(lambda: made.expected, why.format(first), advice)
    assert len(box.asked("run gcc")) == 2 * 2 * 12


def test_an_original_that_fails_the_sanitizers_is_not_checked_by_them(tools, box, tmp_path):
    box.says["original", "run sanitizers"] = done("", "x", 1)
    made = reference_of(box, tmp_path, count=1)
    assert len(made.expected) == 1
    assert made.clean is False
    assert made.notes == ["the original itself fails the sanitizers: inputs are not checked"]
    box.says["original", "build sanitizers"] = done("", "x", 1)
    assert reference_of(box, tmp_path).clean is False
    tools.add("clang")
    assert reference_of(Scripted(), tmp_path).clean is False


def test_guessed_sizes_may_have_to_be_powers_of_two(tools, box, tmp_path):
    box.says["original", "run gcc"] = lambda a: done(
        "sum 1", status=int(a.command[-1]).bit_count() - 1)  # fmt: skip
    ranges = ProgramInputs({"n": InputRange(100, 1000)}, ("{n}",), guessed=True)
    made = reference_of(box, tmp_path, original=program("original", inputs=ranges), count=2)
    assert {e.given.values["n"] for e in made.expected} <= {"128", "256", "512"}
    assert made.original.inputs.ranges["n"].values == ("128", "256", "512")
    known = replace(ranges, guessed=False)
    other = reference_of(box, tmp_path, original=program("original", inputs=known), count=2)
    with pytest.raises(DataError, match="original: no input is admitted"):
        other.expected  # noqa: B018


def test_an_original_that_cannot_be_built_is_told_first(tools, box, tmp_path):
    box.says["original", "build gcc"] = done("", "a.c:2:1: error: bad\n", 1)
    with pytest.raises(DataError, match="original: the original does not build") as error:
        reference_of(box, tmp_path, original=replace(program("original"), name="")).built  # noqa: B018
    assert error.value.problems == ("a.c:2: bad",)
    box.says["original", "build gcc"] = done("", "x" * 500, 1)
    refused(lambda: reference_of(box, tmp_path, original=program("original", flags=())).built,
            "ended with status 1", "x" * 400)  # fmt: skip
    cuda = program("original", "cuda", "cu")
    refused(lambda: reference_of(box, tmp_path, original=cuda).built,
            "no CUDA device, and the host cannot build it: ended with status 1")  # fmt: skip
    tools.update({"gcc", "clang"})
    refused(lambda: reference_of(box, tmp_path).built, toolchain.absent("clang"))


@pytest.mark.parametrize(("moves", "relative"), [
    (0.0, 1e-6), (1e-8, 1e-6), (1e-5, 1e-4), (5e-5, 5e-4), (1.0, 1e-3), (math.nan, 1e-6),
])  # fmt: skip
def test_the_tolerance_is_ten_times_what_the_original_moves_by(
    tools, box, tmp_path, moves, relative
):
    box.says["original", "run gcc"] = done("sum 1.0")
    box.says["original", "run reassociated"] = (
        done("", "", 1) if math.isnan(moves) else done(f"sum {1.0 - moves!r}"))  # fmt: skip
    made = reference_of(box, tmp_path, count=1, tolerance=Tolerance(ulps=9)).agreed
    assert (made.relative, made.ulps) == (pytest.approx(relative, rel=1e-6), 9)


def test_the_tolerance_stays_where_sums_cannot_be_reordered(tools, box, tmp_path):
    box.says["original", "run reassociated"] = done("sum 2")
    plain = Tolerance(relative=0.5)
    opencl = program("original", "opencl")
    assert reference_of(box, tmp_path, original=opencl, tolerance=plain).agreed is plain
    box.says["original", "build reassociated"] = done("", "", 1)
    assert reference_of(box, tmp_path, tolerance=plain).agreed is plain
    tools.add("clang")
    made = reference_of(
        Scripted(), tmp_path, tolerance=plain, original=program("original", flags=())
    )
    assert made.agreed is plain
    assert made.bench.sandbox.asked("build reassociated") == []


# --- rungs that run nothing --------------------------------------------------------------------


def test_text_that_is_no_code_is_told_before_a_compiler_is_asked(case, box):
    text = "int candidate;\n\n ```c\n"
    fenced = replace(case, candidate=Program({"a.c": text, "b.c": " \n", "c.h": "```"}))
    findings = (Finding("parse", "a.c", 3, "a fence of Markdown, not code"),
                Finding("parse", "b.c", 0, "the file is empty"))  # fmt: skip
    assert rungs_static.parse(fenced) == failed("parse", *findings)
    assert box.log == []


def test_code_that_looks_for_checks_is_told_with_its_line(case):
    text = "int candidate;\n#ifdef __SANITIZE_ADDRESS__\n#ifdef __OPTIMIZE__\n"
    told = replace(case, candidate=Program({"a.c": text}))
    said = "{}: code that tells whether it is being checked".format
    assert rungs_static.parse(told) == failed(
        "parse", Finding("parse", "a.c", 2, said("__SANITIZE_ADDRESS__")),
        Finding("parse", "a.c", 3, said("__OPTIMIZE__")))  # fmt: skip
    case.reference.original = Program({"a.c": "__OPTIMIZE__"})
    assert len(rungs_static.parse(told).findings) == 1


def test_syntax_is_checked_by_the_first_compiler_there_is(case, tools, box):
    assert rungs_static.parse(case) == Evidence("parse", PASSED, "clang")
    assert box.log[-1].command == ("/t/clang", "-O2", "-fsyntax-only", "a.c")
    bad = "a.c:3:1: error: expected ';'\na.c:4:1: error: unknown type name 'x'\n"
    box.says["candidate", "build syntax"] = done(bad, "", 1)
    strict = of(case, "serial", flags=("-O3",))
    assert rungs_static.parse(strict) == failed("parse", Finding("parse", "a.c", 3, "expected ';'"))
    box.says["candidate", "build syntax"] = done("a.c:3:1: warning: missing x\n")
    assert rungs_static.parse(of(case, "serial", flags=("-O1",))).state == PASSED
    tools.add("clang")
    box.says.clear()
    assert rungs_static.parse(of(case, "serial", flags=("-g",))) == Evidence("parse", PASSED, "gcc")
    tools.add("gcc")
    lacks(lambda: rungs_static.parse(case), toolchain.absent("gcc"))
    own = of(case, "serial", build=("make",))
    tools.clear()
    assert rungs_static.parse(own) == Evidence(
        "parse", SKIPPED, "the manifest's own build command comes next")  # fmt: skip
    lacks(lambda: rungs_static.parse(of(case, "cuda", "cu")), "nvcc has no check of syntax alone")
    tools.add("nvcc")
    assert rungs_static.parse(of(case, "cuda", "cu")).reason == "gcc"


def test_every_compiler_that_builds_the_original_has_to_build_the_candidate(case, tools, box):
    assert rungs_static.compile_(case) == Evidence("compile", PASSED, "gcc, clang")
    box.says["candidate", "build clang"] = done("", "a.c:2:1: error: bad\n", 1)
    bad = of(case, "serial", flags=("-O3",))
    assert rungs_static.compile_(bad) == failed("compile", Finding("compile", "a.c", 2, "bad"))
    box.says["original", "build clang"] = done("", "", 1)
    case.reference.bench.builds.clear()
    for folder in case.reference.bench.folder.iterdir():
        folder.rename(folder.with_name(f"{folder.name}-old"))
    assert rungs_static.compile_(bad).state == PASSED
    tools.add("clang")
    alone = of(case, "serial", flags=("-O1", "-g"))
    assert rungs_static.compile_(alone).reason == f"gcc; {toolchain.absent('clang')}"
    tools.add("gcc")
    lacks(lambda: rungs_static.compile_(case), toolchain.absent("gcc"))
    tools.remove("clang")
    box.says.clear()
    assert rungs_static.compile_(alone).reason == f"clang; {toolchain.absent('gcc')}"


def test_a_build_without_a_finding_is_told_by_its_end(case, box):
    box.says["candidate", "build gcc"] = done("", "killed", 137)
    assert rungs_static.compile_(case) == failed(
        "compile", *wrong("compile", "gcc: ended by signal 9 (SIGKILL): killed"))  # fmt: skip


def test_cuda_is_compiled_by_nvcc_alone(case, tools, box):
    cuda = of(case, "cuda", "cu")
    lacks(lambda: rungs_static.compile_(cuda), toolchain.absent("nvcc"))
    tools.clear()
    assert rungs_static.compile_(cuda) == Evidence("compile", PASSED, "nvcc")
    box.says["candidate", "build nvcc"] = done("a.cu(3): error: bad\n", "", 1)
    bad = of(case, "cuda", "cu", flags=())
    assert rungs_static.compile_(bad) == failed("compile", Finding("compile", "a.cu", 3, "bad"))


SYMBOLS = "                 U printf@GLIBC_2.2\n U atoi\n w __gmon_start__\n\n"


def test_calls_that_the_original_does_not_make_are_told(case, tools, box):
    box.says["original", "nm"] = done(SYMBOLS + " U getenv\n")
    box.says["candidate", "nm"] = done(SYMBOLS + " U getenv\n U free\n")
    assert rungs_static.calls(case) == Evidence("calls", PASSED, "5 functions of libraries")
    box.says["candidate", "nm"] = done(SYMBOLS + " U system\n U usleep@x\n")
    box.says["candidate", "objdump"] = done("  10:\tsyscall\n")
    text = 'int candidate;\nint f() { system("x");\n__asm__ volatile ("syscall"); }'
    bad = replace(case, candidate=Program({"a.c": text}))
    assert rungs_static.calls(bad) == failed(
        "calls",
        Finding("calls", "a.c", 2, "calls system: starts processes, the original does not"),
        Finding("calls", "a.c", 0, "calls usleep: sleeps, the original does not"),
        Finding("calls", "a.c", 3, "calls the kernel directly, the original does not"),
    )  # fmt: skip
    box.says["original", "objdump"] = box.says["candidate", "objdump"]
    assert len(rungs_static.calls(bad).findings) == 2
    assert box.asked("nm")[-1].command == ("nm", "-D", "--undefined-only", "./program")
    tools.add("objdump")
    lacks(lambda: rungs_static.calls(case), toolchain.absent("objdump"))


def test_calls_of_what_does_not_build_are_none_and_of_what_is_made_are_its_own(case, box):
    box.says["candidate", "build gcc"] = done("", "", 1)
    assert rungs_static.calls(case).reason == "0 functions of libraries"
    own = of(case, "serial", build=("make",), run=("bin/x", "-v"))
    assert rungs_static.calls(own).state == PASSED
    assert box.asked("nm")[1].command[-1] == "bin/x"


def test_what_the_host_needs_for_cuda_is_no_call_of_the_candidate(case, tools, box):
    box.says["candidate", "nm"] = done(" U mprotect\n")
    cuda = of(case, "cuda", "cu")
    assert rungs_static.calls(cuda).state == FAILED
    box.says["empty", "nm"] = done(" U mprotect\n")
    assert rungs_static.calls(cuda).state == PASSED
    assert {a.what for a in box.log if a.what.startswith("build")} == {"build gcc"}
    tools.clear()
    assert rungs_static.calls(case).state == FAILED
    assert {a.what for a in box.log if a.what.startswith("build")} == {"build gcc"}
    assert rungs_static.calls(cuda).state == FAILED
    assert {a.what for a in box.log if a.what.startswith("build")} >= {"build nvcc"}


# --- rungs that run the candidate --------------------------------------------------------------


def test_sanitizers_watch_a_small_and_the_largest_input(case, tools, box):
    made = rungs_run.sanitizers(case)
    assert made == Evidence("sanitizers", PASSED, "address, undefined behaviour")
    runs = box.asked("run sanitizers")
    assert [a.command[-1] for a in runs] == ["5", "900"]
    assert runs[1].limits == roomy(LARGE.limits(1), 3.0)
    assert SANITIZER_OPTIONS.items() <= runs[0].environment.items()
    (plain,) = box.asked("run gcc")
    assert (plain.command[-1], plain.limits) == ("5", SMALL.limits(1))
    box.log.clear()
    rungs_run.sanitizers(of(case, "openmp"))
    assert {a.environment["OMP_NUM_THREADS"] for a in box.log if "run" in a.what} == {"2"}
    assert box.asked("run gcc")[0].limits == SMALL.limits(2)
    box.log.clear()
    rungs_run.sanitizers(of(case, "cuda", "cu"))
    assert [a.command[-1] for a in box.asked("run sanitizers")] == ["5"]
    tools.add("clang")
    lacks(lambda: rungs_run.sanitizers(case), toolchain.absent("clang"))
    tools.update({"g++", "clang++"})
    lacks(lambda: rungs_run.sanitizers(of(case, "cuda", "cu")), toolchain.absent("g++"))


def test_what_sanitizers_say_is_told(case, box):
    box.says["candidate", "run sanitizers"] = done("", "a.c:7:3: runtime error: shift\n", 1)
    assert rungs_run.sanitizers(case) == failed(
        "sanitizers", Finding("sanitizers", "a.c", 7, "shift")
    )
    box.says["candidate", "run sanitizers"] = done("", "", 4)
    assert rungs_run.sanitizers(case) == Evidence(
        "sanitizers", PASSED, "no report, but ended with status 4")  # fmt: skip
    box.says["candidate", "run gcc"] = done(stopped="stopped after 2 s")
    assert rungs_run.sanitizers(case) == Evidence(
        "sanitizers", SKIPPED, "without them it was stopped after 2 s: see output")  # fmt: skip
    case.reference.clean = False
    lacks(lambda: rungs_run.sanitizers(case), "the original itself does not pass them")


def test_the_output_is_compared_on_every_input(case, tools, box):
    made = rungs_run.output(case)
    assert made == Evidence("output", PASSED, "4 inputs, and none at all",
                            numbers={"inputs": 4, "relative_tolerance": 1e-6})  # fmt: skip
    known = case.reference.without_arguments
    assert len(known) == 1
    assert [a.limits for a in box.asked("run gcc") if a.whose == "candidate"] == [
        e.limits() for e in (SMALL, SMALLER, LARGE, MIDDLE, *known)]  # fmt: skip
    del case.reference.without_arguments
    case.reference.original = program("original", inputs=ProgramInputs())
    assert rungs_run.output(case).reason == "the one input there is"
    box.says["candidate", "run gcc"] = lambda a: done(f"sum {min(int(a.command[-1]), 5)}")
    assert rungs_run.output(case) == failed(
        "output", *wrong("output", "with n=900, output line 1: expected 'sum 900', got 'sum 5'")
    )
    tools.update({"g++", "clang++"})
    lacks(lambda: rungs_run.output(of(case, "cuda", "cu")), toolchain.absent("g++"))


def test_the_output_is_compared_with_each_count_of_threads(case, box):
    openmp = of(case, "openmp")
    assert rungs_run.threads(openmp) == Evidence("threads", PASSED, "2, 4 threads")
    asked = [
        (a.command[-1], a.environment["OMP_NUM_THREADS"], a.limits) for a in box.asked("run gcc")
    ]
    assert asked == [(e.given.arguments[0], str(k), e.limits(k))
                     for e in (LARGE, SMALLER) for k in (2, 4)]  # fmt: skip
    assert rungs_run.threads(case) == Evidence(
        "threads", SKIPPED, "serial code makes no OpenMP threads")  # fmt: skip
    box.says["candidate", "run gcc"] = lambda a: done(
        f"sum {int(a.command[-1]) + (a.environment['OMP_NUM_THREADS'] == '4')}")  # fmt: skip
    assert rungs_run.threads(openmp) == failed(
        "threads",
        *wrong(
            "threads", "with n=900 and 4 threads, output line 1: expected 'sum 900', got 'sum 901'"
        ),
    )


def test_cuda_on_the_host_runs_in_other_orders(case, tools, box):
    cuda = of(case, "cuda", "cu")
    orders = "threads backward, shuffled, shuffled again, on the host"
    assert rungs_run.threads(cuda) == Evidence("threads", PASSED, orders)
    asked = [(a.environment["CUDA_ORDER"], a.command[-1]) for a in box.asked("run gcc")]
    assert asked == [(str(k), n) for k in (1, 2, 3) for n in ("5", "3")]
    assert box.asked("run gcc")[0].limits == cuda.limits(SMALL)
    box.says["candidate", "run gcc"] = lambda a: done(f"sum {a.environment['CUDA_ORDER']}")
    (found,) = rungs_run.threads(cuda).findings
    assert found.message == (
        "with n=5 and threads backward, output line 1: expected 'sum 5', got 'sum 1'")  # fmt: skip
    tools.update({"g++", "clang++"})
    lacks(lambda: rungs_run.threads(cuda), toolchain.absent("g++"))


RACE = "WARNING: ThreadSanitizer: data race (pid=1)\n  Write of size 8:\n    #0 f a.c:9:1\n"
RACED = Finding("races", "a.c", 9, "data race")
NO_ROOM = "FATAL: ThreadSanitizer: unexpected memory mapping 0x1\n"


def test_archer_watches_the_small_inputs_and_a_quick_large_one(case, box, monkeypatch):
    openmp = of(case, "openmp")
    assert rungs_run.races(openmp) == Evidence("races", PASSED, "Archer, 4 threads")
    runs = box.asked("run races")
    assert [a.command[-1] for a in runs] == ["5", "3"]
    assert runs[0].limits == roomy(SMALL.limits(4), 5.0)
    more = {"OMP_NUM_THREADS": "4", "OMP_NUM_TEAMS": "1",
            "OMP_TOOL_LIBRARIES": "/t/lib/libarcher.so", "TSAN_OPTIONS":
            "ignore_noninstrumented_modules=1:exitcode=66:hard_rss_limit_mb=2048:report_bugs=1:"
            "history_size=4"}  # fmt: skip
    assert more.items() <= runs[0].environment.items()
    box.log.clear()
    case.reference.expected = (given(800, 0.49),)
    tasks = replace(openmp, candidate=replace(openmp.candidate, files={
        "a.c": "int candidate;\n#pragma omp parallel\n#pragma omp single\n"}))  # fmt: skip
    assert rungs_run.races(tasks).state == PASSED
    assert [a.command[-1] for a in box.asked("run races")] == ["5", "3", "800"] * 3
    assert rungs_run.races(case) == Evidence(
        "races", SKIPPED, "serial code makes no OpenMP threads")  # fmt: skip
    monkeypatch.setattr(toolchain, "archer_absent", lambda: "no archer")
    lacks(lambda: rungs_run.races(openmp), "no archer")


def test_what_archer_says_is_told(case, box):
    openmp = of(case, "openmp")
    box.says["candidate", "run races"] = done("", RACE, 66)
    assert rungs_run.races(openmp) == failed("races", RACED)
    box.says["candidate", "run races"] = done("", NO_ROOM, 1)
    lacks(lambda: rungs_run.races(openmp), rungs_run.ADDRESSES)
    box.says["candidate", "run races"] = done("", "", 5)
    lacks(lambda: rungs_run.races(openmp), "the checked run ended with status 5")


def test_threads_of_cuda_are_watched_as_fibres(case, tools, box):
    cuda = of(case, "cuda", "cu")
    reason = "ThreadSanitizer, CUDA's threads as fibres of the host"
    assert rungs_run.races(cuda) == Evidence("races", PASSED, reason)
    runs = box.asked("run races")
    assert [a.command[-1] for a in runs] == ["5", "3", "700"]
    assert runs[0].limits == roomy(cuda.limits(SMALL), 5.0)
    assert runs[0].environment["TSAN_OPTIONS"] == rungs_run.TSAN_OPTIONS
    box.says["candidate", "run races"] = done("", RACE, 66)
    assert rungs_run.races(cuda) == failed("races", RACED)
    case.reference.original = program("original", "cuda", "cu")
    assert rungs_run.races(cuda) == failed("races", RACED)
    box.says["original", "run races"] = done("", RACE, 66)
    lacks(lambda: rungs_run.races(cuda), "the original itself: a.c:9: data race")
    box.says["candidate", "run races"] = done("", NO_ROOM, 1)
    lacks(lambda: rungs_run.races(cuda), rungs_run.ADDRESSES)
    box.says["candidate", "run races"] = done("", "", 5)
    lacks(lambda: rungs_run.races(cuda), "the checked run ended with status 5")
    tools.add("clang")
    lacks(lambda: rungs_run.races(cuda), toolchain.absent("clang"))
    tools.update({"g++", "clang++"})
    lacks(lambda: rungs_run.races(cuda), toolchain.absent("clang++"))


def test_oclgrind_watches_opencl(case, tools, box):
    opencl = of(case, "opencl")
    assert rungs_run.races(opencl) == Evidence("races", PASSED, "oclgrind")
    (run,) = box.asked("run gcc")
    assert run.command == ("oclgrind", "--data-races", "--uniform-writes", "./program", "5")
    assert run.limits == replace(roomy(SMALL.limits()), wall_s=120.0, cpu_s=120.0)
    said = "Read-write data race at global memory address 0x1\n\tAt line 4 of input.cl:\n"
    for stdout, stderr in ((said, ""), ("", said)):
        box.says["candidate", "run gcc"] = done(stdout, stderr)
        (found,) = rungs_run.races(opencl).findings
        assert found == Finding("races", "input.cl", 4, "Read-write data race")
    box.says["candidate", "run gcc"] = done("", "y" * 300, 2)
    lacks(lambda: rungs_run.races(opencl), "oclgrind ended with status 2: " + "y" * 200)
    tools.add("oclgrind")
    lacks(lambda: rungs_run.races(opencl), toolchain.absent("oclgrind"))


def test_a_device_with_memory_of_its_own_shows_what_is_not_mapped(case, box, monkeypatch):
    target = of(case, "target")
    reason = "x86_64 device with separate memory"
    assert rungs_run.mapping(target) == Evidence("mapping", PASSED, reason)
    own = [a for a in box.asked("run device") if a.whose == "candidate"]
    assert [a.command[-1] for a in own] == ["5", "3"]
    assert own[0].limits == roomy(SMALL.limits(2), 5.0)
    assert (own[0].environment["OMP_NUM_THREADS"], own[0].environment["OMP_TARGET_OFFLOAD"]) == (
        "2", "MANDATORY")  # fmt: skip
    box.says["candidate", "run device"] = done("sum 0")
    (found,) = rungs_run.mapping(target).findings
    assert found.message == ("with n=5 on a device with memory of its own, output line 1: "
                             "expected 'sum 5', got 'sum 0'")  # fmt: skip
    box.says["changed", "run device"] = done("", "", 1)
    lacks(lambda: rungs_run.mapping(target),
          "no device with memory of its own takes a target region here")  # fmt: skip
    assert rungs_run.mapping(case) == Evidence(
        "mapping", SKIPPED, "serial code has no target regions")  # fmt: skip
    monkeypatch.setattr(toolchain, "offload_absent", lambda: "no plugin")
    lacks(lambda: rungs_run.mapping(target), "no plugin")


# --- rungs that measure ------------------------------------------------------------------------


def counted(instructions, references=0.0):
    return done(
        "", f"I refs: {instructions:,}\nD refs: {references:,}\nD1 misses: 2\nLL misses: 1\n"
    )


def test_work_is_counted_without_that_of_an_empty_program(case, tools, box):
    box.says["empty", "run work"] = counted(100_000)
    box.says["original", "run work"] = counted(1_100_000, 500)
    box.says["candidate", "run work"] = counted(600_000, 250)
    numbers = {"instructions": 6e5, "original_instructions": 1.1e6, "instruction_ratio": 0.5,
               "data_reference_ratio": 0.5}  # fmt: skip
    assert rungs_measure.work(case) == Evidence(
        "work", PASSED, "0.5 times the original's instructions", numbers=numbers)  # fmt: skip
    run = box.asked("run work")[0]
    assert (run.command[0], run.command[-1]) == ("valgrind", "700")
    assert run.limits == roomy(MIDDLE.limits(), 100.0)
    few = replace(case, options=RungOptions(least_work=0.51))
    said = "executes 0.5 times the original's instructions with n=700: work is left out"
    assert rungs_measure.work(few) == failed("work", *wrong("work", said), **numbers)
    assert rungs_measure.work(replace(case, options=RungOptions(least_work=0.5))).state == PASSED
    case.reference._counted.clear()
    box.says["candidate", "run work"] = counted(50_000)
    assert rungs_measure.work(case).numbers["instruction_ratio"] == 0.0
    case.reference._counted.clear()
    box.says["original", "run work"] = counted(119_999)
    lacks(lambda: rungs_measure.work(case), "19999 instructions are too few to compare")
    case.reference._counted.clear()
    box.says["original", "run work"] = counted(120_000)
    assert rungs_measure.work(replace(case, options=RungOptions(least_work=0))).numbers[
        "data_reference_ratio"] == 0.0  # fmt: skip


def test_work_that_cannot_be_counted_is_said(case, tools, box):
    box.says["original", "run work"] = done("nothing")
    lacks(lambda: rungs_measure.work(case), "cachegrind printed no counts")
    case.reference._counted.clear()
    box.says["candidate", "run work"] = done("", "", 3)
    lacks(lambda: rungs_measure.work(case), "under cachegrind the program ended with status 3")
    box.says["original", "build work"] = done("", "z" * 300, 1)
    case.reference.original = program("original", flags=())
    lacks(lambda: rungs_measure.work(case), "the original has no such build: " + "z" * 200)
    tools.add("valgrind")
    lacks(lambda: rungs_measure.work(case), toolchain.absent("valgrind"))
    tools.update({"g++", "clang++"})
    tools.remove("valgrind")
    lacks(lambda: rungs_measure.work(of(case, "cuda", "cu")), toolchain.absent("g++"))


def test_the_counted_input_is_the_longest_that_is_quick(case, box):
    assert rungs_measure._counted_input(case) == MIDDLE
    case.reference.expected = (LARGE, given(1, 0.05))
    case.reference.small = (SMALLER, given(8, 0.3))
    assert rungs_measure._counted_input(case) == given(8, 0.3)
    case.reference.expected = (given(1, 0.03), given(2, 0.04), given(3, 0.01))
    assert rungs_measure._counted_input(case).cpu_s == 0.04


def test_an_empty_program_is_built_in_the_same_language(case, box):
    box.says.update({(w, "run work"): counted(1_000_000) for w in ("original", "candidate")})
    box.says["empty", "run work"] = counted(1000)
    cxx = of(case, "openmp", "cc", flags=("-O3", "-lm"))
    assert rungs_measure.work(cxx).state == PASSED
    builds = [a.command for a in box.asked("build work") if a.whose == "empty"]
    assert sorted(b[0] for b in builds) == ["/t/g++", "/t/gcc"]
    own = next(b for b in builds if b[0] == "/t/g++")
    assert own == ("/t/g++", "-O1", "-fopenmp", "-g", "-o", "program", "empty.cc", "-lm")


def test_counts_are_kept(case, box):
    made = case.reference.bench.build(case.candidate, toolchain.COUNTED)
    box.says["candidate", "run work"] = counted(5)
    assert case.reference.counts(made, SMALL) == WorkCounts(5, 0, 2, 1)
    assert case.reference.counts(made, SMALL) is case.reference.counts(made, SMALL)
    assert len(box.asked("run work")) == 1
    assert count_work(case.bench, made, SMALL.given, SMALL.limits()) == WorkCounts(5, 0, 2, 1)


def timed(box, original_s, candidate_s, start_s=0.01):
    box.says["original", "start"] = done(wall_s=start_s)
    for whose, seconds in (("original", original_s), ("candidate", candidate_s)):
        box.says[whose, "run gcc"] = done("sum", wall_s=seconds)


def test_times_are_taken_in_pairs_without_the_start(case, box):
    timed(box, 1.01, 0.51)
    made = rungs_measure.time(replace(case, options=RungOptions(pairs=3)))
    assert made.reason == "0.5 times the original's time [0.5, 0.5]: faster"
    assert made.numbers == {
        "runtime_s": 0.5, "original_runtime_s": 1.0, "runtime_ratio": pytest.approx(0.5),
        "low": pytest.approx(0.5), "high": pytest.approx(0.5), "change": "faster", "pairs": 3,
        "threads": 2, "memory_byte": math.nan, "original_memory_byte": math.nan}  # fmt: skip
    runs = box.asked("run gcc")
    assert [a.whose[0] for a in runs] == ["o", "c", "c", "o", "o", "c"]
    assert (runs[0].limits, runs[0].environment["OMP_NUM_THREADS"]) == (LARGE.limits(2), "2")
    assert (len(box.asked("start")), made.findings) == (5, ())


@pytest.mark.parametrize(("wall_s", "start_s", "runtime_s", "says"), [
    (0.04, 0.01, 0.03, "no significant change; 0.03 s is short to time"),
    (0.05, 0.0, 0.05, "no significant change"), (0.03, 0.029, 0.003, "0.003 s is short to time"),
])  # fmt: skip
def test_a_short_run_is_said_to_be_one(case, box, wall_s, start_s, runtime_s, says):
    timed(box, wall_s, wall_s, start_s)
    made = rungs_measure.time(case)
    assert (made.state, made.reason.endswith(says)) == (PASSED, True)
    assert made.numbers["runtime_s"] == pytest.approx(runtime_s)


def test_a_candidate_that_is_ten_times_slower_is_rejected_and_a_faster_one_flagged(case, box):
    timed(box, 0.11, 1.21)
    (found,) = rungs_measure.time(case).findings
    assert found == Finding("time", "a.c", 0, "takes 12 times the original's time [12, 12]: "
                            "slower, more than 10 times as long")  # fmt: skip
    assert rungs_measure.time(case).numbers["runtime_ratio"] == pytest.approx(12)
    timed(box, 0.014, 0.0599)
    assert rungs_measure.time(replace(case, options=RungOptions(most_slowdown=5))).state == PASSED
    timed(box, 0.014, 0.0641)
    assert rungs_measure.time(replace(case, options=RungOptions(most_slowdown=5))).state == FAILED
    timed(box, 0.05, 0.1, start_s=0.0)
    assert rungs_measure.time(replace(case, options=RungOptions(most_slowdown=1.5))).state == PASSED
    timed(box, 1.01, 0.11)
    assert rungs_measure.time(case).findings == ()
    timed(box, 1.01, 0.1)
    (found,) = rungs_measure.time(case).findings
    assert found == Finding("time", "a.c", 0, "more than 10 times faster: look at it", "warning")
    assert rungs_measure.time(case).state == PASSED


def test_a_timed_run_that_fails_is_told(case, box):
    timed(box, 1.0, 1.0)
    made = rungs_measure.time(case)
    assert (math.isnan(made.numbers["memory_byte"]), made.numbers["pairs"]) == (True, 7)
    said = "a timed run did not end well: with n=900 and 2 threads"
    for whose in ("candidate", "original"):
        timed(box, 1.0, 1.0)
        box.says[whose, "run gcc"] = done("", "", 1)
        assert rungs_measure.time(case) == failed("time", *wrong("time", said))
    assert rungs_measure.time(replace(case, options=RungOptions(pairs=0))).state == FAILED
    lacks(lambda: rungs_measure.time(of(case, "opencl")), case_on_device())


def case_on_device() -> str:
    return "no device: the host's time tells nothing of a GPU's"


def test_energy_is_modelled_where_no_meter_is(case, tools, box):
    box.says["original", "run gcc"], box.says["candidate", "run gcc"] = (
        counted(10**9),
        counted(10**8),
    )
    made = rungs_measure.energy(case)
    ratio = made.numbers["energy_ratio"]
    assert ratio == pytest.approx(0.1, rel=1e-3)
    assert made.reason == f"modelled from counts at n=700: {ratio:.3g} times the original's energy"
    assert made.numbers["kind"] == "modelled"
    assert made.numbers["energy_j"] / made.numbers["original_energy_j"] == ratio
    tools.add("valgrind")
    lacks(lambda: rungs_measure.energy(case), toolchain.absent("valgrind"))
    lacks(lambda: rungs_measure.energy(of(case, "opencl")), case_on_device())


class Meter:
    """A meter that works, or says why not."""

    def __init__(self, why: str = "") -> None:
        self._why = why

    def why(self) -> str:
        return self._why


def metered(monkeypatch, joules, why=""):
    """Sessions that read these joules one after the other."""
    values = iter(joules)

    class Session:
        def __init__(self, meters):
            self.meters = meters

        def __enter__(self):
            return self

        def __exit__(self, *_):
            energy_j, state = next(values)
            self.measured = type("M", (), {"energy_j": energy_j, "state": state})

    monkeypatch.setattr(rungs_measure, "Session", Session)
    monkeypatch.setattr(rungs_measure, "meters", lambda: [Meter("broken"), Meter(why)])


PAIRS = [(50.0, "measured"), (25.0, "derived"), (25.0, "measured"), (50.0, "estimated"),
         (60.0, "measured"), (25.0, "measured")]  # fmt: skip


def test_energy_is_metered_over_two_seconds_of_runs(case, box, monkeypatch):
    metered(monkeypatch, PAIRS)
    case.reference.expected = (given(900, 0.5, 0.3),)
    made = rungs_measure.energy(case)
    assert len(box.asked("run gcc")) == 6 * 7
    run = box.asked("run gcc")[0]
    assert (run.limits, run.environment["OMP_NUM_THREADS"]) == (
        case.reference.expected[0].limits(2), "2")  # fmt: skip
    assert {k: made.numbers[k] for k in ("kind", "energy_j", "original_energy_j")} == {
        "kind": "estimated", "energy_j": pytest.approx(25 / 7),
        "original_energy_j": pytest.approx(50 / 7)}  # fmt: skip
    assert made.numbers["energy_ratio"] == pytest.approx(0.5)
    assert made.reason == "estimated by meters: 0.5 times the original's energy [0.417, 0.5]"
    assert (made.numbers["low"], made.numbers["high"]) == pytest.approx((25 / 60, 0.5))


@pytest.mark.parametrize(("wall_s", "runs"), [(0.01, 50), (1e-9, 50), (3.0, 1), (2.0, 1), (1.9, 2)])
def test_runs_are_repeated_for_two_seconds_but_fifty_times_at_most(
    case, box, monkeypatch, wall_s, runs
):
    metered(monkeypatch, PAIRS)
    case.reference.expected = (given(900, 0.5, wall_s),)
    rungs_measure.energy(case)
    assert len(box.asked("run gcc")) == 6 * runs


@pytest.mark.parametrize("odd", [math.nan, 0.0, math.inf])
@pytest.mark.parametrize("place", [0, 1])
def test_meters_that_cannot_tell_leave_the_model(case, box, monkeypatch, odd, place):
    metered(monkeypatch, [*PAIRS[:place], (odd, "measured"), *PAIRS[place + 1 :]])
    box.says["original", "run gcc"] = box.says["candidate", "run gcc"] = counted(10**9)
    assert rungs_measure.energy(case).numbers["kind"] == "modelled"
    metered(monkeypatch, [], why="none here")
    assert rungs_measure.energy(case).numbers["kind"] == "modelled"


# --- the ladder --------------------------------------------------------------------------------


def test_rungs_are_run_up_to_the_first_that_fails(case, box):
    box.says["candidate", "run gcc"] = done("sum 0")
    told = []
    one = Verifier(case.reference)
    verdict = one.verify(program("candidate"), rungs=("compile", "output", "threads"),
                         progress=lambda *x: told.append(x))  # fmt: skip
    states = {e.rung: (e.state, e.reason) for e in verdict.evidence if e.state == SKIPPED}
    assert states["parse"] == states["work"] == (SKIPPED, "not asked for")
    assert states["threads"] == (SKIPPED, "a rung below failed")
    assert verdict.rejected_by == "output"
    assert [(n, e and e.state) for n, e in told] == [
        ("compile", None), ("compile", PASSED), ("output", None), ("output", FAILED)]  # fmt: skip
    assert all(0 <= e.seconds < 60 for _, e in told if e)
    assert (verdict.seed, verdict.sandbox, verdict.original, verdict.candidate) == (
        1, "scripted", "original", "candidate")  # fmt: skip
    whole = one.verify(program("candidate"), rungs=("output", "threads"), all_rungs=True)
    assert whole.rung("threads").reason == "serial code makes no OpenMP threads"
    assert {b.program.name for b in case.bench.builds.values()} <= {"original", "", "probe"}


def test_a_rung_that_is_not_available_says_why_and_only_what_was_asked_is_required(case, tools):
    tools.add("valgrind")
    one = Verifier(case.reference, required=("output", "races"))
    verdict = one.verify(program("candidate"), rungs=("work",))
    assert verdict.rung("work").state == NOT_AVAILABLE
    assert (verdict.required, verdict.state) == (("work",), "undecided")
    verdict = one.verify(program("candidate"), rungs=("output",))
    assert (verdict.required, verdict.missing) == (("output", "races"), ("races",))


def test_what_should_be_known_of_a_verdict_is_noted(case, tools, box, tmp_path):
    notes = lambda **more: Verifier(reference_of(box, tmp_path, **more))._notes()  # noqa: E731
    assert notes() == ()
    assert notes(original=program("original", inputs=ProgramInputs())) == (NO_INPUT,)
    guessed = program("original", inputs=replace(INPUTS, guessed=True))
    said = "inputs are guessed from the original: n 1 to 1000; a manifest names others"
    assert notes(original=guessed) == (said,)
    object.__setattr__(box, "name", "none (unsafe)")
    assert notes() == ("run without a sandbox: nothing kept the candidate from the host",)


def test_only_what_is_run_needs_an_original_that_works(case, box):
    box.says["original", "run gcc"] = done("", "", 1)
    del case.reference.__dict__["expected"]
    verdict = Verifier(case.reference).verify(program("candidate"), rungs=("parse",))
    assert verdict.rung("parse").state == PASSED
    with pytest.raises(DataError, match="no input is admitted"):
        Verifier(case.reference).verify(program("candidate"), rungs=("parse", "compile"))


def test_a_verifier_has_its_inputs_seed_and_tolerance(tools, box):
    tolerance, inputs = Tolerance(relative=0.5), ProgramInputs({"n": InputRange(3, 3)}, ("{n}",))
    with verifier(program("original"), tolerance=tolerance, inputs=inputs, confined_by=box, seed=0,
                  count=3, options=RungOptions(pairs=1)) as one:  # fmt: skip
        assert (one.reference.seed, one.reference.count, one.options.pairs) == (0, 3, 1)
        assert (one.reference.tolerance, one.reference.original.inputs) == (tolerance, inputs)
        assert one.reference.bench.folder.is_dir()
    assert not one.reference.bench.folder.exists()
    with verifier(program("original"), confined_by=box) as one, verifier(
        program("original"), confined_by=box) as two:  # fmt: skip
        assert one.reference.seed != two.reference.seed
        assert 0 <= one.reference.seed < 2**31
        assert (one.reference.tolerance, one.options) == (Tolerance(), RungOptions())
        assert (one.reference.original.inputs, one.reference.count) == (INPUTS, 4)


def test_verify_refuses_rungs_that_there_are_not(tools, box):
    both = program("original"), program("candidate")
    names = ("parse, compile, calls, sanitizers, output, races, threads, mapping, work, time, "
             "energy")  # fmt: skip
    refused(lambda: verify(*both, rungs=("parse", "odd", "even"), confined_by=box),
            f"expected {names}, got 'odd'", f"expected {names}, got 'even'")  # fmt: skip
    verdict = verify(*both, rungs=("output", "threads"), confined_by=box, seed=3)
    assert (verdict.state, verdict.seed) == ("accepted", 3)
    box.says["candidate", "run gcc"] = done("sum 0")
    verdict = verify(*both, rungs=("output", "threads"), confined_by=box, seed=3)
    assert verdict.rung("threads").reason == "a rung below failed"
    verdict = verify(*both, rungs=("output", "threads"), confined_by=box, seed=3, all_rungs=True)
    assert verdict.rung("threads").reason == "serial code makes no OpenMP threads"


# --- admission to a benchmark ------------------------------------------------------------------


@pytest.mark.parametrize(("run", "admitted", "reason"), [
    (done("sum 1", cpu_s=0.05), True, ""),
    (done("sum 1", cpu_s=0.04), False, "0.04 s is too short, expected 0.05 s: other arguments"),
    (done("sum 1 MISMATCH", cpu_s=9.0), False, "it prints 'MISMATCH'"),
    (done("", "", 3), False, "with no input the original ended with status 3; say in a manifest "
     "which inputs it takes ([inputs])"),
])  # fmt: skip
def test_a_baseline_is_admitted_once_it_ran_right(tools, box, run, admitted, reason):
    box.says["original", "run gcc"] = run
    given = program("original", inputs=ProgramInputs())
    made = hecbench.admit(given, confined_by=box)
    cpu_s = run.cpu_s if run.ok else 0.0
    assert made == hecbench.AdmittedProgram("original", admitted, reason, cpu_s)
    assert box.asked("run sanitizers") == []
    assert hecbench.with_arguments(given, "7", "x").inputs.arguments == ("7", "x")
