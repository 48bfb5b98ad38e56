"""The verdict on a candidate program as a report for a person to sign."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rheostat.core.report import Grid, Report, Section
from rheostat.explanation.programs.source_diff import unified_diff
from rheostat.measurement.code.verdict import ACCEPTED, NOT_SHOWN, UNDECIDED, Evidence, Verdict


def verdict_report(
    verdict: Verdict, original: Mapping[str, str], candidate: Mapping[str, str]
) -> Report:
    """Verdict, rungs, findings and the difference of the sources.

    Parameters
    ----------
    verdict : Verdict
        What verification said.
    original, candidate : mapping of str to str
        Text of the files by name.

    Returns
    -------
    Report
        Whose facts are the verdict's.
    """
    said = [sentence(verdict), f"Sandbox: {verdict.sandbox}. Seed of the hidden inputs: "
            f"{verdict.seed}.", *verdict.notes]  # fmt: skip
    sections = [Section("verdict", tuple(said), rung_grid(verdict))]
    if verdict.findings:
        rows = tuple((f.rung, f.level, f.file, f.line or None, f.message) for f in verdict.findings)
        heads = ("rung", "level", "file", "line", "message")
        sections.append(Section("findings", (), Grid(heads, rows)))
    changed = unified_diff(original, candidate)
    if changed:
        sections.append(Section("difference", listing=changed))
    return Report(f"Verification of {verdict.candidate}", tuple(sections), verdict.facts())


def sentence(verdict: Verdict) -> str:
    """The verdict in a sentence.

    >>> from rheostat.measurement.code.verdict import Finding
    >>> sentence(Verdict((), candidate="a.c"))
    'a.c is undecided: output did not run.'
    >>> unknown = Evidence("races", NOT_SHOWN, reason="waits are not known")
    >>> sentence(Verdict((Evidence("output", "passed"), unknown), candidate="a.c"))
    'a.c is undecided: races cannot tell (waits are not known).'
    >>> unlike = Evidence("output", NOT_SHOWN, reason="a.c:9: always equal to 0")
    >>> sentence(Verdict((unlike,), candidate="a.c"))
    'a.c is undecided: output cannot tell (a.c:9: always equal to 0).'
    >>> unlike = Evidence("output", NOT_SHOWN, findings=(Finding("output", "a.c", 9, ""),))
    >>> sentence(Verdict((unlike,), candidate="a.c")).partition(". ")[2]
    'Who has read what stands there and finds it right adds --reviewed a.c:9.'
    """
    name = verdict.candidate or "The candidate"
    if verdict.state == ACCEPTED:
        absent = [e.rung for e in verdict.evidence if e.state == "not available"]
        without = f"; not available: {', '.join(absent)}" if absent else ""
        flags = f"; to be looked at: {'; '.join(verdict.flags)}" if verdict.flags else ""
        passed = sum(e.state == "passed" for e in verdict.evidence)
        return f"{name} is accepted by {passed} of {len(verdict.evidence)} rungs{without}{flags}."
    if verdict.state == UNDECIDED:
        unsure = [e for e in verdict.evidence if e.rung in verdict.missing or e.state == NOT_SHOWN]
        reasons = "; ".join(e.reason for e in unsure if e.reason)
        why = f" ({reasons})" if reasons else ""
        return f"{name} is undecided: {_silent(verdict)}{why}.{_reading_asked(unsure)}"
    return (
        f"{name} is rejected by {verdict.rejected_by}: {verdict.rung(verdict.rejected_by).reason}"
    )


def _silent(verdict: Verdict) -> str:
    """Which rungs say nothing: those that did not run, and those that ran and cannot tell."""
    unsure = [e.rung for e in verdict.evidence if e.state == NOT_SHOWN]
    absent = [r for r in verdict.missing if r not in unsure]
    parts = ((absent, "did not run"), (unsure, "cannot tell"))
    return ", ".join(f"{', '.join(rungs)} {how}" for rungs, how in parts if rungs)


def _reading_asked(unsure: Sequence[Evidence]) -> str:
    """How a person who has read the lines that no run shows says so; empty where nobody can."""
    if [e.rung for e in unsure] != ["output"]:
        return ""
    places = dict.fromkeys(f"{f.file}:{f.line}" for f in unsure[0].findings if f.line)
    allowed = " ".join(f"--reviewed {place}" for place in places)
    return f" Who has read what stands there and finds it right adds {allowed}." if places else ""


def rung_grid(verdict: Verdict) -> Grid:
    """One row per rung."""
    rows = tuple((e.rung, e.state, _seconds(e), e.reason) for e in verdict.evidence)
    return Grid(("rung", "evidence", "seconds", "what"), rows, ("", "", "s", ""))


def _seconds(evidence: Evidence) -> Any:
    return round(evidence.seconds, 2) if math.isfinite(evidence.seconds) else None
