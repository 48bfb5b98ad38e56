"""HLO piece by piece: types, windows, instructions and statements, and what is none."""

from __future__ import annotations

import pytest

from rheostat.errors import DataError
from rheostat.measurement.graphs.hlo.hlo_check import same
from rheostat.measurement.graphs.hlo.hlo_instruction import HloInstruction, read_instruction
from rheostat.measurement.graphs.hlo.hlo_opcodes import OPCODES, class_of
from rheostat.measurement.graphs.hlo.hlo_text import (
    AGAIN,
    HloError,
    closing,
    damaged,
    split,
    statements,
)
from rheostat.measurement.graphs.hlo.hlo_types import HloType, read_type
from rheostat.measurement.graphs.hlo.hlo_window import ConvolutionLabels, WindowSide, read_window

# --- types -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "made", "end"), [
    ("f32[]", HloType("f32"), 5), ("f32[2, 3]{0,1} x", HloType("f32", (2, 3)), 14),
    ("s4[<=7,?]", HloType("s4", (7, -1)), 9), ("token[] ", HloType("token"), 7),
    ("f32[2]{0:T(8)}", HloType("f32", (2,)), 14), ("f32[2]{:S(2)}", HloType("f32", (2,)), 13),
    ("() x", HloType("tuple"), 2),
    ("( f32[2], /*index=1*/ (pred[]) )z",
     HloType("tuple", (), (HloType("f32", (2,)), HloType("tuple", (), (HloType("pred"),)))), 32),
    (f"f32[{10**18 - 1}]", HloType("f32", (10**18 - 1,)), 23),
    (f"f32[0,{10**17}]", HloType("f32", (0, 10**17)), 25),
])  # fmt: skip
def test_a_type_is_read_to_its_end(text, made, end):
    assert read_type(text) == (made, end)
    assert read_type(f"ab {text}", 3) == (made, end + 3)


@pytest.mark.parametrize(("text", "said"), [
    ("g32[2]", "expected a type as f32[2,3]{1,0}, got 'g32[2]'"),
    ("f32", "expected a type as f32[2,3]{1,0}, got 'f32'"),
    ("f32[2,]", "expected sizes as [2,3], got [2,]"),
    ("f32[2,3]{0,0}", "expected a layout of 2 dimensions, got {0,0}"),
    ("f32[2]{0,1}", "expected a layout of 1 dimensions, got {0,1}"),
    (f"f32[{10**18}]", f"expected fewer than 1e18 numbers, got [{10**18}]"),
    (f"f32[{10**9},{10**9}]", f"expected fewer than 1e18 numbers, got [{10**9},{10**9}]"),
    ("(f32[] f32[])", "expected , or ) in a tuple type, got 'f32[])'"),
    ("(f32[]", "expected , or ) in a tuple type, got ''"),
    ("(f32[], /*x*/ f32[])", "expected a type as f32[2,3]{1,0}, got '/*x*/ f32[])'"),
])  # fmt: skip
def test_what_is_no_type_is_said(text, said):
    with pytest.raises(HloError) as error:
        read_type(text)
    assert str(error.value) == said


def test_sizes_of_types():
    pair = read_type("(f32[2,3], s4[5], pred[])")[0]
    assert (pair.elements, pair.size_b, str(pair)) == (6, 24 + 2.5 + 1, "(f32[2,3], s4[5], pred[])")
    assert (HloType("tuple").elements, HloType("tuple").size_b) == (0, 0)
    odd = HloType("c64", (2, -1, 0))
    assert (odd.elements, odd.size_b, str(odd)) == (2, 16.0, "c64[2,?,0]")


