"""What operations cost, source by source: FLOPs, bytes and how often they run, to the number."""

from __future__ import annotations

import gzip
import json
import math
from typing import Any

import numpy as np
import pytest

from rheostat.core.graph import op_graph
from rheostat.core.jobs import Note
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.measurement.graphs import from_onnx
from rheostat.measurement.graphs.aten_costs import aten_cost
from rheostat.measurement.graphs.from_onnx import read_onnx
from rheostat.measurement.graphs.graph_costs import costs_by_class, total_costs
from rheostat.measurement.graphs.hlo.hlo_costs import HloCost, compute, log2_up, moved
from rheostat.measurement.graphs.hlo.hlo_graph import from_hlo
from rheostat.measurement.graphs.hlo.hlo_instruction import read_instruction
from rheostat.measurement.graphs.hlo.hlo_loops import NotConstant, _first_false
from rheostat.measurement.graphs.hlo.hlo_types import HloType, read_type
from rheostat.measurement.graphs.op_rows import OpCost, OpRows
from rheostat.measurement.graphs.read_graph import from_function, graphs_of, open_graph, read_graph
from rheostat.measurement.graphs.recorded import recorded_graph
from tests.measurement.exactly import refused, written
from tests.measurement.test_hlo_rules import ADD, F, X, module

# --- HLO: one instruction ----------------------------------------------------------------------

APPLIED = {"f": HloCost(2.0, 3.0), "s": HloCost(5.0), "g": HloCost(7.0, 1.0)}
CONV = "dim_labels=b01f_01io->b01f, window={size=3x3 pad=1_1x1_1}"
IMAGE, KERNEL, FEATURES = "f32[2,5,5,4]", "f32[3,3,4,6]", "f32[2,5,5,6]"
MEETING = (2 + 3 + 3 + 3 + 2) ** 2
GEMM = 'custom_call_target="x", backend_config={"lhs_contracting_dimensions":["1"]}'


@pytest.mark.parametrize(("result", "called", "operands", "costs"), [
    ("f32[4]", "negate(a)", "f32[4]", (4, 0, 32)), ("f32[4]", "tanh(a)", "f32[4]", (0, 4, 32)),
    ("f32[4]", "copy(a)", "f32[4]", (0, 0, 32)), ("f32[4]", "bitcast(a)", "f32[4]", (0, 0, 0)),
    ("f32[4]", "map(a), to_apply=f", "f32[4]", (8, 12, 32)),
    ("f32[4]", "reduce(a, b), to_apply=f", "f32[4,5]; f32[]", (32, 48, 100)),
    ("f32[4]", "reduce(a, b), to_apply=f", "f32[2]; f32[]", (0, 0, 28)),
    ("f32[9]", "scatter(a, i, u), to_apply=f", "f32[9]; s32[3]; f32[3,2]", (12, 18, 84)),
    ("f32[4]", "scatter(a, i, u)", "f32[4]; s32[1]; f32[2]", (0, 0, 28)),
    ("f32[3]", "reduce-window(a, b), window={size=2x3}, to_apply=f", "f32[4]; f32[]",
     (30, 45, 32)),
    ("f32[8]", "select-and-scatter(a, b, c), window={size=4}, select=s, scatter=g",
     "f32[8]; f32[2]; f32[]", (2 * 3 * 5 + 2 * 7, 2, 76)),
    ("(u64[2], u32[3,5])", "rng-bit-generator(a)", "u64[2]", (0, 17, 92)),
    ("u32[3]", "rng-bit-generator(a)", "u64[2]", (0, 3, 28)),
    ("f32[2,4]", "dot(a, b), lhs_contracting_dims={1}", "f32[2,3]; f32[3,4]", (48, 0, 104)),
    ("f32[2,4]", "dot(a, b)", "f32[2]; f32[4]", (16, 0, 56)),
    (FEATURES, f"convolution(a, b), {CONV}", f"{IMAGE}; {KERNEL}",
     (2 * 2 * 4 * 6 * MEETING, 0, 800 + 864 + 1200)),
    (FEATURES, f"convolution(a, b), {CONV}, feature_group_count=2", f"{IMAGE}; {KERNEL}",
     (2 * 2 * 2 * 6 * MEETING, 0, 2864)),
    (FEATURES, f"convolution(a, b), {CONV}, batch_group_count=2", f"{IMAGE}; {KERNEL}",
     (2 * 1 * 4 * 6 * MEETING, 0, 2864)),
    (f"({FEATURES}, u8[9])", f'custom-call(a, b), custom_call_target="conv", {CONV}',
     f"{IMAGE}; {KERNEL}", (2 * 2 * 4 * 6 * MEETING, 0, 2873)),
    (IMAGE, f'custom-call(a, b), custom_call_target="convBackwardInput", {CONV}',
     f"{FEATURES}; {KERNEL}", (2 * 2 * 4 * 6 * MEETING, 0, 2864)),
    (KERNEL, f'custom-call(a, b), custom_call_target="ConvBackwardFilter", {CONV}',
     f"{IMAGE}; {FEATURES}", (2 * 2 * 4 * 6 * MEETING, 0, 2864)),
    ("f32[4]", f'custom-call(a), custom_call_target="conv", {CONV}', "f32[4]", (None, 0, 32)),
    ("f32[4]", 'custom-call(a, a), custom_call_target="conv"', "f32[4]; f32[4]", (None, 0, 48)),
    ("f32[2,4]", f"custom-call(a, b), {GEMM}", "f32[2,3]; f32[3,4]", (48, 0, 104)),
    ("f32[2,4]", f"custom-call(), {GEMM}", "", (None, 0, 32)),
    ("f32[4]", 'custom-call(a), custom_call_target="Sharding"', "f32[4]", (0, 0, 32)),
    ("f32[10]", "sort(a)", "f32[10]", (40, 0, 80)),
    ("c64[16,2]", "fft(a), fft_length={16,2}", "c64[16,2]", (2 * 4 * 4 * 32, 0, 512)),
    ("f32[2,6,6]", "cholesky(a)", "f32[2,6,6]", (2 * 6**3 / 3, 0, 576)),
    ("f32[5,3]", "triangular-solve(a, b)", "f32[5,5]; f32[5,3]", (2 * 5 * 15, 0, 220)),
    ("(f32[4], f32[3])", "all-reduce(a, b)", "f32[4]; f32[3]", (7, 0, 56)),
    ("f32[4]", "reduce-scatter(a)", "f32[8]", (4, 0, 48)),
    ("f32[2]", "slice(a)", "f32[9]", (0, 0, 16)),
    ("f32[2]", "dynamic-slice(a, i, j)", "f32[9,9]; s32[]; s32[]", (0, 0, 24)),
    ("f32[3,2]", "gather(a, i)", "f32[9,2]; s32[3,1]", (0, 0, 60)),
    ("f32[9]", "dynamic-update-slice(a, u, i)", "f32[9]; f32[2]; s32[]", (0, 0, 20)),
    ("(f32[9], f64[9])", "scatter(a, b, i, u, v)", "f32[9]; f64[9]; s32[3]; f32[3]; f64[3]",
     (0, 0, 3 * 36 + 12)),
])  # fmt: skip
def test_an_instruction_costs_what_xla_says(result, called, operands, costs):
    made = read_instruction(f"r = {result} {called}", 1)
    types = [read_type(t.strip())[0] for t in operands.split(";")] if operands else []
    cost = compute(made, types, APPLIED.__getitem__)
    flops = None if math.isnan(cost.flops) else cost.flops
    assert (flops, cost.transcendentals, moved(made, types)) == costs
    assert cost.bytes == 0


