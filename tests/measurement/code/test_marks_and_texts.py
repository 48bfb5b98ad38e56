"""Marks of comparisons and blocks in LLVM's text, and what runs leave open of them."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest

from rheostat.measurement.code.altered.more_marks import taken_up
from rheostat.measurement.code.parsing.compare_output import Tolerance
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.reached import marked_runs as reached
from rheostat.measurement.code.reached.idle_operations import UNCUT
from rheostat.measurement.code.reached.marked_builds import bytes_left, with_marks
from rheostat.measurement.code.reached.marked_runs import (
    _beyond,
    _of_original,
    _other_lines,
    _text_and_kind,
    unreached,
)
from rheostat.measurement.code.reached.marked_text import marked
from rheostat.measurement.code.reached.marks import Block, Comparison, Marked, still_asked
from rheostat.measurement.code.reached.open_marks import Left, left_of
from rheostat.measurement.code.reached.runs_for_marks import (
    FEW,
    SOME,
    SOME_THREADS,
    runs_for_marks,
)
from rheostat.measurement.code.toolchain import quick_linker
from rheostat.measurement.code.verdict import Finding
from tests.measurement.code.rung_cases import given, of

# --- LLVM's text -------------------------------------------------------------------------------

PLACES = """!5 = !DILocation(line: 3, column: 2, scope: !6)
!6 = distinct !DISubprogram(name: "f", file: !7)
!7 = !DIFile(filename: "./a.c", directory: "")
!8 = !DILocation(line: 9, scope: !6)
!9 = !DILocation(line: 4, column: 1, scope: !10)
!10 = distinct !DISubprogram(name: "g", file: !11)
!11 = !DIFile(filename: "/usr/include/b.h", directory: "")
"""


def function(*rows, name="main", how="i32"):
    return "\n".join([f"define {how} @{name}() {{", *rows, "}", PLACES])


def block_of(*rows, name="main"):
    own = ("first:", "  br label %entry, !dbg !5")
    made = marked(function(*own, "entry:", *rows, name=name), {"a.c": ""})
    return made.blocks[name, "entry"]


@pytest.mark.parametrize(("row", "acts", "stops", "chooses"), [
    ("  store i32 1, ptr %x, !dbg !5", True, False, False),
    ("  %c = call i32 @f(), !dbg !5", True, False, False),
    ("  tail call void @f(), !dbg !5", True, False, False),
    ("  %c = atomicrmw add ptr %p, i32 1 seq_cst", True, False, False),
    ("  call void @llvm.dbg.declare(metadata ptr %x)", False, False, False),
    ("  call void @llvm.lifetime.start.p0(i64 4, ptr %x)", False, False, False),
    ("  %c = load i32, ptr %x", False, False, False),
    ("  %c = phi i32 [ 0, %a ], [ 1, %b ]", False, False, True),
    ("  unreachable", False, True, False),
    ("  store i32 1, ptr %retval, !dbg !5", True, True, False),
    ("  store i32 -1, ptr %retval, !dbg !5", True, True, False),
    ("  store i32 0, ptr %retval, !dbg !5", True, False, False),
])  # fmt: skip
def test_what_a_block_does_is_noted(row, acts, stops, chooses):
    block = block_of(row, "  ret i32 0")
    assert (block.acts, block.stops, block.chooses) == (acts, stops, chooses)


def test_an_end_that_is_well_is_no_stop_and_only_main_returns_an_error():
    ends = "  call void @exit(i32 {}) #3, !dbg !5"
    assert block_of(ends.format("noundef 1"), "  unreachable").stops
    for well in ("0", "noundef 0"):
        assert not block_of(ends.format(well), "  unreachable").stops
    other = block_of("  store i32 1, ptr %retval, !dbg !5", "  ret i32 0", name="f")
    assert not other.stops


def test_a_block_has_its_lines_and_where_it_leads():
    block = block_of("  %x = load i32, ptr %p, !dbg !5", "  %y = load i32, ptr %q, !dbg !8",
                     "  %z = load i32, ptr %q, !dbg !9",
                     "  br i1 %x, label %if.then, label %\"if end\", !dbg !5")  # fmt: skip
    assert block.places == {("a.c", 3), ("a.c", 9)}  # nothing of headers
    assert block.targets == ["if.then", '"if end"']
    only = block_of("  br label %next, !dbg !5")
    assert (only.places, only.targets) == (set(), ["next"])


def test_what_has_no_own_line_has_no_marks_but_where_it_may_read_own_tables():
    of_library = function("entry:", "  %x = load i32, ptr %p, !dbg !9", "  ret i32 0", name="g")
    made = marked(of_library, {"a.c": ""})
    assert (made.blocks, made.end) == ({}, 0)
    assert "store i8" not in made.text
    table = "@t = internal constant [3 x i32] [i32 1, i32 2, i32 3], align 16\n"
    read = "  %a = getelementptr inbounds [3 x i32], ptr @t, i64 0, i64 %i\n"
    made = marked(table + of_library.replace("  ret", f"{read}  ret"), {"a.c": "int t[] = {1};"})
    assert made.tables
    assert "%rheostat_entry." in made.text


def test_every_block_and_both_ways_of_a_comparison_have_a_byte():
    text = function("entry:", "  %cmp = icmp slt i32 %x, 7, !dbg !5",
                    "  br i1 %cmp, label %a, label %b, !dbg !5", "a:", "  br label %b", "cleanup:",
                    "  br label %b", "b:", "  ret i32 0")  # fmt: skip
    made = marked(text, {"a.c": ""}, 20)
    assert [(k[1], b.offset, b.unasked) for k, b in made.blocks.items()] == [
        ("entry", 20, False), ("a", 23, False), ("cleanup", 24, True),
        ("b", 25, False)]  # fmt: skip
    (c,) = made.comparisons
    assert c == Comparison(("a.c", 3, 2), "lt", "7", True, 21, ("a", "b"), "main", value="%cmp")
    assert made.end == 26
    rows = made.text.splitlines()
    at = rows.index("  %cmp = icmp slt i32 %x, 7, !dbg !5")
    assert rows[at + 1 : at + 4] == [
        "  %rheostat_reached.21 = zext i1 %cmp to i64",
        "  %rheostat_reached.21.at = getelementptr i8, ptr getelementptr (i8, ptr "
        "@rheostat_reached, i64 21), i64 %rheostat_reached.21",
        "  store i8 1, ptr %rheostat_reached.21.at"]  # fmt: skip
    assert rows[at + 4].startswith(
        "  store i8 1, ptr getelementptr (i8, ptr @rheostat_reached, i64 20)"
    )
    assert rows[-1] == "@rheostat_reached = external global [1 x i8]"


@pytest.mark.parametrize(("row", "wanted"), [
    ("icmp sge i32 %x, %y", ("lt", "", False)), ("icmp ugt i64 %x, -3", ("gt", "-3", True)),
    ("icmp ule i64 %x, 3", ("gt", "3", False)), ("icmp slt i32 5, %x", ("gt", "5", True)),
    ("icmp sle i32 5, %x", ("lt", "5", False)), ("icmp ne i32 %x, 5", ("eq", "5", False)),
    ("fcmp olt double %x, 1.5e+00", ("lt", "1.5e+00", True)),
    ("fcmp fast oeq double %x, %y", ("eq", "", True)), ("icmp eq ptr %x, null", None),
    ("icmp eq <4 x i32> %x, %y", None), ("fcmp ord double %x, %y", ("nan", "", False)),
    ("icmp slt i32 %x, 7, !dbg !9", None),
])  # fmt: skip
def test_a_comparison_asks_one_of_three_and_a_constant_stands_last(row, wanted):
    row = row if "!dbg" in row else f"{row}, !dbg !5"
    made = marked(function("entry:", f"  %c = {row}", "  ret i32 0"), {"a.c": ""})
    asked = [(c.how, c.constant, c.asks_this) for c in made.comparisons]
    assert asked == ([wanted] if wanted else [])
    assert all(c.targets is None for c in made.comparisons)


def test_a_label_named_like_an_instruction_is_none():
    rows = ["  invoke void @f()", "          to label %invoke.cont unwind label %lpad, !dbg !5", "",
            "invoke.cont:", "  ret i32 0", "lpad:", "  unreachable"]  # fmt: skip
    made = marked(function("entry:", *rows), {"a.c": ""})
    assert made.text.count("store i8 1") == 3
    before = made.text[: made.text.index("invoke.cont:")].splitlines()
    assert before[-2].strip() == rows[1].strip()


def test_whether_a_text_ends_is_no_comparison():
    rows = ["  %tobool = icmp ne i8 %x, 0, !dbg !5", "  %tobool1 = icmp ne i32 %conv, 0, !dbg !5",
            "  %tobool2 = icmp ne i32 %x, 0, !dbg !5", "  %cmp = icmp ne i8 %x, 0, !dbg !5",
            ]  # fmt: skip
    made = marked(function("entry:", *rows, "  ret i32 0"), {"a.c": ""})
    assert len(made.comparisons) == 2


def test_cases_of_a_switch_are_comparisons_at_its_end():
    text = function("entry:", "  switch i32 %x, label %other [", "    i32 7, label %a",
                    "    i32 -2, label %b", "  ], !dbg !5", "a:", "  ret i32 1", "b:",
                    "  ret i32 2", "other:", "  ret i32 3")  # fmt: skip
    made = marked(text, {"a.c": ""})
    assert [(c.how, c.constant, c.targets, c.asks_this) for c in made.comparisons] == [
        ("eq", "7", ("a", "other"), True), ("eq", "-2", ("b", "other"), True)]  # fmt: skip
    assert "icmp eq i32 %x, -2" in made.text
    assert made.text.index("icmp eq i32 %x, 7") < made.text.index("  switch i32")


def test_functions_that_nothing_refers_to_and_those_of_headers_are_left_out():
    code = "\n".join(["define i32 @used() {", "entry:", "  ret i32 0, !dbg !5", "}",
                      "define internal void @unused.1() {", "entry:", "  ret void, !dbg !5", "}",
                      "define available_externally i32 @there() {", "entry:", "  ret i32 0", "}",
                      "define i32 @main() {", "entry:", "  %x = call i32 @used(), !dbg !5",
                      "  call void @unused.1x()", "  ret i32 0", "}", PLACES])  # fmt: skip
    made = marked(code, {"a.c": ""})
    assert made.functions == {"used", "main"}
    assert ("there", "entry") not in made.blocks
    assert ("unused.1", "entry") in made.blocks
    assert "define available_externally i32 @there() {\nentry:\n  ret i32 0\n}" in made.text


# --- what runs leave open ----------------------------------------------------------------------


def compared(offset, how="eq", constant="7", asks=True, line=3, targets=None):
    return Comparison(("a.c", line, 2), how, constant, asks, offset, targets, "main")


ROWS = Program({"a.c": "int a;\nint b;\nx == 7;\n  }\nint e;\n"})


@pytest.mark.parametrize(("seen", "left"), [
    ([1, 1], []), ([0, 0], []), ([1, 0], [True]), ([0, 1], [False]),
])  # fmt: skip
def test_a_comparison_is_left_open_that_came_out_one_way_only(seen, left):
    one = Marked("", 2, [compared(0)])
    assert [missing for _, missing in left_of([one], bytes(seen), ROWS).comparisons] == left
    other = Marked("", 2, [compared(0, asks=False)])
    assert [missing for _, missing in left_of([other], bytes(seen), ROWS).comparisons] == [
        not m for m in left]  # fmt: skip


def test_the_same_comparison_in_two_places_is_decided_by_both_together():
    """A function that is compiled twice, or a condition of which each copy goes one way."""
    one = Marked("", 4, [compared(0), compared(2)])
    assert left_of([one], bytes([1, 0, 0, 1]), ROWS).comparisons == []
    assert len(left_of([one], bytes([1, 0, 1, 0]), ROWS).comparisons) == 1
    apart = Marked("", 4, [compared(0), compared(2, constant="8")])
    assert len(left_of([apart], bytes([1, 0, 0, 1]), ROWS).comparisons) == 2


def test_lines_of_functions_in_use_that_were_not_reached_are_named():
    blocks = {("main", "entry"): Block(0, {("a.c", 1), ("a.c", 2)}, ["a", "b", "c"]),
              ("main", "a"): Block(1, {("a.c", 2), ("a.c", 3), ("a.c", 4)}),
              ("main", "b"): Block(2, {("a.c", 5)}, stops=True),
              ("main", "c"): Block(3, {("a.c", 5)}, unasked=True),
              ("other", "entry"): Block(4, {("a.c", 5)})}  # fmt: skip
    one = Marked("", 5, [], blocks, {"main"})
    assert left_of([one], bytes([1, 0, 0, 0, 0]), ROWS).lines == {("a.c", 3)}  # line 4: a brace
    assert left_of([one], bytes([1, 1, 0, 0, 0]), ROWS).lines == set()
    used = Marked("", 5, [], blocks, {"main", "other"})
    assert left_of([used], bytes([1, 1, 0, 0, 0]), ROWS).lines == {("a.c", 5)}
    blocks["main", "entry"].targets.remove("a")  # no way leads there
    assert left_of([one], bytes([1, 0, 0, 0, 0]), ROWS).lines == set()


def graph(**blocks):
    return {("main", label): b for label, b in blocks.items()}


@pytest.mark.parametrize(("blocks", "open_"), [
    # the way not taken ends with an error, by one block or several
    ({"a": Block(2), "b": Block(3, stops=True)}, False),
    ({"a": Block(2), "b": Block(3, targets=["c"]), "c": Block(4, stops=True)}, False),
    # it acts, or leads to what was run, or to nothing that is known
    ({"a": Block(2), "b": Block(3, acts=True, targets=["a"])}, True),
    ({"a": Block(2), "b": Block(5, targets=["a"])}, True),
    ({"a": Block(2), "b": Block(3, targets=["nowhere"])}, True),
    # it joins the way taken with nothing done; or a value hangs on whence that was reached
    ({"a": Block(2), "b": Block(3, targets=["a"])}, False),
    ({"a": Block(2, chooses=True), "b": Block(3, targets=["a"])}, True),
    # of two ways on, one is harmless
    ({"a": Block(2), "b": Block(3, targets=["a", "d"]), "d": Block(4, acts=True)}, True),
    ({"a": Block(2), "b": Block(3, targets=["a", "d"]), "d": Block(4, stops=True)}, False),
    # round and round with nothing done
    ({"a": Block(2), "b": Block(3, targets=["b", "a"])}, False),
])  # fmt: skip
def test_a_way_not_taken_that_comes_to_nothing_is_no_question(blocks, open_):
    one = Marked("", 6, [compared(0, targets=("a", "b"))], graph(**blocks), {"main"})
    seen = bytes([0, 1, 1, 0, 0, 1])
    assert bool(left_of([one], seen, ROWS).comparisons) is open_
    turned = Marked("", 6, [compared(0, targets=("b", "a"))], graph(**blocks), {"main"})
    assert bool(left_of([turned], bytes([1, 0, 1, 0, 0, 1]), ROWS).comparisons) is open_


@pytest.mark.parametrize(("value", "open_"), [("%x", True), ("%n", False)])
def test_an_error_for_what_data_hold_is_a_question(value, open_):
    rows = ("%p = getelementptr inbounds double, ptr %a, i64 %i", "%x = load double, ptr %p",
            "%n = load i32, ptr %n.addr")  # fmt: skip
    c = replace(compared(0, targets=("a", "b")), value=value)
    blocks = graph(a=Block(2), b=Block(3, stops=True))
    one = Marked(function(*rows, name="main"), 4, [c], blocks, {"main"})
    assert bool(left_of([one], bytes([0, 1, 1, 0]), ROWS).comparisons) is open_


def test_both_ways_to_one_block_are_a_question():
    one = Marked("", 3, [compared(0, targets=("a", "a"))], graph(a=Block(2)), {"main"})
    assert left_of([one], bytes([0, 1, 1]), ROWS).comparisons


def test_comparisons_of_pragmas_are_the_compiler_s():
    text = "int a;\n#pragma omp parallel for\nfor (int i = 0; i < n; i++)\n  a[i] == 7;\n"
    own = Program({"a.c": text}, "openmp")
    for line, how, open_ in ((2, "eq", 0), (2, "lt", 0), (3, "lt", 0), (3, "eq", 1), (4, "lt", 1)):
        one = Marked("", 2, [compared(0, how=how, line=line)])
        assert len(left_of([one], bytes([1, 0]), own).comparisons) == open_
    blocks = {("main", "a"): Block(0, {("a.c", 2), ("a.c", 3), ("a.c", 4)})}
    assert left_of([Marked("", 1, [], blocks, {"main"})], bytes(1), own).lines == {("a.c", 4)}


# --- beyond the original -----------------------------------------------------------------------


def case_of(text, known=((), ())):
    own = Program({"a.c": text})
    counters = tuple(Counter(k) for k in known)
    return SimpleNamespace(candidate=own, original=Program({"a.c": "int x;\nif (a == 7) b();\n"}),
                           reference=SimpleNamespace(one_way=counters))  # fmt: skip


def test_what_comes_out_one_way_in_the_original_too_is_taken_off_once_each():
    text = "int x;\nif (a == 7) b();\nif (c == 7) d();\nif (e < 3) f();\n"
    left = Left([(compared(0, line=3), True), (compared(0, line=2), True),
                 (compared(0, "lt", "3", line=4), False)])  # fmt: skip

    def findings(by_text=(), by_kind=()):
        return [(f.line, f.message) for f in _beyond(case_of(text, (by_text, by_kind)), left)]

    said = "with the inputs that were tried this is {} {} {}"
    never, always = said.format("never", "equal to", 7), said.format("always", "less than", 3)
    assert findings() == [(2, never), (3, never), (4, always)]
    same, kind = ("if(a==7)b();", "eq", True, frozenset()), ("7", "eq", True, frozenset())
    assert findings([same], [kind]) == [(3, never), (4, always)]
    assert findings([], [kind]) == [(2, never), (4, always)]
    assert findings([], [kind, kind]) == [(4, always)]
    assert findings([], [("7", "eq", False, frozenset()), ("3", "lt", False, frozenset())]) == [
        (2, never), (3, never)]  # fmt: skip
    assert findings([same], [kind, kind]) == [(4, always)]


def test_what_the_original_does_otherwise_behind_the_same_question_is_named():
    left = Left([(replace(compared(0, line=3), behind=frozenset("1")), True)])

    def findings(*behind):
        known = [("7", "eq", True, frozenset(b)) for b in behind]
        case = case_of("\n\nif (c == 7) d();", ((), known))
        return [f.message[-35:] for f in _beyond(case, left)]

    assert findings("1") == []
    assert findings("") == [", where the original does another thing"[-35:]]
    assert findings() == ["puts that were tried this is never equal to 7"[-35:]]


def test_a_cut_off_is_the_same_by_a_function_and_by_a_choice():
    choice = replace(compared(0, line=3), constant="200", behind=frozenset({"200"}))
    function = replace(choice, behind=frozenset())
    kinds = [_text_and_kind("x", c, True)[1] for c in (choice, function)]
    assert kinds[0] == kinds[1]
    other = replace(choice, behind=frozenset({"199"}))
    assert _text_and_kind("x", other, True)[1] not in kinds


def test_behind_a_way_not_taken_is_what_it_alone_leads_to():
    c = compared(0, targets=("b", "a"))
    last = Block(4, targets=["a"], does={"1"}, given={"b": {"5"}, "a": {"8"}})
    blocks = graph(a=Block(2, does={"9"}), b=Block(3, targets=["d"], acts=True, does={"f"}), d=last)
    one = Marked("", 5, [c], blocks, {"main"})
    for seen, behind in (([1, 0, 1, 0, 0], {"f", "1", "5"}), ([0, 1, 1, 1, 1], set())):
        ((left, _),) = left_of([one], bytes(seen), ROWS).comparisons
        assert left.behind == behind


WHOLE = UNCUT.format(64)


@pytest.mark.parametrize(("row", "how", "constant", "open_"), [
    ("if (b + t < n) y[b + t] += x[t + b];", "lt", "", False),
    ("if (b + t < n) { y[b + t] = x[b]; }", "lt", "", True),  # drops what comes after x[b]
    ("if (b + 3 < n) f(y[b + 3], b);", "lt", "", True),
    ("if (b + t < m) y[b + t] = 0;", "lt", "", True),
    ("if (b + t < n) y[b + t] = 0; else last = b;", "lt", "", True),
    ("if (b + t < n) y[b + t] = 0;", "gt", "", True),
    ("z = b + t < n ? x[b + t] : 0;", "lt", "", False),
    ("z = b + t < n ? x[b + t] : b;", "lt", "", True),
    ("set[x[b] / 64] |= 1ull << x[b] % 64;", "eq", WHOLE, False),
    ("set[x[t] / 64] |= 1ull << x[b] % 64;", "eq", WHOLE, True),
    ("set[x[b] / 32] |= 1ull << x[b] % 64;", "eq", WHOLE, True),
])  # fmt: skip
def test_guards_of_groups_and_both_digits_of_a_number_are_no_question(row, how, constant, open_):
    text = f"for (int b = 0; b < n; b += w) {{\n  {row}\n}}\nif (b + t < n) y[b + t] = 0;\n"
    left = Left([(compared(0, how, constant, line=2), True)])
    assert bool(_beyond(case_of(text), left)) is open_
    behind = Left([(compared(0, "lt", "", line=4), True)])
    assert _beyond(case_of(text), behind)  # outside of the loop


@pytest.mark.parametrize(("row", "constant", "tie", "open_"), [
    ("if (a[i] == m && i < k) k = i;", "", True, False),
    ("if (a[i] == m && i < k) k = i;", "", False, True),
    ("if (a[i] == m && i < k) k = i;", "7", False, True),
    ("x = a < b ? a : b;", "", True, True), ("if (a < b) c = b;", "", True, True),
])  # fmt: skip
def test_the_earlier_of_two_equal_ones_may_always_be_the_same_one(row, constant, tie, open_):
    left = Left([(replace(compared(0, "lt", constant, line=1), tie=tie), True)])
    assert bool(_beyond(case_of(f"{row}\n"), left)) is open_
    far = Left([(compared(0, "lt", "", line=1), True)])
    assert _beyond(case_of(" " * 400 + f"{row}\n"), far)  # so many characters are read at most


def test_lines_that_the_original_has_too_are_known():
    case = case_of("int x;\n  if (a==7)  b();\nnew();\n")
    left = Left([], {("a.c", 3), ("a.c", 2)})
    assert _other_lines(case, left) == [
        Finding("output", "a.c", 3, "no input that was tried reaches this line")]  # fmt: skip


def test_what_launches_and_ends_threads_in_cuda_is_known_as_it_reads_elsewhere():
    case = case_of("k(g, 4, a);\n  if (i >= n) continue;\nif (i > n) continue;\n")
    case.original = Program({"a.cu": "if (i >= n) return;\nk<<<g, 4>>>(a);\n"}, "cuda")
    left = Left([], {("a.c", 1), ("a.c", 2), ("a.c", 3)})
    assert [f.line for f in _other_lines(case, left)] == [3]
    case.original = Program({"a.c": "if (i >= n) return;\n"})
    assert [f.line for f in _other_lines(case, left)] == [1, 2, 3]


def test_marks_that_are_set_and_values_nobody_asks_for_are_left_out():
    rows = [
        "  %rheostat_reached.0.at = getelementptr i8, ptr @a, i64 %rheostat_reached.0",
        "  store i8 1, ptr %rheostat_reached.0.at",
        "  store i8 1, ptr %rheostat_reached.2.at",
        "  store i8 1, ptr getelementptr (i8, ptr @rheostat_reached, i64 4)",
        "  store i8 1, ptr getelementptr (i8, ptr @rheostat_reached, i64 5)",
        "  store i8 1, ptr %other",
        "  call void @rheostat_reached_value(i32 0, i64 %x)",
        "  call void @rheostat_reached_digit(i32 1, i64 %x, i64 %y, i64 %z, i32 0)",
    ]
    kept = [*still_asked("\n".join(rows), bytes([1, 1, 1, 0, 0, 1]), {1})]
    assert kept == [rows[i] for i in (0, 2, 3, 5, 7)]
    assert [*still_asked("\n".join(rows), b"", {0, 1})] == rows


def test_how_the_original_s_comparisons_come_out_is_asked_once(monkeypatch):
    case, asked = case_of("int x;"), []
    case.reference.one_way = None
    monkeypatch.setattr(reached, "_marked", lambda case, own: asked.append(own))
    monkeypatch.setattr(reached, "_stages", lambda *_, fewer: iter(
        [Left([(compared(0, line=1), True)]), Left([(compared(0, line=2), False)])]))  # fmt: skip
    nothing = False, frozenset()
    wanted = Counter([("if(a==7)b();", "eq", *nothing)]), Counter([("7", "eq", *nothing)]), ()
    assert _of_original(case) == wanted  # of the last stage
    assert _of_original(case) == wanted
    assert asked == [case.original]


def test_stages_end_where_nothing_is_left(monkeypatch, case):
    stages = iter(
        [Left([(compared(0), True)]), Left([], {("a.c", 1)}), Left(), Left([(compared(0), True)])]
    )
    case.reference.one_way = Counter(), Counter(), ()
    monkeypatch.setattr(reached, "_marked", lambda case, own: ("made", []))
    monkeypatch.setattr(reached, "_stages", lambda *_: stages)
    for more in ("proved", "many", "other_order", "other_data", "other_sizes"):
        monkeypatch.setattr(reached, f"without_{more}", lambda _case, _whole, left: left)
    case.__dict__["own_edges"] = ()
    assert unreached(case) == []
    assert len(list(stages)) == 1  # the last was not asked for
    monkeypatch.setattr(reached, "_stages", lambda *_: iter(
        [Left([], {("a.c", 1)})]))  # fmt: skip
    (found,) = unreached(case)
    assert (found.file, found.line) == ("a.c", 1)


def test_inputs_that_tell_most_are_run_first_and_a_few_with_many_threads(case):
    case.reference.without_arguments = (given(1, 0.01),)
    case.reference.edges = tuple(given(k, 0.01) for k in range(10, 18))
    case.reference.many = tuple((given(k).given, "") for k in range(70))
    own = (given(50, 0.01),)
    first, alone, *rest = runs_for_marks(case, case.candidate, own)
    assert first.threads == 1
    assert [g.arguments[0] for g in alone.inputs] == ["1"]
    assert [g.arguments[0] for g in first.inputs] == [
        "5", "3", "900", "700", *map(str, range(10, 18)), "50"]  # fmt: skip
    assert [(len(r.inputs), r.threads) for r in rest] == [(SOME, 1), (6, 1)]
    assert {g.arguments[0] for r in rest for g in r.inputs} == {str(k) for k in range(70)}
    parallel = of(case, "openmp")
    assert [r.threads for r in runs_for_marks(parallel, case.original, own)] == [1, 1, 1, 1]
    _, _, *rest = runs_for_marks(parallel, parallel.candidate, own)
    assert [r.threads for r in rest] == [*SOME_THREADS, 1, 1]
    assert [g.arguments[0] for g in rest[0].inputs] == ["5", "3", "700", "10", "11", "12"]
    assert len(rest[0].inputs) == FEW
    case.reference.many = tuple((given(k).given, "") for k in range(SOME))
    assert [len(r.inputs) for r in list(runs_for_marks(case, case.candidate, ()))[2:]] == [SOME]


def test_marks_of_kernels_are_had_in_other_orders_too(case):
    """First to last they leave what they append to a list in its order already."""
    case.reference.without_arguments = ()
    case.reference.many = tuple((given(k).given, "") for k in range(200))
    on_gpu = of(case, "cuda")
    natural, *others = list(runs_for_marks(on_gpu, on_gpu.candidate, ()))[1:]
    assert natural.environment == {}
    assert [r.environment["CUDA_ORDER"] for r in others] == ["1", "2"]
    assert "RHEOSTAT_TURNS" in others[1].environment
    assert len({g.arguments for r in (natural, *others) for g in r.inputs}) == 3 * SOME


def test_bytes_that_runs_left_are_a_plain_file_of_so_many(tmp_path):
    path = tmp_path / "reached"
    assert bytes_left(path, 4) == bytes(4)
    path.write_bytes(b"\1\2\3\4\5\6")
    assert bytes_left(path, 4) == b"\1\2\3\4"
    assert bytes_left(path, 8) == b"\1\2\3\4\5\6\0\0"
    link = tmp_path / "link"
    link.symlink_to(path)
    assert bytes_left(link, 2) == bytes(2)


@pytest.mark.parametrize(("outputs", "taken"), [
    (["7", "8"], True), (["7"], True),  # the time was over
    (["7", "9"], False), ([None, "8"], False), ([], False),
])  # fmt: skip
def test_marks_of_more_runs_count_where_each_prints_what_is_known(tmp_path, outputs, taken):
    @contextmanager
    def run_folder(_name):
        yield tmp_path

    def run(inputs, place):
        (place / "reached").write_bytes(b"\0\1\1\0")
        return outputs

    case = SimpleNamespace(bench=SimpleNamespace(run_folder=run_folder),
                           reference=SimpleNamespace(agreed=Tolerance()))  # fmt: skip
    known = [(given(1, 0.01), "7"), (given(2, 0.01), "8")]
    assert taken_up(case, b"\1\0\1\0", known, run) == (b"\1\1\1\0" if taken else b"\1\0\1\0")


def test_marked_texts_are_linked_with_what_keeps_the_marks(tools):
    own = Program({"a.cc": "", "b.c": ""}, "openmp", flags=("-O3", "-lm"))
    made = with_marks(own, [Marked("one", 5), Marked("two", 9)], b"", ())
    linker = "".join(f"{word} " for word in quick_linker(own.flags))
    assert made.build[2] == (
        "{cxx} -c -O1 -w -pthread -fopenmp rheostat_reached0.ll rheostat_reached1.ll && "
        f"/t/g++ -pthread {linker}rheostat_reached0.o rheostat_reached1.o arrays.s "
        "rheostat_reached.o -lm -o program -L /t/lib -lomp"
    )  # fmt: skip
    assert made.files["rheostat_reached1.ll"] == "two\n"
    assert "\nrheostat_reached: .zero 4096\n" in made.files["arrays.s"]
    assert "\nrheostat_reached_b: .8byte 9\n" in made.files["arrays.s"]
    assert made.objects == ("reached",)
    tools |= {"gcc", "g++"}
    alone = with_marks(own, [Marked("one", 5)], b"", ()).build[2]
    assert alone.startswith("{cxx} -O1 -w -pthread ")
    assert alone.endswith("rheostat_reached0.ll arrays.s rheostat_reached.o -lm -o program")
    assert made.language == "serial"
    assert "-fopenmp" not in with_marks(Program({"a.c": ""}), [Marked("", 1)], b"", ()).build[2]
