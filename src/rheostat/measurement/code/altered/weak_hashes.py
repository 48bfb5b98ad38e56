"""Hashes in the place of what they are made of: which two are alike no run needs to show.

A rolling hash (``h = (h ^ c) * 16777619``) of the candidate's own is made so weak that many texts
share one.  Who compares the texts, too, prints the same then.
"""

from __future__ import annotations

from rheostat.measurement.code.altered.data_hashes import DataHashes
from rheostat.measurement.code.altered.hash_texts import mixes_by_xor, weakened
from rheostat.measurement.code.altered.power_sums import power_sums
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.parsing.compare_output import differences
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.reached.marked_builds import (
    LINKED,
    compiler_texts,
    factors_of_original,
    linked,
)
from rheostat.measurement.code.reached.marked_runs import UNMARKED, lines_of_original
from rheostat.measurement.code.toolchain import compiler_absent
from rheostat.measurement.code.verdict import Finding

WHY = "a hash stands for what it is made of, and two may have the same"
OTHER = "another output where hashes of three bits are often alike"
SOME = 200


def weak_hashes(case: Case) -> list[Finding]:
    """What is printed otherwise where the candidate's own hashes are weak.

    Parameters
    ----------
    case : Case
        The candidate on its way.
    """
    program = case.candidate
    if program.build or case.shared_by_compiler:
        return []
    if program.language in UNMARKED and not case.on_host:
        return []
    if compiler_absent(program, "clang") or not case.original.inputs.ranges:
        return []
    known = factors_of_original(case)
    whole = [made.said.stdout for made in compiler_texts(case, program) if made.ok]
    ours = [made.said.stdout for made in compiler_texts(case, case.original) if made.ok]
    xor = not any(map(mixes_by_xor, ours))

    def original_sums() -> bool:
        return any(power_sums(code, DataHashes([code])) for code in ours)

    weak = [weakened(code, known, xor=xor, theirs=lines_of_original(case, code),
                     original_sums=original_sums) for code in whole]  # fmt: skip
    if not any(text for text, _ in weak) or len(whole) < len(program.sources):
        return []
    texts = {f"weak{i}.ll": text or code
             for i, ((text, _), code) in enumerate(zip(weak, whole, strict=True))}  # fmt: skip
    return _compared(case, linked(program, texts))


def _compared(case: Case, program: Program) -> list[Finding]:
    reference = case.reference
    known = [(e.given, e.output) for e in (*reference.small, *reference.expected, *reference.edges)]
    known += case.many[:: len(case.many) // SOME + 1]
    made = case.bench.build(program, LINKED)
    limits = case.limits(reference.expected[0])
    outputs = case.bench.run_each(made, [g for g, _ in known], limits) if made.ok else []
    for (given, output), got in zip(known, outputs, strict=False):
        if got is not None and differences(got, output, reference.agreed):
            return [case.finding("output", f"with {given.words} {OTHER}")]
    return []
