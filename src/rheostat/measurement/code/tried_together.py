"""Inputs that are tried together: of an original one start as it is, one under the sanitizers.

What is not clean there, or not quick, is tried by itself; so is what a candidate does otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

from rheostat.measurement.code.parsing.compare_output import Tolerance, differences, output_lines
from rheostat.measurement.code.programs.expected import Expected
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.sandboxed.capture import SandboxLimits
from rheostat.measurement.code.toolchain import SANITIZED, SANITIZER_OPTIONS
from rheostat.measurement.code.workbench import Built, Workbench, roomy

QUICK_S = 0.04
"""CPU seconds of the longest known input up to which it stands for the others."""
LEAST = 3
"""Inputs that are worth a start of their own."""


def tried_together(
    bench: Workbench, built: Built, inputs: Sequence[ProgramInput], longest: Sequence[Expected],
    limits: SandboxLimits, tolerance: Tolerance,
) -> list[Expected | None]:  # fmt: skip
    """What an original prints on inputs where it ends well, and the same under the sanitizers.

    Parameters
    ----------
    bench : Workbench
        Builds and runs it.
    built : Built
        The original as it is.
    inputs : sequence of ProgramInput
        Those to be tried.
    longest : sequence of Expected
        The known input that takes the longest, whose seconds are taken for theirs; none where
        they have to be tried one by one.
    limits : SandboxLimits
        Of one run.
    tolerance : Tolerance
        Of what is printed.

    Returns
    -------
    list of Expected or None
        Of each input; None where it has to be tried by itself.
    """
    quick = [e for e in longest if e.cpu_s <= QUICK_S]
    called = any(given.called for given in inputs)
    if not quick or called or bench.reads_stderr or len(inputs) < LEAST:
        return [None] * len(inputs)
    checked = bench.build(built.program, SANITIZED)
    plain = bench.run_each(built, inputs, limits)
    filled = bench.run_each(checked, inputs, roomy(limits), environment=SANITIZER_OPTIONS)
    return [
        Expected(given, said, quick[0].cpu_s, quick[0].wall_s, again)
        if said and again and output_lines(said, tolerance)
        and not differences(again, said, tolerance) else None
        for given, said, again in zip(inputs, plain, filled, strict=True)
    ]  # fmt: skip


def not_shown_together(
    bench: Workbench, built: Built, known: Sequence[Expected], limits: SandboxLimits,
    agreed: Tolerance, threads: int = 1, environment: dict[str, str] | None = None,
) -> list[Expected]:  # fmt: skip
    """Inputs that a candidate has to be run on by itself: slow ones, and what differs or fails.

    Parameters
    ----------
    bench : Workbench
        Runs it.
    built : Built
        The candidate.
    known : sequence of Expected
        Inputs and what has to be printed there; those that are quick have one start.
    limits : SandboxLimits
        Of one run.
    agreed : Tolerance
        Of what is printed.
    threads : int
        How many.
    environment : dict of str to str, optional
        Of the runs.
    """
    quick = [e for e in known if e.cpu_s <= QUICK_S and not e.given.called]
    if bench.reads_stderr or len(quick) < LEAST:
        return list(known)
    every = bench.run_each(built, [e.given for e in quick], limits, threads=threads,
                           environment=environment)  # fmt: skip
    shown = {id(e) for e, said in zip(quick, every, strict=True)
             if said is not None and not differences(said, e.output, agreed)}  # fmt: skip
    return [e for e in known if id(e) not in shown]
