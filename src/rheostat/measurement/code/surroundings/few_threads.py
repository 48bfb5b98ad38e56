"""Many inputs on few threads: what goes wrong where few large parts meet.

A path that crosses a border often shows in one input of a hundred, and with more parts in none.
What goes through four parts or more shows on two and three threads in none.
"""

from __future__ import annotations

from rheostat.measurement.code.case import Case
from rheostat.measurement.code.parsing.compare_output import differences
from rheostat.measurement.code.surroundings.thousand_threads import BY_NUMBER
from rheostat.measurement.code.verdict import Finding

COUNTS, MORE_PARTS = (2, 3), (5, 8)
"""The latter for a candidate that asks for a thread's number, as its parts may go by it."""
INPUTS, MOST_S = 512, 0.3
"""Inputs for each number of threads, and CPU seconds in which as many of them as may be are run."""


def on_few_threads(case: Case) -> list[Finding]:
    """What is wrong on one of many inputs, and again when it is run by itself.

    Parameters
    ----------
    case : Case
        A candidate in OpenMP, or one that starts threads.
    """
    reference = case.reference
    known = case.many[:: len(case.many) // INPUTS + 1]
    more = MORE_PARTS if BY_NUMBER.search(case.candidate.text) else ()
    for count in (*COUNTS, *more) if known else ():
        limits = case.limits(reference.expected[0], count)
        every = [given for given, _ in known]
        outputs = case.bench.run_each(case.built, every, limits, threads=count, most_cpu_s=MOST_S)
        for (given, wanted), got in zip(known, outputs, strict=False):
            if got is None or not differences(got, wanted, reference.agreed):
                continue
            expected = reference.admitted(given)
            if expected is None:
                continue
            alone = expected.limits(count)
            run = case.bench.run(case.built, given, threads=count, limits=alone)
            if findings := case.wrong("threads", run, expected, f" and {count} threads"):
                return findings
    return []
