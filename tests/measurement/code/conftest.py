"""Compilers that are there or not, a scripted sandbox, and a case whose inputs are known."""

from __future__ import annotations

import pytest

from rheostat.measurement.code import rungs_measure, toolchain
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.parsing.compare_output import Tolerance
from rheostat.measurement.code.reference import Reference
from rheostat.measurement.code.workbench import Workbench
from tests.measurement.code.rung_cases import LARGE, MIDDLE, SMALL, SMALLER, program
from tests.measurement.scripted import Scripted


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
    reference.edges = ()
    reference.clean, reference.agreed = True, Tolerance(relative=1e-6)
    return Case(program("candidate"), reference)
