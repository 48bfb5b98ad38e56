"""HLO statement by statement: what each must be, and the words about one that is not."""

from __future__ import annotations

import math

import pytest

from rheostat.errors import DataError
from rheostat.measurement.graphs.hlo.hlo_check import same
from rheostat.measurement.graphs.hlo.hlo_graph import from_hlo
from rheostat.measurement.graphs.hlo.hlo_infer import infer
from rheostat.measurement.graphs.hlo.hlo_instruction import HloInstruction, read_instruction
from rheostat.measurement.graphs.hlo.hlo_module import read_module
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


def types_of(text: str) -> list[HloType]:
    return [read_type(t.strip())[0] for t in text.split(";")] if text else []


def inferred(result: str, called: str, operands: str) -> str:
    """The type that follows, or what is said of it."""
    made = read_instruction(f"r = {result} {called}", 1)
    try:
        return str(infer(made, types_of(operands)))
    except HloError as error:
        return f"! {error}"


ANY = "f32[]"
SLICES = "dynamic_slice_sizes="
GATHERED = ("offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
            "index_vector_dim=1, slice_sizes=")  # fmt: skip
CONV = "convolution(a, b), dim_labels=b0f_0io->b0f, window="


@pytest.mark.parametrize(("result", "called", "operands", "expected"), [
    # one operand, two operands
    (ANY, "negate(a)", "f32[2]", "f32[2]"), (ANY, "abs(a)", "c64[2]", "f32[2]"),
    (ANY, "abs(a)", "c128[]", "f64[]"), (ANY, "abs(a)", "f32[2]", "f32[2]"),
    (ANY, "negate(a)", "c64[2]", "c64[2]"),
    (ANY, "negate(a, b)", "f32[2]; f32[2]", "! expected 1 operands of negate, got 2"),
    (ANY, "add(a)", "f32[2]", "! expected 2 operands of add, got 1"),
    (ANY, "add-dependency(a, b)", "f32[2]; token[]", "f32[2]"),
    (ANY, "domain(a, b)", "f32[2]; f32[3]", "f32[2]"),
    (ANY, "all-reduce(a, b)", "f32[2]; f32[3]", "(f32[2], f32[3])"),
    (ANY, "all-reduce(a)", "f32[2]", "f32[2]"), (ANY, "after-all()", "", "None"),
    (ANY, "add(a, b)", "f32[2,3]; f32[2,3]", "f32[2,3]"),
    (ANY, "add(a, b)", "f32[2,?]; f32[2,3]", "f32[2,?]"),
    (ANY, "add(a, b)", "f32[2,3]; f32[2,?]", "f32[2,3]"),
    (ANY, "add(a, b)", "f32[0,3]; f32[1,3]",
     "! expected operands of add of one shape, got f32[0,3] and f32[1,3]"),
    (ANY, "add(a, b)", "f32[1,3]; f32[0,3]",
     "! expected operands of add of one shape, got f32[1,3] and f32[0,3]"),
    (ANY, "add(a, b)", "f32[2]; f32[2,1]",
     "! expected operands of add of one shape, got f32[2] and f32[2,1]"),
    (ANY, "add(a, b)", "f32[2]; f64[2]", "! expected operands of one type, got f32[2] and f64[2]"),
    # comparing and choosing
    (ANY, "compare(a, b), direction=LT", "f32[2]; f32[2]", "pred[2]"),
    (ANY, "compare(a, b), direction=XX", "f32[2]; f32[2]",
     "! expected 2 operands and a direction as LT, got 2 and XX"),
    (ANY, "compare(a, b, c), direction=EQ", "f32[2]; f32[2]; f32[3]",
     "! expected 2 operands and a direction as LT, got 3 and EQ"),
    (ANY, "compare(a, b), direction=EQ", "f32[2]; f64[2]",
     "! expected operands of one type, got f32[2] and f64[2]"),
    (ANY, "select(a, b, c)", "pred[2]; f32[2]; f32[2]", "f32[2]"),
    (ANY, "select(a, b, c)", "pred[]; f32[2]; f32[2]", "f32[2]"),
    (ANY, "select(a, b, c)", "pred[3]; f32[2]; f32[2]",
     "! expected operands of select of one shape, got pred[3] and f32[2]"),
    (ANY, "select(a, b, c)", "pred[2]; f32[2]; f64[2]",
     "! expected operands of one type, got f32[2] and f64[2]"),
    (ANY, "select(a, b)", "pred[2]; f32[2]",
     "! expected select of pred and two values, got pred[2], f32[2]"),
    (ANY, "select(a, b, c)", "f32[2]; f32[2]; f32[2]",
     "! expected select of pred and two values, got f32[2], f32[2], f32[2]"),
    (ANY, "clamp(a, b, c)", "f32[]; f32[2]; f32[3]", "f32[2]"),
    (ANY, "clamp(a, b)", "f32[]; f32[2]", "! expected 3 operands of clamp, got 2"),
    (ANY, "convert(a)", "f32[2,3]", "?[2,3]"),
    # shapes
    ("f32[2,3]", "broadcast(a), dimensions={1}", "f32[3]", "f32[2,3]"),
    ("f32[2,3]", "broadcast(a), dimensions={1}", "f32[2]",
     "! expected f32[2] at dimensions {1} of f32[2,3]"),
    ("f32[2,3]", "broadcast(a), dimensions={1}", "f64[?]", "f64[2,3]"),
    ("f32[6]", "reshape(a)", "f32[2,3]", "f32[6]"), ("f32[?]", "reshape(a)", "f32[2,3]", "f32[?]"),
    ("f32[6]", "reshape(a)", "f32[2,?]", "f32[6]"),
    ("f32[5]", "reshape(a)", "f32[2,3]", "! expected 6 elements, got f32[5]"),
    ("f16[6]", "bitcast(a)", "f32[3]", "None"), ("f32[?]", "bitcast(a)", "f32[3]", "None"),
    ("f32[9]", "bitcast(a)", "f32[?]", "None"),
    ("f32[6]", "bitcast(a)", "f32[3]", "! expected 12 bytes as f32[3] has, got f32[6]"),
    (ANY, "transpose(a), dimensions={1,2,0}", "f32[4,5,6]", "f32[5,6,4]"),
    (ANY, "transpose(a), dimensions={1,1,0}", "f32[4,5,6]",
     "! expected an order of 3 dimensions, got (1, 1, 0)"),
    (ANY, "slice(a), slice={[1:8:3], [0:5]}", "f32[8,5]", "f32[3,5]"),
    (ANY, "slice(a), slice={[0:0], [0:1]}", "f32[0,5]", "f32[0,1]"),
    (ANY, "slice(a), slice={[0:1], [0:1]}", "f32[0,5]",
     "! expected a slice inside f32[0,5], got {[0:1], [0:1]}"),
    (ANY, "slice(a), slice={[0:9], [0:9]}", "f32[?,9]", "f32[9,9]"),
    (ANY, "slice(a), slice={[0:9], [0:5]}", "f32[8,5]",
     "! expected a slice inside f32[8,5], got {[0:9], [0:5]}"),
    (ANY, "slice(a), slice={[0:8]}", "f32[8,5]", "! expected a slice inside f32[8,5], got {[0:8]}"),
    (ANY, "concatenate(a, b, c), dimensions={1}", "f32[2,3]; f32[2,1]; f32[2,4]", "f32[2,8]"),
    (ANY, "concatenate(a, b), dimensions={0}", "f32[2,3]; f32[1,4]",
     "! expected operands of concatenate of one shape, got ?[3] and ?[4]"),
    (ANY, "concatenate(a, b), dimensions={1}", "f32[9,2,3]; f32[9,1,4]",
     "! expected operands of concatenate of one shape, got ?[9,3] and ?[9,4]"),
    (ANY, "pad(a, b), padding=1_2x-1_0x0_0_2x1_1_3", "f32[4,8,3,0]; f32[]", "f32[7,7,7,2]"),
    (ANY, "pad(a, b), padding=1_2", "f32[4,8]; f32[]", "! expected padding of f32[4,8], got 1_2"),
    (ANY, "pad(a, b), padding=1_2xq", "f32[4,8]; f32[]",
     "! expected padding of f32[4,8], got 1_2xq"),
    # reductions
    (ANY, "reduce(a, b), dimensions={0,2}, to_apply=f", "f32[2,3,4]; f32[]", "f32[3]"),
    (ANY, "reduce(a, b, c, d), dimensions={1}, to_apply=f", "f32[2,3]; s32[2,3]; f32[]; s32[]",
     "(f32[2], s32[2])"),
    (ANY, "reduce(a, b, c), dimensions={1}, to_apply=f", "f32[2,3]; f32[]; f32[]",
     "! expected values and initial values over dimensions (1,), got f32[2,3], f32[], f32[]"),
    (ANY, "reduce(), dimensions={1}, to_apply=f", "",
     "! expected values and initial values over dimensions (1,), got "),
    (ANY, "reduce(a, b), dimensions={0,2}, to_apply=f", "f32[2,3]; f32[]",
     "! expected values and initial values over dimensions (0, 2), got f32[2,3], f32[]"),
    (ANY, "reduce(a, b, c, d), dimensions={1}, to_apply=f", "f32[2,3]; s32[2,4]; f32[]; s32[]",
     "! expected operands of reduce of one shape, got f32[2,3] and s32[2,4]"),
    (ANY, "reduce-window(a, b), window={size=3x1 pad=1_1x0_0}, to_apply=f", "f32[4,5]; f32[]",
     "f32[4,5]"),
    (ANY, "reduce-window(a, b, c, d), window={size=2}, to_apply=f", "f32[4]; s8[4]; f32[]; s8[]",
     "(f32[3], s8[3])"),
    (ANY, "reduce-window(a, b), window={size=3}, to_apply=f", "f32[4,5]; f32[]",
     "! expected a window over f32[4,5], got {size=3}"),
    (ANY, "reduce-window(a, b, c), window={size=3}, to_apply=f", "f32[4]; f32[]; f32[]",
     "! expected a window over f32[4], got {size=3}"),
    (ANY, "select-and-scatter(a, b, c), window={size=2 stride=2}, select=f, scatter=g",
     "f32[4]; f32[2]; f32[]", "f32[4]"),
    (ANY, "select-and-scatter(a, b, c), window={size=2 stride=2}, select=f, scatter=g",
     "f32[4]; f32[3]; f32[]", "! expected a source of sizes (2,), got f32[3]"),
    (ANY, "select-and-scatter(a, b), window={size=2 stride=2}, select=f, scatter=g",
     "f32[4]; f32[2]", "! expected a source of sizes (2,), got f32[2]"),
    # products
    (ANY, "dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "f32[2,3]; f32[3,4]",
     "?[2,4]"),
    (ANY, "dot(a, b), lhs_batch_dims={1}, rhs_batch_dims={0}", "f32[2,5]; f32[5,4]", "?[5,2,4]"),
    (ANY, "dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "f32[2,3]; f32[4,4]",
     "! expected equal contracted sizes, got f32[2,3] and f32[4,4]"),
    (ANY, "dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}", "f32[2,3]; f32[3,2]",
     "! expected equal contracted sizes, got f32[2,3] and f32[3,2]"),
    (ANY, CONV + "{size=3 pad=1_1}", "f32[2,8,4]; f32[3,4,6]", "?[2,8,6]"),
    (ANY, CONV + "{size=3}, feature_group_count=2", "f32[2,8,4]; f32[3,2,6]", "?[2,6,6]"),
    (ANY, CONV + "{size=3}, batch_group_count=2", "f32[6,8,4]; f32[3,4,6]", "?[3,6,6]"),
    (ANY, CONV + "{size=3}, feature_group_count=2", "f32[2,8,4]; f32[3,4,6]",
     "! expected a kernel and window that fit f32[2,8,4], got f32[3,4,6] and {size=3}"),
    (ANY, CONV + "{size=3}", "f32[2,8,4]; f32[3,4,6]; f32[]",
     "! expected a kernel and window that fit f32[2,8,4], got f32[3,4,6] and {size=3}"),
    (ANY, CONV + "{size=3x3}", "f32[2,8,4]; f32[3,4,6]",
     "! expected a kernel and window that fit f32[2,8,4], got f32[3,4,6] and {size=3x3}"),
    (ANY, CONV + "{size=2}", "f32[2,8,4]; f32[3,4,6]",
     "! expected a window of the kernel f32[3,4,6], got {size=2}"),
    (ANY, "triangular-solve(a, b)", "f32[2,2]; f32[2,5]", "f32[2,5]"),
    # parts of arrays
    (ANY, f"dynamic-slice(a, i), {SLICES}{{0,3}}", "f32[0,3]; s32[]", "f32[0,3]"),
    (ANY, f"dynamic-slice(a, i), {SLICES}{{1,3}}", "f32[0,3]; s32[]",
     "! expected a slice inside f32[0,3], got (1, 3)"),
    (ANY, f"dynamic-slice(a, i), {SLICES}{{9,3}}", "f32[?,3]; s32[]", "f32[9,3]"),
    (ANY, f"dynamic-slice(a, i), {SLICES}{{2,4}}", "f32[2,3]; s32[]",
     "! expected a slice inside f32[2,3], got (2, 4)"),
    (ANY, "dynamic-update-slice(a, b, i)", "f32[4,3]; f32[4,2]; s32[]", "f32[4,3]"),
    (ANY, "dynamic-update-slice(a, b, i)", "f32[0,3]; f32[1,2]; s32[]",
     "! expected an update inside f32[0,3], got f32[1,2]"),
    (ANY, "dynamic-update-slice(a, b)", "f32[?]; f32[9]", "f32[?]"),
    ("f32[5,3]", f"gather(a, i), {GATHERED}{{1,3}}", "f32[4,3]; s32[5,1]", "f32[5,3]"),
    ("f32[5,3]", "gather(a, i), offset_dims={1}, collapsed_slice_dims={}, "
     "operand_batching_dims={0}, index_vector_dim=1, slice_sizes={1,3}", "f32[4,3]; s32[5,1]",
     "f32[5,3]"),
    ("f32[5]", f"gather(a, i), {GATHERED}{{1,3}}", "f32[4,3]; s32[5,1]",
     "! expected offsets (1,) and slices (1, 3) to make f32[5]"),
    ("f32[5,3]", f"gather(a, i), {GATHERED}{{1,3}}", "f32[4,3]; s32[5,1,7]",
     "! expected offsets (1,) and slices (1, 3) to make f32[5,3]"),
    ("f32[5,3,1]", f"gather(a, i), {GATHERED}{{1,3}}", "f32[4,3]; s32[5,1]",
     "! expected offsets (1,) and slices (1, 3) to make f32[5,3,1]"),
    (ANY, "scatter(a, i, u), to_apply=f", "f32[4]; s32[1]; f32[2]", "f32[4]"),
    (ANY, "scatter(a, b, i, u, v), to_apply=f", "f32[4]; s8[4]; s32[1]; f32[2]; s8[2]",
     "(f32[4], s8[4])"),
    (ANY, "scatter(a, i), to_apply=f", "f32[4]; s32[1]",
     "! expected values, indices and updates of scatter, got 2 operands"),
    (ANY, "sort(a), dimensions={0}, to_apply=f", "f32[4]", "f32[4]"),
    (ANY, "sort(a, b), dimensions={0}, to_apply=f", "f32[4]; s32[4]", "(f32[4], s32[4])"),
    (ANY, "sort(a, b), dimensions={0}, to_apply=f", "f32[4]; s32[5]",
     "! expected operands of sort of one shape, got f32[4] and s32[5]"),
    (ANY, "tuple(a, b)", "f32[4]; s32[5]", "(f32[4], s32[5])"),
    (ANY, "get-tuple-element(a), index=1", "(f32[4], s32[5])", "s32[5]"),
    # literals and what does not follow
    ("f32[2,2]", "constant({ {1, /*x*/ 2}, {nan, -inf} })", "", "None"),
    ("f32[2]", "constant({...})", "", "None"), ("f32[0]", "constant({})", "", "None"),
    ("f32[0,3]", "constant({1, 2, 3, 4})", "", "None"),
    ("c64[2]", "constant({(1, 2), (3, 4)})", "", "None"),
    ("(f32[2])", "constant({1})", "", "None"), ('f32[2]', 'constant("ab")', "", "None"),
    ("f32[2]", "constant({1})", "", "! expected 2 numbers in a constant, got 1"),
    ("f32[]", "constant(7)", "", "None"),
    (ANY, "all-gather(a), dimensions={0}", "f32[2]", "None"),
    (ANY, "all-gather(), dimensions={0}", "", "! expected an operand of all-gather, got none"),
    (ANY, "parameter(0)", "", "None"),
])  # fmt: skip
def test_the_type_of_a_result_follows_from_its_operands(result, called, operands, expected):
    assert inferred(result, called, operands) == expected


