"""A recurrent layer as the operations that a GPU starts for it: products of all steps, and of each.

What is put in is multiplied for all steps at once; the state, and the gates after it, step by step.
Backwards the same again for the gradients, and one product for those of each weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rheostat.measurement.graphs.hlo.hlo_types import HloType
from rheostat.measurement.graphs.op_rows import OpCost, OpRows

GATE_FLOPS, GATE_FUNCTIONS = 2.0, 1.25
"""Of a gate's number: sums, products and non-linear functions of an LSTM, by its four gates."""


def add_recurrent(
    rows: OpRows, name: str, given: Sequence[HloType], args: Sequence[Any], operands: Sequence[int]
) -> None:
    """Rows of one recurrent operation of `whole_layers`, or of its way back.

    Parameters
    ----------
    rows : OpRows
        To which they are added.
    name : str
        Backwards where ``backward`` is in it.
    given : sequence of HloType
        Of the arrays it takes, in order.
    args : sequence
        As the graph has them: the states and weights are lists.
    operands : sequence of int
        Rows that it waits for.
    """
    back = "backward" in name
    lists = [a for a in args if isinstance(a, (list, tuple))]
    first = int(back)
    x, state = given[first], given[first + 1]
    weights = [w for w in given[first + 1 + len(lists[0]) :][: len(lists[1])] if len(w.dims) == 2]
    gates = max(w.dims[0] for w in weights)
    main = [w for w in weights if w.dims[0] == gates]
    batch = state.dims[-2]
    steps = x.elements // (x.dims[-1] * batch)
    for entering, turned in zip(main[::2], main[1::2], strict=True):
        _add_layer(rows, entering, turned, (batch, steps), x, operands, back=back)
    for narrow in (w for w in weights if w.dims[0] < gates):
        _add_product(rows, "recurrent-state", x, (batch, *narrow.dims), operands, steps)


def _add_layer(
    rows: OpRows, entering: HloType, turned: HloType, sizes: tuple[int, int], x: HloType,
    operands: Sequence[int], *, back: bool,
) -> None:  # fmt: skip
    batch, steps = sizes
    gates, width = entering.dims
    state = turned.dims[1]
    _add_product(rows, "recurrent-input", x, (batch * steps, gates, width), operands)
    _add_product(rows, "recurrent-state", x, (batch, gates, state), operands, steps)
    numbers = float(steps * batch * gates)  # started with the product before them
    gate = OpCost("elementwise", GATE_FLOPS * numbers, GATE_FUNCTIONS * numbers,
                  3 * _word(x) * numbers)  # fmt: skip
    rows.add("recurrent-gates", gate, HloType(x.dtype, (0,)), operands)
    if back:
        _add_product(rows, "recurrent-weights", x, (gates, width, batch * steps), operands)
        _add_product(rows, "recurrent-weights", x, (gates, state, batch * steps), operands)


def _add_product(
    rows: OpRows, code: str, x: HloType, sizes: tuple[int, ...], operands: Sequence[int],
    times: float = 1.0,
) -> None:  # fmt: skip
    """Of (m, k) and (k, n); its result stays inside the layer and takes no memory of its own."""
    m, n, k = sizes
    moved = _word(x) * (m * k + k * n + m * n)
    cost = OpCost("matmul", 2.0 * m * n * k, bytes=moved)
    rows.add(code, cost, HloType(x.dtype, (0,)), operands, times)


def _word(x: HloType) -> float:
    return x.size_b / max(x.elements, 1)
