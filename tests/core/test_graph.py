"""A graph refuses edges to nowhere; a graph of operations has the columns every model takes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rheostat.core.graph import OP_CLASSES, OP_COLUMNS, Graph, op_graph
from rheostat.core.jobs import Note
from rheostat.errors import DataError

ROW = {
    "opcode": ["dot"],
    "op_class": ["matmul"],
    "dtype": ["f32"],
    "shape": [[2, 3]],
    "flops": [48],
    "bytes": [80],
    "transcendentals": [0],
    "times": [1],
    "fused": [False],
}
NONE = np.empty((2, 0), dtype=int)


def test_degrees_count_the_edges_of_each_node() -> None:
    edges = np.array([[0, 0, 1, 2], [1, 2, 3, 3]])
    graph = Graph("diamond", pl.DataFrame({"x": [1, 2, 3, None]}), edges)
    assert graph.in_degree().tolist() == [0, 1, 1, 2]
    assert graph.out_degree().tolist() == [2, 1, 1, 0]
    assert np.isnan(graph.numpy("x")[3])


@pytest.mark.parametrize("edges", [[[0], [2]], [[-1], [0]]])
def test_an_edge_to_nowhere_is_refused(edges: list[list[int]]) -> None:
    with pytest.raises(DataError, match="expected edges among 2 nodes"):
        Graph("g", pl.DataFrame({"x": [1, 2]}), np.array(edges))


@pytest.mark.parametrize("edges", [np.zeros((3, 2), int), np.zeros((2, 1)), np.zeros(2, int)])
def test_edges_of_another_form_are_refused(edges: np.ndarray) -> None:
    with pytest.raises(DataError, match="shape"):
        Graph("g", pl.DataFrame({"x": [1, 2]}), edges)


def test_an_op_graph_has_all_columns_in_their_types() -> None:
    graph = op_graph("g", {"extra": [1], **ROW}, NONE)
    assert graph.nodes.columns == [*OP_COLUMNS, "extra"]
    assert list(graph.nodes.schema.values())[:-1] == list(OP_COLUMNS.values())


@pytest.mark.parametrize("column", OP_COLUMNS)
def test_a_missing_column_is_named(column: str) -> None:
    with pytest.raises(DataError, match=f"column {column} is missing"):
        op_graph("g", {k: v for k, v in ROW.items() if k != column}, NONE)


def test_an_unknown_class_is_named_beside_those_that_will_do() -> None:
    with pytest.raises(DataError, match=r"matmul.*got pooling"):
        op_graph("g", {**ROW, "op_class": ["pooling"]}, NONE)
    assert len(set(OP_CLASSES)) == len(OP_CLASSES)


def test_a_graph_comes_back_from_its_archive_whole() -> None:
    note = Note("left out", (3, 5), 2, 1)
    edges = np.array([[0, 0], [1, 0]])
    graph = Graph("g", pl.DataFrame({"x": [1.5, None], "op": ["a", "b"]}), edges, (note,))
    again = Graph.from_archive(graph.to_archive())
    assert (again.name, again.notes) == ("g", (note,))
    assert again.nodes.equals(graph.nodes)
    assert again.edges.tolist() == edges.tolist()
