"""A verdict as SARIF, JUnit and HTML."""

from __future__ import annotations

import shutil
import subprocess
from xml.etree import ElementTree

from rheostat.explanation.formats.html import page
from rheostat.explanation.formats.junit import junit
from rheostat.explanation.formats.sarif import RULES, sarif
from rheostat.explanation.programs.code_report import sentence, verdict_report
from rheostat.explanation.programs.source_diff import unified_diff
from rheostat.measurement.code.verdict import RUNGS, Evidence, Finding, Verdict

RACE = Finding("races", "a.c", 9, "data race <s>\x1b")
VERDICT = Verdict(
    (
        Evidence("parse", "passed", "clang", seconds=0.5),
        Evidence("races", "failed", RACE.words, (RACE,), seconds=1.0),
        Evidence("mapping", "not available", "clang not installed"),
        Evidence("time", "skipped", "a rung below failed"),
    ),
    seed=3, sandbox="bubblewrap", original="o.c", candidate="a.c",
)  # fmt: skip


def test_sarif_names_the_rule_and_the_line_and_says_what_did_not_run() -> None:
    run = sarif(VERDICT)["runs"][0]
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (result["ruleId"], place["region"]["startLine"]) == ("races", 9)
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "races"
    (said,) = run["invocations"][0]["toolExecutionNotifications"]
    assert said["message"]["text"] == "mapping: not available: clang not installed"
    assert tuple(RULES) == RUNGS


def test_junit_counts_failures_and_skips_and_is_xml_whatever_is_printed() -> None:
    suite = ElementTree.fromstring(junit(VERDICT))
    assert [suite.get(k) for k in ("tests", "failures", "skipped")] == ["4", "1", "2"]
    failure = suite.find("testcase[@name='races']/failure")
    assert failure is not None
    assert failure.text == "a.c:9: data race <s>?"


def test_the_page_has_verdict_rungs_and_difference() -> None:
    report = verdict_report(VERDICT, {"o.c": "int a;\n"}, {"a.c": "int b;\n"})
    text = page(report)
    assert "a.c is rejected by races" in text
    assert "+int b;" in text
    assert "Seed of the hidden inputs: 3" in text


def test_undecided_is_not_accepted_and_says_why() -> None:
    lone = Verdict((Evidence("output", "not available", "no device"),), candidate="a.cu")
    assert (lone.state, lone.accepted) == ("undecided", False)
    assert sentence(lone) == "a.cu is undecided: output did not run (no device)."
    strict = Verdict((Evidence("output", "passed"),), required=("output", "races"))
    assert (strict.state, strict.missing) == ("undecided", ("races",))


def test_a_difference_of_several_files_goes_file_by_file_as_patch_takes_it() -> None:
    text = unified_diff({"a.c": "1\n", "b.c": "2"}, {"a.c": "1\n", "b.c": "3"})
    assert text.splitlines()[:2] == ["--- a/b.c", "+++ b/b.c"]
    assert text.count("\\ No newline at end of file") == 2


def test_a_file_that_changes_its_name_is_renamed_by_git_apply(tmp_path) -> None:
    text = unified_diff({"a.cu": "int a;\n"}, {"a.cc": "int b;\n"})
    assert text.startswith(
        "diff --git a/a.cu b/a.cc\nrename from a.cu\nrename to a.cc\n--- a/a.cu\n"
    )
    if shutil.which("git"):
        (tmp_path / "a.cu").write_text("int a;\n")
        subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
        subprocess.run(["git", "apply"], cwd=tmp_path, check=True, input=text.encode())
        assert (tmp_path / "a.cc").read_text() == "int b;\n"


def test_several_verdicts_are_runs_and_suites_of_their_own() -> None:
    other = Verdict((Evidence("parse", "passed"),), candidate="b.c")
    ids = [r["automationDetails"]["id"] for r in sarif(VERDICT, other)["runs"]]
    assert ids == ["rheostat code/a.c", "rheostat code/b.c"]
    root = ElementTree.fromstring(junit(VERDICT, other))
    assert [s.get("failures") for s in root.findall("testsuite")] == ["1", "0"]
