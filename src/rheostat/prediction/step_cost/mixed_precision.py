"""Which values of a step are of 16 bits under autocast, where the graph was made in 32.

Products give 16 bits.  Normalisations by layer, exponentials, losses and sums stay in 32, as
PyTorch's list of operations for CUDA says; others take the widest of their operands, of which a
weight is none.  Weights that products read are cast once a step and kept until it ends.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from rheostat.core.graph import Graph

PRODUCTS = ("matmul", "convolution")
SINGLE = re.compile(
    r"layer_norm|group_norm|softmax|loss|embedding|\.(mean|sum|pow|exp|log|norm|cumsum)\b"
)
GIVEN = ("weight", "input", "parameter")


def half_width(graph: Graph) -> NDArray[np.bool_]:
    """Values (n,) that autocast makes of 16 bits where the graph has 32.

    Examples
    --------
    >>> import polars as pl
    >>> rows = [("input", ""), ("weight", ""), ("aten.mm", "matmul"), ("aten.relu", "elementwise"),
    ...         ("aten.native_layer_norm", "normalization"), ("aten.add", "elementwise")]
    >>> nodes = {"opcode": [r[0] for r in rows], "op_class": [r[1] for r in rows],
    ...          "dtype": ["f32"] * 6}
    >>> edges = np.array([[0, 1, 2, 3, 3, 4], [2, 2, 3, 4, 5, 5]])
    >>> half_width(Graph("step", pl.DataFrame(nodes), edges)).tolist()
    [False, False, True, True, False, False]
    """
    code, kind = (graph.nodes[c].to_numpy().astype(np.str_) for c in ("opcode", "op_class"))
    product = np.isin(kind, PRODUCTS)
    operands: list[list[int]] = [[] for _ in code]
    for source, reader in graph.edges.T:
        operands[reader].append(int(source))
    half = np.zeros(len(code), dtype=bool)
    for i, name in enumerate(code):
        made = [s for s in operands[i] if code[s] != "weight"]
        if product[i] or name in GIVEN or SINGLE.search(name) or not made:
            half[i] = bool(product[i])
        else:
            first = name == "getitem" or "batch_norm" in name
            half[i] = half[made[0]] if first else half[made].all()
    return np.asarray(half & (graph.nodes["dtype"] == "f32").to_numpy())


def cast_weights(graph: Graph, root: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Weights (n,) that a product reads, itself or a view; ``root`` is what a node is a view of."""
    code, kind = (graph.nodes[c].to_numpy().astype(np.str_) for c in ("opcode", "op_class"))
    source, reader = graph.edges
    read = np.zeros(len(code), dtype=bool)
    read[root[source[np.isin(kind[reader], PRODUCTS)]]] = True
    return np.asarray(read & (code == "weight") & (graph.nodes["dtype"] == "f32").to_numpy())