def test_costs_add_up_and_repeat():
    cost = HloCost(1.0, 2.0, 3.0)
    assert (cost + HloCost(10.0, 20.0, 30.0), cost.times(3)) == (
        HloCost(11.0, 22.0, 33.0), HloCost(3.0, 6.0, 9.0))  # fmt: skip
    assert HloCost() == HloCost(0.0, 0.0, 0.0)
    assert [log2_up(n) for n in (0, 1, 4, 5)] == [0, 0, 2, 3]


# --- HLO: loops --------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8, 9, 1000, 2**49 + 1, 2**50])
def test_a_loop_is_counted_by_halving(count):
    assert _first_false(lambda turn: turn < count) == count
    with pytest.raises(NotConstant):
        _first_false(lambda turn: turn < 2**50 + 1)


TUPLE = "(s32[], s32[], f32[4])"
HELPERS = ("inc {\n a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT c = s32[] add(a, b)\n}\n"
           "two {\n ROOT c = s32[] constant(2)\n}\n")  # fmt: skip


def trips(
    step: str = "n = s32[] add(i, one)",
    test: str = "ROOT c = pred[] compare(i, n), direction=LT",
    start: str = "a = s32[] constant(0)",
    root: str = "ROOT t = {} tuple(n, j, v)",
    more: str = "",
    end: int = 6,
    x: int = 0,
) -> float:
    """How often the body of a loop runs; NaN where that is not known."""
    body = (f"body {{\n p = {TUPLE} parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
            " j = s32[] get-tuple-element(p), index=1\n v = f32[4] get-tuple-element(p), index=2\n"
            f" one = s32[] constant(1)\n {step}\n {root.format(TUPLE)}\n}}\n")  # fmt: skip
    condition = (f"cond {{\n p = {TUPLE} parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
                 " j = s32[] get-tuple-element(p), index=1\n one = s32[] constant(1)\n"
                 f" n = s32[] constant({end})\n {test}\n}}\n")  # fmt: skip
    text = module(start, "b = s32[] constant(4)", f"x = f32[4] parameter({x})",
                  f"t = {TUPLE} tuple(a, b, x)",
                  f"ROOT r = {TUPLE} while(t), condition=cond, body=body{more}",
                  before=HELPERS + body + condition)  # fmt: skip
    graph = from_hlo(text)
    times = graph.nodes.filter((graph.nodes["opcode"] == "tuple") & (graph.nodes["times"] != 1))
    if graph.notes:
        line = text.split("\n").index(
            f"  ROOT r = {TUPLE} while(t), condition=cond, body=body{more}"
        )
        assert graph.notes == (Note(
            f"line {line + 1}: loop r runs as often as data say; counted once"),)  # fmt: skip
        return math.nan
    return float(times["times"][0]) if len(times) else 1.0


