"""Inputs that are tried from one start, and those that have to be tried alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rheostat.measurement.code.parsing.compare_output import Tolerance
from rheostat.measurement.code.programs.expected import Expected
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.sandboxed.capture import SandboxLimits
from rheostat.measurement.code.toolchain import SANITIZED
from rheostat.measurement.code.tried_together import (
    LEAST,
    QUICK_S,
    not_shown_together,
    tried_together,
)

INPUTS = [ProgramInput((n,)) for n in "1234"]
LONGEST = Expected(ProgramInput(("9",)), "sum 9", QUICK_S, 0.07)


def tried(inputs=INPUTS, longest=LONGEST, *, reads_stderr=False, checked=()):
    """What is known of inputs; ``checked`` is what the sanitizers' run prints in the end."""
    plain = [f"sum {given.arguments[0]}" for given in inputs]
    built: Any = SimpleNamespace(program="original")
    outputs = {id(built): plain, SANITIZED.name: [*checked, *plain[len(checked) :]]}
    bench: Any = SimpleNamespace(
        reads_stderr=reads_stderr, build=lambda program, kind: kind.name,
        run_each=lambda one, *_, **__: outputs[id(built) if one is built else one],
    )  # fmt: skip
    return tried_together(bench, built, inputs, [longest], SandboxLimits(), Tolerance())


def test_what_is_clean_is_known_with_the_seconds_of_the_longest() -> None:
    assert tried() == [Expected(g, f"sum {g.arguments[0]}", QUICK_S, 0.07, f"sum {g.arguments[0]}")
                       for g in INPUTS]  # fmt: skip


def test_what_the_sanitizers_stop_or_change_is_tried_alone() -> None:
    assert [e is None for e in tried(checked=(None, "sum 7"))] == [True, True, False, False]


@pytest.mark.parametrize("how", [
    {"inputs": INPUTS[:2]}, {"inputs": [*INPUTS, INPUTS[0].elsewhere("b")]}, {"reads_stderr": True},
    {"longest": Expected(INPUTS[0], "sum 9", 0.05, 0.07)},
])  # fmt: skip
def test_few_slow_or_strange_ones_are_tried_alone(how) -> None:
    assert set(tried(**how)) == {None}


def alone(known, *, reads_stderr=False):
    """Inputs that a candidate is run on by itself: it prints another sum of 1, and fails on 2."""
    said = {"1": "sum 7", "2": None}
    bench: Any = SimpleNamespace(
        reads_stderr=reads_stderr,
        run_each=lambda one, every, *_, **__: [
            said.get(n, f"sum {n}") for g in every for n in g.arguments],
    )  # fmt: skip
    built: Any = None
    return not_shown_together(bench, built, known, SandboxLimits(), Tolerance())


KNOWN = [Expected(g, f"sum {g.arguments[0]}", QUICK_S, 0.07) for g in INPUTS]


def test_what_a_candidate_prints_otherwise_from_one_start_is_run_by_itself() -> None:
    slow = Expected(ProgramInput(("5",)), "sum 5", 0.05, 0.07)
    assert alone([*KNOWN, slow]) == [*KNOWN[:2], slow]
    few = KNOWN[-LEAST + 1 :]
    assert (alone(few), alone(KNOWN, reads_stderr=True)) == (few, KNOWN)
