"""The networks of SMART (Wang, Lodi Rizzini, Medya, Lan, AAAI 2026), and the nets beside it.

Port features of the last iterations go through a graph convolution and an encoder-decoder; the
series of iteration times goes, in patches, through a frozen language model by reprogramming
(Time-LLM: patches attend to prototypes of words); both are fused by one layer.

What is not public is chosen here and named in the options: the loss (mean absolute error), the
learning rate, the number of epochs.  A port has 25 features, not 45: CODES counts one queue where
the published data had four.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat.core.outcome import Array
from rheostat.errors import DataError

LANGUAGE = ("none", "random", "patch")
NETS = ("smart", "lstm", "dcrnn")


@dataclass(frozen=True)
class SmartConfig:
    """Sizes and training; as published where that is known.

    Parameters
    ----------
    net
        ``smart``, or of the baselines ``lstm`` (series alone) and ``dcrnn``.
    language
        ``none``, ``random`` (frozen random weights), ``patch`` (a small transformer that learns),
        or the path of a local model: a folder, or a GGUF file.
    hidden, heads, layers
        Width, attention heads, layers of encoder and of decoder.
    look_back, snapshots
        Iteration times and graph states that an answer sees.
    patch
        Iterations of a patch; patches overlap by all but one.
    prototypes
        Words that patches attend to.
    language_layers
        Layers of the language model that are used; 0: all.
    epochs, rate
        Of the first training.
    tune_every, tune_steps
        Iterations between two trainings online, and their steps.
    """

    net: str = "smart"
    language: str = "none"
    hidden: int = 128
    heads: int = 8
    layers: int = 2
    look_back: int = 8
    snapshots: int = 2
    patch: int = 2
    prototypes: int = 100
    language_layers: int = 0
    epochs: int = 20
    rate: float = 1e-3
    tune_every: int = 8
    tune_steps: int = 4

    def __post_init__(self) -> None:
        problems = []
        if self.net not in NETS:
            problems.append(f"net: expected {', '.join(NETS)}, got {self.net!r}")
        if self.language not in LANGUAGE and not Path(self.language).exists():
            problems.append(
                f"language: expected {', '.join(LANGUAGE)} or a path, got {self.language}"
            )
        if self.hidden % self.heads:
            problems.append(f"hidden: expected a multiple of {self.heads} heads, got {self.hidden}")
        if self.patch > self.look_back:
            problems.append(
                f"patch: expected at most look_back ({self.look_back}), got {self.patch}"
            )
        if problems:
            raise DataError("SMART", problems)


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


def language_part(config: SmartConfig) -> Any:
    """A module from series (batch, look_back) to (batch, hidden) by patches; None without one."""
    if config.language == "none":
        return None
    torch = require("torch", extra="network")
    nn = torch.nn
    d, patches = config.hidden, config.look_back - config.patch + 1
    body, vocabulary, width = _body(config)

    class Reprogrammed(nn.Module):  # type: ignore[misc, name-defined]
        """Patches attend to prototypes, linear maps of the words' embeddings, as in Time-LLM."""

        def __init__(self) -> None:
            super().__init__()
            self.body = body  # a module of ours is trained with the rest, unless it is frozen
            self.embed = nn.Linear(config.patch, width)
            self.prototypes = nn.Linear(len(vocabulary), config.prototypes, bias=False)
            self.attend = nn.MultiheadAttention(width, 1, batch_first=True)
            self.out = nn.Linear(patches * width, d)

        def forward(self, series: Any) -> Any:
            middle, scale = series.mean(1, keepdim=True), series.std(1, keepdim=True) + 1e-3
            embedded = self.embed(((series - middle) / scale).unfold(1, config.patch, 1))
            words = self.prototypes(vocabulary.T).T[None].expand(len(series), -1, -1)
            asked = self.attend(embedded, words, words)[0]
            return self.out(self.body(asked).flatten(1))

    return Reprogrammed()


def _body(config: SmartConfig) -> tuple[Any, Any, int]:
    """(function from (batch, patches, width) to the same, word embeddings, width)."""
    torch = require("torch", extra="network")
    if config.language not in LANGUAGE:
        return _local_model(config)
    layer = torch.nn.TransformerEncoderLayer(config.hidden, config.heads, 2 * config.hidden,
                                             dropout=0.0, batch_first=True)  # fmt: skip
    encoder = torch.nn.TransformerEncoder(layer, config.layers, enable_nested_tensor=False)
    if config.language == "random":
        encoder.requires_grad_(False)
    return encoder, torch.randn(4 * config.prototypes, config.hidden), config.hidden


def _local_model(config: SmartConfig) -> tuple[Any, Any, int]:
    """A causal language model from a folder or a GGUF file, frozen; nothing is fetched."""
    transformers = require("transformers", extra="lm")
    path = Path(config.language)
    where, given = (path.parent, {"gguf_file": path.name}) if path.is_file() else (path, {})
    model = transformers.AutoModel.from_pretrained(where, local_files_only=True, **given)
    model.requires_grad_(False).eval()
    if config.language_layers:
        model.layers = model.layers[: config.language_layers]
    words = model.get_input_embeddings().weight.detach().float()
    step = max(1, len(words) // 2000)

    def body(asked: Any) -> Any:
        return model(inputs_embeds=asked, use_cache=False).last_hidden_state

    return body, words[::step], words.shape[1]


def port_statistics(windows: Array) -> Array:
    """(windows, ports, 5) to (ports, 25): mean, least, most and quartiles of each quantity, log."""
    if not len(windows):
        return np.zeros((windows.shape[1], 25))
    values = np.log1p(windows)
    quartiles = np.quantile(values, [0.25, 0.75], axis=0)
    parts = [values.mean(0), values.min(0), values.max(0), *quartiles]
    return np.concatenate(parts, axis=1)
