"""OpenCL from end to end: a serial program's kernel, run by PoCL and watched by oclgrind."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from rheostat.measurement.code import verifier
from rheostat.measurement.code.programs.kernel_suite import suite_kernels
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInputs
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap
from rheostat.measurement.code.toolchain import absent

LACKING = Bubblewrap().why() or absent("gcc", "oclgrind")
if not LACKING and not (os.path.exists("/usr/include/CL/cl.h") and os.path.isdir("/etc/OpenCL")):
    LACKING = "no OpenCL: apt-get install pocl-opencl-icd ocl-icd-opencl-dev"
BARRIER = '    "  barrier(CLK_LOCAL_MEM_FENCE);\\n"\n'


@pytest.mark.slow
@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_a_kernel_is_accepted_and_one_without_its_barrier_is_a_race() -> None:
    kernel = suite_kernels()["dot"]
    ranges = {"n": InputRange(40, 90), "steps": InputRange(2, 3)}
    inputs = ProgramInputs(ranges, ("{n}", "{steps}", "5"))
    serial = replace(kernel.program("serial"), inputs=inputs)
    opencl = kernel.program("opencl")
    text = opencl.files["main.c"]
    assert BARRIER in text
    racy = replace(opencl, files={"main.c": text.replace(BARRIER, "", 1)})
    with verifier(serial, seed=2, count=1) as one:
        one.reference.clean = False  # the serial original is tested elsewhere
        good = one.verify(opencl, rungs=("compile", "output", "races", "time"))
        bad = one.verify(racy, rungs=("races",))
    states = {e.rung: e.state for e in good.evidence if e.state != "skipped"}
    assert states == {"compile": "passed", "output": "passed", "races": "passed",
                      "time": "not available"}  # fmt: skip
    assert bad.rejected_by == "races"
    assert "data race" in bad.findings[0].message
