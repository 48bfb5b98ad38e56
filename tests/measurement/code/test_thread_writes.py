"""Scalars that threads of a region write together, by what stands around the write."""

from __future__ import annotations

import pytest

from rheostat.measurement.code import rungs_races
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.races.thread_writes import thread_writes
from rheostat.measurement.code.verdict import NOT_SHOWN, PASSED
from tests.measurement.code.rung_cases import of

UPDATE = "if (a[i] == a[i + 1]) s++;\n"


def region(body: str, clauses: str = "for", before: str = "long *r = f(n, 1), s = 0;") -> Program:
    loop = f"for (int i = 0; i < n; i++) {{\n{body}}}\n" if "for" in clauses else f"{{\n{body}}}\n"
    return Program({"a.c": f"{before}\n#pragma omp parallel {clauses}\n{loop}"}, "openmp")


@pytest.mark.parametrize(("body", "lines"), [
    (UPDATE, [4]), ("s = a[i];\n", [4]), ("if (a[i] == i) s += 1;\n", [4]), ("++s;\n", [4]),
    ("if (i < n) a[i]++; else s++;\n", [4]), ("for (s = 0; s < 3; s++) a[i]++;\n", [4, 4]),
    (f"#pragma omp atomic\ns++;\n{UPDATE}", [6]),
    (f"#pragma omp atomic\n{UPDATE}", []), (f"#pragma omp critical\n{UPDATE}", []),
    ("#pragma omp critical\nif (a[i]) a[i]--; else s++;\n", []),
    (f"#pragma omp ordered\n{UPDATE}", []), (f"omp_set_lock(&l);\n{UPDATE}omp_unset_lock(&l);", []),
    (f"std::lock_guard<std::mutex> held(m);\n{UPDATE}", []),
    (f"long s = 0;\n{UPDATE}", []), (f"std::pair<int, int> s = a[i];\n{UPDATE}", []),
    (f"auto [k, s] = a[i];\n{UPDATE}", []), ("each(a, [](long s) { s++; });\n", []),
    (f"for (auto &s : a)\n{UPDATE}", []), ("if (i == n - 1) s = a[i];\n", []),
    ("p->s = x.s = a[s] = *s = 1;\n", []), (f"/* {UPDATE} */\n", []),
])  # fmt: skip
def test_what_threads_write_together_is_named(body, lines):
    assert sorted({f.line for f in thread_writes(region(body))}) == sorted(set(lines))


@pytest.mark.parametrize("clauses", [
    "for reduction(+ : s)", "for private(s)", "for lastprivate(r, s)", "for firstprivate(s)",
    "for linear(s)", "for num_threads(1)", "sections", "master",
])  # fmt: skip
def test_a_clause_makes_it_each_threads_own(clauses):
    assert thread_writes(region(UPDATE, clauses)) == []


@pytest.mark.parametrize("before", [
    "long r = 0, *s = a;",
    "std::atomic<long> s = 0;", "_Atomic long s;", "thread_local long s;", "struct sum s;",
    "static long s;\n#pragma omp threadprivate(s)",
])  # fmt: skip
def test_what_is_no_shared_number_is_left_alone(before):
    assert thread_writes(region(UPDATE, before=before)) == []


@pytest.mark.parametrize(("body", "lines"), [
    ("s++;\n", [4]), ("int t = omp_get_thread_num();\nif (t == 0 && n > 3) s++;\n", []),
    ("if (!omp_get_thread_num()) s++;\n", []), ("#pragma omp single\n{ s++; }\n", []),
    ("#pragma omp for\nfor (s = 0; s < n; s++) a[s] = 0;\n", []),
    ("#pragma omp for reduction(+ : s)\nfor (int i = 0; i < n; i++) s += a[i];\n", []),
    ("#pragma omp single copyprivate(s)\ns = f(n, 2);\n", []),
    ("#pragma omp task\ns++;\n", []),
])  # fmt: skip
def test_a_region_of_its_own_constructs(body, lines):
    assert [f.line for f in thread_writes(region(body, ""))] == lines


def test_what_threads_seldom_write_is_not_shown(case, monkeypatch):
    for name in ("_threads_race", "in_another_order", "last_first"):
        monkeypatch.setattr(rungs_races, name, lambda *_: ())
    one = of(case, "openmp")
    one.candidate = region(UPDATE)
    assert rungs_races.races(one).state == NOT_SHOWN
    one.candidate = region(UPDATE, "for reduction(+ : s)")
    assert rungs_races.races(one).state == PASSED
