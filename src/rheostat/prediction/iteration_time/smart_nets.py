"""The networks of SMART (Wang, Lodi Rizzini, Medya, Lan, AAAI 2026), and the nets beside it.

Port features of the last iterations go through a graph convolution and an encoder-decoder; the
series of iteration times goes, in patches, through a frozen language model by reprogramming
(Time-LLM: patches attend to prototypes of words); both are fused by one layer.

What is not public is chosen here and named in the options: the loss (mean absolute error), the
learning rate, the number of epochs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat.prediction.iteration_time.smart_config import SmartConfig
from rheostat.prediction.iteration_time.smart_language import language_part


def normalised_edges(edges: Any, nodes: int) -> Any:
    """Sparse (nodes, nodes): neighbours and self, divided by the roots of both degrees.

    >>> normalised_edges(np.array([[0], [1]]), 2).to_dense().tolist()
    [[1.0, 0.0], [0.7071067690849304, 0.5]]
    """
    torch = require("torch", extra="network")
    loops = np.arange(nodes)
    source, target = np.concatenate([edges, [loops, loops]], axis=1)
    degree = np.bincount(target, minlength=nodes)
    weight = 1.0 / np.sqrt(degree[source] * degree[target])
    index = torch.tensor(np.stack([target, source]))
    return torch.sparse_coo_tensor(index, torch.tensor(weight, dtype=torch.float32), (nodes, nodes),
                                   check_invariants=False).coalesce()  # fmt: skip


def make_net(config: SmartConfig, features: int, edges: Any, active: Any, nodes: int) -> Any:
    """A torch module: (batch, look-back), (batch, snapshots, ports, features) -> (batch,).

    Parameters
    ----------
    config
        Sizes.
    features
        Per port.
    edges
        (2, e) of the port graph.
    active
        Ports of the application's terminals.
    nodes
        Ports of all routers.
    """
    torch = require("torch", extra="network")
    nn = torch.nn
    adjacency = normalised_edges(edges, nodes)
    chosen = torch.tensor(np.asarray(active))
    near = adjacency.index_select(0, chosen).coalesce()
    d = config.hidden

    def spread(matrix: Any, x: Any) -> Any:
        """(n, ports, k) along the edges."""
        flat = torch.sparse.mm(matrix, x.transpose(0, 1).reshape(nodes, -1))
        return flat.reshape(len(flat), len(x), -1).transpose(0, 1)

    class GraphConvolution(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(features, d), nn.Linear(d, d)

        def forward(self, x: Any) -> Any:
            x = torch.relu(spread(adjacency, self.first(x)))
            return spread(near, self.second(x))

    class SmartNet(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.graph = GraphConvolution()
            self.time = nn.Transformer(d, config.heads, config.layers, config.layers, 2 * d,
                                       dropout=0.0, batch_first=True)  # fmt: skip
            self.words = language_part(config)
            width = d + (d if self.words is not None else config.look_back)
            self.fuse = nn.Linear(width, 1)

        def forward(self, series: Any, snapshots: Any) -> Any:
            batch, steps = snapshots.shape[:2]
            states = self.graph(snapshots.flatten(0, 1)).unflatten(0, (batch, steps))
            states = states.transpose(1, 2).flatten(0, 1)
            z = self.time(states, states[:, -1:])[:, 0].unflatten(0, (batch, -1))
            said = series if self.words is None else self.words(series)
            fused = torch.cat([z, said[:, None].expand(-1, z.shape[1], -1)], dim=2)
            return self.fuse(fused).mean(dim=(1, 2))

    class SeriesNet(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.out = nn.LSTM(1, d, batch_first=True), nn.Linear(d, 1)

        def forward(self, series: Any, snapshots: Any) -> Any:
            return self.out(self.cell(series[:, :, None])[0][:, -1])[:, 0]

    class DiffusionNet(nn.Module):  # type: ignore[misc, name-defined]
        """A gated recurrent unit whose gates see diffused features (Li et al., ICLR 2018)."""

        def __init__(self) -> None:
            super().__init__()
            wide = 2 * (features + 1 + d)
            self.gates, self.new = nn.Linear(wide, 2 * d), nn.Linear(wide, d)
            self.out = nn.Linear(d, 1)

        def forward(self, series: Any, snapshots: Any) -> Any:
            batch, steps = snapshots.shape[:2]
            state = torch.zeros(batch, nodes, d)
            for k in range(steps):
                time = series[:, series.shape[1] - steps + k, None, None].expand(-1, nodes, 1)
                inputs = torch.cat([snapshots[:, k], time], dim=2)
                both = torch.cat([inputs, state], dim=2)
                mixed = torch.cat([both, spread(adjacency, both)], dim=2)
                reset, keep = torch.sigmoid(self.gates(mixed)).chunk(2, dim=2)
                both = torch.cat([inputs, reset * state], dim=2)
                mixed = torch.cat([both, spread(adjacency, both)], dim=2)
                state = keep * state + (1 - keep) * torch.tanh(self.new(mixed))
            return self.out(state[:, chosen]).mean(dim=(1, 2))

    return {"smart": SmartNet, "lstm": SeriesNet, "dcrnn": DiffusionNet}[config.net]()