@pytest.mark.parametrize(("one", "other", "fit"), [
    ("f32[2,3]", "f32[2,3]", True), ("f32[2]", "f32[2,1]", False), ("f32[2]", "f64[2]", False),
    ("f32[?]", "f32[3]", True), ("f32[3]", "f32[?]", True), ("f32[0]", "f32[1]", False),
    ("f32[1]", "f32[0]", False), ("f32[2,3]", "f32[2,4]", False), ("f32[2,3]", "f32[3,3]", False),
    ("(f32[], s32[])", "(f32[], s32[])", True), ("(f32[], s32[])", "(f32[], s8[])", False),
    ("(f32[], s32[])", "(s8[], s32[])", False), ("(f32[])", "(f32[], f32[])", False),
])  # fmt: skip
def test_types_are_one_where_nothing_known_differs(one, other, fit):
    assert same(read_type(one)[0], read_type(other)[0]) is fit
    assert same(HloType("?", (2,)), HloType("f32", (2,)))
    assert not same(HloType("?", (2,)), HloType("f32", (3,)))


# --- windows -----------------------------------------------------------------------------------


def test_windows_and_labels_are_read():
    text = "{size=3x2 stride=2x1 pad=1_2x0_3 lhs_dilate=1x2 rhs_dilate=3x1 rhs_reversal=0x1}"
    assert read_window(text) == (WindowSide(3, 2, 1, 2, 1, 3), WindowSide(2, 1, 0, 3, 2, 1))
    assert read_window("{}") == ()
    assert read_window("{size=1}") == (WindowSide(1, 1, 0, 0, 1, 1),)
    assert WindowSide(3).positions(0) == 0
    assert WindowSide(0).positions(0) == 1
    labels = ConvolutionLabels.of("b10f_01io->bf10")
    assert (labels.input, labels.kernel, labels.output, labels.space) == (
        "b10f", "01io", "bf10", "01")  # fmt: skip


@pytest.mark.parametrize(("text", "said"), [
    ("{size=3 odd=1}", "expected a window of size, stride, pad, lhs_dilate, rhs_dilate, "
     "rhs_reversal, got odd"),
    ("{size=3x3 stride=2}", "expected a window with 2 sides in each part, got {size=3x3 stride=2}"),
    ("{size=0}", "expected sizes and steps of a window from 1, got 0"),
    ("{size=2 rhs_dilate=0}", "expected sizes and steps of a window from 1, got 0"),
])  # fmt: skip
def test_what_is_no_window_is_said(text, said):
    with pytest.raises(HloError) as error:
        read_window(text)
    assert str(error.value) == said
    with pytest.raises(HloError, match=r"expected dim_labels as b01f_01io->b01f, got 'b01'"):
        ConvolutionLabels.of("b01")


# --- instructions ------------------------------------------------------------------------------


def test_an_instruction_in_full():
    text = ("ROOT %r.1 = f32[2]{0} fusion(f32[2]{0} %a, b, /*index=2*/s8[] c), kind=kLoop, "
            "calls={%f, %g}, dimensions={1,2}, window={size=2}")  # fmt: skip
    made = read_instruction(text, 9)
    assert made == HloInstruction(
        "r.1", HloType("f32", (2,)), "fusion", ("a", "b", "c"),
        (HloType("f32", (2,)), None, HloType("s8")), "f32[2]{0} %a, b, /*index=2*/s8[] c",
        {"kind": "kLoop", "calls": "{%f, %g}", "dimensions": "{1,2}", "window": "{size=2}"},
        True, 9)  # fmt: skip
    assert (made.computations("calls"), made.computations("to_apply")) == (("f", "g"), ())
    assert (made.integers("dimensions"), made.optional("none"), made.window) == (
        (1, 2), (), "{size=2}")  # fmt: skip
    bare = read_instruction("p = f32[] parameter(0), dimensions={}", 1)
    assert (bare.operands, bare.operand_types, bare.literal, bare.root) == ((), (), "0", False)
    assert (bare.integers("dimensions"), bare.window, bare.attributes) == (
        (), "{}", {"dimensions": "{}"})  # fmt: skip
    assert read_instruction("p = f32[] tuple()", 1).attributes == {}


