"""A rung that cannot tell leaves the verdict open, and the sentence says which and why."""

from __future__ import annotations

import pytest

from rheostat.explanation.programs.code_report import sentence, verdict_report
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.rungs_races import UNKNOWN_DOACROSS, _may_be_right
from rheostat.measurement.code.verdict import NOT_SHOWN, UNDECIDED, Evidence, Verdict

OUTPUT = Evidence("output", "passed")


def test_a_verdict_that_one_rung_leaves_open_has_a_sentence_and_a_report() -> None:
    verdict = Verdict((OUTPUT, Evidence("races", NOT_SHOWN, "by luck")), candidate="a.c")
    assert verdict.state == UNDECIDED
    assert sentence(verdict) == "a.c is undecided: races cannot tell (by luck)."
    assert verdict_report(verdict, {"a.c": "x"}, {"a.c": "y"}).sections


@pytest.mark.parametrize(
    ("clause", "why"),
    [("ordered depend(sink: i - 1, j)", UNKNOWN_DOACROSS), ("ordered depend(source)",
      UNKNOWN_DOACROSS), ("ordered doacross(sink: i - 1)", UNKNOWN_DOACROSS), ("ordered", "")],
)  # fmt: skip
def test_iterations_that_wait_for_others_are_not_known_to_archer(clause: str, why: str) -> None:
    assert _may_be_right(Program({"a.c": f"#pragma omp {clause}\n"}, "openmp")) == why
