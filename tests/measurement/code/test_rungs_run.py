"""Rungs that run the candidate, scripted: sanitizers, output, races, threads, mapping."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rheostat.measurement.code import rungs_races, rungs_run, toolchain
from rheostat.measurement.code.programs.program_inputs import ProgramInputs
from rheostat.measurement.code.reference import SANITIZER_OPTIONS
from rheostat.measurement.code.rungs_run import MANY_THREADS, MORE_THREADS
from rheostat.measurement.code.sandboxed.capture import SandboxLimits
from rheostat.measurement.code.surroundings.other_settings import OTHER_SETTINGS
from rheostat.measurement.code.verdict import FAILED, NOT_SHOWN, PASSED, SKIPPED, Evidence, Finding
from rheostat.measurement.code.workbench import Workbench, roomy
from tests.measurement.code.rung_cases import (
    LARGE,
    MIDDLE,
    SMALL,
    SMALLER,
    failed,
    given,
    lacks,
    of,
    program,
    wrong,
)
from tests.measurement.scripted import done


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


def test_what_is_right_only_by_memory_that_nobody_set_is_told(case, box):
    box.says["candidate", "run sanitizers"] = done("sum -nan")
    said = ("with n=5, where memory that it never sets is filled, output line 1: expected 'sum 5', "
            "got 'sum -nan'")  # fmt: skip
    assert rungs_run.sanitizers(case) == failed("sanitizers", *wrong("sanitizers", said))
    box.says["candidate", "run gcc"] = done("sum -1")
    assert rungs_run.sanitizers(case).state == PASSED  # wrong anyway: the next rung says so
    del box.says["candidate", "run gcc"]
    case.reference.small = (replace(SMALL, filled="sum -nan"), SMALLER)
    case.reference.expected = (replace(LARGE, filled="sum -nan"), MIDDLE)
    assert rungs_run.sanitizers(case).state == PASSED  # the original's changes, too
    assert "max_malloc_fill_size=2147483648" in SANITIZER_OPTIONS["ASAN_OPTIONS"]
    assert "-ftrivial-auto-var-init=pattern" in box.asked("build sanitizers")[0].command


def test_edges_that_are_quick_have_one_start_but_for_what_fails_there(case, box, monkeypatch):
    case.reference.edges = tuple(given(n) for n in (10, 11, 12))
    monkeypatch.setattr(Workbench, "run_each", lambda self, built, every, *_, **__: [
        None if g.arguments == ("11",) else f"sum {g.arguments[0]}" for g in every])  # fmt: skip
    case.reference.without_arguments = ()
    assert rungs_run._on_each(case) == []
    assert [a.command[-1] for a in box.asked("run gcc")] == ["5", "3", "900", "11"]
    rungs_run.sanitizers(case)
    assert [a.command[-1] for a in box.asked("run sanitizers")] == ["5", "900", "11"]


def test_the_output_is_compared_on_every_input(case, tools, box):
    made = rungs_run.output(case)
    assert made == Evidence("output", PASSED, "4 inputs, and none at all; numbers agree to 1e-06",
                            numbers={"inputs": 4, "relative_tolerance": 1e-6})  # fmt: skip
    known = case.reference.without_arguments
    assert len(known) == 1
    assert [a.limits for a in box.asked("run gcc") if a.whose == "candidate"] == [
        e.limits() for e in (SMALL, SMALLER, LARGE, MIDDLE, *known)]  # fmt: skip
    del case.reference.without_arguments
    case.reference.original = program("original", inputs=ProgramInputs())
    assert rungs_run.output(case).reason.startswith("the one input there is, and under its name")
    box.says["candidate", "run gcc"] = lambda a: done(f"sum {min(int(a.command[-1]), 5)}")
    assert rungs_run.output(case) == failed(
        "output", *wrong("output", "with n=900, output line 1: expected 'sum 900', got 'sum 5'")
    )
    tools.update({"g++", "clang++"})
    lacks(lambda: rungs_run.output(of(case, "cuda", "cu")), toolchain.absent("g++"))


def test_three_inputs_are_run_by_pocl_where_kernels_are_compiled_beforehand(case, box, monkeypatch):
    opencl = of(case, "opencl")
    opencl.natively = of(case, "serial")
    case.reference.without_arguments = (given(7, 0.01),)
    monkeypatch.setattr(rungs_run, "elsewhere", lambda case: [])
    assert rungs_run._on_each(opencl) == []
    assert [a.command[-1] for a in box.asked("run gcc")] == ["5", "3", "900"]
    opencl.natively = None
    box.log.clear()
    assert rungs_run._on_each(opencl) == []
    assert [a.command[-1] for a in box.asked("run gcc")] == ["5", "3", "900", "700", "7"]


def test_the_output_is_compared_with_each_count_of_threads(case, box):
    openmp = of(case, "openmp")
    assert rungs_run.threads(openmp) == Evidence(
        "threads",
        PASSED,
        f"2, 3, 4, {', '.join(map(str, (*MANY_THREADS[1:], *MORE_THREADS)))} threads",
    )
    asked = [
        (a.command[-1], a.environment["OMP_NUM_THREADS"], a.limits)
        for a in box.asked("run gcc")
        if not any(a.environment.items() & s.environment.items() for s in OTHER_SETTINGS)
    ]
    more = [asked.pop() for _ in MORE_THREADS][::-1]
    assert more == [("700", str(k), replace(MIDDLE.limits(k), address_space_b=0))
                    for k in MORE_THREADS]  # fmt: skip
    assert asked == [(e.given.arguments[0], str(k), e.limits(k))
                     for e, counts in ((LARGE, (2, 4, 3)), (SMALLER, (2, 4, 3)),
                                       (MIDDLE, MANY_THREADS)) for k in counts]  # fmt: skip
    assert SandboxLimits().processes + 63 == asked[-1][2].processes, "room for 64 threads"
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


def test_openmp_is_set_as_other_people_do_and_the_original_may_change_with_it(case, box):
    def cancelled(asked):
        return done(f"sum {int(asked.command[-1]) + ('OMP_CANCELLATION' in asked.environment)}")

    openmp = of(case, "openmp")
    box.says["candidate", "run gcc"] = cancelled
    (found,) = rungs_run.threads(openmp).findings
    assert found.message == (
        f"with n=3{OTHER_SETTINGS[0].said}, output line 1: expected 'sum 3', got 'sum 4'"
    )
    box.says["original", "run gcc"] = cancelled
    assert rungs_run.threads(openmp).state == PASSED


@pytest.mark.parametrize(("language", "name", "said"), [
    ("openmp", "OMP_THREAD_LIMIT", ", 5 threads asked for and 2 given"),
    ("target", "OMP_NUM_TEAMS", " and 4 teams"), ("openmp", "OMP_NUM_TEAMS", ""),
])  # fmt: skip
def test_fewer_threads_than_are_asked_for_and_more_teams_are_tried(case, box, language, name, said):
    own = of(case, language)
    for compiler in ("gcc", "clang"):
        box.says["candidate", f"run {compiler}"] = lambda a: done(
            f"sum {int(a.command[-1]) + (name in a.environment)}")  # fmt: skip
    found = rungs_run.threads(own).findings
    assert [f"with n=3{said}" in f.message for f in found] == [True] * bool(said)


def test_more_threads_than_most_machines_have_are_tried_but_what_is_slow_then_is_no_finding(
    case, box
):
    openmp = of(case, "openmp")

    def shared(asked, ending=None):
        many = int(asked.environment["OMP_NUM_THREADS"]) > 128
        return ending if many and ending else done(f"sum {int(asked.command[-1]) + many}")

    box.says["candidate", "run gcc"] = shared
    (found,) = rungs_run.threads(openmp).findings
    assert " and 129 threads, output line 1" in found.message
    slow = done(stopped="stopped after 2 s")
    for ending in (slow, done("", "libgomp: Thread creation failed: Resource temporarily", 1)):
        box.says["candidate", "run gcc"] = lambda a, e=ending: shared(a, e)
        assert rungs_run.threads(openmp).state == PASSED


def test_cuda_on_the_host_runs_in_other_orders(case, tools, box):
    cuda = of(case, "cuda", "cu")
    orders = "threads backward, shuffled, shuffled again, on the host"
    assert rungs_run.threads(cuda) == Evidence("threads", PASSED, orders)
    asked = [(a.environment["CUDA_ORDER"], a.command[-1]) for a in box.asked("run gcc")]
    assert asked == [(str(k), n) for k in (1, 2, 3) for n in ("5", "3", "700")]
    assert box.asked("run gcc")[0].limits == cuda.limits(SMALL)
    box.says["candidate", "run gcc"] = lambda a: done(f"sum {a.environment['CUDA_ORDER']}")
    (found,) = rungs_run.threads(cuda).findings
    assert found.message == (
        "with n=5 and threads backward, on another device, output line 1: expected 'sum 5', "
        "got 'sum 1'")  # fmt: skip
    tools.update({"g++", "clang++"})
    lacks(lambda: rungs_run.threads(cuda), toolchain.absent("g++"))


RACE = "WARNING: ThreadSanitizer: data race (pid=1)\n  Write of size 8:\n    #0 f a.c:9:1\n"
RACED = Finding("races", "a.c", 9, "data race")
NO_ROOM = "FATAL: ThreadSanitizer: unexpected memory mapping 0x1\n"


def watched(box):
    """Runs under ThreadSanitizer, not those of the same instrumentation that make threads wait."""
    return [a for a in box.asked("run races") if "RHEOSTAT_GIVES_WAY" not in a.environment]


def test_archer_watches_the_small_inputs_and_a_quick_large_one(case, box, monkeypatch):
    openmp = of(case, "openmp")
    assert rungs_races.races(openmp) == Evidence(
        "races", PASSED, "Archer, 4 and 3 threads, other orders of threads")  # fmt: skip
    waits = [a.environment.get("RHEOSTAT_GIVES_WAY") for a in box.log if a.what.startswith("run")]
    seeds = [w for w in waits if w]
    assert seeds == [str(k + 1) for k in range(len(seeds))], "each run in an order of its own"
    assert len(seeds) >= 4, "two small inputs, twice"
    runs = watched(box)
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
    assert rungs_races.races(tasks).state == PASSED
    assert [a.command[-1] for a in watched(box)] == ["5", "3", "800"] * 3
    assert rungs_races.races(case) == Evidence(
        "races", SKIPPED, "serial code makes no threads")  # fmt: skip
    monkeypatch.setattr(toolchain, "archer_absent", lambda: "no archer")
    lacks(lambda: rungs_races.races(openmp), "no archer")


def test_what_archer_says_is_told(case, box):
    openmp = of(case, "openmp")
    box.says["candidate", "run races"] = done("", RACE, 66)
    assert rungs_races.races(openmp) == failed("races", RACED)
    box.says["candidate", "run races"] = done(
        "", "WARNING: ThreadSanitizer: data race (pid=1)\n", 66
    )
    (found,) = rungs_races.races(openmp).findings
    assert found.words == ("data race (no line known without clang's llvm-symbolizer: apt-get "
                           "install llvm-16)")  # fmt: skip
    box.says["candidate", "run races"] = done("", NO_ROOM, 1)
    lacks(lambda: rungs_races.races(openmp), rungs_races.ADDRESSES)
    box.says["candidate", "run races"] = done("", "", 5)
    lacks(lambda: rungs_races.races(openmp), "the checked run ended with status 5")


def test_threads_that_a_program_starts_itself_are_watched(case, box, monkeypatch):
    box.says["candidate", "nm"] = done(" U std::thread::_M_start_thread(int)@x\n")
    monkeypatch.setattr(toolchain, "archer_absent", lambda: "no archer")
    assert rungs_races.races(case) == Evidence(
        "races", PASSED, "ThreadSanitizer, other orders of threads")  # fmt: skip
    run = box.asked("run races")[0]
    assert (run.environment["TSAN_OPTIONS"], run.limits) == (
        rungs_races.TSAN_OPTIONS, roomy(SMALL.limits(), 5.0))  # fmt: skip
    box.says["candidate", "run races"] = done("", RACE, 66)
    assert rungs_races.races(case) == failed("races", RACED)
    box.says["original", "run races"] = done("", RACE, 66)
    lacks(lambda: rungs_races.races(case), "the original itself: a.c:9: data race")
    box.says["candidate", "run races"] = done("sum 4")
    (found,) = rungs_races.races(case).findings
    assert found.message == ("with n=5 under ThreadSanitizer, output line 1: expected 'sum 5', "
                             "got 'sum 4'")  # fmt: skip


@pytest.mark.parametrize(("pragma", "wide"), [
    ("#pragma omp simd", "#pragma omp simd simdlen(16)"),
    ("#pragma omp for simd simdlen(4) safelen(12)", "#pragma omp for simd   simdlen(4)"),
    ("#pragma omp for schedule(simd:static)", None), ("#pragma omp declare simd", None),
    ("#pragma omp ordered simd", None),
    ('_Pragma("omp simd")', '_Pragma("omp simd simdlen(16)")'),
    ("#pragma clang loop vectorize(assume_safety)",
     "#pragma clang loop vectorize(assume_safety) vectorize_width(16)"),
])  # fmt: skip
def test_iterations_of_simd_loops_run_at_once(case, box, pragma, wide):
    serial = replace(case.candidate, files={"a.c": f"int candidate;\n{pragma}\n"})
    lanes = rungs_races.in_lanes(serial)
    assert (lanes and lanes.files["a.c"]) == (wide and f"int candidate;\n{wide}\n")
    if wide:
        simd = replace(case, candidate=serial)
        assert rungs_races.races(simd).reason == "iterations of simd loops at once"
        box.says["candidate", "run clang"] = done("sum 4")
        (found,) = rungs_races.races(simd).findings
        assert found.message.startswith("with n=5 and iterations of simd loops at once, output")


def test_threads_of_cuda_are_watched_as_fibres(case, tools, box):
    cuda = of(case, "cuda", "cu")
    reason = "ThreadSanitizer, CUDA's threads as fibres of the host"
    assert rungs_races.races(cuda) == Evidence("races", PASSED, reason)
    runs = box.asked("run races")
    assert [a.command[-1] for a in runs] == ["5", "3", "700"]
    assert runs[0].limits == roomy(cuda.limits(SMALL), 5.0)
    assert runs[0].environment["TSAN_OPTIONS"] == rungs_races.TSAN_OPTIONS
    box.says["candidate", "run races"] = done("", RACE, 66)
    assert rungs_races.races(cuda) == failed("races", RACED)
    case.reference.original = program("original", "cuda", "cu")
    assert rungs_races.races(cuda) == failed("races", RACED)
    box.says["original", "run races"] = done("", RACE, 66)
    lacks(lambda: rungs_races.races(cuda), "the original itself: a.c:9: data race")
    box.says["candidate", "run races"] = done("", NO_ROOM, 1)
    lacks(lambda: rungs_races.races(cuda), rungs_races.ADDRESSES)
    box.says["candidate", "run races"] = done("", "", 5)
    lacks(lambda: rungs_races.races(cuda), "the checked run ended with status 5")
    tools.add("clang")
    lacks(lambda: rungs_races.races(cuda), toolchain.absent("clang"))
    tools.update({"g++", "clang++"})
    lacks(lambda: rungs_races.races(cuda), toolchain.absent("clang++"))


def test_oclgrind_watches_opencl(case, tools, box):
    opencl = of(case, "opencl")
    assert rungs_races.races(opencl) == Evidence("races", PASSED, "oclgrind")
    (run,) = box.asked("run gcc")
    assert run.command == ("oclgrind", "--data-races", "--uniform-writes", "./program", "5")
    assert run.limits == replace(roomy(SMALL.limits()), wall_s=120.0, cpu_s=120.0)
    said = "Read-write data race at global memory address 0x1\n\tAt line 4 of input.cl:\n"
    for stdout, stderr in ((said, ""), ("", said)):
        box.says["candidate", "run gcc"] = done(stdout, stderr)
        (found,) = rungs_races.races(opencl).findings
        assert found == Finding("races", "input.cl", 4, "Read-write data race")
    box.says["candidate", "run gcc"] = done("", "y" * 300, 2)
    lacks(lambda: rungs_races.races(opencl), "oclgrind ended with status 2: " + "y" * 200)
    tools.add("oclgrind")
    lacks(lambda: rungs_races.races(opencl), toolchain.absent("oclgrind"))


def test_a_device_with_memory_of_its_own_shows_what_is_not_mapped(case, box, monkeypatch):
    target = of(case, "target")
    reason = "x86_64 device with separate memory"
    assert rungs_run.mapping(target) == Evidence("mapping", PASSED, reason)
    assert [a.whose for a in box.asked("build device") if "host_memory.c" in a.command] == [
        "candidate"]  # fmt: skip
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


def test_regions_with_an_if_clause_are_judged_on_the_device_at_every_size(case, box):
    text = "int candidate;\n#pragma omp target map(p) if (target : n > 600)\n;\n"
    target = of(case, "target")
    target = replace(target, candidate=replace(target.candidate, files={"a.c": text}))
    assert rungs_run.mapping(target).state == PASSED
    own = [a for a in box.asked("run device") if a.whose == "candidate"]
    assert [a.command[-1] for a in own] == ["5", "3"] * 3
    for right_before, state, which in ((1, FAILED, "true"), (2, NOT_SHOWN, "false")):
        said = iter((*(done("sum 5"), done("sum 3")) * right_before, done("sum 0")))
        box.says["candidate", "run device"] = lambda _, said=said: next(said)
        evidence = rungs_run.mapping(target)
        assert evidence.state == state
        (found,) = evidence.findings
        assert f"and the `if` clauses of its regions {which}, output line 1" in found.message


def test_what_llvms_library_may_do_is_tried_where_a_program_has_the_word(case, box):
    plain = of(case, "openmp")
    text = {"a.c": "int candidate;\n#pragma omp threadprivate(candidate)\n"}
    named = replace(plain, candidate=replace(plain.candidate, files=text))
    box.says["candidate", "run clang"] = lambda a: done(
        f"sum {int(a.command[-1]) + ('OMP_DYNAMIC' in a.environment)}")  # fmt: skip
    assert rungs_run.threads(plain).state == PASSED
    assert "(OMP_DYNAMIC)" in rungs_run.threads(named).findings[0].message
