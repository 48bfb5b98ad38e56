"""The original, scripted: which inputs it admits, what sanitizers say of it, its tolerance."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from rheostat.errors import DataError
from rheostat.measurement.code import toolchain
from rheostat.measurement.code.parsing.compare_output import Tolerance
from rheostat.measurement.code.programs.expected import Expected
from rheostat.measurement.code.programs.program_inputs import (
    InputRange,
    ProgramInput,
    ProgramInputs,
)
from rheostat.measurement.code.toolchain import SANITIZER_OPTIONS
from rheostat.measurement.code.workbench import roomy
from tests.measurement.code.rung_cases import INPUTS, program, reference_of
from tests.measurement.exactly import refused
from tests.measurement.scripted import Scripted, done


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
    assert made.expected == (Expected(ProgramInput(), "sum 1", 0.2, 0.4, "sum "),)
    assert len(box.asked("run gcc")) == 2
    (checked,) = box.asked("run sanitizers")
    assert checked.environment == {
        "OMP_NUM_THREADS": "1", "OMP_DYNAMIC": "false", "OMP_WAIT_POLICY": "passive",
        "LD_LIBRARY_PATH": "/t/lib", **SANITIZER_OPTIONS}  # fmt: skip
    assert "hard_rss_limit_mb=2048:max_allocation_size_mb=2048" in SANITIZER_OPTIONS["ASAN_OPTIONS"]
    assert checked.limits == roomy(made.expected[0].limits())


@pytest.mark.parametrize(("says", "why", "runs"), [
    (done("", "", 4), "with {} the original ended with status 4", 1),
    (done("\n"), "with {} the original prints nothing that could be compared", 2),
    (None, "with {} the original prints something else each time: output line 1 is 'sum 0', then "
     "'sum 1'; a time needs a word or a unit beside it, or a mask ([tolerance] masked)", 2),
])  # fmt: skip
def test_without_an_admitted_input_the_first_reason_is_told(tools, box, tmp_path, says, why, runs):
    """What ended wrongly is not run a second time."""
    numbers = iter(range(10_000))
    box.says["original", "run gcc"] = says or (lambda a: done(f"sum {next(numbers)}"))
    made = reference_of(box, tmp_path, count=2)
    first = INPUTS.draw(np.random.default_rng([0, 0])).words
    advice = "say in a manifest which inputs it takes ([inputs])"
    refused(lambda: made.expected, why.format(first), advice)
    assert len(box.asked("run gcc")) == runs * 2 * 12


def test_an_original_that_fails_the_sanitizers_is_not_checked_by_them(tools, box, tmp_path):
    box.says["original", "run sanitizers"] = done("", "x", 1)
    made = reference_of(box, tmp_path, count=1)
    assert len(made.expected) == 1
    assert made.clean is False
    assert made.notes == ["the original itself fails the sanitizers: inputs are not checked"]
    report = "a.c:3:5: runtime error: index 9 out of bounds for type 'int [9]'"
    box.says["original", "run sanitizers"] = done("", report, 1)
    made = reference_of(box, tmp_path, count=1)
    assert len(made.expected) == 1
    assert "sanitizers: a.c:3: index 9 out of bounds" in made.notes[0]
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


SINGLE_SUM = {"a.c": "float original;\n"}


@pytest.mark.parametrize(("moves", "relative"), [
    (0.0, 1e-6), (1e-8, 1e-6), (5e-6, 5e-5), (1.0, 1e-4), (math.nan, 1e-6),
])  # fmt: skip
def test_in_single_precision_numbers_differ_by_ten_times_the_originals_rounding(
    tools, box, tmp_path, moves, relative
):
    box.says["original", "run gcc"] = done("sum 1.0")
    box.says["original", "run extended"] = (
        done("", "", 1) if math.isnan(moves) else done(f"sum {1.0 - moves!r}"))  # fmt: skip
    original = replace(program("original"), files=SINGLE_SUM)
    made = reference_of(
        box, tmp_path, count=1, original=original, tolerance=Tolerance(ulps=9)
    ).agreed
    assert (made.relative, made.ulps) == (pytest.approx(relative, rel=1e-4), 9)


def test_in_double_precision_and_where_a_person_says_it_the_tolerance_is_never_widened(
    tools, box, tmp_path
):
    box.says["original", "run extended"] = done("sum 2")
    double = replace(program("original"), files={"a.c": "double original;"})
    assert reference_of(box, tmp_path, count=1, original=double).agreed.relative == 1e-9
    plain = Tolerance(relative=1e-12)
    single = replace(program("original"), files=SINGLE_SUM)
    assert reference_of(box, tmp_path, tolerance=plain, original=single).agreed == plain
    assert box.asked("build extended") == []
    opencl = replace(program("original", "opencl"), files=SINGLE_SUM)
    assert reference_of(box, tmp_path, original=opencl).agreed.relative == 1e-6


def test_whole_numbers_agree_to_all_digits_also_behind_a_point(tools, box, tmp_path):
    agreed = reference_of(box, tmp_path, count=1).agreed
    assert not agreed.close("123456789012.34", "123456789012.35")
    double = replace(program("original"), files={"a.c": "double original;"})
    assert reference_of(box, tmp_path, count=1, original=double).agreed.close(
        "123456789012.34", "123456789012.35"
    )
    said = Tolerance(relative=1e-9)
    assert reference_of(box, tmp_path, count=1, tolerance=said).agreed == said


def test_results_on_standard_error_are_output_where_there_are_no_others(tools, box, tmp_path):
    box.says["original", "run gcc"] = done("", "sum 7\n")
    made = reference_of(box, tmp_path, count=1)
    assert made.expected[0].output == "sum 7\n"
    assert made.notes == ["results are on standard error, which is compared, too"]
    box.says["original", "run gcc"] = done("sum 7\n", "warning 3\n")
    made = reference_of(box, tmp_path, count=1)
    assert (made.expected[0].output, made.notes) == ("sum 7\n", [])
    box.says["original", "run gcc"] = done("", "")
    with pytest.raises(DataError, match="prints nothing that could be compared"):
        reference_of(box, tmp_path, count=1).expected  # noqa: B018
