"""Races on data of few different values, where threads write to places that they else never share.

Of 60 rows that each add to one of 262,144 places two share one in a hundred inputs, and a race is
seen where they do.  What draws the data of both programs is replaced (`other_data`), and
ThreadSanitizer looks at the candidate then.  An original that is not clean on such data, or does
not end well, tells nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rheostat.measurement.code.altered.data_sites import data_sites
from rheostat.measurement.code.altered.other_data import (
    HELPERS,
    KINDS,
    SharedDraws,
    Texts,
    borne,
    known_on,
    original_on_other_data,
    printed_on,
    replaced,
    shared_draws,
)
from rheostat.measurement.code.case import FOR_DEVICES, PARALLEL, Case
from rheostat.measurement.code.parsing.diagnostics import race_findings
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.races.raced_text import spread_over_threads
from rheostat.measurement.code.races.task_memory import TASKS
from rheostat.measurement.code.reached.marked_builds import LINKED, compiler_texts, linked
from rheostat.measurement.code.toolchain import TEXT
from rheostat.measurement.code.verdict import Finding
from rheostat.measurement.code.workbench import Built, roomy

RACED = ("-fsanitize=thread",)
TEXT_OF_RACES = replace(TEXT, name="races on other data", flags=(*TEXT.flags, *RACED))
WHY = "the same lines draw the data of both, and the original bears them"
FEW_VALUES = (1, 4)
"""Kinds of other data: of few different values, of two."""
INPUTS, THREADS, SLOWER = 2, 4, 5.0


def raced_on_other_data(case: Case, options: Mapping[str, str]) -> list[Finding]:
    """Races that data of few different values show; none where the programs draw otherwise.

    Parameters
    ----------
    case : Case
        The candidate on its way.
    options : mapping of str to str
        Options of ThreadSanitizer and Archer.
    """
    draws = shared_draws(case) if _can_be_asked(case.candidate) else SharedDraws()
    if draws.more or not draws.lines:
        return []
    raced = _raced(case, case.candidate, draws.lines)
    plain = original_on_other_data(case, draws)
    for kind in FEW_VALUES if raced.ok and plain.ok else ():
        for given, output in known_on(case, plain, kind)[-INPUTS:]:
            raced_at = _races(case, raced, given, kind, options)
            if raced_at and _is_clean(case, draws.lines, (given, output), kind, options):
                return raced_at
    return []


def _can_be_asked(program: Program) -> bool:
    """Whether ThreadSanitizer sees its threads: no device's, and no memory of tasks."""
    devices = program.language in (*FOR_DEVICES, "target") or program.holds_kernels
    return not (devices or TASKS.search(program.text))


def _is_clean(
    case: Case, lines: frozenset[str], known: tuple[ProgramInput, str], kind: int,
    options: Mapping[str, str],
) -> bool:  # fmt: skip
    """Whether the original bears such data, and has no race itself."""

    def printed(built: Built, given: Sequence[ProgramInput], noise: int) -> list[str | None]:
        return printed_on(case, built, given, kind, noise)

    if not all(borne(case, lines, [known], printed)):
        return False
    if case.original.language not in PARALLEL:
        return True
    own = _raced(case, case.original, lines)
    return own.ok and not _races(case, own, known[0], kind, options)


def _raced(case: Case, program: Program, lines: frozenset[str]) -> Built:
    """A program with what draws its data replaced, under ThreadSanitizer."""
    program = spread_over_threads(program)
    builds = list(compiler_texts(case, program, TEXT_OF_RACES))
    codes = [b.said.stdout for b in builds if b.ok]
    texts: Texts = codes, data_sites(codes, program, case.original.inputs)
    made = {f"raced{i}.ll": text for i, text in enumerate(replaced(texts, lines))}
    return case.bench.build(linked(replace(program, objects=(HELPERS,)), made, *RACED), LINKED)


def _races(
    case: Case, raced: Built, given: ProgramInput, kind: int, options: Mapping[str, str]
) -> list[Finding]:
    environment = {**options, "OMP_SCHEDULE": "static,1", "RHEOSTAT_DATA": str(kind)}
    limits = roomy(case.limits(case.reference.small[0], THREADS), SLOWER)
    run = case.bench.run(raced, given, threads=THREADS, limits=limits, environment=environment)
    where = f" with {given.words}, {KINDS[kind]}"
    return [replace(f, message=f.message + where) for f in race_findings(run.stderr)]
