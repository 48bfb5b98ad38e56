"""Work of a run by cachegrind: instructions, data references, misses; the same under any load."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rheostat.measurement.code.capture import SandboxLimits
from rheostat.measurement.code.program_inputs import ProgramInput
from rheostat.measurement.code.workbench import Built, Workbench, roomy

CACHES = ("--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64")
"""Fixed, so that counts do not depend on the machine."""
WRAPPER = ("valgrind", "--tool=cachegrind", "--cache-sim=yes", *CACHES,
           "--cachegrind-out-file=/dev/null")  # fmt: skip
SLOWER = 100.0


@dataclass(frozen=True)
class WorkCounts:
    """Counts of one run, all processes and threads together."""

    instructions: float
    data_references: float
    level1_misses: float
    last_level_misses: float


def count_work(
    bench: Workbench, built: Built, given: ProgramInput, limits: SandboxLimits
) -> WorkCounts | str:
    """The counts of a build on an input with one thread, or why there are none."""
    run = bench.run(built, given, limits=roomy(limits, SLOWER), wrapper=WRAPPER)
    if not run.ok:
        return f"under cachegrind the program {run.ending}"
    return counts_in(run.stderr) or "cachegrind printed no counts"


def counts_in(text: str) -> WorkCounts | None:
    r"""The counts that cachegrind prints at its end.

    >>> counts_in("I refs: 1,200\nD refs: 500 (1 rd)\nD1 misses: 7\nLL misses: 3\n").instructions
    1200.0
    """
    totals = []
    for name in (r"I\s+refs", r"D\s+refs", r"D1\s+misses", r"LL\s+misses"):
        m = re.search(rf"\b{name}:\s+([\d,]+)", text)
        if m is None:
            return None
        totals.append(float(m[1].replace(",", "")))
    return WorkCounts(*totals)
