"""Decisions and operands that were reached and changed no output."""

from __future__ import annotations

import pytest

from rheostat.measurement.code import verifier
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.reached import mutant_runs
from rheostat.measurement.code.reached.mutant_text import with_mutants
from tests.measurement.code.test_reached import INPUTS, LACKING, SERIAL, by_lines, program

AT = ("a.c", 3, 2)
LOOP = "  for (int i = 0; i < n; i++) {"
UNSEEN = {
    "an entry that nobody asks for": f"""  unsigned table[8];
  for (int k = 0; k < 8; k++) table[k] = k + k / 7;
{LOOP} sum += table[a[i] % 7]; }}""",
    "a factor that is one to the last digit": f"""{LOOP} double v = a[i];
    sum += (unsigned long)(v / sqrt(1 + v * v * 2.4e-33) + 0.5) % 1000; }}""",
    "a factor that nearly is one": f"""{LOOP} double v = a[i] % 1000 + 0.25, d = v - 5000;
    sum += (unsigned long)(v * (1 + 1e-4 / (1 + d * d))); }}""",
    "a power that nearly is one": f"""{LOOP} double v = a[i] % 1000 + 0.25, d = v - 5000;
    sum += (unsigned long)pow(v, 1 + 1e-4 / (1 + d * d)); }}""",
    "a case whose result is not used": f"""  int last = 0;
{LOOP} if (a[i] % 512 == 77) last = 9;
    sum += a[i] % 1000; }}
  if (last == 8) sum = 0;""",
}
SEEN = {
    "an entry that somebody asks for": f"""  unsigned other[8];
  for (int k = 0; k < 8; k++) other[k] = k + k / 7;
{LOOP} sum += other[a[i] % 8]; }}""",
    "a case that is printed": f"""{LOOP} if (a[i] % 512 == 78) sum += 9; }}""",
    "two ways to one result": f"""  double root = n;
  for (int k = 0; k < 60; k++) root -= (root * root - n) / (2 * root);
  sum += (unsigned long)(root * 1000);
{LOOP} if (a[i] % 7 == 6) sum += a[i] % 7; else sum += a[i] - a[i] / 7 * 7; }}""",
    "blocks that begin where others end": """  for (int t = 0; t < 4; t++)
    for (int i = n * t / 4; i < n * (t + 1) / 4; i++) sum += a[i] % 1000;""",
}


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_what_changes_no_output_is_named_by_its_line(monkeypatch):
    rng = mutant_runs.np.random.default_rng(2)
    monkeypatch.setattr(mutant_runs, "inputs_of", lambda case: [
        INPUTS.draw(rng, (0, 1)) for _ in range(96)])  # fmt: skip
    candidate, lines = by_lines(UNSEEN | SEEN)
    with verifier(program(SERIAL), seed=3, count=1) as one:
        named = {f.line for f in mutant_runs.never_shown(Case(candidate, one.reference))}
    doubted = [name for name, its in lines.items() if named & set(its)]
    assert doubted == list(UNSEEN)
    assert named <= {line for its in lines.values() for line in its}


def rows_of(*rows, places=lambda row: AT if "!dbg" in row else None):
    text = "\n".join(["define i32 @f() {", "entry:", *rows, "}"])
    made, sites = with_mutants(text, places, 4)
    return made.splitlines(), sites


def test_a_decision_is_false_in_one_mutant_and_true_in_the_next():
    rows, (site,) = rows_of("  %c = icmp eq i32 %n, 7, !dbg !5")
    assert (site.at, site.number, site.said) == (AT, 4, "")
    assert "  %rheostat_mutant.4.was = icmp eq i32 %n, 7, !dbg !5" in rows
    assert "  %rheostat_mutant.4.false = icmp eq i32 %rheostat_mutant.4.false.run, 8" in rows
    assert "  %c = select i1 %rheostat_mutant.4.true, i1 true, i1 %rheostat_mutant.4.other" in rows


@pytest.mark.parametrize("row", [
    "  %c = icmp eq i32 %n, 0, !dbg !5", "  %c = icmp slt i32 %x, %m, !dbg !5",
    "  %c = icmp eq i32 %n, %m, !dbg !5", "  %c = icmp eq i32 %n, 7",
    "  %c = icmp eq ptr %p, null, !dbg !5",
])  # fmt: skip
def test_other_comparisons_than_with_a_number_and_of_equal_data_are_not_asked(row):
    rows, sites = rows_of(row)
    assert sites == []
    assert row in rows


def test_whether_two_data_are_equal_is_asked():
    element = "  %p = getelementptr i32, ptr %a, i64 %i", "  %x = load i32, ptr %p"
    _, sites = rows_of(*element, "  %c = icmp eq i32 %x, %y, !dbg !5")
    assert len(sites) == 1


def test_both_operands_of_a_sum_have_a_mutant_each():
    rows, sites = rows_of(
        "  %a = load i32, ptr %p", "  %b = load i32, ptr %q", "  %s = add i32 %a, %b, !dbg !5"
    )
    assert [s.said for s in sites] == ["what stands left of +", "what stands right of +"]
    assert "  %rheostat_mutant.4.was = add i32 %a, %b, !dbg !5" in rows
    one = "select i1 %rheostat_mutant.4.false, i32 %b, i32 %rheostat_mutant.4.was"
    assert f"  %rheostat_mutant.4.now = {one}" in rows
    assert "  %s = select i1 %rheostat_mutant.5.false, i32 %a, i32 %rheostat_mutant.4.now" in rows


def test_the_condition_of_a_loop_stays():
    _, sites = rows_of(
        "  br label %for.cond", "for.cond:", "  %c = icmp slt i32 %n, 7, !dbg !5"
    )  # fmt: skip
    assert sites == []
