"""What a graph of operations costs, before any device: a short row of work and traffic.

Each entry grows with something a device spends time on - arithmetic of convolutions, bytes of
normalisations, launches - in units in which a usual accelerator takes about a second.  An entry
with ``at least`` counts small operations as if they had that size: they leave a device idle.

Notation
--------
J  entries of a row      f, b  arithmetic and bytes of an operation
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.graph import Graph

Array = NDArray[np.float64]

TERMS = (
    "base", "launches", "infeed_b",
    "convolution_f", "convolution_f_small", "convolution_f_sparse", "convolution_b",
    "convolution_launches", "line_f", "volume_f", "depthwise_b",
    "matmul_f", "matmul_b", "matmul_launches",
    "elementwise_b", "elementwise_b_small", "elementwise_f", "transcendentals",
    "normalization_b", "normalization_b_small", "normalization_launches",
    "reduction_b", "movement_b", "gather_b", "update_b",
    "convolution_patches_b", "convolution_f_narrow", "matmul_operands_b", "matmul_f_padded",
    "rearranged_b", "reduced_b", "selected_b", "divided_b", "spilled_b",
    "exchange_b", "exchange_joins",
)  # fmt: skip
"""Entries, in order; the last two are those of several devices that train together.

``line_f`` and ``volume_f`` are arithmetic of convolutions in one dimension and in three, for which
libraries have other code; their bytes and launches are among those of all.  Those from
``convolution_patches_b`` to ``spilled_b`` count inside fusions too, from sizes alone.
"""
FLOP_PER_S, BYTE_PER_S, LAUNCH_S, BASE_S, HOST_BYTE_PER_S = 5e12, 2e11, 1e-5, 1e-3, 1e10
SMALL_FLOP, SMALL_BYTE = 1e9, 1e7
SPARSE = 20.0
"""Arithmetic per byte below which a convolution waits for memory."""
WIDE, TILE = 64.0, 16.0
"""Channels, and rows and columns of a product, in whose multiples a device computes."""
LINE, VOLUME = 3, 5
"""Dimensions of what a convolution in one and in three makes, batch and channels among them."""
CACHE_BYTE = 1e6
"""What an operation may touch before it has to go to memory."""
WORD = 4.0
BACKWARD = "aten.convolution_backward"
SLOW = ("divide", "sqrt", "rsqrt", "power")
IDLE = ("parameter_constant", "control")


def cost_terms(graph: Graph, devices: int = 1) -> Array:
    """Work and traffic of one step, shape (J,).

    Parameters
    ----------
    graph : Graph
        Operations, as `rheostat.core.graph.op_graph` checks them; unknown costs (NaN) count as 0.
    devices : int
        How many train together, each on its own share of the batch.

    Returns
    -------
    numpy.ndarray
        One number for each of `TERMS`.

    Examples
    --------
    >>> from rheostat.prediction.architectures import training_step
    >>> row = dict(zip(TERMS, cost_terms(training_step("lenet5", 32, 16, 10))))
    >>> f"{row['base']:.3f} {row['launches'] * 1e5:.0f}"
    '0.001 47'
    """
    o = _Operations(graph)
    conv = (o.kind == "convolution") & ~o.depthwise
    dense, norm = o.kind == "matmul", o.kind == "normalization"
    plain = np.isin(o.kind, ("elementwise", "transcendental", "other"))
    gather = np.isin(o.kind, ("gather_scatter", "collective"))
    moved = (o.kind == "data_movement") & ~o.infeed
    line, volume = conv & (o.rank == LINE), conv & (o.rank >= VOLUME)
    flat = conv & ~line & ~volume
    sparse = flat & (o.flops < SPARSE * np.maximum(o.bytes, 1.0))
    weights = o.sum(o.bytes, o.update) / 3.0
    return np.array([
        BASE_S, LAUNCH_S * o.sum(1.0, o.runs & ~o.infeed), o.sum(o.bytes, o.infeed)
        / HOST_BYTE_PER_S,
        o.sum(o.flops, flat) / FLOP_PER_S,
        o.sum(np.maximum(o.flops, SMALL_FLOP), flat & o.runs) / FLOP_PER_S,
        o.sum(o.flops, sparse) / FLOP_PER_S,
        o.sum(o.bytes, conv) / BYTE_PER_S, LAUNCH_S * o.sum(1.0, conv & o.runs),
        o.sum(o.flops, line) / FLOP_PER_S, o.sum(o.flops, volume) / FLOP_PER_S,
        o.sum(o.bytes, o.depthwise) / BYTE_PER_S,
        o.sum(o.flops, dense) / FLOP_PER_S, o.sum(o.bytes, dense) / BYTE_PER_S,
        LAUNCH_S * o.sum(1.0, dense & o.runs),
        o.sum(o.bytes, plain) / BYTE_PER_S,
        o.sum(np.maximum(o.bytes, SMALL_BYTE), plain & o.runs) / BYTE_PER_S,
        o.sum(o.flops, plain | (o.kind == "reduction")) / FLOP_PER_S,
        o.sum(o.transcendentals, o.kind != "") / FLOP_PER_S * 10.0,
        o.sum(o.bytes, norm) / BYTE_PER_S,
        o.sum(np.maximum(o.bytes, SMALL_BYTE), norm & o.runs) / BYTE_PER_S,
        LAUNCH_S * o.sum(1.0, norm & o.runs),
        o.sum(o.bytes, o.kind == "reduction") / BYTE_PER_S, o.sum(o.bytes, moved) / BYTE_PER_S,
        o.sum(o.bytes, gather) / BYTE_PER_S, weights / BYTE_PER_S,
        *_products(o, flat, dense),
        WORD * o.sum(o.size, o.code == "transpose") / BYTE_PER_S,
        WORD * o.sum(o.first, o.code == "reduce") / BYTE_PER_S,
        WORD * o.sum(o.size, o.code == "select") / BYTE_PER_S,
        WORD * o.sum(o.size, np.isin(o.code, SLOW)) / BYTE_PER_S,
        o.sum(o.bytes, o.runs & (o.bytes > CACHE_BYTE)) / BYTE_PER_S,
        2.0 * weights * (devices - 1) / devices / HOST_BYTE_PER_S,
        BASE_S * np.log2(devices),
    ])  # fmt: skip


def lanes_share(graph: Graph) -> Array:
    """Arithmetic of each operation in whole lanes beside what it has, (nodes,), 1 and more.

    Of dense convolutions alone, whose channels are few where they leave lanes idle.
    """
    o = _Operations(graph)
    return np.where((o.kind == "convolution") & ~o.depthwise, _in_lanes(o)[0], 1.0)


def _in_lanes(o: _Operations) -> tuple[Array, Array, Array]:
    """Arithmetic in whole lanes beside what there is, of convolutions and of products; columns.

    Sizes of both operands and the result, and the arithmetic, tell rows m, columns n and depth k:
    |out| |rhs| = n f / 2 and so on; where a size is not known, nothing is padded.
    """
    half = np.maximum(o.flops, 1.0) / 2.0 / o.products
    there = (o.first > 0) & (o.second > 0) & (o.flops > 0)
    columns = np.maximum(o.size * o.second / half, 1.0)
    rows = np.maximum(o.size * o.first / half, 1.0)
    wide = np.where(there, _up(columns, WIDE) / columns, 1.0)
    padded = np.where(there, _up(rows, TILE) / rows * _up(columns, TILE) / columns, 1.0)
    return wide, padded, np.where(there, columns, np.inf)


def _products(
    o: _Operations, conv: NDArray[np.bool_], dense: NDArray[np.bool_]
) -> tuple[float, ...]:
    """Patches and padded arithmetic of convolutions; operands and padded arithmetic of products."""
    wide, padded, columns = _in_lanes(o)
    return (
        WORD * o.sum(np.maximum(o.flops, 1.0) / 2.0 / columns, conv) / BYTE_PER_S,
        o.sum(o.flops * wide, conv) / FLOP_PER_S,
        WORD * o.sum(o.size + o.first + o.second, dense & np.isfinite(columns)) / BYTE_PER_S,
        o.sum(o.flops * padded, dense) / FLOP_PER_S,
    )


def _operands(graph: Graph, size: Array, moved: Array) -> tuple[Array, Array, Array]:
    """Numbers in the first three operands of each node; a second that is no node by the bytes."""
    by_reader = np.argsort(graph.edges[1], kind="stable")
    source, reader = graph.edges[:, by_reader]
    place = np.arange(len(reader)) - np.searchsorted(reader, reader)
    made = [np.zeros(len(size)) for _ in range(3)]
    for which, numbers in enumerate(made):
        here = place == which
        numbers[reader[here]] = size[source[here]]
    first, second, third = made
    second = np.where(second > 0, second, np.maximum(moved / WORD - first - size, 0.0))
    return first, second, third


def _up(values: Array, step: float) -> Array:
    return np.asarray(np.ceil(values / step - 1e-9) * step)


class _Operations:
    """Columns of a graph as arrays, each times how often it runs."""

    def __init__(self, graph: Graph) -> None:
        code = graph.nodes["opcode"].to_numpy().astype(np.str_)
        self.code = code
        self.kind = graph.nodes["op_class"].to_numpy().astype(np.str_)
        self.times = np.nan_to_num(graph.numpy("times"))
        self.flops, self.bytes, self.transcendentals = (
            np.nan_to_num(graph.numpy(c)) for c in ("flops", "bytes", "transcendentals")
        )
        self.infeed = code == "infeed"
        self.update = np.char.endswith(code, "-update")
        self.depthwise = np.char.startswith(code, "depthwise")
        if "depthwise" in graph.nodes.columns:
            self.depthwise |= graph.nodes["depthwise"].fill_null(False).to_numpy()
        fused = graph.nodes["fused"].to_numpy()
        shapes = graph.nodes["shape"].list.eval(pl.element().cast(pl.Float64).product())
        self.rank = graph.nodes["shape"].list.len().fill_null(0).to_numpy()
        self.size = shapes.list.first().fill_null(1.0).to_numpy()
        moved = np.where(fused, 0.0, self.bytes)
        given = _operands(graph, self.size, moved)
        back = code == BACKWARD  # (gradient, image, kernel) give those of image and kernel, or one
        self.products = np.where(back & (self.size == given[1]), 2.0, 1.0)
        forward = zip(given, (self.size, *given[:2]), strict=True)
        self.size, self.first, self.second = (np.where(back, g, own) for g, own in forward)
        self.runs = (self.times > 0) & ~fused & ~np.isin(self.kind, IDLE)

    def sum(self, values: Array | float, where: NDArray[np.bool_]) -> float:
        """Sum over some operations."""
        return float(np.sum((values * self.times)[where]))