def compare(direction: str, left: str = "i", right: str = "n") -> str:
    return f"ROOT c = pred[] compare({left}, {right}), direction={direction}"


@pytest.mark.parametrize(("changes", "count"), [
    ({}, 6), ({"test": compare("LE")}, 7), ({"test": compare("NE"), "end": 8}, 8),
    ({"test": compare("EQ")}, 0), ({"test": compare("GT", "n", "i")}, 6),
    ({"test": compare("GE", "n", "i")}, 7), ({"test": compare("LT", "i", "j")}, 4),
    ({"step": "n = s32[] subtract(i, one)", "test": compare("GT"), "end": -3}, 3),
    ({"step": "n = s32[] subtract(i, one)", "test": compare("GE"), "end": -3}, 4),
    ({"step": "two = s32[] constant(2)\n m = s32[] multiply(two, one)\n n = s32[] add(i, m)"}, 3),
    ({"step": "k = s32[] constant(3)\n m = s32[] maximum(k, one)\n n = s32[] add(i, m)"}, 2),
    ({"step": "k = s32[] constant(3)\n m = s32[] minimum(k, one)\n n = s32[] add(i, m)"}, 6),
    ({"step": "three = s32[] constant(3)\n m = s32[] and(three, one)\n n = s32[] add(i, m)"}, 6),
    ({"step": "two = s32[] constant(2)\n m = s32[] or(two, one)\n n = s32[] add(i, m)"}, 2),
    ({"step": "n = s32[] call(i, one), to_apply=inc"}, 6),
    ({"step": "n = s32[] fusion(i, one), kind=kLoop, calls=inc"}, 6),
    ({"step": "two = s32[] call(), to_apply=two\n n = s32[] add(i, two)"}, 3),
    ({"step": "k = s32[] copy(i)\n n = s32[] add(k, one)"}, 6),
    ({"test": "d = s32[] add(i, one)\n e = s32[] add(d, i)\n " + compare("LT", "e")}, 3),
    ({"test": "ROOT c = pred[] constant(false)"}, 0),
    ({"test": "ROOT c = pred[] constant(true)"}, math.nan),
    ({"step": "n = s32[] multiply(i, i)", "start": "a = s32[] constant(2)"}, math.nan),
    ({"step": "n = s32[] divide(i, one)"}, math.nan),
    ({"start": "a = s32[] parameter(1)"}, math.nan),
    ({"start": "a = s32[] parameter(0)", "x": 1}, math.nan),
    ({"root": "ROOT t = {} custom-call(n, j, v), custom_call_target=\"Pad\""}, math.nan),
    ({"step": "n = s32[] negate(i)"}, math.nan),
    ({"more": ', backend_config="{\\"known_trip_count\\":{\\"n\\":\\"9\\"}}"'}, 9),
])  # fmt: skip
def test_a_loop_runs_as_often_as_its_text_says(changes, count):
    assert trips(**changes) == pytest.approx(count, nan_ok=True)


@pytest.mark.parametrize(("links", "count"), [(199, 6), (200, math.nan)])
def test_a_counter_may_go_through_two_hundred_instructions(links, count):
    chain = "\n ".join(f"d{k} = s32[] copy({f'd{k - 1}' if k else 'i'})" for k in range(links))
    assert trips(test=f"{chain}\n {compare('LT', f'd{links - 1}')}") == pytest.approx(
        count, nan_ok=True)  # fmt: skip


# --- HLO: whole programs -----------------------------------------------------------------------

NEST = """inner {
 p = f32[4] parameter(0)
 ROOT n = f32[4] negate(p)
}
outer {
 p = f32[4] parameter(0)
 a = f32[4] call(p), to_apply=inner
 ROOT n = f32[4] call(a), to_apply=inner
}
cheap {
 p = f32[4] parameter(0)
 a = f32[4] negate(p)
 ROOT n = f32[4] negate(a)
}
deep {
 p = f32[4] parameter(0)
 a = f32[4] call(p), to_apply=outer
 ROOT n = f32[4] call(a), to_apply=outer
}
"""


