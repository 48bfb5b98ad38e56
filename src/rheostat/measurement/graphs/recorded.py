"""Graphs in records of measured steps: opcode, type, sizes and computation of each node.

Attributes are not kept, so what is contracted is inferred from sizes: exact for products of
matrices; convolutions are taken as 3 by 3 with padding to the input's size over the stride.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import cycle, pairwise, product
from typing import Any

import numpy as np

from rheostat.core.graph import Graph, op_graph
from rheostat.errors import DataError
from rheostat.measurement.checks import note_rows
from rheostat.measurement.graphs.hlo.hlo_opcodes import OPCODES
from rheostat.measurement.graphs.hlo.hlo_types import BITS
from rheostat.measurement.graphs.hlo.hlo_window import WindowSide

SHORT = {"exp": "exponential", "and": "and", "cos": "cosine", "sin": "sine"}
KERNEL_PX = 3
FREE = ("parameter", "constant", "tuple", "get-tuple-element", "bitcast", "call")
SCALAR_FUNCTION = 3
"""Nodes of a function that a reduction applies: two parameters and what it does with them."""


def recorded_graph(record: dict[str, Any], name: str, *, optimised: bool = True) -> Graph:
    """The graph in one record.

    Parameters
    ----------
    record : dict
        With ``nodes`` as ``[kDot, f32, [2, 3], computation]`` and ``edges`` as ``[from, to]``;
        ``unodes`` and ``uedges`` are those before optimisation.
    name : str
        What the graph and errors are called.
    optimised : bool
        Which of the two graphs.

    Returns
    -------
    Graph
        Bytes of a fusion are those of its operands and result, its class is that of what costs
        most inside it; every computation runs once.

    Raises
    ------
    DataError
        The record has no such graph.
    """
    prefix = "" if optimised else "u"
    try:
        nodes = [_RecordedNode.of(n) for n in record[f"{prefix}nodes"]]
        edges = np.array(record[f"{prefix}edges"], dtype=np.int64).reshape(-1, 2).T
        return _graph(nodes, edges, name, optimised)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise DataError(name, [f"expected a record with {prefix}nodes and {prefix}edges, "
                               f"got {error!r}"[:300]]) from error  # fmt: skip


class _RecordedNode:
    def __init__(self, opcode: str, dtype: str, dims: tuple[int, ...], part: int) -> None:
        self.opcode, self.dtype, self.dims, self.part = opcode, dtype, dims, part
        self.elements = math.prod(dims)
        self.size_b = self.elements * BITS[dtype] / 8

    @classmethod
    def of(cls, given: Sequence[Any]) -> _RecordedNode:
        words = re.findall(r"[A-Z][a-z]*", given[0])
        opcode = "-".join(words).lower()
        return cls(SHORT.get(opcode, opcode), given[1], tuple(given[2]), int(given[3]))


def _graph(nodes: list[_RecordedNode], edges: Any, name: str, optimised: bool) -> Graph:
    operands: list[list[_RecordedNode]] = [[] for _ in nodes]
    for a, b in edges.T:
        operands[b].append(nodes[a])
    parts: dict[int, list[_RecordedNode]] = {}
    for node in nodes:
        parts.setdefault(node.part, []).append(node)
    applied = {p for p, inside in parts.items() if _is_applied(inside)}
    entry = next((n.part for n in reversed(nodes) if n.opcode == "tuple"), nodes[-1].part)
    fusions = _fusion_classes(nodes, operands, parts.values())
    rows = []
    for k, (node, given) in enumerate(zip(nodes, operands, strict=True)):
        inside = node.part in applied
        fused = optimised and node.part != entry and not inside
        empty = not all(a.elements for a in (node, *given))
        work = 0.0 if inside or empty else _work(node, given)
        kind = OPCODES.get(node.opcode, "other")
        sine = kind == "transcendental"
        free = fused or inside or node.opcode in FREE
        rows.append((node.opcode, fusions.get(k, kind), node.dtype, list(node.dims),
                     0.0 if sine else work, 0.0 if free else _moved(node, given),
                     work if sine else 0.0, 0.0 if inside else 1.0, fused))  # fmt: skip
    names = ("opcode", "op_class", "dtype", "shape", "flops", "bytes", "transcendentals", "times",
             "fused")  # fmt: skip
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    bad = [k for k, f in enumerate(columns["flops"]) if math.isnan(f)]
    said = "sizes do not say what is contracted: the FLOPs are not known"
    return op_graph(name, columns, edges, [note_rows(said, bad)] if bad else [])


def _is_applied(inside: list[_RecordedNode]) -> bool:
    return len(inside) == SCALAR_FUNCTION and all(not n.dims for n in inside) and (
        [n.opcode for n in inside].count("parameter") == 2)  # fmt: skip


def _fusion_classes(
    nodes: list[_RecordedNode], operands: list[list[_RecordedNode]],
    parts: Iterable[list[_RecordedNode]],
) -> dict[int, str]:  # fmt: skip
    """Class of each fusion, by its place: that of what costs most inside it.

    Records do not say which computation a fusion calls; the types of its operands and of its result
    do, and where several are alike their order.
    """
    given = dict(zip(map(id, nodes), operands, strict=True))
    alike: dict[Any, list[str]] = {}
    for inside in parts:
        used = {id(o) for n in inside for o in given[id(n)]}
        root = next(n for n in reversed(inside) if id(n) not in used)
        taken = [n for n in inside if n.opcode == "parameter"]
        alike.setdefault(_types(taken, root), []).append(_class_inside(inside, given))
    turn = {key: cycle(classes) for key, classes in alike.items()}
    return {k: next(turn.get(_types(given[id(n)], n), cycle(["data_movement"])))
            for k, n in enumerate(nodes) if n.opcode == "fusion"}  # fmt: skip


def _types(operands: list[_RecordedNode], result: _RecordedNode) -> Any:
    return tuple(sorted((o.dtype, o.dims) for o in operands)), result.dtype, result.dims


def _class_inside(inside: list[_RecordedNode], given: dict[int, list[_RecordedNode]]) -> str:
    work = [(_work(n, given[id(n)]), OPCODES.get(n.opcode, "other")) for n in inside
            if all(a.elements for a in (n, *given[id(n)]))]  # fmt: skip
    most, kind = max(work, key=lambda w: np.nan_to_num(w[0], nan=np.inf), default=(0.0, ""))
    if most != 0.0:
        return kind
    return "gather_scatter" if any(k == "gather_scatter" for _, k in work) else "data_movement"


def _moved(node: _RecordedNode, given: list[_RecordedNode]) -> float:
    return node.size_b + sum(g.size_b for g in given)


def _work(node: _RecordedNode, given: list[_RecordedNode]) -> float:
    kind = OPCODES.get(node.opcode)
    if kind in ("elementwise", "transcendental"):
        return float(node.elements)
    if node.opcode == "reduce":
        return float(max(0, given[0].elements - node.elements))
    if node.opcode == "scatter":
        return float(given[-1].elements)
    if node.opcode == "reduce-window":
        window = round(given[0].elements / node.elements)
        return float((window - 1) * node.elements)
    if node.opcode == "dot":
        return _dot(node, given)
    return _convolution(node, given) if node.opcode == "convolution" else 0.0


def _dot(node: _RecordedNode, given: list[_RecordedNode]) -> float:
    """``lhs = B M K``, ``rhs = B K N``, ``out = B M N``: K from sizes, B from what leads all."""
    batch = 1
    if len(node.dims) > 2:
        for a, b, c in zip(node.dims, given[0].dims, given[1].dims, strict=False):
            if not a == b == c:
                break
            batch *= a
            if batch == math.prod(node.dims[:-2]):
                break
    square = given[0].elements * given[1].elements / (node.elements * batch)
    return 2.0 * node.elements * round(math.sqrt(square))


def _convolution(node: _RecordedNode, given: list[_RecordedNode]) -> float:
    arrays = [node, *given[:2]]
    kernel = [a for a in arrays if (KERNEL_PX, KERNEL_PX) in pairwise(a.dims)]
    images = [a for a in arrays if a not in kernel[:1]]
    if not kernel or len(images) != 2:
        return math.nan
    sides = [{a for a, b in pairwise(i.dims) if a == b} for i in images]
    area = KERNEL_PX * math.sqrt(images[0].elements * images[1].elements / kernel[0].elements)
    for one, other in product(*sides):
        batch = area / (one * other)
        large, small = max(one, other), min(one, other)
        if all(batch in i.dims for i in images) and large in (small, 2 * small):
            channels = kernel[0].elements / KERNEL_PX**2
            return 2.0 * batch * channels * _meetings(large, small) ** 2
    return math.nan


def _meetings(large: int, small: int) -> int:
    stride = large // small
    padding = max(0, (small - 1) * stride + KERNEL_PX - large)
    return WindowSide(KERNEL_PX, stride, padding // 2, padding - padding // 2).valid(large)
