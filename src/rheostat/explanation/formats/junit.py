"""Verdicts as JUnit XML: a suite for each, one test case per rung."""

from __future__ import annotations

import math
import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rheostat.measurement.code.verdict import FAILED, PASSED, Evidence, Verdict

NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(*verdicts: Verdict) -> str:
    """Verdicts as test suites.

    Parameters
    ----------
    *verdicts : Verdict
        What verification said, a suite for each.

    Returns
    -------
    str
        XML; a rung that did not run is a skipped test with its reason.
    """
    every = Element("testsuites")
    for verdict in verdicts:
        _suite(every, verdict)
    root = every[0] if len(every) == 1 else every
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(root: Element, verdict: Verdict) -> None:
    states = [e.state for e in verdict.evidence]
    seconds = sum(e.seconds for e in verdict.evidence if math.isfinite(e.seconds))
    suite = SubElement(root, "testsuite", {
        "name": _plain(f"rheostat code verify {verdict.candidate}"), "tests": str(len(states)),
        "failures": str(states.count(FAILED)), "errors": "0", "time": f"{seconds:.3f}",
        "skipped": str(sum(s not in (FAILED, PASSED) for s in states)),
    })  # fmt: skip
    for evidence in verdict.evidence:
        _case(suite, evidence, verdict)


def _case(suite: Element, evidence: Evidence, verdict: Verdict) -> None:
    seconds = evidence.seconds if math.isfinite(evidence.seconds) else 0.0
    names = {"name": evidence.rung, "classname": _plain(verdict.candidate or "candidate")}
    case = SubElement(suite, "testcase", {**names, "time": f"{seconds:.3f}"})
    if evidence.state == FAILED:
        failure = SubElement(case, "failure", {"message": _plain(evidence.reason)})
        failure.text = _plain("\n".join(f.words for f in evidence.findings))
    elif evidence.state != PASSED:
        SubElement(case, "skipped", {"message": _plain(f"{evidence.state}: {evidence.reason}")})


def _plain(text: str) -> str:
    """Without characters that XML cannot hold."""
    return NOT_XML.sub("?", text)
