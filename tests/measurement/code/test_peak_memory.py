"""Peak memory, scripted: what a parent of the program says of it, and nothing else."""

from __future__ import annotations

import math

import pytest

from rheostat.measurement.code.sandboxed.capture import SandboxLimits
from rheostat.measurement.code.sandboxed.peak_memory import FILE, PARENT, peak_memory_b
from rheostat.measurement.code.toolchain import BINARY, GCC
from tests.measurement.code.rung_cases import SMALL
from tests.measurement.scripted import done


@pytest.fixture
def peak(case):
    def measured():
        built = case.bench.build(case.candidate, GCC)
        return peak_memory_b(case.bench, built, SMALL.given, threads=2, limits=SandboxLimits())

    return measured


def test_the_parents_kilobytes_count_and_what_the_program_prints_does_not(case, box, peak):
    parent = case.bench.build(PARENT, GCC).folder / BINARY
    parent.write_bytes(b"parent")
    ends = {"well": 0, "badly": 1}
    for how, status in ends.items():
        box.says["candidate", "run gcc"] = lambda asked, status=status: done(
            "", f"0123456789abcdef 7\n{asked.command[1]} 2048\n", status
        )
        expected = 2048 * 1024.0 if how == "well" else math.nan
        assert peak() == pytest.approx(expected, nan_ok=True)
    asked = box.asked("run gcc")[-1]
    assert (asked.command[0], asked.command[2]) == (f"./{FILE}", f"./{BINARY}")
    marks = {a.command[1] for a in box.asked("run gcc")}
    assert {len(m) for m in marks} == {16}
    assert len(marks) == 2  # a mark is drawn for each run, so that no program can know it
    built = case.bench.build(case.candidate, GCC)
    assert (built.folder / FILE).read_bytes() == b"parent"
    box.says["candidate", "run gcc"] = done("", "deadbeef 2048\n")
    assert math.isnan(peak())


def test_without_a_parent_nothing_is_known(box, peak):
    assert math.isnan(peak())  # it is said to be built, and is not there
    assert box.asked("run gcc") == []
