"""How much memory one step takes: what lives at the same time, in the order of the graph.

A value lives from the operation that makes it to the last that takes it.  Parameters and what is
put in live throughout; an operation without traffic gives a view of its first operand, one that
writes in place is its first operand, as is the sum of two gradients of a parameter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.graph import Graph
from rheostat.prediction.step_cost.mixed_precision import cast_weights, half_width

STATE = {"sgd": 0, "momentum": 1, "adam": 2, "adamw": 2}
"""Numbers that an optimiser keeps for each parameter, unless the graph has a row ``state``."""
SCRATCH = {"adam": 1, "adamw": 1}
"""Numbers for each parameter that its step holds meanwhile, unless there is a row ``scratch``."""
HELD = ("state", "scratch")
BITS = {"pred": 8, "opaque": 0, "tuple": 0, "token": 0, "bf16": 16, "c64": 64, "c128": 128}
FREE = ("get-tuple-element", "tuple", "bitcast", "reshape", "broadcast", "iota", "constant",
        "parameter", "weight", "input")  # fmt: skip
MIXED = 16
CONTEXT_B, WORKSPACE_B = 0.45e9, 0.1e9
"""What the driver and its libraries hold before the first array, and scratch of their kernels."""


@dataclass(frozen=True)
class StepMemory:
    """Bytes on one device when the step needs most.

    Parameters
    ----------
    parameters_b, gradients_b, optimizer_b, activations_b, workspace_b : float
        Parameters and what is put in for good, gradients of parameters that exist at that moment,
        what the optimiser keeps, and holds at that moment, everything else that the step made,
        libraries.
    data_b : float
        What is put in and is no parameter.
    """

    parameters_b: float
    gradients_b: float
    optimizer_b: float
    activations_b: float
    data_b: float
    workspace_b: float

    @property
    def peak_b(self) -> float:
        """All of it."""
        return float(sum(vars(self).values()))


def step_memory(graph: Graph, optimizer: str = "", bits: int = 32) -> StepMemory:
    """Memory of one step of a graph.

    Parameters
    ----------
    graph : Graph
        Operations in the order in which they run.
    optimizer : str
        Of `STATE`; "" where the graph's inputs hold what it keeps, or nothing is trained.
    bits : int
        16 for mixed precision: what autocast makes of 16 bits counts half.

    Examples
    --------
    >>> from rheostat.prediction.architectures import training_step
    >>> made = step_memory(training_step("vgg16", 224, 32), "sgd")
    >>> 0.1e9 < made.workspace_b < made.activations_b < 10e9
    True
    """
    size = _sizes(graph)
    code = graph.nodes["opcode"].to_numpy().astype(np.str_)
    put_in = np.isin(code, ("weight", "input", "parameter")) & (graph.in_degree() == 0)
    update = np.char.endswith(code, "-update")
    gradient, root = _gradients(graph, code, size, update, put_in)
    made = ~put_in & ~update & ~np.isin(code, (*FREE, *HELD)) & (root == np.arange(len(size)))
    source, reader = graph.edges
    ends = np.arange(len(size))
    np.maximum.at(ends, root[source], reader)
    starts = np.arange(len(size))
    taken = code[reader] == "getitem"
    starts[reader[taken]] = source[taken]
    width = np.where(half_width(graph), 0.5, 1.0) if bits == MIXED else 1.0
    held = _held(np.where(made & ~gradient, size * width, 0.0), starts, ends)
    held_gradients = _held(np.where(made & gradient, size, 0.0), starts, ends)
    state_b, scratch_b = _optimizer(code, size, optimizer)
    scratch = np.where(update, scratch_b, 0.0)
    at = np.argsort(-(held + held_gradients + scratch), kind="stable")[:1]  # none of no operations
    weights = float(size[code == "weight"].sum()) or float(size[update].sum())
    cast_b = float(size[cast_weights(graph, root)].sum()) / 2 if bits == MIXED else 0.0
    data = put_in & (code != "weight")
    return StepMemory(
        weights, float(held_gradients[at].sum()), state_b + float(scratch[at].sum()),
        float(held[at].sum()) + cast_b, float(size[data].sum()), CONTEXT_B + WORKSPACE_B,
    )  # fmt: skip


def _optimizer(
    code: NDArray[np.str_], size: NDArray[np.float64], optimizer: str
) -> tuple[float, float]:
    """Bytes that it keeps for what it trains, and bytes of its step."""
    if (code == "state").any():
        return float(size[code == "state"].sum()), float(size[code == "scratch"].max())
    updated = size[np.char.endswith(code, "-update")]
    trained = float((updated if len(updated) else size[code == "weight"]).sum())
    return STATE.get(optimizer, 0) * trained, SCRATCH.get(optimizer, 0) * trained


def _gradients(
    graph: Graph, code: NDArray[np.str_], size: NDArray[np.float64],
    update: NDArray[np.bool_], put_in: NDArray[np.bool_],
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:  # fmt: skip
    """Which values are gradients of parameters, and the value that each node is a view of.

    What is summed into a gradient is one, too: parts of a batch, places that share a parameter.
    """
    kind = graph.nodes["op_class"].to_numpy().astype(np.str_)
    same = (kind == "data_movement") & (graph.numpy("bytes") == 0.0) & (code != "getitem")
    same |= np.char.startswith(code, "aten.") & np.char.endswith(code, "_")
    source, reader = graph.edges
    root = _roots(graph, same)
    gradient = np.zeros(len(size), dtype=bool)
    gradient[root[source[update[reader] & ~put_in[source]]]] = True
    given: dict[int, list[int]] = {}
    for s, r in graph.edges.T:
        if code[r] in ("aten.add", "aten.add_"):
            given.setdefault(int(r), []).append(int(root[s]))
    for at in sorted(given, reverse=True):
        both = given[at]
        summed = len(both) == 2 and all(size[i] == size[at] and not put_in[i] for i in both)
        if gradient[at] and summed:
            gradient[both] = same[at] = True
    return gradient, _roots(graph, same)


def _held(
    size: NDArray[np.float64], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Bytes that live while each operation runs."""
    change = np.zeros(len(size) + 1)
    np.add.at(change, starts, size)
    np.add.at(change, ends + 1, -size)
    return np.asarray(np.cumsum(change)[: len(size)])


def _roots(graph: Graph, same: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The value that each node is a view of: itself unless it is the ``same`` as its first."""
    root = np.arange(len(same))
    first = np.full(len(same), -1)
    for s, r in graph.edges.T[::-1]:
        first[r] = s
    for i in np.flatnonzero(same & (first >= 0)):
        root[i] = root[first[i]]
    return root


def _sizes(graph: Graph) -> NDArray[np.float64]:
    """Bytes of each result that runs outside a fusion; of several results those taken out."""
    bits = [BITS[d] if d in BITS else _digits(d) for d in graph.nodes["dtype"].to_list()]
    numbers = graph.nodes["shape"].list.eval(pl.element().cast(pl.Float64).product())
    size = numbers.list.first().fill_null(1.0).to_numpy() * np.array(bits) / 8.0
    taken = (graph.nodes["opcode"] == "getitem").to_numpy()
    size[graph.edges[0][taken[graph.edges[1]]]] = 0.0
    runs = (graph.nodes["times"] > 0).to_numpy() & ~graph.nodes["fused"].to_numpy()
    return np.asarray(np.where(runs, size, 0.0))


def _digits(dtype: str) -> int:
    """Bits of a number, as the name of its type says: 32 of f32, 8 of f8e4m3fn."""
    bits = re.match(r"[a-z]+(\d+)", dtype)
    return int(bits[1]) if bits else 0
