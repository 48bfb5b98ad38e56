"""The report of a code search: what it cost and when that is paid back."""

from __future__ import annotations

import math

import pytest

from rheostat.explanation.variants import payback_runs, search_report, unified_diff

FIGURES = {"runtime_s": 1.0, "original_runtime_s": 2.0, "energy_j": 6.0, "original_energy_j": 10.0,
           "energy_kind": "modelled"}  # fmt: skip
ROW = {"variant": "a", "proposer": "search", "change": "x", "flags": "-O2", "verdict": "accepted",
       "rejected_by": None, "diff_lines": 1.0, "figures": FIGURES}  # fmt: skip


def words(cost, **figures) -> str:
    row = {**ROW, "figures": {**FIGURES, **figures}}
    report = search_report([row], row, {"seconds": 1.0, "cpu_s": 1.0, **cost}, "")
    return " ".join(s for section in report.sections for s in section.sentences)


def test_runs_until_the_search_is_paid_back() -> None:
    assert payback_runs(ROW, 101.0) == 26.0
    said = words({"energy_j": 101.0, "energy_kind": "modelled"})
    assert "Paid back after 26 runs" in said
    assert "0.5 of the original's time, 0.6 of its energy (modelled)" in said


@pytest.mark.parametrize(
    ("cost", "figures", "said"),
    [
        ({"energy_j": 9.0, "energy_kind": "modelled"}, {"energy_j": 11.0}, "Never paid back"),
        ({"energy_j": 9.0, "energy_kind": "modelled"}, {"energy_kind": "measured"}, "not known"),
        ({}, {}, "not known"),
    ],
)
def test_energies_of_two_kinds_are_not_compared(cost, figures, said) -> None:
    assert said in words(cost, **figures)


def test_nothing_accepted_keeps_the_original() -> None:
    row = {**ROW, "verdict": "rejected", "rejected_by": "races"}
    report = search_report([row], None, {"seconds": 1.0, "cpu_s": 1.0}, "")
    assert report.sections[0].sentences[1] == "None may be used: the original stays."
    assert math.isnan(payback_runs({"figures": {**FIGURES, "energy_j": math.nan}}, 1.0))


def test_a_diff_is_what_patch_takes() -> None:
    diff = unified_diff("a\nb", "a\nc", "x.c")
    assert diff.splitlines()[:2] == ["--- a/x.c", "+++ b/x.c"]
    assert "\\ No newline at end of file" in diff
