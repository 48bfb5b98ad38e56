"""Runs from one start that print more than all may."""

from __future__ import annotations

import shutil

import pytest

from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.sandboxed.capture import SandboxLimits
from rheostat.measurement.code.sandboxed.each_input import MOST_TOLD_B
from rheostat.measurement.code.sandboxed.sandbox import Unsafe
from rheostat.measurement.code.toolchain import GCC
from rheostat.measurement.code.workbench import MOST_OUTPUTS_B, Workbench

PRINTS = """
#include <stdio.h>
#include <stdlib.h>
int main(int n, char **words) { return n < 0 || !printf("%*s", atoi(words[1]), words[2]); }
"""
SIZE, RUNS = 600_000, 60


@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
@pytest.mark.parametrize("how", ["forks", "shares memory"])
def test_what_is_printed_beyond_the_most_is_left_out_and_never_cut(tmp_path, how):
    bench, limits = Workbench(Unsafe(), tmp_path), SandboxLimits(wall_s=60.0, cpu_s=60.0)
    made = bench.build(Program({"a.c": PRINTS}), GCC)
    every = [ProgramInput((f"{SIZE}", f"{n}")) for n in range(RUNS)]
    run = bench.run_many if how == "shares memory" else bench.run_each
    outputs = run(made, every, limits, most_cpu_s=50.0)
    assert len(outputs) == MOST_TOLD_B // SIZE + 1 < RUNS
    assert outputs == [f"{n:{SIZE}}" for n in range(len(outputs))]
    whole = bench.run_each(made, every, limits)  # of which each is asked for
    assert len(whole) == RUNS
    assert whole[-1] is None
    kept = MOST_OUTPUTS_B // SIZE
    assert whole[:kept] == [f"{n:{SIZE}}" for n in range(kept)]
