"""Findings as SARIF 2.1.0, which code hosts show beside the lines."""

from __future__ import annotations

from typing import Any

from rheostat import __version__
from rheostat.measurement.code.verdict import NOT_AVAILABLE, Finding, Verdict

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
RULES = {
    "parse": "The source is code of its language.",
    "compile": "Every compiler that builds the original builds the candidate.",
    "calls": "The candidate asks nothing of the system that the original does not.",
    "sanitizers": "No invalid access to memory and no undefined behaviour.",
    "output": "The original's output on hidden inputs.",
    "races": "No data race.",
    "threads": "The same output with every number of threads.",
    "mapping": "The same output on a device with memory of its own.",
    "work": "The work of the original is done.",
    "time": "Not much slower than the original.",
    "energy": "Energy, measured or modelled.",
}


def sarif(*verdicts: Verdict) -> dict[str, Any]:
    """Verdicts as a SARIF document.

    Parameters
    ----------
    *verdicts : Verdict
        What verification said, a run for each.

    Returns
    -------
    dict
        To be written as JSON.  Rungs that are not available are notifications of the tool.
    """
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(v) for v in verdicts]}


def _run(verdict: Verdict) -> dict[str, Any]:
    rules = [
        {"id": name, "shortDescription": {"text": text}, "name": name.capitalize()}
        for name, text in RULES.items()
    ]
    driver = {"name": "rheostat", "version": __version__, "rules": rules}
    said = [
        {"level": "note", "message": {"text": f"{e.rung}: {e.state}: {e.reason}"}}
        for e in verdict.evidence
        if e.state == NOT_AVAILABLE
    ]
    return {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"rheostat code/{verdict.candidate}"},
        "results": [_result(f) for f in verdict.findings],
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": said}],
        "properties": {"verdict": verdict.state, "seed": verdict.seed, "sandbox": verdict.sandbox},
    }


def _result(finding: Finding) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rung,
        "ruleIndex": list(RULES).index(finding.rung),
        "level": finding.level,
        "message": {"text": finding.message},
    }
    if finding.file:
        place: dict[str, Any] = {"artifactLocation": {"uri": finding.file}}
        if finding.line > 0:
            place["region"] = {"startLine": finding.line}
        result["locations"] = [{"physicalLocation": place}]
    return result
