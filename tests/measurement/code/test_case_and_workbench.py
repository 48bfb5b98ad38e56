"""A case and the workbench: what is built and run, with which inputs, limits and threads."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from rheostat.measurement.code import rungs_measure, rungs_races, rungs_run, toolchain
from rheostat.measurement.code.case import Case, RungOptions
from rheostat.measurement.code.device_kernels.kernel_cache import KernelCache
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.reached.marked_builds import linked as linked_texts
from rheostat.measurement.code.sandboxed import own_runtimes
from rheostat.measurement.code.sandboxed.capture import SandboxLimits
from rheostat.measurement.code.sandboxed.sandbox import Unsafe
from rheostat.measurement.code.toolchain import BINARY, CLANG, GCC
from rheostat.measurement.code.verdict import SKIPPED, Evidence, Finding
from rheostat.measurement.code.workbench import (
    BUILDING,
    WITHOUT_FLAGS,
    Built,
    Workbench,
    _holds,
    identity,
    roomy,
)
from tests.measurement.code.rung_cases import (
    LARGE,
    MIDDLE,
    SMALL,
    SMALLER,
    given,
    lacks,
    of,
    program,
)
from tests.measurement.scripted import done

# --- the case ----------------------------------------------------------------------------------


def test_what_a_case_is_given(case):
    assert RungOptions() == RungOptions((1, 2, 4), 7, 0.03, 10.0, 10.0, 0.1, 2, 0)
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
    edge.expected, edge.small, edge.edges = (given(1, 0.05),), (given(2, 9.0),), ()
    assert replace(cuda, reference=edge).inputs() == (given(2, 9.0),)
    edge.edges = (given(3, 0.01), given(4, 9.0))
    assert Case(program("candidate"), edge).inputs()[-2:] == edge.edges
    assert replace(cuda, reference=edge).inputs() == (given(2, 9.0), given(3, 0.01))
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
    lacks(lambda: rungs_races.races(cuda), rungs_races.CUDA_RACES)
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
    assert SandboxLimits(300.0, 120.0, 4 * 2**30, 512 * 2**20, 128, 2**22) == BUILDING
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


def test_many_inputs_are_run_from_one_start(tmp_path):
    folder = tmp_path / "built"
    folder.mkdir()
    says = folder / "program"
    says.write_text('#!/bin/sh\n[ "$1" = bad ] && exit 3\n[ "$1" = last ] && kill -9 $PPID\n'
                    'echo "$1 $(cat) $KMP_AFFINITY"\n')  # fmt: skip
    says.chmod(0o755)
    made = Built(program("candidate"), GCC, folder, done(), ("./program",))
    every = [ProgramInput((x,), stdin) for x, stdin in
             (("7", "in"), ("bad", ""), ("a b", ""), ("last", ""), ("8", ""))]  # fmt: skip
    limits = SandboxLimits(wall_s=10.0)
    outputs = Workbench(Unsafe(), tmp_path).run_each(made, every, limits)
    assert Workbench(Unsafe(), tmp_path).run_each(made, [], limits) == []  # none was quick enough
    assert outputs == ["7 in disabled\n", None, "a b  disabled\n", None, None]


@pytest.mark.parametrize("shares", [False, True])
def test_text_that_is_not_ascii_is_the_same_from_one_start_and_alone(tmp_path, shares):
    said = r'"lanc\xc3\xa9s: \x1a" "41 \xff \xe2\x82 %s\n"'
    bench, limits = Workbench(Unsafe(), tmp_path), SandboxLimits(wall_s=10.0)
    text = f"#include <stdio.h>\nint main(int n, char **w) {{ (void)n; printf({said}, w[1]); }}"
    made = bench.build(Program({"a.c": text}), GCC)
    every = [ProgramInput((x,)) for x in "123"]
    alone = [bench.run(made, given).stdout for given in every]
    many = bench.run_many(made, every, limits, 5.0) if shares else bench.run_each(
        made, every, limits)  # fmt: skip
    assert alone[0].startswith("lancés: \x1a41 \ufffd")
    assert many == alone


LEAVES = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int runs, table[1000];
int main(int count, char **words) {
  static char *last = "none";
  char *grown = malloc(1 << 20), line[64] = "", *first = strtok(words[1], ",");
  int n = atoi(first), left = 0;
  for (int i = 0; i < 1000; i++) left += table[i] != 0;
  for (int i = 0; i < 1 << 20; i++) left += grown[i] != 0;
  for (int i = 0; i < 1000; i++) table[i] = n;
  memset(grown, n, 1 << 20);
  if (!fgets(line, sizeof line, stdin)) strcpy(line, "nothing");
  if (n == 3) abort();
  if (n == 4) return 5;
  printf("%s %d %d %s %s %s", first, left, ++runs, last, line, getenv("RHEOSTAT_RUN"));
  last = "another";
  setenv("RHEOSTAT_RUN", "mine", 1);
  return count - 2;
}
"""
LONG = """
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words) {
  int n = atoi(words[1]);
  return !printf("%*d", 300000 + n, n);
}
"""