@pytest.mark.parametrize(("called", "operands"), [
    ("sort(a), to_apply=f", "f32[4]"), ("compare(a, b)", "f32[]; f32[]"),
    ("select-and-scatter(a, b, c), window={size=1}, select=f", "f32[4]; f32[4]; f32[]"),
    ("get-tuple-element(a), index=3", "(f32[4])"),
])  # fmt: skip
def test_what_an_instruction_lacks_is_not_passed_over(called, operands):
    with pytest.raises((KeyError, IndexError)):
        inferred(ANY, called, operands)


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


# --- modules -----------------------------------------------------------------------------------


def module(
    *lines: str, before: str = "", head: str = "ENTRY e {", first: str = "HloModule m"
) -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return f"{first}\n{before}\n{head}\n{body}\n}}\n"


X = "x = f32[4] parameter(0)"
F = "f {\n p = f32[4] parameter(0)\n ROOT n = f32[4] negate(p)\n}\n"
ADD = "add {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b)\n}\n"
TRUE = "t {\n p = f32[4] parameter(0)\n ROOT c = pred[] constant(true)\n}\n"
CALLS = "expected {} of one computation, got {}"
LOOPS = "expected while with one operand, a body and a condition"
TAKES = "expected operands ({}) of {}, got ({})"


@pytest.mark.parametrize(("text", "line", "said"), [
    (module(X, X), 5, "expected a new name, got x again"),
    (module("x = f32[] parameter(y)"), 4, "expected the number of a parameter, got 'y'"),
    (module("ROOT y = f32[] negate(z)"), 4, "expected an operand defined above, got z"),
    (module(X, "ROOT y = f32[4] negate(f32[5] x)"), 5, "expected x as f32[4], got f32[5]"),
    (module(X, "ROOT y = f32[5] negate(x)"), 5,
     "expected f32[4] as the result of negate, got f32[5]"),
    (module(X, "ROOT y = f32[4] sort(x), metadata={a}"), 5,
     "expected operands and attributes of sort, got (f32[4]) and no attributes"),
    (module(X, f"ROOT y = f32[4] sort(x), dimensions={{q}}, to_apply={'g' * 50}"), 5,
     "expected operands and attributes of sort, got (f32[4]) and dimensions={q}, "
     f"to_apply={'g' * 40}"),
    (module(X, "ROOT y = f32[4] negate(x, x)"), 5, "expected 1 operands of negate, got 2"),
    (module(X, "ROOT y = f32[4] call(x), to_apply=g"), 5,
     "expected a computation of the text in to_apply, got g"),
    (module(X, "ROOT y = f32[4] call(x)", before=F), 9, CALLS.format("call", 0)),
    (module(X, "ROOT y = f32[4] fusion(x), calls={f, f}", before=F), 9,
     CALLS.format("fusion", 2)),
    (module(X, "ROOT y = f32[4] call(x, x), to_apply=f", before=F), 9,
     TAKES.format("f32[4]", "f", "f32[4], f32[4]")),
    (module("x = f32[5] parameter(0)", "ROOT y = f32[4] call(x), to_apply=f", before=F), 9,
     TAKES.format("f32[4]", "f", "f32[5]")),
    (module(X, "ROOT y = f32[5] call(x), to_apply=f", before=F), 9,
     "expected f32[4] from f, got f32[5]"),
    (module(X, "ROOT y = f32[4] while(x), body=f", before=F), 9, LOOPS),
    (module(X, "ROOT y = f32[4] while(x), condition=f", before=F), 9, LOOPS),
    (module(X, "ROOT y = f32[4] while(x), body=f, condition=f", before=F), 9,
     "expected f32[4] from f, got pred[]"),
    (module("x = f32[5] parameter(0)", "ROOT y = f32[5] while(x), body=f, condition=t",
            before=F + TRUE), 13, TAKES.format("f32[4]", "f", "f32[5]")),
    (module("p = pred[] parameter(0)", "ROOT y = f32[4] conditional(p, p), "
            "branch_computations={f}", before=F), 9, TAKES.format("f32[4]", "f", "pred[]")),
    (module("p = pred[] parameter(0)", "ROOT y = f32[4] conditional(p), "
            "branch_computations={f}", before=F), 9,
     "expected a branch for each of 0 operands, got 1"),
    (module("p = pred[] parameter(0)", "ROOT y = f32[4] conditional(p)"), 5,
     "expected a branch for each of 0 operands, got 0"),
    (module(X, "z = f32[] constant(0)", "ROOT y = f32[] reduce(x, z), dimensions={0}"), 6,
     "expected to_apply of reduce, got 0 computations"),
    (module(X, "z = f32[] constant(0)", "ROOT y = f32[] reduce(x, z), dimensions={0}, to_apply=f",
            before=F), 10, "expected f with 2 parameters, got 1"),
    (module(X, "ROOT y = f32[4] all-reduce(x), to_apply=f", before=F), 9,
     "expected f with 2 parameters, got 1"),
    (module(X, "ROOT y = f32[2] reduce-scatter(x), dimensions={0}, to_apply=f", before=F), 9,
     "expected f with 2 parameters, got 1"),
    (module("ROOT x = f32[4] parameter(1)"), 3, "expected parameters 0 to 0, got [1]"),
    (module("ROOT x = f32[4] parameter(0)", head="ENTRY e (a: f32[5]) -> f32[4] {"), 3,
     "expected parameters (f32[4]) as below, got (f32[5])"),
    (module("ROOT x = f32[4] parameter(0)", head="ENTRY e (a: f32[4]) -> f32[5] {"), 3,
     "expected f32[4], what ROOT has, got f32[5]"),
    (module("ROOT x = f32[4] parameter(0)", head="ENTRY e (a) -> f32[4] {"), 3,
     "expected a parameter as name: type, got 'a'"),
])  # fmt: skip
def test_what_does_not_fit_is_told_with_its_line(text, line, said):
    with pytest.raises(DataError) as error:
        read_module(text, "x")
    assert error.value.problems == (f"line {line}: {said}", AGAIN)