def test_how_often_each_computation_runs_follows_from_all_that_call_it():
    text = module("q = pred[] parameter(1)", X, "a = f32[4] call(x), to_apply=outer",
                  "b = f32[4] conditional(q, a, a), branch_computations={cheap, deep}",
                  "ROOT y = f32[4] call(b), to_apply=inner", before=NEST)  # fmt: skip
    graph = from_hlo(text)
    parameters = graph.nodes.filter(graph.nodes["opcode"] == "parameter")["times"].to_list()
    assert parameters == [1 + 2 + 4, 1 + 2, 0, 1, 1, 1]
    assert (graph.name, from_hlo(text, "own").name) == ("m", "own")
    reversed_text = module(
        X,
        "ROOT y = f32[4] call(x), to_apply=deep",
        before="".join(f"{c}}}\n" for c in NEST.split("}\n")[::-1] if c),
    )
    assert from_hlo(reversed_text).nodes["flops"].sum() == 3 * 4


def test_what_a_reduction_applies_costs_all_that_it_calls():
    pair = ("both {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n s = f32[] add(a, b)\n"
            " ROOT c = f32[] call(s, b), to_apply=add\n}\n")  # fmt: skip
    graph = from_hlo(module(X, "z = f32[] constant(0)",
                            "ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=both",
                            before=ADD + pair))  # fmt: skip
    last = graph.nodes.row(-1, named=True)
    assert (last["opcode"], last["flops"], last["times"]) == ("reduce", 3 * 2, 1)
    assert graph.nodes["times"].to_list()[:7] == [0.0] * 7


def test_computations_that_call_each_other_are_refused():
    both = F.replace("negate(p)", "call(p), to_apply=g") + F.replace("f {", "g {").replace(
        "negate(p)", "call(p), to_apply=f")  # fmt: skip
    with pytest.raises(DataError, match=r"expected no computation that calls itself, got [fg]"):
        from_hlo(module(X, "ROOT y = f32[4] call(x), to_apply=f", before=both))


def test_what_is_inside_a_fusion_inside_a_fusion_moves_nothing():
    inner = (
        F + "h {\n p = f32[4] parameter(0)\n ROOT n = f32[4] fusion(p), kind=kLoop, calls=f\n}\n"
    )
    graph = from_hlo(module(X, "ROOT y = f32[4] fusion(x), kind=kLoop, calls=h", before=inner))
    assert graph.nodes["fused"].to_list() == [True] * 4 + [False] * 2
    assert graph.nodes["bytes"].to_list() == [0, 0, 0, 0, 0, 32]
    through = F + "h {\n p = f32[4] parameter(0)\n ROOT n = f32[4] call(p), to_apply=f\n}\n"
    graph = from_hlo(module(X, "ROOT y = f32[4] fusion(x), kind=kLoop, calls=h", before=through))
    assert graph.nodes["fused"].to_list() == [True] * 4 + [False] * 2


# --- records -----------------------------------------------------------------------------------


def recorded(opcode: str, result: list[int], *given: list[int], dtype: str = "f32") -> float:
    nodes = [["kParameter", dtype, g, 0] for g in given] + [[opcode, dtype, result, 0]]
    edges = [[k, len(given)] for k in range(len(given))]
    graph = recorded_graph({"nodes": nodes, "edges": edges}, "r")
    return graph.nodes.row(-1, named=True)


@pytest.mark.parametrize(("opcode", "result", "given", "flops"), [
    ("kDot", [3, 2, 5], ([3, 2, 4], [3, 4, 5]), 2 * 30 * 4),
    ("kDot", [2, 2, 5], ([2, 2, 4], [4, 5]), 2 * 20 * 4),
    ("kDot", [2, 5], ([2, 2], [2, 5]), 2 * 10 * 2), ("kDot", [], ([7], [7]), 14),
    ("kDot", [2, 2, 2, 5], ([2, 2, 2, 3], [2, 2, 3, 5]), 2 * 40 * 3),
    ("kReduceWindow", [0], ([4], []), 0), ("kReduceWindow", [2], ([6], []), 4),
    ("kReduce", [9], ([4], []), 0), ("kBroadcast", [9], ([],), 0),
    ("kConvolution", [1, 6, 6, 5], ([1, 6, 6, 2], [3, 3, 2, 5]), 2 * 10 * 16**2),
    ("kConvolution", [4, 5, 3, 3], ([4, 2, 6, 6], [5, 2, 3, 3]), 2 * 4 * 10 * 8**2),
    ("kConvolution", [1, 6, 6, 5], ([2, 6, 6, 2], [3, 3, 2, 5]), None),
    ("kConvolution", [4], ([4], [3, 3]), None),
])  # fmt: skip
def test_work_that_is_inferred_from_sizes(opcode, result, given, flops):
    made = recorded(opcode, result, *given)["flops"]
    assert (None if math.isnan(made) else made) == flops