@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
def test_runs_that_share_memory_find_none_of_what_another_left(tmp_path):
    bench = Workbench(Unsafe(), tmp_path)
    made = bench.build(Program({"a.c": LEAVES}), GCC)
    every = [ProgramInput((f"{n},{n}",), "in" * (n == 2)) for n in (1, 2, 3, 4, 5)]
    limits = SandboxLimits(wall_s=10.0)
    outputs = bench.run_many(made, every, limits, 5.0)
    assert outputs == [
        "1 0 1 none nothing 1",
        "2 0 1 none in 2",
        None,
        None,
        "5 0 1 none nothing 5",
    ]
    assert outputs == bench.run_each(made, every, limits, most_cpu_s=5.0)
    long = bench.build(Program({"a.c": LONG}), GCC)  # more than is held back, and than a file holds
    assert bench.run_many(long, every, limits, 5.0) == [f"{n:{300_000 + n}}" for n in range(1, 6)]
    large = replace(made.program, files={"a.c": LEAVES.replace("table[1000]", "table[4000000]")})
    assert bench.run_many(bench.build(large, GCC), every, limits, 5.0) == outputs
    assert bench.run_many(made, [], limits, 5.0) == []


def test_many_runs_are_forks_where_shared_memory_did_not_do(box, tmp_path, monkeypatch, tools):
    bench, ends = Workbench(box, tmp_path), []
    monkeypatch.setattr(Workbench, "run", lambda *_, **__: ends.pop(0))
    every = [ProgramInput(("7",))] * 3
    whole = "".join("0 1\nx" for _ in every)

    def outputs(language, *those):
        ends[:] = those
        made = bench.build(program("candidate", language), GCC)
        return bench.run_many(made, every, SandboxLimits(), 1.0), len(ends)

    forks, few = done(whole, cpu_s=0.9), done("0 1\ny")
    assert outputs("serial", done(whole)) == (["x"] * 3, 0)
    assert outputs("serial", replace(few, cpu_s=0.6), forks) == (["y"], 1)  # the time was over
    for ended in (few, replace(few, status=1), done(status=-9)):
        assert outputs("serial", ended, forks) == (["x"] * 3, 0)
    assert outputs("opencl", forks) == (["x"] * 3, 0)


def test_kernels_of_opencl_are_compiled_once_for_each_program(box, tmp_path, tools):
    bench = Workbench(box, tmp_path)
    for whose, kind in (("original", GCC), ("candidate", GCC), ("candidate", CLANG)):
        built = bench.build(program(whose, "opencl"), kind)
        with bench.kernels.of_run(built.program) as place:
            assert (place / "kernel.so").exists() is (kind == CLANG)
            (place / "kernel.so").write_text(whose)
    bench.run(bench.build(program("original", "opencl"), GCC), ProgramInput())
    assert box.log[-1].cache.parent == tmp_path
    own = program("candidate", "opencl").text
    with bench.kernels.of_run(program("other data", made_of=own)) as place:
        assert (place / "kernel.so").read_text() == "candidate"
    kept = dict(bench.kernels.first)
    bench.discard([program("original", "opencl").text])
    assert [kept[program(w, "opencl").text].exists() for w in ("original", "candidate")] == [
        True, False
    ]  # fmt: skip
    bench.run(bench.build(program("candidate"), GCC), ProgramInput())
    assert box.log[-1].cache is None


