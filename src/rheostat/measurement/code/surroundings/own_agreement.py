"""How far an original agrees with itself: in wider sums, and of CUDA in other orders of threads.

A device keeps no order.  What an original prints is no measure of others beyond what of it stays
the same: no candidate can agree with it better than it does with itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rheostat.measurement.code.parsing.compare_output import Tolerance, differences, spread
from rheostat.measurement.code.programs.expected import Expected
from rheostat.measurement.code.sandboxed.capture import SandboxRun
from rheostat.measurement.code.toolchain import EXTENDED
from rheostat.measurement.code.workbench import Built, Workbench

WAYS: dict[str, dict[str, str]] = {
    "it is run again": {},
    "its threads and blocks come backward": {"CUDA_ORDER": "-1"},
    "its threads and blocks come shuffled": {"CUDA_ORDER": "-2"},
    "memory that it never set holds something else": {"CUDA_ORDER": "-3", "MALLOC_PERTURB_": "128"},
}
"""On the same device; above zero the runtime makes it another one."""
SPREAD_FACTOR, MOST_SPREAD = 10.0, 1e-4
LONG_S = 1.0
"""CPU seconds of an input that is not run again."""


class OwnRun(NamedTuple):
    """The original on an input, run otherwise."""

    how: str
    expected: Expected
    run: SandboxRun


def otherwise(bench: Workbench, built: Built, known: Sequence[Expected]) -> tuple[OwnRun, ...]:
    """An original in CUDA that a CPU runs, on known inputs in each of the ways.

    Parameters
    ----------
    bench : Workbench
        Where it is run.
    built : Built
        The original.
    known : sequence of Expected
        Inputs with what it prints on them.
    """
    return tuple(
        OwnRun(how, e, bench.run(built, e.given, limits=e.limits(), environment=environment))
        for how, environment in WAYS.items() for e in known if e.cpu_s < LONG_S
    )  # fmt: skip


def own_spread(
    bench: Workbench, built: Built, known: Sequence[Expected], others: Sequence[OwnRun]
) -> float:
    """What wider sums and other orders do to an original's outputs, with a margin.

    Only the precision of sums is another: where the original makes up for rounding, as by Kahan's
    sum, a candidate has to do so, too.  Another order is that of its own threads.
    """
    wider = bench.build(built.program, EXTENDED)
    runs = [(bench.run(wider, e.given, limits=e.limits()), e) for e in known if wider.ok]
    runs += [(other.run, other.expected) for other in others]
    apart = [0.0, *(spread(run.stdout, e.output) for run, e in runs if run.ok)]
    return min(SPREAD_FACTOR * float(np.nanmax(apart)), MOST_SPREAD)


def not_its_own(runs: Sequence[OwnRun], agreed: Tolerance) -> str:
    """Why nothing can be compared with it; empty where it agrees with itself."""
    for how, e, run in runs:
        where = f"with {e.given.words} the original itself"
        if not run.ok:
            return f"{where} {run.ending_and_words} where {how}"
        for d in differences(run.stdout, e.output, agreed):
            return (f"{where} prints something else where {how}, so that nothing can be compared: "
                    f"output line {d.line} is {d.expected!r:.120}, then {d.got!r:.120}; mend it, "
                    "leave the line out ([tolerance] outputs), or say how far numbers may differ "
                    "(--rtol)")  # fmt: skip
    return ""
