"""Memory of a step, value by value: each lives from its operation to the last that takes it."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.core.graph import op_graph
from rheostat.prediction.step_cost.step_memory import CONTEXT_B, WORKSPACE_B, step_memory

# opcode, class, shape, type, bytes moved, times, fused, operands
STEP = [
    ("weight", "parameter_constant", [10], "f32", 0, 1, False, []),  # 0
    ("input", "parameter_constant", [5], "f32", 0, 1, False, []),
    ("dot", "matmul", [300], "f32", 9, 1, False, [0, 1]),  # 2: 1200 B, till the transpose at 5
    ("view", "data_movement", [300], "f32", 0, 1, False, [2]),  # 3: of 2
    ("exponential", "transcendental", [100], "f64", 9, 1, False, [1]),  # 4: 800 B, till 6
    ("view", "data_movement", [300], "f32", 0, 1, False, [3]),  # 5: of 3, so of 2
    ("dot", "matmul", [10], "f32", 9, 1, False, [4, 1]),  # 6: 40 B, the gradient
    ("view", "data_movement", [10], "f32", 0, 1, False, [6]),  # 7: of 6
    ("broadcast", "data_movement", [9999], "f32", 5, 1, False, [6]),  # 8: of no memory of its own
    ("add", "elementwise", [500], "f32", 9, 1, True, [6]),  # 9: within a fusion
    ("add", "elementwise", [500], "f32", 9, 0, False, [6]),  # 10: never runs
    ("sgd-update", "other", [10], "f32", 9, 1, False, [0, 7]),  # 11
    ("copy", "data_movement", [3], "bf16", 9, 1, False, [6]),  # 12: 6 B
]


def graph(rows, **columns):
    names = ("opcode", "op_class", "shape", "dtype", "bytes", "times", "fused")
    nodes = {n: [row[i] for row in rows] for i, n in enumerate(names)}
    for name in ("bytes", "times"):
        nodes[name] = [float(v) for v in nodes[name]]
    nodes |= {n: [0.0] * len(rows) for n in ("flops", "transcendentals")} | columns
    edges = [(a, i) for i, row in enumerate(rows) for a in row[-1]]
    return op_graph("mine", nodes, np.array(edges, dtype=np.int64).reshape(-1, 2).T)


@pytest.mark.parametrize(("optimizer", "kept"), [("", 0), ("sgd", 0), ("momentum", 1), ("adam", 2)])
def test_the_most_is_held_where_most_values_live(optimizer, kept):
    found = step_memory(graph(STEP), optimizer)
    assert (found.parameters_b, found.data_b, found.optimizer_b) == (40.0, 20.0, 40.0 * kept)
    assert found.activations_b == 1200.0 + 800.0  # while 4 and 5 run
    assert found.gradients_b == 0.0
    assert found.workspace_b == CONTEXT_B + WORKSPACE_B
    assert found.peak_b == sum(vars(found).values())


def test_gradients_count_while_they_live_and_a_view_keeps_its_value():
    late = [*STEP[:5], ("view", "data_movement", [300], "f32", 0, 1, False, [3]), *STEP[6:12],
            ("copy", "data_movement", [3], "bf16", 9, 1, False, [5, 4])]  # fmt: skip
    found = step_memory(graph(late))
    assert found.gradients_b == 40.0
    assert found.activations_b == 2000.0


def test_of_several_results_those_taken_out_are_held():
    rows = [
        ("input", "parameter_constant", [5], "f32", 0, 1, False, []),
        ("split", "other", [800], "f32", 9, 1, False, [0]),
        ("getitem", "data_movement", [100], "f32", 0, 1, False, [1]),
        ("getitem", "data_movement", [200], "f32", 0, 1, False, [1]),
        ("add", "elementwise", [1], "f32", 9, 1, False, [2, 3]),
    ]
    assert step_memory(graph(rows)).activations_b == 400.0 + 800.0 + 4.0


def test_the_sum_of_two_gradients_is_the_first_of_them():
    """Also where it is written in place; a value of an operation with several lives from there."""
    rows = [
        ("weight", "parameter_constant", [10], "f32", 0, 1, False, []),
        ("dot", "matmul", [10], "f32", 9, 1, False, [0]),
        ("other", "other", [99], "f32", 9, 1, False, [1]),
        ("getitem", "data_movement", [10], "f32", 0, 1, False, [2]),
        ("aten.add", "elementwise", [10], "f32", 9, 1, False, [1, 3]),
        ("aten.mul_", "elementwise", [10], "f32", 9, 1, False, [4]),
        ("adam-update", "elementwise", [10], "f32", 9, 1, False, [0, 5]),
    ]
    both = step_memory(graph(rows))
    assert (both.gradients_b, both.activations_b, both.optimizer_b) == (80.0, 0.0, 0.0)
    held = [*rows, ("state", "parameter_constant", [70], "u8", 0, 1, False, []),
            ("scratch", "parameter_constant", [500], "u8", 0, 1, False, [])]  # fmt: skip
    last = step_memory(graph(held), "adam")
    assert (last.gradients_b, last.optimizer_b, last.data_b) == (40.0, 570.0, 0.0)


def test_a_view_is_of_its_first_operand():
    rows = [
        ("input", "parameter_constant", [5], "f32", 0, 1, False, []),
        ("negate", "elementwise", [100], "f32", 9, 1, False, [0]),
        ("negate", "elementwise", [30], "f32", 9, 1, False, [0]),
        ("view", "data_movement", [100], "f32", 0, 1, False, [1, 2]),
        ("negate", "elementwise", [1000], "f32", 9, 1, False, [0]),
        ("add", "elementwise", [1], "f32", 9, 1, False, [3, 4]),
    ]
    assert step_memory(graph(rows)).activations_b == 400.0 + 4000.0 + 4.0  # 120 are free by then


def test_without_named_weights_what_is_updated_tells_their_size():
    rows = [
        ("input", "parameter_constant", [7], "f32", 0, 1, False, []),
        ("negate", "elementwise", [7], "f32", 9, 1, False, [0]),
        ("adam-update", "other", [7], "f32", 9, 1, False, [0, 1]),
    ]
    found = step_memory(graph(rows), "adam")
    assert (found.parameters_b, found.optimizer_b, found.data_b) == (28.0, 84.0, 28.0)
    assert (found.gradients_b, found.activations_b) == (28.0, 0.0)


def test_no_operations_hold_the_libraries_alone():
    assert step_memory(graph([])).peak_b == CONTEXT_B + WORKSPACE_B


def test_what_autocast_makes_of_16_bits_counts_half_and_weights_of_products_are_copied():
    """A product, what follows it, and a normalisation, all read at the end."""
    rows = [
        ("weight", "parameter_constant", [10], "f32", 0, 1, False, []),  # 0: 40 B, cast to 20
        ("weight", "parameter_constant", [50], "f32", 0, 1, False, []),  # 1: no product reads it
        ("input", "parameter_constant", [5], "f32", 0, 1, False, []),  # 2
        ("view", "data_movement", [10], "f32", 0, 1, False, [0]),  # 3: of the weight
        ("aten.mm", "matmul", [100], "f32", 9, 1, False, [2, 3]),  # 4: 400 B, of 16 bits 200
        ("aten.relu", "elementwise", [100], "f32", 9, 1, False, [4]),  # 5: as its operand
        ("aten.native_layer_norm", "normalization", [100], "f32", 9, 1, False, [5, 1]),  # 6: 32
        ("aten.add", "elementwise", [100], "f32", 9, 1, False, [5, 6]),  # 7: the widest, 32
        ("aten.mm", "matmul", [100], "f64", 9, 1, False, [2, 3]),  # 8: not of 32 bits before
        ("aten.cat", "data_movement", [1], "bf16", 9, 1, False, [4, 5, 6, 7, 8]),  # 9: 2 B
    ]
    assert step_memory(graph(rows)).activations_b == 4 * 400 + 800 + 2
    mixed = step_memory(graph(rows), bits=16)
    assert mixed.activations_b == 200 + 200 + 400 + 400 + 800 + 2 + 20
    assert mixed.parameters_b == 40 + 200
