"""A candidate whose text the compiler refuses is not vouched for; a build that was stopped is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rheostat.measurement.code.parsing.precision import SINGLE_PRECISION
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.reached.marked_runs import _refused
from rheostat.measurement.code.sandboxed.capture import SandboxRun


@pytest.mark.parametrize(
    ("status", "stopped", "refused"),
    [(1, "", True), (-9, "longer than 60 s", False), (0, "", False)],
)
def test_only_what_the_compiler_refuses_counts(status: int, stopped: str, refused: bool) -> None:
    run = SandboxRun(status, "", "", 0.1, 0.1, 0, stopped)
    built = SimpleNamespace(ok=run.ok, said=run)
    bench = SimpleNamespace(compiler_texts=lambda *_, **__: [built])
    case: Any = SimpleNamespace(
        bench=bench, original=SimpleNamespace(inputs=SimpleNamespace(ranges={"n": (1, 9)})),
        original_on_host=False,
    )  # fmt: skip
    program = Program({"p.c": "int main(void) { return 0; }"}, "serial")
    assert _refused(case, program) is refused


@pytest.mark.parametrize(
    ("text", "single"),
    [
        ("double half = n / 2;", False), ("x = half * 0.5;", False), ("mid(half);", False),
        ("half x = 0;", True), ("__kernel void f(half *x, half4 y)", True),
        ("float x;", True), ("float4 v;", True), ("__half h;", True), ("a[half] = 1;", False),
    ],
)  # fmt: skip
def test_a_variable_called_half_asks_for_no_single_precision(text: str, single: bool) -> None:
    assert bool(SINGLE_PRECISION.search(text)) is single