def test_names_sizes_and_graphs_of_records():
    row = recorded("kAnd", [4], [4], [4], dtype="pred")
    assert (row["opcode"], row["op_class"], row["bytes"], row["flops"]) == (
        "and", "elementwise", 12, 4)  # fmt: skip
    assert recorded("kSin", [4], [4])["transcendentals"] == 4
    assert recorded("kOddThing", [4], [4])["op_class"] == "other"
    assert recorded("kGetTupleElement", [4], [4])["bytes"] == 0
    bf16 = recorded("kCopy", [4], [4], dtype="bf16")
    assert (bf16["bytes"], bf16["shape"]) == (16, [4])
    with pytest.raises(DataError) as error:
        recorded_graph({"nodes": [["k", "f32", "x" * 999, 0]], "edges": []}, "r")
    (said,) = error.value.problems
    assert said.startswith("expected a record with nodes and edges, got ")
    assert len(said) <= 300


def test_a_function_of_two_scalars_that_a_reduction_applies_runs_no_more():
    def applied(*inside):
        nodes = [[*n, 1] for n in inside] + [
            ["kParameter", "f32", [4], 0],
            ["kTuple", "f32", [], 0],
        ]
        frame = recorded_graph({"nodes": nodes, "edges": []}, "r").nodes
        return frame["times"][0] == 0.0

    pair = (["kParameter", "f32", []], ["kParameter", "f32", []])
    assert applied(*pair, ["kAdd", "f32", []])
    assert not applied(*pair, ["kAdd", "f32", [2]])
    assert not applied(*pair, ["kParameter", "f32", []])
    assert not applied(*pair)
    assert not applied(*pair, ["kAdd", "f32", []], ["kAdd", "f32", []])


# --- PyTorch's operations ----------------------------------------------------------------------


def sized(*dims: int) -> HloType:
    return HloType("f32", dims)


PHOTO, WEIGHTS, MADE = sized(2, 4, 5, 5), sized(6, 4, 3, 3), sized(2, 6, 5, 5)
PLAIN = ([1, 1], [1, 1], [1, 1], False, [0, 0], 1)
ONCE = 2 * 2 * 4 * 6 * MEETING
SPREAD, WIDER = sized(2, 3, 4, 4), sized(2, 5, 9, 9)
TURNED = ([2, 2], [0, 0], [1, 1], True, [0, 0], 1)


@pytest.mark.parametrize(("name", "result", "given", "args", "cost"), [
    ("view", sized(4), (sized(2, 2),), (), ("data_movement", 0, 0, 0)),
    ("exp", sized(4), (sized(4),), (), ("transcendental", 0, 4, None)),
    ("sum", sized(2), (sized(2, 3),), (), ("reduction", 4, 0, None)),
    ("sum", sized(9), (sized(2, 3),), (), ("reduction", 0, 0, None)),
    ("mean", sized(2), (sized(2, 3),), (), ("reduction", 4, 0, None)),
    ("mean", sized(9), (sized(2, 3),), (), ("reduction", 0, 0, None)),
    ("cat", sized(4), (sized(4),), (), ("data_movement", 0, 0, None)),
    ("gather", sized(4), (sized(4),), (), ("gather_scatter", 0, 0, None)),
    ("odd", sized(4), (sized(4),), (), ("other", None, 0, None)),
    ("mm", sized(2, 4), (sized(2, 3), sized(3, 4)), (), ("matmul", 48, 0, None)),
    ("addmm", sized(2, 4), (sized(4), sized(2, 3), sized(3, 4)), (), ("matmul", 56, 0, None)),
    ("mv", sized(2), (sized(2, 3), sized(3)), (), ("matmul", 12, 0, None)),
    ("sort", sized(10), (sized(10),), (), ("reduction", 40, 0, None)),
    ("_softmax", sized(4), (sized(4),), (), ("normalization", 16, 4, None)),
    ("native_layer_norm", sized(9), (sized(4), sized(9)), (), ("normalization", 28, 0, None)),
    ("native_layer_norm_backward", sized(9), (sized(4), sized(9)), (),
     ("normalization", 44, 0, None)),
    ("avg_pool2d", sized(2, 2), (sized(4, 4),), (None, [2, 3]), ("reduction", 20, 0, None)),
    ("max_pool2d_with_indices", sized(2, 2), (sized(4, 4),), (None, [3]),
     ("reduction", 32, 0, None)),
    ("avg_pool2d_backward", sized(9), (sized(4), sized(9)), (), ("gather_scatter", 4, 0, None)),
    ("scaled_dot_product_attention", sized(3, 7, 6),
     (sized(3, 7, 4), sized(3, 5, 4), sized(3, 5, 6)), (),
     ("matmul", 2 * 105 * 10 + 4 * 105, 105, None)),
    ("convolution", MADE, (PHOTO, WEIGHTS), (0, 0, None, *PLAIN), ("convolution", ONCE, 0, None)),
    ("convolution", MADE, (PHOTO, WEIGHTS, sized(6)), (0, 0, 0, *PLAIN),
     ("convolution", ONCE + 300, 0, None)),
    ("convolution", MADE, (PHOTO, WEIGHTS), (0, 0, None, [1], [1], [1], False, [0], 1),
     ("convolution", ONCE, 0, None)),
    ("convolution", sized(2, 6, 3, 3), (PHOTO, WEIGHTS), (0, 0, None, [2], [1], [1], False, [0], 1),
     ("convolution", 2 * 2 * 4 * 6 * (2 + 3 + 2) ** 2, 0, None)),
    ("convolution", sized(2, 6, 1, 1), (PHOTO, WEIGHTS), (0, 0, None, [1], [0], [2], False, [0], 1),
     ("convolution", 2 * 2 * 4 * 6 * 9, 0, None)),
    ("convolution", WIDER, (SPREAD, sized(3, 5, 3, 3), sized(5)), (0, 0, 0, *TURNED),
     ("convolution", 2 * 2 * 16 * 9 * 3 * 5 + 810, 0, None)),
    *(("convolution_backward", PHOTO, (MADE, PHOTO, WEIGHTS),
       (0, 0, 0, [0], *PLAIN, mask), ("convolution", ONCE * sum(mask[:2]) + 294 * mask[2], 0, None))
      for mask in ([True, True, False], [True, False, True], [False, True, False])),
    ("convolution_backward", SPREAD, (WIDER, SPREAD, sized(3, 5, 3, 3)),
     (0, 0, 0, [0], *TURNED, [True, False, False]),
     ("convolution", 2 * 2 * 16 * 9 * 3 * 5, 0, None)),
])  # fmt: skip
def test_an_operation_of_torch_has_its_class_and_costs(name, result, given, args, cost):
    made = aten_cost(name, result, given, args, pointwise=False)
    flops = None if math.isnan(made.flops) else made.flops
    assert (made.op_class, flops, made.transcendentals, made.bytes) == cost
    assert aten_cost("odd", sized(4), (), (), pointwise=True) == OpCost("elementwise", 4.0)


