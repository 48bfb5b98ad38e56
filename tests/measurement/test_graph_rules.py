"""Sizes that attributes leave open, and graphs of records, whose attributes are not kept."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.errors import DataError
from rheostat.measurement.graphs import aten_costs, from_onnx
from rheostat.measurement.graphs.hlo.hlo_graph import from_hlo
from rheostat.measurement.graphs.hlo.hlo_types import HloType
from rheostat.measurement.graphs.hlo.hlo_window import WindowSide
from rheostat.measurement.graphs.recorded import recorded_graph


@pytest.mark.parametrize(("length", "kernel", "attributes", "side"), [
    (5, 3, {}, WindowSide(3)),
    (5, 3, {"strides": [2], "auto_pad": b"SAME_UPPER"}, WindowSide(3, 2, 1, 1)),
    (4, 2, {"auto_pad": b"SAME_UPPER"}, WindowSide(2, 1, 0, 1)),
    (4, 2, {"auto_pad": b"SAME_LOWER"}, WindowSide(2, 1, 1, 0)),
    (4, 3, {"dilations": [2], "auto_pad": b"SAME_UPPER"}, WindowSide(3, 1, 2, 2, 1, 2)),
    (4, 6, {"auto_pad": b"SAME_UPPER"}, WindowSide(6, 1, 2, 3)),
    (4, 6, {"auto_pad": b"SAME_LOWER"}, WindowSide(6, 1, 3, 2)),
    (4, 1, {"strides": [2], "auto_pad": b"SAME_UPPER"}, WindowSide(1, 2)),
    (4, 3, {"auto_pad": b"VALID"}, WindowSide(3)),
    (9, 3, {"pads": [1, 2], "strides": [3], "dilations": [2]}, WindowSide(3, 3, 1, 2, 1, 2)),
])  # fmt: skip
def test_padding_of_onnx_is_explicit_or_keeps_the_size_over_the_stride(
    length, kernel, attributes, side
) -> None:
    assert from_onnx._sides(HloType("f32", (1, 1, length)), [kernel], attributes) == [side]
    if attributes.get("auto_pad", b"").startswith(b"SAME"):
        assert side.positions(length) == -(-length // side.stride)


def test_padding_of_two_dimensions_comes_with_all_beginnings_first() -> None:
    image = HloType("f32", (1, 1, 9, 9))
    sides = from_onnx._sides(image, [3, 5], {"pads": [1, 2, 3, 4], "strides": [1, 2]})
    assert sides == [WindowSide(3, 1, 1, 3), WindowSide(5, 2, 2, 4)]


FEW, MANY = HloType("f32", (4,)), HloType("f32", (4, 8))


@pytest.mark.parametrize(("name", "result", "cost"), [
    ("Add", MANY, ("elementwise", 32, 0)), ("Exp", MANY, ("transcendental", 0, 32)),
    ("ReduceSum", FEW, ("reduction", 28, 0)),
    ("LayerNormalization", MANY, ("normalization", 224, 0)),
    ("Reshape", MANY, ("data_movement", 0, 0)), ("Concat", MANY, ("data_movement", 0, 0)),
    ("Gather", FEW, ("gather_scatter", 0, 0)), ("Loop", FEW, ("other", np.nan, 0)),
])  # fmt: skip
def test_an_operation_of_onnx_has_the_costs_of_its_class(name, result, cost) -> None:
    made = from_onnx.onnx_cost(name, result, (MANY,), {})
    assert (made.op_class, made.flops, made.transcendentals) == pytest.approx(cost, nan_ok=True)
    assert (made.bytes == 0.0) is (name == "Reshape")


@pytest.mark.parametrize(("padding", "dims"), [("1_2x0_3_1", (7, 18)), ("-1_0x0_0", (3, 8))])
def test_padding_lies_around_and_between(padding, dims) -> None:
    shape = ",".join(map(str, dims))
    body = (f"  x = f32[4,8]{{1,0}} parameter(0)\n  z = f32[] constant(0)\n"
            f"  ROOT p = f32[{shape}]{{1,0}} pad(x, z), padding={padding}\n")  # fmt: skip
    graph = from_hlo(f"HloModule m\n\nENTRY e {{\n{body}}}\n")
    assert tuple(graph.nodes["shape"][-1]) == dims
    with pytest.raises(DataError, match=r"expected padding of|as the result"):
        from_hlo(f"HloModule m\n\nENTRY e {{\n{body.replace(padding, '0_0')}}}\n")


def work(opcode: str, result: list[int], *given: list[int]) -> tuple[float, float]:
    """FLOPs and transcendentals of one node that takes arrays of these sizes."""
    nodes = [["kParameter", "f32", g, 0] for g in given] + [[opcode, "f32", result, 0]]
    edges = [[k, len(given)] for k in range(len(given))]
    graph = recorded_graph({"nodes": nodes, "edges": edges}, "r")
    return graph.nodes["flops"][-1], graph.nodes["transcendentals"][-1]


IMAGE, KERNEL = [2, 8, 8, 3], [3, 3, 3, 7]


@pytest.mark.parametrize(("opcode", "result", "given", "cost"), [
    ("kDot", [2, 3], ([2, 8], [8, 3]), 2 * 2 * 3 * 8),
    ("kDot", [5, 2, 3], ([5, 2, 8], [5, 8, 3]), 2 * 5 * 2 * 3 * 8),
    ("kDot", [6, 5, 2, 3], ([6, 5, 2, 8], [6, 5, 8, 3]), 2 * 30 * 2 * 3 * 8),
    ("kConvolution", [2, 8, 8, 7], (IMAGE, KERNEL), 2 * 2 * 21 * (8 * 3 - 2) ** 2),
    ("kConvolution", [2, 4, 4, 7], (IMAGE, KERNEL), 2 * 2 * 21 * (4 + 4 + 3) ** 2),
    ("kConvolution", KERNEL, (IMAGE, [2, 8, 8, 7]), 2 * 2 * 21 * (8 * 3 - 2) ** 2),
    ("kConvolution", [2, 8, 8, 7], (IMAGE, [5, 5, 3, 7]), np.nan),
    ("kConvolution", [2, 8, 8, 7], (KERNEL,), np.nan),
    ("kReduce", [4], ([4, 8], []), 28), ("kReduceWindow", [4, 4], ([4, 8], []), 16),
    ("kScatter", [9, 4], ([9, 4], [2], [2, 4]), 8), ("kAdd", [4, 8], ([4, 8], [4, 8]), 32),
    ("kTranspose", [8, 4], ([4, 8],), 0), ("kDot", [0, 3], ([0, 8], [8, 3]), 0),
    ("kDot", [2, 3], ([2, 0], [0, 3]), 0), ("kReduceWindow", [0, 4], ([0, 8], []), 0),
    ("kConvolution", [2, 0, 0, 7], ([2, 0, 0, 3], KERNEL), 0),
    ("kConvolution", [2, 8, 8, 7], ([2, 24, 24, 3], KERNEL), np.nan),
])  # fmt: skip
def test_what_a_recorded_node_computes_follows_from_sizes(opcode, result, given, cost) -> None:
    assert work(opcode, result, *given) == pytest.approx((cost, 0), nan_ok=True)


def test_a_record_says_what_is_fused_applied_and_not_known() -> None:
    assert work("kExp", [4, 8], [4, 8]) == (0, 32)
    nodes = [["kParameter", "f32", [], 2], ["kParameter", "f32", [], 2], ["kAdd", "f32", [], 2],
             ["kParameter", "f32", [4], 1], ["kExp", "f32", [4], 1],
             ["kParameter", "f32", [4], 0], ["kFusion", "f32", [4], 0],
             ["kConvolution", "f32", [4], 0], ["kTuple", "f32", [], 0]]  # fmt: skip
    edges = [[0, 2], [1, 2], [3, 4], [5, 6], [5, 7], [6, 7], [7, 8]]
    record = {"nodes": nodes, "edges": edges, "unodes": nodes, "uedges": edges}
    frame = recorded_graph(record, "r").nodes
    assert frame["times"].to_list() == [0, 0, 0, 1, 1, 1, 1, 1, 1]
    assert frame["fused"].to_list() == [False] * 3 + [True] * 2 + [False] * 4
    assert frame["bytes"].to_list() == [0, 0, 0, 0, 0, 0, 2 * 16, 3 * 16, 0]
    assert frame["flops"].fill_nan(-1).to_list() == [0] * 7 + [-1, 0]
    assert frame["op_class"][6] == "transcendental"
    (note,) = recorded_graph(record, "r").notes
    assert (note.rows, note.count) == ((7,), 1)
    before = recorded_graph(record, "r", optimised=False).nodes
    assert not before["fused"].any()
    assert before["bytes"].to_list()[4] == 2 * 16
    with pytest.raises(DataError, match="expected a record with unodes and uedges"):
        recorded_graph({"nodes": nodes, "edges": edges}, "r", optimised=False)


def test_a_recorded_fusion_has_the_class_of_what_costs_most_inside_it() -> None:
    """Records do not say what a fusion calls: types of operands and result do, then the order."""

    def body(part, result, root, *given):
        return [["kParameter", "f32", list(g), part] for g in given] + [[root, "f32", result, part]]

    bodies = [
        body(1, [4, 3], "kDot", [4, 2], [2, 3]),
        body(2, [4, 3], "kExp", [4, 3]),
        body(3, [4, 3], "kReverse", [4, 3]),
        body(4, [4, 3], "kGather", [9, 3], [4, 1]),
    ]
    entry = [["kParameter", "f32", g, 9] for g in ([2, 3], [4, 2], [4, 3], [9, 3], [4, 1])]
    nodes = [n for b in bodies for n in b] + entry
    edges, start = [], 0
    for b in bodies:
        edges += [[start + k, start + len(b) - 1] for k in range(len(b) - 1)]
        start += len(b)
    for given in ((0, 1), (2,), (2,), (3, 4), (4,)):  # operands of a fusion in any order
        nodes.append(["kFusion", "f32", [4, 3], 9])
        edges += [[start + g, len(nodes) - 1] for g in given]
    nodes.append(["kTuple", "tuple", [], 9])
    frame = recorded_graph({"nodes": nodes, "edges": edges}, "r").nodes
    assert frame.filter(frame["opcode"] == "fusion")["op_class"].to_list() == [
        "matmul", "transcendental", "data_movement", "gather_scatter", "data_movement"]  # fmt: skip


GROUPED = """HloModule m
%inside (x: f32[2,6,6,8], k: f32[3,3,1,8]) -> f32[2,6,6,8] {
  %x = f32[2,6,6,8] parameter(0)
  %k = f32[3,3,1,8] parameter(1)
  ROOT %c = f32[2,6,6,8] convolution(%x, %k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=8
}
ENTRY %e (x: f32[2,6,6,8], k: f32[3,3,1,8], q: f32[3,3,4,8], g: f32[2,6,6,8]) -> f32[3,3,1,8] {
  %x = f32[2,6,6,8] parameter(0)
  %k = f32[3,3,1,8] parameter(1)
  %q = f32[3,3,4,8] parameter(2)
  %g = f32[2,6,6,8] parameter(3)
  %fusion = f32[2,6,6,8] fusion(%x, %k), kind=kCustom, calls=%inside
  %two = f32[2,6,6,8] convolution(%fusion, %q), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=2
  ROOT %by_filter = f32[3,3,1,8] convolution(%two, %g), window={size=6x6 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf, batch_group_count=8
}"""  # noqa: E501


def test_convolutions_of_one_channel_a_group_are_told_from_dense_ones() -> None:
    """In a fusion, by the filter, and not where a group has several channels."""
    nodes = from_hlo(GROUPED).nodes.filter(op_class="convolution")
    assert nodes.select("opcode", "depthwise").rows() == [
        ("convolution", True), ("fusion", True), ("convolution", False), ("convolution", True),
    ]  # fmt: skip


@pytest.mark.parametrize(("groups", "channels", "depthwise"), [
    (8, 1, True), (4, 2, False), (1, 8, False), (1, 1, False),
])  # fmt: skip
def test_modules_and_onnx_say_it_by_their_groups(groups, channels, depthwise) -> None:
    image, kernel = HloType("f32", (2, groups * channels, 6, 6)), (8, channels, 3, 3)
    given = [image, HloType("f32", kernel)]
    out = HloType("f32", (2, 8, 6, 6))
    attributes = {"pads": [1, 1, 1, 1], "group": groups}
    where = ([1, 1], [1, 1], [1, 1], False, [0, 0], groups)
    back = [out, *given]
    assert from_onnx._convolution(out, given, attributes).depthwise is depthwise
    assert aten_costs._convolution(out, given, [None, None, None, *where]).depthwise is depthwise
    args = [None, None, None, None, *where, [True, True, False]]
    assert aten_costs._convolution_backward(image, back, args).depthwise is depthwise
