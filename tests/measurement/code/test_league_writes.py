"""Scalars that several teams write, by the clauses of the constructs around what writes them."""

from __future__ import annotations

import pytest

from rheostat.measurement.code import rungs_races
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.races.league_writes import league_writes
from rheostat.measurement.code.verdict import NOT_SHOWN, PASSED
from tests.measurement.code.rung_cases import of

LEAGUE = "#pragma omp target teams distribute map(tofrom: s)\nfor (int i = 0; i < n; i++) {\n"
LOOP = "for (int j = 0; j < n; j++) { double d = f(i, j); if (d > s) s = d; }\n"
INNER = f"#pragma omp parallel for reduction(max: s)\n{LOOP}"
UPDATE = "s += f(i);\n"


def league(body: str, more: str = "", *, of_whole: str = LEAGUE) -> Program:
    first, _, rest = of_whole.partition("\n")
    return Program({"a.c": f"double s = 0;\n{first} {more}\n{rest}{body}}}\n"}, "target")


@pytest.mark.parametrize(("body", "more", "lines"), [
    (INNER, "", [4]), (INNER, "reduction(max: s)", []), (INNER, "private(s)", []),
    (f"double r = g(i, n), s = 0;\n{INNER}y[i] = s;\n", "", []), (INNER, "num_teams(1)", []),
    (INNER, "num_teams(n)", [4]), (UPDATE, "", [4]), (UPDATE, "reduction(+: s)", []),
    (f"#pragma omp atomic\n{UPDATE}", "", []), (f"#pragma omp critical\n{UPDATE}", "", [5]),
    (f"#pragma omp atomic\n{UPDATE}s = 0;\n", "", [6]),
    ("a[i] = s; x.s = p->s = *s = 1;\n", "", []),
    ("if (s == i || s <= 3) a[i] = 0;\n", "", []), ("for (k = 0; k < n; k++) f(k);\n", "", []),
    (f"#pragma omp parallel for private(s)\n{LOOP}", "", []), (f"/* {INNER} */\n", "", []),
    ("++s;\n", "", [4]), ("if (i > n) s = i;\n", "", [4]), ("double q = s, *r = &s;\n", "", []),
])  # fmt: skip
def test_what_each_team_writes_is_named(body, more, lines):
    assert [f.line for f in league_writes(league(body, more))] == lines


def test_a_loop_over_threads_is_no_league():
    team = LEAGUE.replace("teams distribute", "parallel for")
    assert league_writes(league(UPDATE, of_whole=team)) == []


def test_a_league_that_archer_does_not_see_is_not_shown(case, monkeypatch):
    for name in ("_threads_race", "in_another_order", "last_first"):
        monkeypatch.setattr(rungs_races, name, lambda *_: ())
    one = of(case, "target")
    one.candidate = league(INNER)
    assert rungs_races.races(one).state == NOT_SHOWN
    one.reference.original = one.candidate
    assert rungs_races.races(one).state == PASSED


def test_an_update_taken_apart_is_not_shown(case, monkeypatch):
    for name in ("_threads_race", "in_another_order", "last_first"):
        monkeypatch.setattr(rungs_races, name, lambda *_: ())
    text = "#pragma omp atomic read\nseen = busy;\n#pragma omp atomic write\nbusy = {};\n"
    one = of(case, "openmp")
    one.candidate = Program({"a.c": text.format("seen + 1")}, "openmp")
    assert rungs_races.races(one).state == NOT_SHOWN
    one.candidate = Program({"a.c": text.format("1")}, "openmp")
    assert rungs_races.races(one).state == PASSED
