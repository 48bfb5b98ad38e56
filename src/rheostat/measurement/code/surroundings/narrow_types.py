"""The same output where types are narrower: where `long` has 32 bits, as on Windows.

A sum in `long` in the place of one in `int64_t` is right in every run here and overflows there.
Both programs are built with such types.
Where the output of the original changes, too, there is no finding.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from rheostat.measurement.code.case import FOR_DEVICES, Case
from rheostat.measurement.code.parsing.compare_output import differences
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.surroundings.another_library import known_inputs
from rheostat.measurement.code.surroundings.same_text import without_blanks
from rheostat.measurement.code.surroundings.type_widths import is_text_of_c, narrow_lines, narrowed
from rheostat.measurement.code.verdict import Finding
from rheostat.measurement.code.workbench import Built

WHY = (
    "types may be so narrow elsewhere (`long` has 32 bits on Windows): take int64_t, "
    "or review the line if it runs nowhere like that"
)
MOST_BUILDS, MOST_CPU_S, MOST_NAMED = 4, 0.25, 6
"""Builds, each without the lines that the last one did not take; CPU seconds; lines named."""
ERROR_AT = re.compile(
    r"(?m)^(?:\./)?(?P<file>[^\s:]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error:(?P<what>.*)"
)
ONE_TYPE = re.compile(r"redefinition|overloaded with|redeclared|compatible|multiple associations")
"""Of compilers where two types, of which a program has each, have become one."""
BY_TYPE = (
    "goes by whether a type is `long`, so that no run shows what it does where that has 32 bits"
)


def narrow_types(case: Case) -> list[Finding]:
    """Where the candidate prints something else with types as narrow as they are elsewhere.

    Parameters
    ----------
    case : Case
        The candidate on its way.

    Returns
    -------
    list of Finding
        Empty also where the original prints something else then on any input: it is written for
        machines like this one.
    """
    lines = _lines(case)
    if not lines or case.only_pragmas or case.candidate.language in FOR_DEVICES:
        return []
    known = [(e.given, e.output) for e in case.reference.edges] + known_inputs(case)
    made, by_type = _built(case, case.candidate)
    apart = _apart(case, made, known)
    if (
        apart
        and _ends(case, apart[0][0])
        and not _apart(case, _built(case, case.original)[0], known)
    ):
        return [_said(case, lines, *apart[0])]
    return [] if apart else [Finding("output", *at, BY_TYPE) for at in by_type if at in lines][:1]


def _apart(
    case: Case, made: Built, known: Sequence[tuple[ProgramInput, str]]
) -> list[tuple[ProgramInput, str, str]]:
    """Inputs on which a build with narrow types prints something else, or fails."""
    limits, every = case.limits(case.reference.expected[0]), [given for given, _ in known]
    outputs = case.bench.run_each(made, every, limits, most_cpu_s=MOST_CPU_S) if made.ok else []
    return [
        (given, output, got or "") for (given, output), got in zip(known, outputs, strict=False)
        if got is None or differences(got, output, case.reference.agreed)
    ]  # fmt: skip


def _ends(case: Case, given: ProgramInput) -> bool:
    """Whether a run of many ends well as it is built here, too."""
    limits = case.limits(case.reference.expected[0])
    return case.bench.run_each(case.built, [given], limits) != [None]


def _lines(case: Case) -> list[tuple[str, int]]:
    """Lines of the candidate with such a type, first those that are none of the original's."""
    known = {without_blanks(row) for _, _, row in narrow_lines(case.original.files)}
    every = narrow_lines(case.candidate.files)
    every.sort(key=lambda one: without_blanks(one[2]) in known)
    return [(name, number) for name, number, _ in every]


def _built(case: Case, program: Program) -> tuple[Built, list[tuple[str, int]]]:
    """A build with narrow types, but on lines that it does not take; which go by types."""
    kept: dict[str, set[int]] = {}
    by_type: list[tuple[str, int]] = []
    for _ in range(MOST_BUILDS):
        files = {n: narrowed(t, kept.get(n, ())) if is_text_of_c(n) else t
                 for n, t in program.files.items()}  # fmt: skip
        made = case.bench.build(replace(program, files=files), case.kind)
        for m in ERROR_AT.finditer(made.said.stdout + made.said.stderr):
            file, line = m["file"], int(m["line"])
            kept.setdefault(file, set()).add(line)
            by_type += [(file, line)] if ONE_TYPE.search(m["what"]) else []
        if made.ok:
            break
    return made, by_type


def _said(
    case: Case, lines: Sequence[tuple[str, int]], given: ProgramInput, output: str, got: str
) -> Finding:
    d = differences(got, output, case.reference.agreed)[0]
    file, line = lines[0]
    more = ", ".join(str(n) for name, n in lines[1:MOST_NAMED] if name == file)
    more = f" (also lines {more})" if more else ""
    message = (f"with a `long` of 32 bits, and other types as narrow as anywhere{more}, with "
               f"{given.words}, output line {d.line}: expected {d.expected!r:.120}, "
               f"got {d.got!r:.120}")  # fmt: skip
    return Finding("output", file, line, message)
