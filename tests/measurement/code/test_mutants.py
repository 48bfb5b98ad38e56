"""Decisions and operands that were reached and changed no output."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.measurement.code import verifier
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.reached import mutant_runs
from rheostat.measurement.code.reached.margin_runs import margins
from rheostat.measurement.code.reached.mutant_constants import UsedNumber
from rheostat.measurement.code.reached.mutant_text import Site, with_mutants
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
    "a bound that is far enough": f"""{LOOP} unsigned low = 0;
    for (unsigned k = 0; k < 41; k++) if (k == a[i] % 29) low = k;
    sum += low; }}""",
    "sums of what came before, but for the last": f"""  int first[54] = {{0}};
{LOOP} first[a[i] % 29 + 1]++; }}
  for (int k = 0; k < 43; k++) first[k + 1] += first[k];
  sum += first[7] + first[29];""",
    "digits that are more than enough": f"""{LOOP} unsigned long low = 0, v = a[i] % 1000000;
    for (unsigned k = 0; k < 45; k += 9) low |= (v >> k & 511) << k;
    sum += low % 1000; }}""",
    "rows of a table that lie far enough apart": """  unsigned *row = calloc(9999, sizeof *row);
  for (int k = 0; k < 2 * n; k++) { unsigned v = a[k < n ? k : 2 * n - 1 - k];
    unsigned *at = row + v % 11 * 37 + v % 13;
    if (k < n) *at = k; else sum += *at; }""",
    "parts that have room for enough": f"""  unsigned *part = malloc(4096);
  int have[8] = {{0}};
{LOOP} int to = i % 8;
    if (have[to] < 43)
      part[to * 43 + have[to]++] = a[i] % 1000; }}
  for (int k = 0; k < 8; k++) for (int j = 0; j < have[k]; j++)
    sum += part[k * 43 + j];""",
    "blocks that forget at their ends": """  int on = 0;
  for (int i = 0; i < n; i++) { on = a[i] % 23 == 7 && i % 173 ? on + 1 : 0;
    sum += (on == 2) * i; }""",
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
    "a bound that is near": f"""{LOOP} unsigned low = 0;
    for (unsigned k = 0; k < 31; k++) if (k == a[i] % 31) low = k;
    sum += low; }}""",
    "digits that are enough": f"""{LOOP} unsigned long low = 0, v = a[i];
    for (unsigned k = 0; k < 28; k += 7) low |= (v >> k & 127) << k;
    sum += low % 1000; }}""",
    "sums of all that came before": f"""  int first[54] = {{0}};
{LOOP} first[a[i] % 53 + 1]++; }}
  for (int k = 0; k < 53; k++) first[k + 1] += first[k];
{LOOP} sum += first[a[i] % 53]++ * 0 + a[i] % 1000; }}
  sum += first[7];""",
    "a bound between equal ways": f"""{LOOP}
    if (a[i] % 997 < 403) sum += a[i] % 1000; else sum += a[i] - a[i] / 1000 * 1000; }}""",
    "room": f"""  unsigned *copy = malloc((n + 71) * sizeof *copy);
{LOOP} copy[i] = a[i] % 1000; }}
{LOOP} sum += copy[i]; }}""",
    "room on both sides of what is written": f"""  int size = n + 150;
  unsigned *at = calloc(size, sizeof *at);
{LOOP} at[a[i] % 29 + 61] += i; }}
  for (int k = 0; k < size; k++) sum += at[k];""",
    "the lesser of two": f"""{LOOP} int left = n - i; sum += left < 47 ? left : 47; }}""",
    "all of an array": f"""  unsigned count[53] = {{0}};
{LOOP} count[a[i] % 19]++; }}
  for (int k = 0; k < 53; k++) sum += count[k] * k;""",
    "blocks that begin where others end": """  for (int t = 0; t < 4; t++)
    for (int i = n * t / 4; i < n * (t + 1) / 4; i++) sum += a[i] % 1000;""",
    "blocks that are put together": f"""  unsigned long part = 0;
{LOOP} part += a[i] % 1000; if (i % 57 == 56) {{ sum += part; part = 0; }} }}
  sum += part;""",
}


@pytest.fixture(scope="module")
def reference():
    with verifier(program(SERIAL), seed=3, count=1) as one:
        yield one.reference


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_what_changes_no_output_is_named_by_its_line(reference, monkeypatch):
    rng = mutant_runs.np.random.default_rng(2)
    monkeypatch.setattr(mutant_runs, "inputs_of", lambda case: [
        INPUTS.draw(rng, (0, 1)) for _ in range(96)])  # fmt: skip
    for seconds in ("COUNTED_S", "MUTANTS_S", "ROOM_S"):  # all run, whatever else runs here
        monkeypatch.setattr(mutant_runs, seconds, 30.0)
    candidate, lines = by_lines(UNSEEN | SEEN)
    named = {f.line for f in mutant_runs.never_shown(Case(candidate, reference))}
    doubted = [name for name, its in lines.items() if named & set(its)]
    assert doubted == list(UNSEEN)
    assert named <= {line for its in lines.values() for line in its}


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_an_expression_that_shows_nothing_in_the_original_either_is_not_the_candidate_s(
    monkeypatch,
):
    rng = mutant_runs.np.random.default_rng(2)
    monkeypatch.setattr(mutant_runs, "inputs_of", lambda case: [
        INPUTS.draw(rng, (0, 1)) for _ in range(96)])  # fmt: skip
    body = """  unsigned x[8] = {0}, y[8] = {0}, last = 0; x[5] = y[5] = n;
  for (int i = 0; i < n; i++) { unsigned long v = a[i];
    sum += v % 1000;
SUMMED
  }
  if (last > 4 * n) sum = 0;"""
    same = "last = x[v & 7] + x[a[i] % 7u] + x[v % 6];"
    others = ["last = x[v & 7] + y[v % 7];", "last = x[v & 7] + y[v % 7] + x[v % 6];"]
    candidate = program(body.replace("SUMMED", "\n".join([same, *others])))
    original = program(body.replace("SUMMED", "last = x[a[i] % 8] + x[v % 7] + x[v % 6];"))
    with verifier(original, seed=3, count=1) as one:
        found = mutant_runs.never_shown(Case(candidate, one.reference))
    assert {candidate.row(f.file, f.line) for f in found if "what stands" in f.message} == {*others}


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_what_is_suspected_by_few_inputs_of_cuda_on_a_host_is_run_on_more(reference, monkeypatch):
    class OnHost(Case):
        on_host = True

    some = [ProgramInput((str(n), str(n)), values={}) for n in range(200, 300) if n % 8 != 1]
    monkeypatch.setattr(mutant_runs, "inputs_of", lambda case: some)
    candidate = program(f"""  unsigned last = 0;
{LOOP} if (a[i] % 512 == 77) last = 7;
    sum += a[i] % 1000; }}
  if (n % 8 == 1) sum += last;""")
    for more, named in ((some, True), ([*some, ProgramInput(("297", "9"))], False)):
        monkeypatch.setattr(OnHost, "many", [(given, "") for given in more])
        assert bool(mutant_runs.never_shown(OnHost(candidate, reference))) is named


def site(text, number=0, *, loop=False):
    compares = UsedNumber("i32", text, compares=True)
    return Site(AT, number, constant=compares, in_loop=loop)


@pytest.mark.parametrize(("least", "most", "left"), [
    (3, 99, True),  # 10 and less, 160 and more give another output: the inputs come no nearer
    (40, 99, False), (3, 40, False),  # needed: one less or one more does
    (-3e9, 3e9, False),  # free: nothing does
])  # fmt: skip
def test_a_constant_is_a_margin_where_only_what_is_far_from_it_shows(least, most, left):
    shown = [(x, i) for x in (39, 41, 10, 160, -(2**31), 2**31 - 1) for i in range(6)
             if not least <= x <= most]  # fmt: skip
    tried = []

    def differ(asked):
        tried.extend((x, i) for _, x, i in asked)
        return [(x, i) in shown for _, x, i in asked]

    reached = np.arange(1, 7)[:, None]
    found = margins([site("40")], reached, differ, lambda asked: [False] * len(asked))
    assert bool(found) is left
    assert tried[0] == (41, 5)  # the input that reaches it most
    if left:
        assert "with 41 or 39 in the place of 40, and another one with 160 or" in found[0].said


def test_what_a_number_that_doubles_is_compared_with_is_near_its_half_and_double():
    rows = ["  %c = icmp slt i32 %1, 32, !dbg !5", "  store i32 %next, ptr %far"]
    for how, near in (("mul nsw i32 %1, 2", [64, 16]), ("add nsw i32 %1, 2", [34, 30])):
        made = ["  %1 = load i32, ptr %far", rows[0], f"  %next = {how}", rows[1]]
        _, sites = rows_of(*made, own={32})
        assert [s.constant.near() for s in sites if s.constant] == [near]


def test_what_was_not_run_in_time_or_is_hardly_reached_is_no_margin():
    reached = np.array([[1, 1]] * 3 + [[1, 0]] * 3)
    asked = []
    some = [site("40"), site("50", 1)]
    assert margins(some, reached, lambda some: asked.append(some) or [], list) == []
    assert {s.number for s, *_ in asked[0]} == {0}
    assert all(some == [] for some in asked[1:])


@pytest.mark.parametrize(("failing", "left"), [
    (12, False), (11, True),  # all of 10 and 160 on six inputs end with an error of memory
])  # fmt: skip
@pytest.mark.parametrize("in_time", [True, False])
def test_what_is_far_off_and_leaves_the_memory_tells_of_room_alone(failing, left, in_time):
    def differ(asked):
        return [x in (10, 160) for _, x, _ in asked]

    def fail(asked):
        assert [(x, i) for _, x, i in asked] == [
            (x, i) for x in (10, 160) for i in range(5, -1, -1)
        ]
        ended = [k < failing for k in range(len(asked))]
        return ended if in_time else ended[:-1]

    reached = np.arange(1, 7)[:, None]
    assert bool(margins([site("40")], reached, differ, fail)) is (left or not in_time)


@pytest.mark.parametrize(("wrong", "failing", "named"), [
    (range(1, 3), (), True), ((), (), False), (range(11), (), False), (range(1, 3), {29}, False),
])  # fmt: skip
def test_a_free_number_that_is_wrong_at_times_where_it_is_small_is_named(wrong, failing, named):
    def differ(asked):
        return [None if i in failing else x == 4 and i in wrong for _, x, i in asked]

    def fail(asked):
        return [False] * len(asked)

    some = [Site(AT, 0, constant=UsedNumber("i32", "2048")), site("12", 1)]
    found = margins(some, np.ones((30, 2)), differ, fail)
    assert [m.said for m in found] == named * [
        "the output is the same with 2,049 or 2,047 or 512 or 8,192 in the place of 2,048, and "
        "another one with 4 on 2 of 30 inputs: what is done where so many are reached is wrong at "
        "times"]  # fmt: skip
    assert margins(some, np.ones((23, 2)), differ, fail) == []  # too few to tell


def rows_of(*rows, places=lambda row: AT if "!dbg" in row else None, own=()):
    text = "\n".join(["define i32 @f() {", "entry:", *rows, "}"])
    made, sites = with_mutants(text, places, 4, own)
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


@pytest.mark.parametrize("row", [
    "  %c = icmp slt i32 %n, 56, !dbg !5", "  %c = fadd double 5.6e+01, %x, !dbg !5",
    "  call void @f(i32 noundef 56, i64 9), !dbg !5",
])  # fmt: skip
def test_a_constant_of_the_candidate_s_own_is_read_from_a_table(row):
    rows, sites = rows_of(row, own={56})
    name, number = "%rheostat_mutant.4.constant.0", sites[0].constant.text
    assert any(r.endswith(row.replace(number, name).rpartition(" = ")[2]) for r in rows)
    assert any(r.startswith(f"  {name} = load ") for r in rows)
    rows, sites = rows_of(row, own={57})
    assert not any(s.constant for s in sites)


def test_a_number_twice_on_a_line_is_one_and_an_end_of_values_or_of_an_array_is_none():
    less = "  %c = icmp slt i32 %n, 56, !dbg !5"
    _, sites = rows_of(less, "  %d = sub i32 %n, 56, !dbg !5", own={56})
    assert len([s for s in sites if s.constant]) == 1
    for end in ("  %d = select i1 %c, i32 %n, i32 56, !dbg !5", "  %d = alloca [56 x i32]"):
        assert not any(s.constant for s in rows_of(less, end, own={56})[1])
