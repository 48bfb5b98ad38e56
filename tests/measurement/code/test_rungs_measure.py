"""Rungs that measure, scripted: counts of work, paired times, energy by meters or modelled."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from rheostat.measurement.code import rungs_measure, toolchain
from rheostat.measurement.code.case import RungOptions
from rheostat.measurement.code.costs.modelled_energy import EnergyModel
from rheostat.measurement.code.costs.work_counts import WorkCounts, count_flops, count_work
from rheostat.measurement.code.verdict import FAILED, NOT_SHOWN, PASSED, Evidence, Finding
from rheostat.measurement.code.workbench import roomy
from tests.measurement.code.rung_cases import (
    LARGE,
    MIDDLE,
    SMALL,
    SMALLER,
    case_on_device,
    counted,
    failed,
    given,
    lacks,
    of,
    program,
    wrong,
)
from tests.measurement.scripted import done


def test_work_is_counted_without_that_of_an_empty_program(case, tools, box, monkeypatch):
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
    said = "executes 0.5 times the original's instructions with n=700"
    evidence = rungs_measure.work(few)  # a better method leaves work out as well as a wrong one
    assert (evidence.state, evidence.findings) == (NOT_SHOWN, wrong("work", said))
    assert (evidence.numbers, evidence.reason) == (
        numbers, f"a.c: {said}; {rungs_measure.LEFT_OUT}")  # fmt: skip
    monkeypatch.setattr(rungs_measure, "own_instructions", lambda *_: 30_000.0)
    assert rungs_measure.work(few).state == PASSED  # its own files do as much: a library does less
    monkeypatch.undo()
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


def test_an_original_in_cuda_run_by_the_cpu_has_no_least_work(case, tools, box):
    tools.update({"g++", "clang++"})
    case.reference.original = program("original", "cuda", "cu")
    box.says["empty", "run work"] = counted(0)
    box.says["candidate", "run work"] = counted(100_000)
    few = replace(case, options=RungOptions(least_work=0.5))
    box.says["original", "run work"] = counted(400_000)
    lacks(lambda: rungs_measure.work(few), rungs_measure.EMULATED)
    case.reference._counted.clear()
    box.says["original", "run work"] = counted(190_000)
    assert rungs_measure.work(few).state == PASSED


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
    linker = ("-fuse-ld=gold",)
    assert own == ("/t/g++", "-O1", "-fopenmp", *linker, "-o", "program", "empty.cc", "-lm")


def test_work_of_opencl_is_that_of_its_kernels(case, box, tools):
    def said(count: int):
        return done(f"sum 5\nInstructions executed for kernel 'f':\n  {count} - br\n  10 - fadd\n")

    opencl = of(case, "opencl")
    case.reference.original = program("original", "opencl")
    box.says["original", "run gcc"], box.says["candidate", "run gcc"] = said(990), said(490)
    made = rungs_measure.work(opencl)
    assert (made.state, made.numbers["instruction_ratio"]) == (PASSED, 0.5)
    box.says["candidate", "run gcc"] = said(20)
    made = rungs_measure.work(opencl)
    assert (made.state, made.numbers["instruction_ratio"]) == (NOT_SHOWN, 0.03)
    box.says["original", "run gcc"] = said(20)
    lacks(lambda: rungs_measure.work(opencl), "30 instructions of kernels are too few to compare")
    tools.add("oclgrind")
    lacks(lambda: rungs_measure.work(opencl), toolchain.absent("oclgrind"))


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
        box.says[whose, "run gcc"] = done(LARGE.output, wall_s=seconds)


def test_times_are_taken_in_pairs_without_the_start(case, box):
    timed(box, 1.01, 0.51)
    made = rungs_measure.time(replace(case, options=RungOptions(pairs=6)))
    assert made.reason == "0.5 times the original's time [0.5, 0.5]: faster"
    assert made.numbers == {
        "runtime_s": 0.5, "original_runtime_s": 1.0, "runtime_ratio": pytest.approx(0.5),
        "low": pytest.approx(0.5), "high": pytest.approx(0.5), "change": "faster", "pairs": 6,
        "threads": 2, "memory_byte": math.nan, "original_memory_byte": math.nan}  # fmt: skip
    runs = box.asked("run gcc")
    assert [a.whose[0] for a in runs] == ["o", "c", "c", "o"] * 3
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
    box.says["candidate", "run gcc"] = done("sum 901")
    printed = "with n=900 and 2 threads, timed, output line 1: expected 'sum 900', got 'sum 901'"
    before = len(box.asked("run gcc"))
    assert rungs_measure.time(case) == failed("time", *wrong("time", printed))
    assert [a.whose for a in box.asked("run gcc")[before:]] == ["original", "candidate"]
    for whose in ("candidate", "original"):
        timed(box, 1.0, 1.0)
        box.says[whose, "run gcc"] = done("", "", 1)
        assert rungs_measure.time(case) == failed("time", *wrong("time", said))
    assert rungs_measure.time(replace(case, options=RungOptions(pairs=0))).state == FAILED
    lacks(lambda: rungs_measure.time(of(case, "opencl")), case_on_device())


def told(case, change, ratio, low, high):
    """The case after a timed rung."""
    numbers = {"change": change, "runtime_ratio": ratio, "low": low, "high": high,
               "original_runtime_s": 2.0}  # fmt: skip
    return replace(case, evidence=[Evidence("time", PASSED, numbers=numbers)])


def profiled(instructions, scalar=0):
    """A run under callgrind that leaves a profile in which one instruction runs so often."""

    def answer(asked):
        (asked.cache / "profile").write_text(f"ob=/x/program\n0x10 {scalar}\n")
        return counted(instructions)

    return answer


def test_energy_is_modelled_from_counts_where_no_change_of_time_is_told(case, tools, box):
    box.says["original", "run gcc"] = profiled(10**9, 10**8)
    box.says["candidate", "run gcc"] = profiled(10**8)
    box.says["original", "objdump"] = done(" 10:\tmulsd %xmm0,%xmm1\n")
    box.says["candidate", "nm"] = done("U GOMP_parallel@GOMP_4.0\n")
    model = EnergyModel()
    counts = WorkCounts(1e9, 0, 2, 1, 1e8), WorkCounts(1e8, 0, 2, 1)
    joules = [model.energy_j(c, model.runtime_s(c)) for c in counts]
    untold = told(case, "a change of 5 % cannot be told", 0.2, 0.1, 2.0)
    for one in (case, untold):
        made = rungs_measure.energy(one)
        assert made.numbers == {
            "kind": "modelled", "basis": "counts", "energy_ratio": joules[1] / joules[0],
            "energy_j": joules[1], "original_energy_j": joules[0]}  # fmt: skip
        assert made.reason == (
            "modelled from counts at n=700 of one thread: no change of time is told: "
            f"{joules[1] / joules[0]:.3g} times the original's energy"
        )
    tools.add("valgrind")
    lacks(lambda: rungs_measure.energy(case), toolchain.absent("valgrind"))
    lacks(lambda: rungs_measure.energy(untold), toolchain.absent("valgrind"))
    lacks(lambda: rungs_measure.energy(of(case, "opencl")), case_on_device())


@pytest.mark.parametrize(("change", "ratio", "ends", "taken"), [
    ("faster", 0.5, (0.4, 0.6), (0.5, 0.4, 0.6)), ("slower", 2.0, (1.5, 3.0), (2.0, 1.5, 3.0)),
    ("no significant change", 1.02, (1.01, 1.03), (1.0, 1.0, 1.03)),
])  # fmt: skip
def test_measured_time_and_cores_stand_in_modelled_energy(case, box, change, ratio, ends, taken):
    box.says["original", "run gcc"] = box.says["candidate", "run gcc"] = profiled(10**9)
    box.says["candidate", "nm"] = done("U GOMP_parallel@GOMP_4.0\n")
    made = rungs_measure.energy(told(case, change, ratio, *ends))
    model, counts = EnergyModel(), WorkCounts(1e9, 0, 2, 1)
    before_s = model.runtime_s(counts)
    before = model.energy_j(counts, before_s)
    after = [model.energy_j(counts, before_s * x, 2) / before for x in taken]
    assert [made.numbers[k] for k in ("energy_ratio", "low", "high")] == pytest.approx(after)
    assert made.numbers["basis"] == "counts and time"
    assert made.reason.startswith("modelled from counts at n=700 and the measured time: ")


def test_where_only_time_is_known_energy_is_time_by_power(case, box, tools):
    box.says["candidate", "nm"] = done("U GOMP_parallel@GOMP_4.0\n")
    box.says["original", "run gcc"] = profiled(10**9)
    box.says["candidate", "run gcc"] = done("", "", 132)
    made = rungs_measure.energy(told(case, "faster", 0.5, 0.4, 0.6))
    power = EnergyModel().power_w(2) / EnergyModel().power_w(1)
    assert made.numbers["energy_ratio"] == pytest.approx(0.5 * power)
    assert made.numbers["original_energy_j"] == pytest.approx(2.0 * EnergyModel().power_w(1))
    assert made.reason == (
        "modelled as time by power: under callgrind the program ended by signal 4 (SIGILL): "
        f"{0.5 * power:.3g} times the original's energy [{0.4 * power:.3g}, {0.6 * power:.3g}]"
    )
    lacks(lambda: rungs_measure.energy(case),
          "under callgrind the program ended by signal 4 (SIGILL)")  # fmt: skip


def test_a_profile_that_is_no_plain_file_counts_no_operations(case, box):
    def linked(asked):
        (asked.cache / "profile").symlink_to("/proc/self/environ")
        return counted(7)

    made = case.reference.bench.build(case.candidate, toolchain.GCC)
    box.says["candidate", "run gcc"] = linked
    kept = set(Path(case.bench.folder).iterdir())
    counts = count_flops(case.bench, made, SMALL.given, SMALL.limits())
    assert (counts, set(Path(case.bench.folder).iterdir())) == (WorkCounts(7, 0, 2, 1), kept)


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
