"""The type of each result of HLO follows from its operands, or it is said why not."""

from __future__ import annotations

import pytest

from rheostat.measurement.graphs.hlo.hlo_infer import infer
from rheostat.measurement.graphs.hlo.hlo_instruction import read_instruction
from rheostat.measurement.graphs.hlo.hlo_text import HloError
from rheostat.measurement.graphs.hlo.hlo_types import HloType, read_type


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
