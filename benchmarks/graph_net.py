"""A graph network that learns what an operation costs among its neighbours.

GraphSAGE [Hamilton2017]_ in plain torch: each layer joins a node's values with the mean of those it
reads from and of those that read it.  The readout adds: every node gets a cost on every device, and
a step takes their sum, so that larger graphs of known operations need no new weights.  Trained on
the logarithm, for all devices at once; a device with few runs is then a linear correction away.

References
----------
.. [Hamilton2017] Hamilton, Ying, Leskovec: Inductive representation learning on large graphs.
   NeurIPS 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheostat._optional import require
from rheostat.core.graph import OP_CLASSES, Graph
from rheostat.errors import NotFitted
from rheostat.prediction.step_cost.additive import Array, Codes
from rheostat.prediction.step_cost.terms import BYTE_PER_S, FLOP_PER_S, LAUNCH_S


def node_features(graph: Graph) -> Array:
    """Class of each operation, and logarithms of its work: (nodes, features)."""
    kind = graph.nodes["op_class"].to_numpy().astype(np.str_)
    times = np.nan_to_num(graph.numpy("times"))
    work = [np.nan_to_num(graph.numpy(c)) * times for c in ("flops", "bytes", "transcendentals")]
    first = np.log(work[0] / FLOP_PER_S + work[1] / BYTE_PER_S + LAUNCH_S)
    return np.column_stack([
        kind[:, None] == np.array(OP_CLASSES), *(np.log1p(w) / 10.0 for w in work), first / 10.0,
        graph.nodes["fused"].to_numpy(), times > 0,
    ]).astype(float)  # fmt: skip


class GraphNet:
    """Log cost of graphs on several devices.

    Parameters
    ----------
    hidden, layers : int
        Values of a node, and rounds of exchange.
    steps, batch : int
        Updates, and graphs of an update.  Of 8,000 graphs in all, many small updates learn more
        than 250 of 32 graphs.
    rate : float
        Learning rate of Adam.
    seed : int
        Of weights and of the order of the graphs.
    """

    def __init__(
        self, hidden: int = 32, layers: int = 2, *, steps: int = 2000, batch: int = 4,
        rate: float = 5e-3, seed: int = 0,
    ) -> None:  # fmt: skip
        self.hidden, self.layers = hidden, layers
        self.steps, self.batch, self.rate, self.seed = steps, batch, rate, seed

    def fit(self, graphs: Sequence[Graph], which: Codes, device: Codes, log_y: Array) -> GraphNet:
        """Learn.

        Parameters
        ----------
        graphs : sequence of Graph
            Graphs of operations.
        which : array of int, (n,)
            Graph of each run.
        device : array of int, (n,)
            Device of each run, from 0.
        log_y : array, (n,)
            Logarithm of what the run took.

        Returns
        -------
        GraphNet
            Itself.
        """
        torch = require("torch", extra="graphs")
        torch.manual_seed(self.seed)
        rng = np.random.default_rng(self.seed)
        made = [node_features(g) for g in graphs]
        self.net_ = _net(torch, made[0].shape[1], self.hidden, self.layers, int(device.max()) + 1)
        optimizer = torch.optim.Adam(self.net_.parameters(), lr=self.rate)
        falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.steps)
        runs = [np.flatnonzero(which == g) for g in range(len(graphs))]
        there = np.array([g for g, r in enumerate(runs) if len(r)])
        for _ in range(self.steps):
            some = rng.choice(there, min(self.batch, len(there)), replace=False)
            at = np.repeat(np.arange(len(some)), [len(runs[g]) for g in some])
            rows = np.concatenate([runs[g] for g in some])
            cost = self._forward(torch, [graphs[g] for g in some], [made[g] for g in some])
            truth = torch.as_tensor(log_y[rows], dtype=torch.float32)
            loss = torch.nn.functional.smooth_l1_loss(cost[at, device[rows]], truth, beta=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            falling.step()
        return self

    def predict(self, graphs: Sequence[Graph]) -> Array:
        """Log cost of each graph on each device, (graphs, devices)."""
        if not hasattr(self, "net_"):
            raise NotFitted(self)
        torch = require("torch", extra="graphs")
        with torch.no_grad():
            parts = [self._forward(torch, [g], [node_features(g)]) for g in graphs]
        return np.asarray(torch.cat(parts).numpy(), dtype=float)

    def _forward(self, torch: Any, graphs: Sequence[Graph], features: Sequence[Array]) -> Any:
        sizes = np.array([len(g) for g in graphs])
        start = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        edges = np.concatenate([g.edges + s for g, s in zip(graphs, start, strict=True)], axis=1)
        x = torch.as_tensor(np.concatenate(features), dtype=torch.float32)
        first = x[:, len(OP_CLASSES) + 3 : len(OP_CLASSES) + 4] * 10.0
        live = x[:, -1:]
        for layer in self.net_["layers"]:
            x = torch.relu(layer(torch.cat([x, *_neighbours(torch, x, edges)], dim=1)))
        cost = torch.exp(torch.clamp(self.net_["out"](x) + first, max=10.0)) * live
        graph = torch.as_tensor(np.repeat(np.arange(len(graphs)), sizes))
        total = torch.zeros(len(graphs), cost.shape[1]).index_add(0, graph, cost)
        return torch.log(total + torch.exp(self.net_["base"](torch.ones(1, 1))))


def _net(torch: Any, inputs: int, hidden: int, layers: int, devices: int) -> Any:
    sizes = [inputs, *[hidden] * layers]
    linear = torch.nn.Linear
    net = torch.nn.ModuleDict({
        "layers": torch.nn.ModuleList([linear(3 * a, b) for a, b in pairwise(sizes)]),
        "out": linear(hidden, devices), "base": linear(1, devices),
    })  # fmt: skip
    torch.nn.init.constant_(net["base"].bias, np.log(1e-3))
    return net


def _neighbours(torch: Any, x: Any, edges: NDArray[np.int64]) -> list[Any]:
    """Mean over what a node reads, and over what reads it."""
    made = []
    for source, target in (edges, edges[::-1]):
        to = torch.as_tensor(np.ascontiguousarray(target))
        count = torch.zeros(len(x)).index_add(0, to, torch.ones(len(to)))
        summed = torch.zeros_like(x).index_add(0, to, x[torch.as_tensor(source.copy())])
        made.append(summed / torch.clamp(count, min=1.0)[:, None])
    return made