def test_rows_become_a_graph():
    rows = OpRows()
    first = rows.add("a", OpCost("other", math.nan), HloType("f32", (2, -1)))
    second = rows.add("b", OpCost("matmul", 5.0, 2.0, 7.0), HloType("f16", (3,)), [first, first])
    third = rows.add("c", OpCost("other", math.nan), HloType("f16", (3,)), [second])
    assert (first, second, third) == (0, 1, 2)
    graph = rows.graph("x", [Note("own")])
    assert graph.nodes.rows() == [
        ("a", "other", "f32", [2, 0], pytest.approx(math.nan, nan_ok=True), 8.0, 0.0, 1.0, False),
        ("b", "matmul", "f16", [3], 5.0, 7.0, 2.0, 1.0, False),
        ("c", "other", "f16", [3], pytest.approx(math.nan, nan_ok=True), 12.0, 0.0, 1.0, False),
    ]
    assert (graph.name, graph.edges.tolist()) == ("x", [[0, 0, 1], [1, 1, 2]])
    said = "operations without a rule for their FLOPs, not in the totals: a, c"
    assert graph.notes == (Note("own"), Note(said, (0, 2), 2))
    known = OpRows()
    known.add("b", OpCost("matmul"), HloType("f16", (3,)))
    assert (known.graph("x").notes, known.graph("x").edges.shape) == ((), (2, 0))
    assert OpCost("other") == OpCost("other", 0.0, 0.0, None)


def test_costs_of_a_graph_by_class_and_in_all():
    columns: dict[str, Any] = {
        "opcode": ["weight", "input", "weight", "mm", "mm", "input"],
        "op_class": ["parameter_constant"] * 3 + ["matmul"] * 2 + ["parameter_constant"],
        "dtype": ["f32"] * 6, "shape": [[2, 3], [], [5], [2], [2], [7]],
        "flops": [0.0, 0.0, 0.0, 10.0, math.nan, 0.0], "bytes": [0.0, 0.0, 0.0, 4.0, 1.0, 0.0],
        "transcendentals": [0.0, 0.0, 0.0, 1.0, 2.0, 0.0], "times": [1.0, 1.0, 1.0, 3.0, 2.0, 0.0],
        "fused": [False] * 6}  # fmt: skip
    graph = op_graph("g", columns, np.array([[0, 3], [3, 2]]))
    assert costs_by_class(graph).rows() == [
        ("matmul", 2, 30.0, 14.0, 7.0, 30 / 14),
        ("parameter_constant", 4, 0.0, 0.0, 0.0, None),
    ]
    assert total_costs(graph) == {
        "nodes": 6, "edges": 2, "flops": 30.0, "bytes": 14.0, "transcendentals": 7.0, "inputs": 2,
        "input_elements": 7, "parameters": 11}  # fmt: skip
    little = op_graph("g", columns | {"bytes": [0.0, 0.0, 0.0, 0.2, 0.0, 0.0]}, graph.edges)
    assert costs_by_class(little)["intensity"][0] == pytest.approx(50.0)
    data = op_graph("g", columns | {"opcode": ["input"] * 6}, np.zeros((2, 0), np.int64))
    assert total_costs(data)["parameters"] is None