@pytest.mark.parametrize(("text", "said"), [
    ("odd", "expected an instruction as name = type opcode(...), got 'odd'"),
    ("a = f32[] nagete(b)", "expected an opcode of HLO after the type, got 'nagete'"),
    (f"a = f32[] {'9' * 40}(b)",
     f"expected an opcode of HLO after the type, got {' ' + '9' * 29!r}"),
    ("a = f32[] add(b, *)", "expected the name of an operand, got '*'"),
    ("a = f32[] add(f32[] x b)", "expected the type and name of an operand, got 'f32[] x b'"),
    ("a = f32[] add(b) x=1", "expected a comma before attributes, got 'x=1'"),
    ("a = f32[] add(b), x=1, x=2", "expected an attribute as name=value, once, got 'x=2'"),
    ("a = f32[] add(b), 9=2", "expected an attribute as name=value, once, got '9=2'"),
    ("a = f32[] add(b", "expected a closing bracket, got '(b'"),
])  # fmt: skip
def test_what_is_no_instruction_is_said(text, said):
    with pytest.raises(HloError) as error:
        read_instruction(text, 1)
    assert str(error.value) == said


def test_opcodes_have_a_class_and_their_asynchronous_forms_too():
    assert class_of("custom-call-done") == "other"
    assert class_of("slice-update") == "data_movement"
    assert class_of("slice-x") is None
    assert class_of("all-reduce-start") == OPCODES["all-reduce-start"] == "collective"


# --- text --------------------------------------------------------------------------------------


def test_statements_with_their_lines():
    text = ("HloModule m\n\nStackFrames\n1 a\n2 b\n\n// note\nENTRY e (a: f32[]) -> f32[] {\n"
            "  a = f32[2] constant({ 1,\n  2 }),\n\n  metadata={x=\"{\\\"\"}\n"
            '}, execution_thread="t"\n')  # fmt: skip
    assert list(statements(text, "x")) == [
        (1, "HloModule m"), (8, "ENTRY e (a: f32[]) -> f32[] {"),
        (9, "a = f32[2] constant({ 1, 2 }),"), (12, 'metadata={x="{\\""}'),
        (13, '}, execution_thread="t"')]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "expected", "got"), [
    ("FileNames\n1 a\n3 b", 3, "row 2 of a table of files and frames", "3 b"),
    ("FileNames\n2 a", 2, "row 1 of a table of files and frames", "2 a"),
    ("a\nb = (x\n y", 2, "a closing bracket for '('", "b = (x"),
    ("b = (x]", 1, "an opening bracket for ']'", "b = (x]"),
    ("b = (x\n y}", 2, "an opening bracket for '}'", "y}"),
    ("b = x)", 1, "an opening bracket for ')'", "b = x)"),
    ('b = (x "y', 1, "a closing quotation mark", '"y'),
    ("(" + "z" * 200, 1, "a closing bracket for '('", "(" + "z" * 119),
])  # fmt: skip
def test_a_damaged_text_is_told_with_its_line(text, line, expected, got):
    with pytest.raises(DataError) as error:
        list(statements(text, "x"))
    assert error.value.problems == (f"line {line}: expected {expected}, got {got!r}", AGAIN)
    assert damaged("x", line, expected, got).problems == error.value.problems


def test_parts_between_commas_and_closing_brackets():
    assert split('a, (b, [c, d]), {e}, "f,g", ') == ["a", "(b, [c, d])", "{e}", '"f,g"', ""]
    assert (split(""), split(" "), split("a"), split(",")) == ([], [], ["a"], ["", ""])
    text = 'x(a, {")"}, [b]) )'
    assert closing(text, 1) == 15
    assert closing(text, 5) == 9
    with pytest.raises(HloError, match=r"expected a closing bracket, got '\(a'"):
        closing("x(a", 1)