LAYOUT = "HloModule m, entry_computation_layout={(f32[4]{0})->f32[4]{0}}"


@pytest.mark.parametrize(("first", "said"), [
    (LAYOUT.replace("(f32[4]{0})", "(f32[5])"),
     "expected the entry's parameters (f32[4]), got (f32[5])"),
    (LAYOUT.replace("->", "=>"), "expected -> and the entry's result, got '=>f32[4]{0}}'"),
    (LAYOUT.replace("->f32[4]", "->f32[5]"), "expected f32[4] as the entry's result, got f32[5]"),
])  # fmt: skip
def test_the_first_line_says_what_the_entry_takes_and_gives(first, said):
    lines = (X, "ROOT y = f32[4] negate(x)")
    with pytest.raises(DataError) as error:
        read_module(module(*lines, first=first), "x")
    assert error.value.problems == (f"line 1: {said}", AGAIN)
    made = read_module(module(*lines, first=LAYOUT), "x")
    assert (made.name, made.entry.name, made.entry.line) == ("m", "e", 3)


@pytest.mark.parametrize(("text", "line", "expected", "got"), [
    ("", 1, "HloModule and its name", ""),
    ("HloModul m", 1, "HloModule and its name", "HloModul m"),
    ("HloModule m\nodd\n", 2, "the head of another computation as name {", "odd"),
    ("HloModule m\n" + F + F, 6, "the head of another computation as name {", "f {"),
    ("HloModule m\n" + F, 2, "one ENTRY computation in the text", "0 of them"),
    ("HloModule m\nENTRY " + F + "ENTRY g" + F[1:], 6, "one ENTRY computation in the text",
     "2 of them"),
    ("HloModule m\n\nENTRY e {\n x = f32[] parameter(0)\n", 3, "a closing brace of e",
     "the end of the text"),
    ("HloModule m\n\nENTRY e {\n x = f32[] parameter(0)\n}\n", 3, "one ROOT in e", "0 of them"),
    ("HloModule m\n\nENTRY e {\n ROOT x = f32[] parameter(0)\n ROOT y = f32[] negate(x)\n}\n", 3,
     "one ROOT in e", "2 of them"),
])  # fmt: skip
def test_a_module_has_one_entry_with_one_root(text, line, expected, got):
    with pytest.raises(DataError) as error:
        read_module(text, "x")
    assert error.value.problems == (f"line {line}: expected {expected}, got {got!r}", AGAIN)