def test_own_runtimes_are_compiled_once_and_linked_to_what_names_them(box, tmp_path, tools):
    bench = Workbench(box, tmp_path)
    object_ = bench.build(*own_runtimes.runtime("lock_sets"))
    (object_.folder / BINARY).write_text("compiled")
    for whose in ("original", "candidate"):
        made = bench.build(program(whose, objects=("lock_sets",)), CLANG)
        assert (made.folder / "rheostat_lock_sets.o").read_text() == "compiled"
        assert box.log[-1].command[-2:] == ("a.c", "rheostat_lock_sets.o")
        assert made.folder != bench.build(program(whose), CLANG).folder
    assert [a.what for a in box.log] == ["build work", *["build clang"] * 4]


def test_what_cuda_programs_have_alike_is_compiled_once_and_linked(box, tmp_path, tools):
    bench = Workbench(box, tmp_path)
    linked = ["a.cu", "-x", "none", "rheostat_cuda_on_host.o"]
    for kind in (GCC, CLANG, toolchain.RACES, toolchain.SANITIZED):
        bench.build(program("candidate", "cuda", "cu"), kind)
        assert list(box.log[-1].command[-4:]) == linked
    assert [a.command[-1] for a in box.log].count("cuda_on_host.cc") == 1
    bench.build(program("candidate", "cuda", "cu"), CLANG, output=("-fsyntax-only",))
    assert box.log[-1].command[-1] == "a.cu"
    texts = linked_texts(program("candidate", "cuda", "cu"), {"a.ll": ""})
    assert texts.objects == ("cuda_on_host",)
    assert "a.o rheostat_cuda_on_host.o" in texts.build[-1]


def test_no_run_finds_what_another_but_the_first_left(tmp_path):
    cache, told = KernelCache(tmp_path), program("candidate", "opencl")
    with cache.of_run(told) as place:
        (place / "deep").mkdir()
        (place / "deep" / "kernel.so").write_text("compiled")
    for k in range(3):
        with cache.of_run(told) as place:
            assert sorted(p.name for p in place.rglob("*")) == ["deep", "kernel.so"]
            assert (place / "deep" / "kernel.so").read_text() == "compiled"
            (place / "deep" / "kernel.so").write_text(f"changed in run {k}")
            (place / f"run{k}").write_text("")


@pytest.mark.parametrize("hostile", ["link", "pipe", "depth", "size"])
def test_what_no_library_leaves_is_not_kept(tmp_path, monkeypatch, hostile):
    cache, told = KernelCache(tmp_path), program("candidate", "opencl")
    with cache.of_run(told) as place:
        if hostile == "link":
            (place / "link").symlink_to("/etc")
        elif hostile == "pipe":
            os.mkfifo(place / "pipe")
        elif hostile == "depth":
            place.joinpath(*["d"] * 13).mkdir(parents=True)
        else:
            monkeypatch.setattr("rheostat.measurement.code.device_kernels.kernel_cache.MOST_B", 8)
            (place / "kernel.so").write_text("x" * 9)
    assert not place.exists()
    with cache.of_run(told) as place:
        assert list(place.iterdir()) == []
    assert Path("/etc/passwd").exists()


@pytest.mark.parametrize(("bound", "most"), [("MOST_FILES", 3), ("DEEPEST", 2), ("MOST_B", 4096)])
def test_what_a_library_leaves_is_kept_up_to_a_bound(tmp_path, monkeypatch, bound, most):
    for less in (0, 1):
        monkeypatch.setattr(
            f"rheostat.measurement.code.device_kernels.kernel_cache.{bound}", most - less
        )
        with KernelCache(tmp_path).of_run(program("candidate", "opencl")) as place:
            (place / "deep").mkdir()
            (place / "deep" / "a").write_text("")
            (place / "b").write_text("x" * (4096 - (place / "deep").stat().st_size))
        assert place.exists() is not less


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


def test_a_build_command_that_drops_flags_checks_nothing(tmp_path, box):
    bench = Workbench(box, tmp_path)
    made = bench.build(program("candidate", build=("make",)), toolchain.SANITIZED)
    assert (made.ok, made.said.stderr) == (False, WITHOUT_FLAGS)
    (made.folder / "program").write_bytes(b"\x7fELF __asan_init")
    bench.builds.clear()
    assert _holds(made, "__asan_init")
    assert not _holds(made, "__tsan_init")
    assert bench.build(program("other", build=("make",)), toolchain.GCC).ok
