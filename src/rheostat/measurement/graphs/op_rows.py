"""Operations collected one after the other into a graph, for sources whose values are arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rheostat.core.graph import OP_COLUMNS, Graph, op_graph
from rheostat.core.jobs import Note
from rheostat.measurement.checks import note_rows
from rheostat.measurement.graphs.hlo.hlo_types import HloType
from rheostat.measurement.graphs.hlo.hlo_window import WindowSide


@dataclass(frozen=True)
class OpCost:
    """Class and costs of one operation; bytes None: all operands and the result."""

    op_class: str
    flops: float = 0.0
    transcendentals: float = 0.0
    bytes: float | None = None
    depthwise: bool = False


@dataclass
class OpRows:
    """Grows by `add`; `graph` makes the graph of what was added."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)
    types: list[HloType] = field(default_factory=list)

    def add(
        self, opcode: str, cost: OpCost, type_: HloType, operands: Sequence[int] = (),
        times: float = 1.0,
    ) -> int:  # fmt: skip
        """One operation, and the numbers of those whose results it takes; its own number."""
        here = len(self.rows)
        moved = sum(self.types[i].size_b for i in operands) + type_.size_b
        self.rows.append({
            "opcode": opcode, "op_class": cost.op_class, "dtype": type_.dtype,
            "shape": [max(d, 0) for d in type_.dims], "flops": cost.flops,
            "bytes": moved if cost.bytes is None else cost.bytes,
            "transcendentals": cost.transcendentals, "times": times, "fused": False,
            "depthwise": cost.depthwise,
        })  # fmt: skip
        self.types.append(type_)
        self.edges += [(i, here) for i in operands]
        return here

    def graph(self, name: str, notes: Sequence[Note] = ()) -> Graph:
        """All of it; operations of unknown cost are noted."""
        columns = {k: [row[k] for row in self.rows] for k in (*OP_COLUMNS, "depthwise")}
        bad = [i for i, f in enumerate(columns["flops"]) if math.isnan(f)]
        names = ", ".join(sorted({columns["opcode"][i] for i in bad}))
        said = f"operations without a rule for their FLOPs, not in the totals: {names}"
        edges = np.array(self.edges, dtype=np.int64).reshape(-1, 2).T
        more = [note_rows(said, bad)] if bad else []
        return op_graph(name, columns, edges, [*notes, *more])


def product_flops(result: HloType, contracted: int) -> float:
    """A multiply and an add for each pair that meets."""
    return 2.0 * result.elements * contracted


def convolved_flops(
    given: HloType, kernel: HloType, out: HloType, sides: Sequence[WindowSide]
) -> float:
    """Of a convolution ``(N, C, ...)`` with a kernel ``(O, C / groups, ...)``, padding left out.

    >>> image, kernel = HloType("f32", (2, 3, 5, 5)), HloType("f32", (7, 3, 3, 3))
    >>> sides = [WindowSide(3, 2, 1, 1)] * 2
    >>> convolved_flops(image, kernel, HloType("f32", (2, 7, 3, 3)), sides) == 2 * 2 * 3 * 7 * 49
    True
    """
    meeting = math.prod(s.valid(d) for s, d in zip(sides, given.dims[2:], strict=True))
    return 2.0 * given.dims[0] * kernel.dims[1] * out.dims[1] * meeting