# --- ONNX --------------------------------------------------------------------------------------


def test_every_type_of_onnx_that_has_a_size_is_known():
    assert set(from_onnx.DTYPES) == {*range(1, 8), *range(9, 25)}


@pytest.mark.parametrize(("name", "result", "given", "attributes", "cost"), [
    ("Reshape", sized(4), (sized(4),), {}, ("data_movement", 0, 0, 0)),
    ("ReduceSum", sized(9), (sized(4),), {}, ("reduction", 0, 0, None)),
    ("Gemm", sized(2, 4), (sized(3, 2), sized(3, 4)), {"transA": 1}, ("matmul", 48, 0, None)),
    ("Gemm", sized(2, 4), (sized(2, 3), sized(3, 4), sized(4)), {}, ("matmul", 56, 0, None)),
    ("Conv", MADE, (PHOTO, WEIGHTS), {"pads": [1, 1, 1, 1]}, ("convolution", ONCE, 0, None)),
    ("Conv", MADE, (PHOTO, WEIGHTS, sized(6)), {"pads": [1, 1, 1, 1]},
     ("convolution", ONCE + 300, 0, None)),
    ("Softmax", sized(4), (sized(4),), {}, ("normalization", 16, 4, None)),
    ("Odd", sized(4), (sized(4),), {}, ("other", None, 0, None)),
])  # fmt: skip
def test_an_operation_of_onnx_has_its_class_and_costs(name, result, given, attributes, cost):
    made = from_onnx.onnx_cost(name, result, given, attributes)
    flops = None if math.isnan(made.flops) else made.flops
    assert (made.op_class, flops, made.transcendentals, made.bytes) == cost


def onnx_model(onnx, nodes, inputs, weights=()):
    h = onnx.helper
    made = [onnx.numpy_helper.from_array(np.asarray(v), n) for n, v in weights]
    values = [h.make_tensor_value_info(n, onnx.TensorProto.FLOAT, s) for n, s in inputs]
    return h.make_model(h.make_graph(nodes, "g", values[:-1], values[-1:], made))


def test_a_model_of_onnx_with_a_body_counts_it_once(tmp_path):
    onnx = pytest.importorskip("onnx")
    h = onnx.helper
    out = h.make_tensor_value_info("o", onnx.TensorProto.FLOAT, [4])
    bodies = {f"{k}_branch": h.make_graph([h.make_node(op, ["x"], ["o"])], k, [], [out])
              for k, op in (("then", "Neg"), ("else", "Exp"))}  # fmt: skip
    nodes = [h.make_node("If", ["b"], ["i"], **bodies), h.make_node("Mul", ["i", "w"], ["s"]),
             h.make_node("Expand", ["s", "k"], ["y"])]  # fmt: skip
    model = onnx_model(onnx, nodes, [("x", [4]), ("y", [None, 4])],
                       [("b", np.array(True)), ("w", np.ones(4, "f4")), ("k", np.array([2, 4])),
                        ("z", np.array(3.0, "f4"))])  # fmt: skip
    onnx.save(model, tmp_path / "m.onnx")
    graph = read_onnx(tmp_path / "m.onnx")
    names = ("opcode", "op_class", "shape", "bytes")
    assert [r[:2] for r in graph.nodes.select(names).rows()] == [
        ("constant", "parameter_constant"), ("weight", "parameter_constant"),
        ("constant", "parameter_constant"), ("constant", "parameter_constant"),
        ("input", "parameter_constant"), ("If", "control"), ("Exp", "transcendental"),
        ("Neg", "elementwise"), ("Mul", "elementwise"), ("Expand", "data_movement")]  # fmt: skip
    assert graph.nodes["bytes"].to_list()[:6] == [0.0] * 6
    assert sorted(map(tuple, graph.edges.T.tolist())) == [
        (0, 5), (1, 8), (2, 9), (4, 6), (4, 7), (5, 8), (8, 9)]  # fmt: skip
    assert graph.notes[-1] == Note("bodies of If count once")