def test_values_that_cost_nothing_and_that_nothing_uses_are_left_out():
    lines = (X, "c = f32[] constant(1)", "d = f32[] constant(2)", "t = (f32[]) tuple(d)",
             "u = f32[4] copy(x)", "ROOT y = f32[4] negate(x)")  # fmt: skip
    made = read_module(module(*lines)).entry.instructions
    assert list(made) == ["x", "u", "y"]
    deep = read_module(module(X, "ROOT y = (f32[4]) tuple(x)")).entry
    assert list(deep.instructions) == ["x", "y"]


def test_brackets_without_end_are_one_error():
    text = module(f"ROOT x = {'(' * 5000}f32[]{')' * 5000} parameter(0)")
    with pytest.raises(DataError) as error:
        read_module(text, "x")
    assert error.value.problems == ("line 4: expected fewer brackets in each other",)


# --- a graph -----------------------------------------------------------------------------------


def columns(graph, *names):
    return {n: [None if isinstance(v, float) and math.isnan(v) else v
                for v in graph.nodes[n].to_list()] for n in names}  # fmt: skip


def test_a_graph_of_calls_branches_and_a_call_into_a_library():
    lib = 'z = (f32[4], s32[]) custom-call(x), custom_call_target="own"'
    text = module("p = pred[] parameter(1)", X, lib,
                  "b = f32[4] conditional(p, x, x), true_computation=f, false_computation=g",
                  "c = f32[4] call(b), to_apply=f", "g0 = f32[4] get-tuple-element(z), index=0",
                  "ROOT y = (f32[4], f32[4]) tuple(c, g0)",
                  before=F + F.replace("f {", "g {").replace("negate", "tanh"))  # fmt: skip
    graph = from_hlo(text)
    made = columns(graph, "opcode", "times", "flops", "transcendentals", "bytes", "dtype")
    assert made["opcode"] == [
        "parameter",
        "negate",
        "parameter",
        "tanh",
        "parameter",
        "parameter",
        "custom-call",
        "conditional",
        "call",
        "get-tuple-element",
        "tuple",
    ]
    assert made["times"] == [2.0, 2.0, 0.0, 0.0, *[1.0] * 7]
    assert made["flops"] == [0, 4, 0, 0, 0, 0, None, 0, 0, 0, 0]
    assert made["transcendentals"] == [0, 0, 0, 4, *[0] * 7]
    assert made["bytes"] == [0, 32, 0, 32, 0, 0, 36, 0, 0, 0, 0]
    assert (made["dtype"][6], graph.nodes["shape"].to_list()[6]) == ("tuple", [])
    assert sorted(map(tuple, graph.edges.T.tolist())) == sorted([
        (0, 1), (2, 3), (5, 6), (4, 7), (5, 7), (5, 7), (7, 8), (6, 9), (8, 10), (9, 10),
        (5, 0), (5, 2), (1, 7), (3, 7), (7, 0), (1, 8)])  # fmt: skip
    (note,) = graph.notes
    assert (note.rows, note.count) == ((6,), 1)
    assert note.message == (
        "calls into libraries: their FLOPs are not known and are not in the totals")  # fmt: skip


