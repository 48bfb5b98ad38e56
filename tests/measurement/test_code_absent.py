"""Tools that are absent: their rungs are not available, with the package, and never passed."""

from __future__ import annotations

from pathlib import Path

import pytest

from rheostat.measurement.code import toolchain
from rheostat.measurement.code.ladder import verifier
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import inputs_of
from rheostat.measurement.code.sandboxed.sandbox import sandbox
from rheostat.measurement.code.verdict import ACCEPTED, NOT_AVAILABLE, UNDECIDED

NEED = {
    "calls": "nm", "sanitizers": "clang", "races": "clang", "mapping": "clang",
    "work": "valgrind", "energy": "valgrind",
}  # fmt: skip
SOURCE = """#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  int n = atoi(argv[1]);
  double s = 0;
#pragma omp target teams distribute parallel for map(tofrom : s) reduction(+ : s)
  for (int i = 0; i < n; i++) s += 0.5 * i;
  printf("%g\\n", s);
  return 0;
}
"""
PAGE = Path(__file__).parents[2] / "docs" / "guide" / "code.md"


@pytest.fixture
def gcc_alone(monkeypatch):
    """A machine with gcc and nothing else."""
    here = toolchain.tool
    monkeypatch.setattr(
        toolchain, "tool", lambda name: here(name) if name in ("gcc", "g++") else ""
    )
    monkeypatch.setattr("rheostat.measurement.code.rungs_measure.meters", list)
    toolchain.llvm_libraries.cache_clear()
    yield
    toolchain.llvm_libraries.cache_clear()


@pytest.mark.skipif(not toolchain.tool("gcc"), reason="gcc is not installed")
@pytest.mark.usefixtures("gcc_alone")
def test_what_is_absent_is_not_available_and_never_passed() -> None:
    program = Program({"a.c": SOURCE}, "target")
    with verifier(program, inputs=inputs_of(SOURCE), seed=1,
                  confined_by=sandbox("none")) as checking:  # fmt: skip
        verdict = checking.verify(program, rungs=("output", *NEED))
        checking.required = ("output", "races")
        strict = checking.verify(program, rungs=("output", *NEED))
    for rung, name in NEED.items():
        evidence = verdict.rung(rung)
        assert evidence.state == NOT_AVAILABLE, evidence
        assert f"apt-get install {toolchain.PACKAGES[name]}" in evidence.reason
    assert (verdict.state, strict.state) == (ACCEPTED, UNDECIDED)


def test_the_guide_names_the_package_of_every_tool() -> None:
    line = PAGE.read_text().split("sudo apt-get install")[1].split("\n\n")[0]
    named = line.replace("\\", " ").split()
    wanted = {
        p for tool, text in toolchain.PACKAGES.items() if tool != "nvcc" for p in text.split()
    }
    assert wanted <= set(named)