def test_sizes_without_a_name_are_noted_and_whole_numbers_are_no_weights(tmp_path):
    onnx = pytest.importorskip("onnx")
    h = onnx.helper
    nodes = [h.make_node("Relu", ["x"], ["r"]), h.make_node("Conv", ["r"], ["y"]),
             h.make_node("MyOwn", ["y"], [], domain="own")]  # fmt: skip
    model = onnx_model(onnx, nodes, [("x", [None, "N", 3]), ("y", [None, "N", 3])])
    assert model.graph.input[0].type.tensor_type.shape.dim[1].dim_param == "N"
    reader = from_onnx._OnnxReader(onnx, "m")
    graph = reader.graph(model.graph)
    assert graph.notes[0] == Note("open sizes count as 1: N, a size without a name")
    assert graph.nodes["shape"].to_list()[0] == [1, 1, 3]
    assert (graph.nodes["op_class"][2], math.isnan(graph.nodes["flops"][2])) == ("other", True)
    assert (graph.nodes["dtype"][3], graph.nodes["shape"].to_list()[3]) == ("opaque", [])
    lost = onnx_model(onnx, [h.make_node("Add", ["x", "nothing"], ["y"])], [("x", [3]), ("y", [3])])
    refused(lambda: from_onnx._OnnxReader(onnx, "m").graph(lost.graph),
            "Add takes nothing, which nothing before it gives",
            "the file is damaged: export it anew")  # fmt: skip
    optional = onnx_model(onnx, [h.make_node("Add", ["x", ""], ["y"])], [("x", [3]), ("y", [3])])
    assert len(from_onnx._OnnxReader(onnx, "m").graph(optional.graph)) == 2


# --- the one door ------------------------------------------------------------------------------

RECORD = {"nodes": [["kParameter", "f32", [4], 0], ["kNegate", "f32", [4], 0]], "edges": [[0, 1]],
          "unodes": [["kParameter", "f32", [4], 0]], "uedges": []}  # fmt: skip
HLO = module(X, "ROOT y = f32[4] negate(x)")


def test_a_graph_is_read_from_any_of_its_files(tmp_path):
    lines = ["{}", json.dumps(RECORD), "odd"]
    records = written(tmp_path / "r.jsonl", "\n".join(lines))
    assert len(read_graph(f"{records}#1")) == 2
    assert len(read_graph(f"{records}#1", optimised=False)) == 1
    refused(
        lambda: read_graph(f"{records}#3"), "expected a record in row 3, got the end of the file"
    )
    with pytest.raises(DataError, match=r"r.jsonl#2: is no JSON: "):
        read_graph(f"{records}#2")
    written(tmp_path / "a#1", HLO)
    assert len(read_graph(tmp_path / "a#1")) == 2
    packed = tmp_path / "b.gz"
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbf" + HLO.encode()))
    assert read_graph(packed).name == str(packed)
    advice = "expected an ONNX model, whose sizes may be open: leave them out"
    refused(lambda: read_graph(packed, sizes={"N": 1}), advice)
    (tmp_path / "c").write_bytes(HLO.encode() + b"// x\n// \xff")
    refused(lambda: read_graph(tmp_path / "c"), "line 8: expected UTF-8, got byte 0xff",
            "the text is damaged: write it anew")  # fmt: skip
    late = written(tmp_path / "d", "/" * 4090 + HLO)
    with pytest.raises(DataError, match="expected HLO text, ONNX"):
        read_graph(late)


def test_the_graphs_that_a_table_names_are_read_once(tmp_path):
    written(tmp_path / "r.jsonl", "\n".join([json.dumps(RECORD)] * 2))
    written(tmp_path / "m.txt", HLO)
    names = ["r.jsonl#1", None, "m.txt", "r.jsonl#0", "r.jsonl#1"]
    made = graphs_of(table({"graph": names}), tmp_path)
    assert [(k, g.name, len(g)) for k, g in made.items()] == [
        ("r.jsonl#1", "r.jsonl#1", 2), ("m.txt", str(tmp_path / "m.txt"), 2),
        ("r.jsonl#0", "r.jsonl#0", 2)]  # fmt: skip
    before = graphs_of(table({"graph": names}), tmp_path, optimised=False)
    assert len(before["r.jsonl#0"]) == 1
    with pytest.raises(DataError, match="column graph is missing"):
        graphs_of(table({"a": [1]}), tmp_path)


NETS = """
def step(): return (lambda: 1,)
def none(): return ()
def number(): return 3
def uncalled(): return (3, 4)
"""


def test_a_function_returns_a_step_and_its_arguments(tmp_path, monkeypatch):
    written(tmp_path / "graph_nets.py", NETS)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, kind in (("none", "tuple"), ("number", "int"), ("uncalled", "tuple")):
        refused(lambda name=name: from_function(f"graph_nets:{name}"),
                f"expected it to return (step, *arguments), got {kind}")  # fmt: skip
    with pytest.raises(DataError, match=r"expected module:function, got .*odd"):
        open_graph("graph_nets:odd")
    with pytest.raises(DataError, match=r"expected module:function, got No module"):
        open_graph("no_such_module:odd")
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "a:b", HLO)
    assert len(open_graph("a:b")) == 2
    refused(lambda: open_graph("a:b", {"N": 1}),
            "expected an ONNX model, whose sizes may be open: leave them out")  # fmt: skip
    with pytest.raises(DataError, match="no such file"):
        open_graph("no-name")
