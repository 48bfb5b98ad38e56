"""The same end on inputs on which the original itself ends with an error that it reports."""

from __future__ import annotations

from rheostat.measurement.code.case import Case
from rheostat.measurement.code.parsing.compare_output import differences
from rheostat.measurement.code.sandboxed.capture import SandboxRun
from rheostat.measurement.code.verdict import Finding

MOST, OWN = 6, range(1, 126)
"""Inputs that are run; statuses that a program gives by itself, no shell and no signal."""


def error_runs(case: Case) -> list[Finding]:
    """What a candidate does otherwise where the original ends with a status and words of its own.

    Parameters
    ----------
    case : Case
        The candidate on its way.

    Returns
    -------
    list of Finding
        Empty also where no input that was drawn ends so, or not each time.
    """
    if not case.many:
        return []
    bench, reference = case.bench, case.reference
    limits = reference.expected[0].limits_of_others()
    for given in reference.refused[:MOST]:
        own = bench.run(reference.built, given, limits=limits)
        if own.stopped or own.status not in OWN:
            continue
        if _apart(case, bench.run(reference.built, given, limits=limits), own):
            continue
        run = bench.run(case.built, given, limits=limits)
        if not run.stopped and (words := _apart(case, run, own)):
            said = f"with {given.words}, where the original {own.ending}: {words}"
            return [case.finding("output", said)]
    return []


def _apart(case: Case, run: SandboxRun, own: SandboxRun) -> str:
    """How a run differs from one of the original; empty where it does not."""
    if run.status != own.status:
        return run.ending
    apart = differences(run.stdout, own.stdout, case.reference.agreed)
    return f"expected {apart[0].expected!r:.120}, got {apart[0].got!r:.120}" if apart else ""
