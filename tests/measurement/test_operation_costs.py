"""What operations of records, PyTorch and ONNX cost: FLOPs and bytes, to the number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from rheostat.core.graph import op_graph
from rheostat.core.jobs import Note
from rheostat.errors import DataError
from rheostat.measurement.graphs import from_onnx
from rheostat.measurement.graphs.aten_costs import aten_cost
from rheostat.measurement.graphs.from_onnx import read_onnx
from rheostat.measurement.graphs.graph_costs import costs_by_class, total_costs
from rheostat.measurement.graphs.hlo.hlo_types import HloType
from rheostat.measurement.graphs.op_rows import OpCost, OpRows
from rheostat.measurement.graphs.recorded import recorded_graph
from tests.measurement.exactly import refused
from tests.measurement.small_graphs import MEETING

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
    ("gather", sized(4), (sized(900), HloType("s64", (4,))), (), ("gather_scatter", 0, 0, 64)),
    ("_embedding_bag", sized(2, 3), (sized(90, 3), HloType("s64", (5,)), HloType("s64", (2,))), (),
     ("gather_scatter", 15, 0, 5 * 12 + 40 + 16 + 24)),
    ("mse_loss", sized(), (sized(4), sized(4)), (), ("elementwise", 1, 0, None)),
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
        (
            "a",
            "other",
            "f32",
            [2, 0],
            pytest.approx(math.nan, nan_ok=True),
            8.0,
            0.0,
            1.0,
            False,
            False,
        ),
        ("b", "matmul", "f16", [3], 5.0, 7.0, 2.0, 1.0, False, False),
        (
            "c",
            "other",
            "f16",
            [3],
            pytest.approx(math.nan, nan_ok=True),
            12.0,
            0.0,
            1.0,
            False,
            False,
        ),
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
