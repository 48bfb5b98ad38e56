"""The verdict on a candidate program as a report for a person to sign."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from typing import Any

from rheostat.core.report import Grid, Report, Section
from rheostat.measurement.code.verdict import ACCEPTED, Evidence, Verdict

MOST_LINES = 400


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
    changed = unified_diff(original, candidate).splitlines()
    if changed:
        lines = tuple((line,) for line in changed[:MOST_LINES])
        more = len(changed) - MOST_LINES
        cut = (f"{more} further lines are left out.",) if more > 0 else ()
        sections.append(Section("difference", cut, Grid(("unified diff",), lines)))
    return Report(f"Verification of {verdict.candidate}", tuple(sections), verdict.facts())


def sentence(verdict: Verdict) -> str:
    """The verdict in a sentence.

    >>> sentence(Verdict((), candidate="a.c"))
    'a.c is undecided: output did not run.'
    """
    name = verdict.candidate or "The candidate"
    if verdict.state == ACCEPTED:
        absent = [e.rung for e in verdict.evidence if e.state == "not available"]
        without = f"; not available: {', '.join(absent)}" if absent else ""
        flags = f"; to be looked at: {'; '.join(verdict.flags)}" if verdict.flags else ""
        return f"{name} is accepted{without}{flags}."
    if verdict.missing and not verdict.rejected_by:
        reasons = [e.reason for e in verdict.evidence if e.rung in verdict.missing and e.reason]
        why = f" ({'; '.join(reasons)})" if reasons else ""
        return f"{name} is undecided: {', '.join(verdict.missing)} did not run{why}."
    return (
        f"{name} is rejected by {verdict.rejected_by}: {verdict.rung(verdict.rejected_by).reason}"
    )


def rung_grid(verdict: Verdict) -> Grid:
    """One row per rung."""
    rows = tuple((e.rung, e.state, _seconds(e), e.reason) for e in verdict.evidence)
    return Grid(("rung", "evidence", "seconds", "what"), rows, ("", "", "s", ""))


def _seconds(evidence: Evidence) -> Any:
    return round(evidence.seconds, 2) if math.isfinite(evidence.seconds) else None


def unified_diff(original: Mapping[str, str], candidate: Mapping[str, str]) -> str:
    r"""The difference of two programs, file by file; a renamed single file is compared with it.

    >>> print(unified_diff({"a.c": "x\n"}, {"a.c": "y\n"}), end="")
    --- original/a.c
    +++ candidate/a.c
    @@ -1 +1 @@
    -x
    +y
    """
    pairs = [(name, name) for name in dict.fromkeys((*original, *candidate))]
    if len(original) == len(candidate) == 1:
        pairs = [(next(iter(original)), next(iter(candidate)))]
    lines: list[str] = []
    for old, new in pairs:
        lines += difflib.unified_diff(
            original.get(old, "").splitlines(), candidate.get(new, "").splitlines(),
            f"original/{old}", f"candidate/{new}", lineterm="",
        )  # fmt: skip
    return "".join(f"{line}\n" for line in lines)