SLICED = ("f {\n p = f32[4,8] parameter(0)\n q = f32[4,8] parameter(1)\n i = s32[] parameter(2)\n"
          " s = f32[1,8] dynamic-slice(p, i, i), dynamic_slice_sizes={1,8}\n"
          " ROOT u = f32[4,8] dynamic-update-slice(q, s, i, i)\n}\n")  # fmt: skip


def test_a_fusion_moves_the_slices_that_it_reads_and_the_update_that_it_writes():
    text = module(
        "x = f32[4,8] parameter(0)", "y = f32[4,8] parameter(1)", "i = s32[] parameter(2)",
        "ROOT z = f32[4,8] fusion(x, y, i), kind=kLoop, calls=f", before=SLICED)  # fmt: skip
    graph = from_hlo(text)
    fusion = graph.nodes.row(-1, named=True)
    assert (fusion["bytes"], fusion["op_class"], fusion["flops"]) == (
        32 + 0 + 4 + 32,
        "gather_scatter",
        0,
    )
    assert graph.nodes["bytes"].to_list()[:-1] == [0.0] * (len(graph) - 1)


@pytest.mark.parametrize(("inner", "kind", "moved"), [
    ("ROOT n = f32[4] negate(p)", "elementwise", 32),
    ("ROOT n = f32[4] tanh(p)", "transcendental", 32),
    ("ROOT n = f32[4] copy(p)", "data_movement", 32),
    ("ROOT n = f32[8] concatenate(p, p), dimensions={0}", "data_movement", 48),
    ("c = f32[4] constant({1,2,3,4})\n ROOT n = f32[4] negate(c)", "elementwise", 16),
    ("s = f32[2] slice(p), slice={[0:2]}\n ROOT n = f32[4] concatenate(s, s), dimensions={0}",
     "data_movement", 24),
    ("s = f32[4] slice(p), slice={[0:4]}\n t = f32[4] slice(p), slice={[0:4]}\n "
     "ROOT n = f32[4] add(s, t)", "elementwise", 32),
    ("s = f32[2] slice(p), slice={[0:2]}\n ROOT n = f32[6] concatenate(s, p), dimensions={0}",
     "data_movement", 40),
])  # fmt: skip
def test_the_class_and_the_bytes_of_a_fusion(inner, kind, moved):
    result = inner.rpartition("= ")[2].split(" ")[0]
    before = f"f {{\n p = f32[4] parameter(0)\n {inner}\n}}\n"
    graph = from_hlo(module(X, f"ROOT z = {result} fusion(x), kind=kLoop, calls=f", before=before))
    fusion = graph.nodes.row(-1, named=True)
    assert (fusion["op_class"], fusion["bytes"]) == (kind, moved)


def test_a_computation_that_calls_itself_is_told_with_its_line():
    loop = "f {\n p = f32[4] parameter(0)\n ROOT n = f32[4] call(p), to_apply=f\n}\n"
    with pytest.raises(DataError) as error:
        from_hlo(module(X, "ROOT y = f32[4] call(x), to_apply=f", before=loop))
    assert error.value.problems == ("line 2: expected no computation that calls itself, got f",)
