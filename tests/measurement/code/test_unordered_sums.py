"""Reductions that another access overtakes, by the order of constructs and barriers."""

from __future__ import annotations

import pytest

from rheostat.measurement.code import rungs_races
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.races.unordered_sums import unordered_sums
from rheostat.measurement.code.verdict import NOT_SHOWN, PASSED
from tests.measurement.code.rung_cases import of

SUM = "#pragma omp for reduction(+ : s, t)\nfor (int i = 0; i < n; i++) s += a[i];\n"
LATE = SUM.replace(")\n", ") nowait\n", 1)
BARRIER = "#pragma omp barrier\n"


@pytest.mark.parametrize(("text", "lines"), [
    ("#pragma omp single nowait\ns = 0;\n" + SUM, [1]),
    ("#pragma omp master\n{ t = 0; n = 1; }\n" + SUM, [1]),
    ("#pragma omp masked\ns++;\n#pragma omp for nowait\nfor (;;) f();\n" + SUM, [1]),
    ("#pragma omp single\ns = 0;\n" + SUM, []),
    ("#pragma omp master\ns = 0;\n" + BARRIER + SUM, []),
    ("#pragma omp master\ns = 0;\n#pragma omp for\nfor (;;) f();\n" + SUM, []),
    ("#pragma omp master\nif (s == 0) x->s = y.s = 1;\n" + SUM, []),
    ("#pragma omp master\ns = 0;\n#pragma omp parallel\n" + SUM, []),
    ("// #pragma omp master\ns = 0;\n" + SUM, []),
    (LATE + "x = s;\n" + BARRIER, [1]), (LATE + BARRIER + "x = s;\n", []),
    (LATE + "x.s = p->s + sum;\n" + BARRIER, []), ("{" + LATE + "}\nx = s;\n", []),
    (LATE + "#pragma omp for private(s)\nfor (;;) f();\nx = t;\n", []), (SUM + "x = s;\n", []),
])  # fmt: skip
def test_what_overtakes_a_reduction_is_named(text, lines):
    assert [f.line for f in unordered_sums(Program({"a.c": text}))] == lines


def test_a_race_that_threads_do_not_show_is_not_shown_by_luck(case, monkeypatch):
    early = Program({"a.c": "#pragma omp master\ns = 0;\n" + SUM}, "openmp")
    for name in ("_threads_race", "in_another_order", "last_first"):
        monkeypatch.setattr(rungs_races, name, lambda *_: ())
    one = of(case, "openmp")
    one.candidate = early
    assert rungs_races.races(one).state == NOT_SHOWN
    one.reference.original = early
    assert rungs_races.races(one).state == PASSED
