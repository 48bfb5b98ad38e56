"""HLO modules and their graphs: what each must be, and the words about one that is not."""

from __future__ import annotations

import math

import pytest

from rheostat.errors import DataError
from rheostat.measurement.graphs.hlo.hlo_graph import from_hlo
from rheostat.measurement.graphs.hlo.hlo_module import read_module
from rheostat.measurement.graphs.hlo.hlo_text import AGAIN
from tests.measurement.small_graphs import F, X, module

# --- modules -----------------------------------------------------------------------------------


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
    ("s = f32[1] slice(p), slice={[0:1]}\n t = f32[] dot(p, p), lhs_contracting_dims={0}, "
     "rhs_contracting_dims={0}\n "
     "u = f32[1] reshape(t)\n ROOT n = f32[1] add(s, u)", "matmul", 20),  # the product reads all
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
