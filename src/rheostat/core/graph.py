"""`Graph`: nodes with columns, and directed edges between them.

The operations of a program and the ports of a network are both this: a frame with a row per node
and an array of edges.  `op_graph` makes a graph of operations, one node per instruction of a
program, with the columns `OP_COLUMNS` that every reader fills and every model of costs takes:

opcode
    The operation as the source names it: ``dot``, ``fusion``, ``aten.mm``, ``Conv``.
op_class
    One of `OP_CLASSES`.  A fusion has the class of the operation that costs most inside it.
dtype, shape
    Type and sizes of the result (``f32``, ``[16, 32]``); a tuple has dtype ``tuple`` and shape [].
flops, transcendentals
    Of one execution.  What a fusion computes stands at the operations inside it, and what a
    reduction's function computes at the reduction.
bytes
    Operands and result of one execution, in memory: 0 inside a fusion, all at the fusion.
times
    Executions in one run of the program: the trip count inside a loop, 0 where nothing runs (the
    function of a reduction, the cheaper branch).  What a run costs is ``flops * times``.
fused
    True inside a fusion.

A reader that knows it adds ``depthwise``: True where a convolution's groups have one channel each.

A cost that cannot be known (a call into a foreign library) is NaN, and a note says so.  Edges lead
from what makes a value to what uses it; operands of one node are in order.  A called computation is
part of the graph: operands lead to its parameters, its root leads to the calling node.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.jobs import Note
from rheostat.core.outcome import Array
from rheostat.core.storage.archive import Archive
from rheostat.errors import DataError

Edges = NDArray[np.int64]
NODES, EDGES = "nodes.parquet", "edges.npy"
OP_CLASSES = (
    "matmul",
    "convolution",
    "elementwise",
    "transcendental",
    "reduction",
    "normalization",
    "data_movement",
    "gather_scatter",
    "collective",
    "control",
    "parameter_constant",
    "other",
)
"""What an operation is, for its cost; the order is the order of features and of tables."""
OP_COLUMNS: dict[str, pl.DataType] = {
    "opcode": pl.String(),
    "op_class": pl.String(),
    "dtype": pl.String(),
    "shape": pl.List(pl.Int64()),
    "flops": pl.Float64(),
    "bytes": pl.Float64(),
    "transcendentals": pl.Float64(),
    "times": pl.Float64(),
    "fused": pl.Boolean(),
}
"""Columns of a graph of operations; a reader may add others behind them."""


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes with columns and directed edges between them.

    Parameters
    ----------
    name : str
        What the graph is of.
    nodes : polars.DataFrame
        A row per node.
    edges : array of int, shape (2, e)
        Row numbers: ``edges[0]`` of what an edge leaves, ``edges[1]`` of what it enters.
    notes : tuple of Note
        What a reader assumed or could not know.

    Raises
    ------
    DataError
        Edges of another shape, or to nodes that are not there.

    Examples
    --------
    >>> ring = Graph("ring", pl.DataFrame({"port": [0, 1, 2]}), np.array([[0, 1, 2], [1, 2, 0]]))
    >>> len(ring), ring.in_degree().tolist()
    (3, [1, 1, 1])
    """

    name: str
    nodes: pl.DataFrame
    edges: Edges
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        edges = np.asarray(self.edges)
        if edges.ndim != 2 or edges.shape[0] != 2 or not np.issubdtype(edges.dtype, np.integer):
            got = f"{edges.dtype} of shape {edges.shape}"
            raise DataError(
                f"graph {self.name}", [f"expected edges as int, shape (2, e), got {got}"]
            )
        outside = np.flatnonzero(((edges < 0) | (edges >= self.nodes.height)).any(axis=0))
        if outside.size:
            first = edges[:, outside[0]].tolist()
            problem = f"expected edges among {self.nodes.height} nodes, got {first}"
            raise DataError(f"graph {self.name}", [f"{problem}; {outside.size} edges are outside"])
        object.__setattr__(self, "edges", edges.astype(np.int64, copy=False))

    def __len__(self) -> int:
        return self.nodes.height

    def in_degree(self) -> Edges:
        """Edges into each node, shape (n,)."""
        return np.bincount(self.edges[1], minlength=len(self))

    def out_degree(self) -> Edges:
        """Edges out of each node, shape (n,)."""
        return np.bincount(self.edges[0], minlength=len(self))

    def numpy(self, name: str) -> Array:
        """One numeric column of the nodes as float64, shape (n,); null as NaN."""
        return self.nodes[name].cast(pl.Float64).fill_null(np.nan).to_numpy()

    def to_archive(self) -> Archive:
        """Nodes as parquet, edges as an array: what `rheostat.save` writes."""
        nodes, edges = io.BytesIO(), io.BytesIO()
        self.nodes.write_parquet(nodes)
        np.save(edges, self.edges, allow_pickle=False)
        notes = [[n.message, list(n.rows), n.count, n.dropped] for n in self.notes]
        parts = {NODES: nodes.getvalue(), EDGES: edges.getvalue()}
        libraries = {"polars": pl.__version__, "numpy": np.__version__}
        return Archive("graph", 1, {"name": self.name, "notes": notes}, parts, libraries)

    @classmethod
    def from_archive(cls, archive: Archive) -> Graph:
        """The graph that `to_archive` took apart."""
        nodes = pl.read_parquet(io.BytesIO(archive.parts[NODES]))
        edges = np.load(io.BytesIO(archive.parts[EDGES]), allow_pickle=False)
        notes = tuple(Note(m, tuple(r), c, d) for m, r, c, d in archive.contents["notes"])
        return cls(archive.contents["name"], nodes, edges, notes)


def op_graph(
    name: str, columns: Mapping[str, Any] | pl.DataFrame, edges: Edges, notes: Iterable[Note] = ()
) -> Graph:
    """A graph of operations, its columns checked.

    Parameters
    ----------
    name : str
        The program.
    columns : mapping or polars.DataFrame
        At least `OP_COLUMNS`.
    edges : array of int, shape (2, e)
        From what makes a value to what uses it.
    notes : iterable of Note
        What could not be known.

    Returns
    -------
    Graph
        With the columns of `OP_COLUMNS` first, in their types.

    Raises
    ------
    DataError
        A column is missing or of another type, or a class is none of `OP_CLASSES`.
    """
    frame = pl.DataFrame(dict(columns)) if isinstance(columns, Mapping) else columns
    problems = [f"column {c} is missing" for c in OP_COLUMNS if c not in frame.columns]
    if problems:
        raise DataError(f"graph {name}", problems)
    try:
        frame = frame.with_columns(pl.col(c).cast(t) for c, t in OP_COLUMNS.items())
    except pl.exceptions.PolarsError as error:
        raise DataError(f"graph {name}", [str(error).splitlines()[0]]) from error
    odd = sorted(set(frame["op_class"]) - set(OP_CLASSES), key=str)
    if odd:
        problem = f"expected op_class in {', '.join(OP_CLASSES)}, got {odd[0]}"
        raise DataError(f"graph {name}", [problem])
    rest = [c for c in frame.columns if c not in OP_COLUMNS]
    return Graph(name, frame.select([*OP_COLUMNS, *rest]), edges, tuple(notes))
