"""Programs that ask how many processors there are: the same output on 1, 3 and 64.

Two builds of one program on one machine are told the same number, so that what a program does on
another machine shows only where it is told another one.
"""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.resources import files

from rheostat.measurement.code.case import Case
from rheostat.measurement.code.verdict import Finding

RUNTIME = "processors.c"
ASKS = re.compile(
    r"omp_get_num_procs|sysconf|get_nprocs(?:_conf)?|std::thread::hardware_concurrency"
)
COUNTS = (1, 3, 64)


def on_other_machines(case: Case) -> list[Finding]:
    """What is wrong where the candidate is told that there are 1, 3 or 64 processors.

    Parameters
    ----------
    case : Case
        The candidate on its way.

    Returns
    -------
    list of Finding
        Empty also where it does not ask, or is built by a command of its own.
    """
    candidate = case.candidate
    names = case.bench.imports(case.built) or frozenset()
    if candidate.build or not any(ASKS.fullmatch(n) for n in names):
        return []
    text = (files(__package__) / "locks" / RUNTIME).read_text(encoding="utf-8")
    changed = replace(candidate, files={**candidate.files, RUNTIME: text})
    made = case.bench.build(changed, case.kind)
    for expected in (*case.reference.small, case.reference.expected[0]) if made.ok else ():
        for count in COUNTS:
            run = case.bench.run(made, expected.given, limits=case.limits(expected), threads=2,
                                 environment={"RHEOSTAT_PROCESSORS": str(count)})  # fmt: skip
            findings = case.wrong("output", run, expected, f" and {count} processors")
            if findings:
                return findings
    return []
