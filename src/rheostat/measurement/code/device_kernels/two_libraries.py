"""OpenCL by two libraries: few inputs by PoCL, thousands where kernels are compiled beforehand.

What only one of them shows is no verdict: the candidate is undecided then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rheostat.measurement.code.case import Case
from rheostat.measurement.code.device_kernels.opencl_on_host import UNKNOWN, OtherOutput
from rheostat.measurement.code.programs.program import KERNELS
from rheostat.measurement.code.verdict import FAILED, PASSED, Evidence, Finding

BY_ONE = "PoCL shows nothing of it, and of two libraries one may be wrong"
LEFT = (
    "what is compiled beforehand, as the original, is run on thousands of inputs, this on a few: "
    "leave out what is named, or write it otherwise"
)
OTHER = "with {} it prints something else where its kernels are compiled beforehand, not by PoCL"


def by_both(case: Case, rung: Callable[[Case], Evidence], name: str) -> Evidence | None:
    """A rung where kernels are compiled beforehand; what is wrong there is asked of PoCL, too.

    Parameters
    ----------
    case : Case
        A candidate or an original in OpenCL.
    rung : callable
        What is run.
    name : str
        The rung's.

    Returns
    -------
    Evidence
        With the lines of the candidate's own files; None where it is PoCL's alone.
    """
    native = case.natively
    if native is None:
        if isinstance(case.not_natively, OtherOutput) and name == "sanitizers":
            return case.skipped(name, f"with {case.not_natively} its output differs: see output")
        if isinstance(case.not_natively, OtherOutput):
            said = case.finding(name, OTHER.format(case.not_natively))
            return case.not_shown(name, [said], BY_ONE)
        return None
    made = rung(native)
    found_at = [in_own_files(case, native, f) for f in made.findings]
    if made.state != FAILED:
        reason = made.reason
        for before, f in zip(made.findings, found_at, strict=True):
            reason = reason.replace(before.words, f.words)
        return replace(made, reason=reason, findings=tuple(found_at))
    for given in native.differed[-1:]:
        expected = case.reference.admitted(given)
        run = expected and case.bench.run(case.built, given, limits=case.limits(expected))
        if run and expected and (findings := case.wrong(name, run, expected, "")):
            return case.failed(name, findings)
    return case.not_shown(name, found_at, LEFT if UNKNOWN in made.reason else BY_ONE)


def left_to_pocl(case: Case, made: Evidence) -> Evidence:
    """What PoCL alone vouches for, on few inputs, is not shown where the original bears thousands.

    Parameters
    ----------
    case : Case
        A candidate on its way.
    made : Evidence
        What was found without kernels that are compiled beforehand; it stays unless it is for.

    Returns
    -------
    Evidence
        With the reason by name.
    """
    if made.state != PASSED or case.not_natively is None:
        return made
    said = f"its kernels cannot be compiled beforehand: {case.not_natively}"
    return case.not_shown(made.rung, [case.finding(made.rung, said)], LEFT)


def in_own_files(case: Case, native: Case, f: Finding) -> Finding:
    """A finding in a kernel at the line where the candidate's own file has that text."""
    if not f.file.startswith(KERNELS):
        return f
    text = native.candidate.row(f.file, f.line).strip()
    known = {text, text.replace("\\", "\\\\").replace('"', '\\"')} - {""}
    for name, whole in case.candidate.files.items():
        for number, row in enumerate(whole.splitlines(), 1):
            if any(k in row for k in known):
                return replace(f, file=name, line=number)
    said = f"in a kernel, {text[:80]!r}: {f.message}" if text else f.message
    return replace(f, file=case.file, line=0, message=said)
