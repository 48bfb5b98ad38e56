"""What tests of rungs share: programs, inputs, cases, and evidence that fails."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from rheostat.measurement.code.case import Case, RungUnavailable
from rheostat.measurement.code.programs.expected import Expected
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import (
    InputRange,
    ProgramInput,
    ProgramInputs,
)
from rheostat.measurement.code.reference import Reference
from rheostat.measurement.code.verdict import FAILED, Evidence, Finding
from rheostat.measurement.code.workbench import Workbench
from tests.measurement.scripted import done

INPUTS = ProgramInputs({"n": InputRange(1, 1000)}, ("{n}",))


def program(whose: str, language: str = "serial", ending: str = "c", **more) -> Program:
    return Program({f"a.{ending}": f"int {whose};\n"}, language, name=whose,
                   **{"inputs": INPUTS, **more})  # fmt: skip


def given(n: int, cpu_s: float = 0.01, wall_s: float = 0.02) -> Expected:
    return Expected(ProgramInput((str(n),), "", {"n": str(n)}), f"sum {n}", cpu_s, wall_s)


LARGE, MIDDLE, SMALL, SMALLER = given(900, 0.5), given(700, 0.02), given(5), given(3)


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


def reference_of(box, folder, **more) -> Reference:
    own = Path(tempfile.mkdtemp(dir=folder))
    return Reference(more.pop("original", program("original")), Workbench(box, own), **more)


def counted(instructions, references=0.0):
    return done(
        "", f"I refs: {instructions:,}\nD refs: {references:,}\nD1 misses: 2\nLL misses: 1\n"
    )


def case_on_device() -> str:
    return "no device: the host's time tells nothing of a GPU's"
