"""What a graph of operations costs in one run, by class of operation and in all."""

from __future__ import annotations

from typing import Any

import polars as pl

from rheostat.core.graph import OP_CLASSES, Graph

_AMOUNTS = ("flops", "bytes", "transcendentals")


def costs_by_class(graph: Graph) -> pl.DataFrame:
    """A row per class that the graph has, in the order of `rheostat.core.graph.OP_CLASSES`.

    Parameters
    ----------
    graph : Graph
        Of operations.

    Returns
    -------
    polars.DataFrame
        ``op_class``, ``count`` of nodes, ``flops``, ``bytes`` and ``transcendentals`` of one run,
        and ``intensity``, FLOPs per byte, null where no bytes are moved.  What a fusion moves
        stands at its class, what it computes at the classes inside.
    """
    run = (pl.col(c).fill_nan(None) * pl.col("times") for c in _AMOUNTS)
    table = graph.nodes.lazy().with_columns(run).group_by("op_class").agg(
        count=pl.len(), **{c: pl.col(c).sum() for c in _AMOUNTS}
    )  # fmt: skip
    place = pl.col("op_class").replace_strict(OP_CLASSES, range(len(OP_CLASSES)))
    per_byte = pl.when(pl.col("bytes") > 0).then(pl.col("flops") / pl.col("bytes"))
    return table.sort(place).with_columns(intensity=per_byte).collect()


def total_costs(graph: Graph) -> dict[str, Any]:
    """Of one run: nodes, edges, FLOPs, bytes, transcendentals, and the program's inputs.

    Parameters
    ----------
    graph : Graph
        Of operations.

    Returns
    -------
    dict
        ``inputs`` and ``input_elements`` count parameters that no operation makes; ``parameters``
        the elements of weights, None where the source does not tell weights from data.
    """
    costs = costs_by_class(graph)
    entered = (
        pl.Series(graph.in_degree() == 0)
        & (graph.nodes["times"] > 0)
        & graph.nodes["opcode"].is_in(INPUTS)
    )
    sizes = graph.nodes["shape"].list.eval(pl.element().product()).list.first()
    weights = graph.nodes["opcode"] == WEIGHT
    return {
        "nodes": len(graph),
        "edges": int(graph.edges.shape[1]),
        **{c: float(costs[c].sum()) for c in _AMOUNTS},
        "inputs": int(entered.sum()),
        "input_elements": int(sizes.filter(entered).sum()),
        "parameters": int(sizes.filter(weights).sum()) if weights.any() else None,
    }


INPUTS = ("parameter", "input", "weight")
WEIGHT = "weight"
"""Opcode of an input that is trained, where the source says which are."""
