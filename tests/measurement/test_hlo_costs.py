"""What HLO costs: an instruction, how often a loop runs, whole programs, to the number."""

from __future__ import annotations

import math

import pytest

from rheostat.core.jobs import Note
from rheostat.errors import DataError
from rheostat.measurement.graphs.hlo.hlo_costs import HloCost, compute, log2_up, moved
from rheostat.measurement.graphs.hlo.hlo_graph import from_hlo
from rheostat.measurement.graphs.hlo.hlo_instruction import read_instruction
from rheostat.measurement.graphs.hlo.hlo_loops import NotConstant, _first_false, _part_of
from rheostat.measurement.graphs.hlo.hlo_types import read_type
from tests.measurement.small_graphs import ADD, MEETING, F, X, module

# --- HLO: one instruction ----------------------------------------------------------------------


APPLIED = {"f": HloCost(2.0, 3.0), "s": HloCost(5.0), "g": HloCost(7.0, 1.0)}
CONV = "dim_labels=b01f_01io->b01f, window={size=3x3 pad=1_1x1_1}"
IMAGE, KERNEL, FEATURES = "f32[2,5,5,4]", "f32[3,3,4,6]", "f32[2,5,5,6]"


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
    turns = _first_false(lambda turn: turn < count)
    assert (type(turns), turns) == (int, count)
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


def test_a_part_of_the_loops_state_is_constant_where_it_is_known_and_of_nothing_else():
    made = read_instruction("p = s32[] get-tuple-element(t), index=1", 1)
    state, other = (read_instruction(t, 1) for t in (
        "t = (s32[], s32[]) parameter(0)", "t = (s32[], s32[]) tuple(a, b)"))  # fmt: skip
    assert _part_of(made, {"t": state}, {1: 7}) == 7
    for held, known in ((state, {0: 7}), (other, {1: 7}), (other, {})):
        with pytest.raises(NotConstant):
            _part_of(made, {"t": held}, known)
