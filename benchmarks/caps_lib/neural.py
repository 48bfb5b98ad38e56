"""OPEN's networks: counters to speed, and neural collaborative filtering; and an autoencoder.

OPEN never sees the speed of a new application: it profiles a few settings for seconds, a network
that learnt on the known applications turns the counters into a speed (`CounterSpeed`), and a second
network, taught anew for each application, fills the other settings from embeddings of setting and
application (`Collaborative`).  The autoencoder is one of its baselines.  Layers, activations,
optimisers and epochs are those of the authors' public notebooks.

Notation
--------
A  known applications      p  settings      F  counters      n  settings tried
e  embedding width, 10

References
----------
Zheng, Lan, Wu, Taylor, Papka: Coordinated power management on heterogeneous systems,
arXiv 2508.07605 (2025).  He et al.: Neural collaborative filtering, WWW 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat.core.outcome import Array
from rheostat.errors import DataError
from rheostat.prediction.completion.table import CapTable


def _net(widths: Sequence[tuple[int, str]], inputs: int, norm: float = -1.0) -> Any:
    """Dense layers; with ``norm`` at least 0, batch norm and that much dropout after the first two.

    The last layer is linear.
    """
    nn = require("torch", extra="neural").nn
    kinds = {"relu": nn.ReLU, "selu": nn.SELU}
    layers: list[Any] = []
    for i, (width, activation) in enumerate(widths):
        layers += [nn.Linear(inputs, width), kinds[activation]()]
        if norm >= 0 and i < 2:
            layers += [nn.BatchNorm1d(width), nn.Dropout(norm)]
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, 1))


def _train(
    forward: Any, parameters: Any, x: Any, y: Any, *, epochs: int, how: str, seed: int
) -> None:
    """Minimise squared error in batches of 32."""
    torch = require("torch", extra="neural")
    rate = 2e-3 if how == "NAdam" else 1e-3
    fast = {"fused": True} if how == "Adam" else {}
    optimiser = getattr(torch.optim, how)(parameters, lr=rate, **fast)
    turns = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        order = torch.randperm(len(y), generator=turns)
        for batch in order.split(32):
            if len(batch) < 2:
                continue  # batch norm needs two
            optimiser.zero_grad()
            loss = ((forward(x[batch]).squeeze(-1) - y[batch]) ** 2).mean()
            loss.backward()
            optimiser.step()


class CounterSpeed:
    """Speed from caps and counters: 256 relu, 128 relu, 64 selu, 32 selu, linear; Nadam."""

    def __init__(self, *, epochs: int = 50, dropout: float = 0.1, seed: int = 0) -> None:
        self.epochs = epochs
        self.dropout = dropout
        self.seed = seed

    def fit(self, known: CapTable) -> CounterSpeed:
        """Learn on every setting of the known applications."""
        torch = require("torch", extra="neural")
        if known.counters is None:
            raise DataError("CounterSpeed", ["expected counters beside the speeds"])
        x = _inputs(known.values, known.counters)
        y = known.speed.reshape(-1)
        there = np.isfinite(y) & np.isfinite(x).all(axis=1)
        self.low_, high = x[there].min(axis=0), x[there].max(axis=0)
        self.span_ = np.where(high > self.low_, high - self.low_, 1.0)
        self.y_low_, self.y_span_ = float(y[there].min()), float(np.ptp(y[there])) or 1.0
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            widths = [(256, "relu"), (128, "relu"), (64, "selu"), (32, "selu")]
            self.net_ = _net(widths, x.shape[1], self.dropout)
            inputs = torch.tensor((x[there] - self.low_) / self.span_, dtype=torch.float32)
            wanted = torch.tensor((y[there] - self.y_low_) / self.y_span_, dtype=torch.float32)
            _train(self.net_, self.net_.parameters(), inputs, wanted,
                   epochs=self.epochs, how="NAdam", seed=self.seed)  # fmt: skip
        self.net_.eval()
        return self

    def predict(self, values: Array, counters: Array) -> Array:
        """Speeds (n,) at settings with caps (n, k) and counters (n, F)."""
        torch = require("torch", extra="neural")
        x = (_inputs(values, counters[None]) - self.low_) / self.span_
        with torch.no_grad():
            y = self.net_(torch.tensor(x, dtype=torch.float32)).squeeze(-1).numpy()
        return np.asarray(y, dtype=float) * self.y_span_ + self.y_low_


def _inputs(values: Array, counters: Array) -> Array:
    """Rows of caps and counters, (A p, k + F)."""
    apps, settings, _ = counters.shape
    caps = np.broadcast_to(values, (apps, *values.shape))
    return np.concatenate([caps, counters], axis=2).reshape(apps * settings, -1)


class Collaborative:
    """Neural collaborative filtering: embeddings of setting and application, four dense layers."""

    def __init__(self, *, width: int = 10, epochs: int = 25, seed: int = 0) -> None:
        self.width = width
        self.epochs = epochs
        self.seed = seed

    def fit(self, known: CapTable) -> Collaborative:
        """Remember the dense part of the matrix."""
        self.known_ = known
        return self

    def fill(self, tried: list[int], speed: Array) -> Array:
        """Teach a new network with the known rows and the tried cells, ask it for all settings."""
        torch = require("torch", extra="neural")
        known = self.known_.speed
        apps, settings = known.shape
        row, place = np.nonzero(np.isfinite(known))
        cells = np.concatenate([np.column_stack([place, row]), [[t, apps] for t in tried]]).astype(
            np.int64
        )
        y = np.concatenate([known[row, place], speed])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            net = _Filter(settings, apps + 1, self.width)
            _train(net.forward, net.parameters(), torch.tensor(cells),
                   torch.tensor(y, dtype=torch.float32),
                   epochs=self.epochs, how="Adam", seed=self.seed)  # fmt: skip
        asked = np.column_stack([np.arange(settings), np.full(settings, apps)])
        with torch.no_grad():
            return np.asarray(net.forward(torch.tensor(asked)).squeeze(-1).numpy(), dtype=float)


class _Filter:
    """Two embeddings, joined, then 256 relu, 128 relu, 64 selu, 32 selu, linear."""

    def __init__(self, settings: int, apps: int, width: int) -> None:
        nn = require("torch", extra="neural").nn
        self.setting, self.app = nn.Embedding(settings, width), nn.Embedding(apps, width)
        for table in (self.setting, self.app):
            nn.init.uniform_(
                table.weight, -0.05, 0.05
            )  # Keras's embedding; torch's is 20 times wider
        widths = [(256, "relu"), (128, "relu"), (64, "selu"), (32, "selu")]
        self.dense = _net(widths, 2 * width)

    def parameters(self) -> list[Any]:
        parts = (self.setting, self.app, self.dense)
        return [weight for part in parts for weight in part.parameters()]

    def forward(self, cells: Any) -> Any:
        torch = require("torch", extra="neural")
        joined = torch.cat([self.setting(cells[:, 0]), self.app(cells[:, 1])], dim=1)
        return self.dense(joined)


class Autoencoder:
    """A row through a bottleneck of 8, taught to restore rows of which most cells are hidden."""

    def __init__(self, *, epochs: int = 400, shown: float = 0.2, seed: int = 0) -> None:
        self.epochs = epochs
        self.shown = shown
        self.seed = seed

    def fit(self, known: CapTable) -> Autoencoder:
        """Learn from the known rows with cells hidden at random."""
        torch = require("torch", extra="neural")
        rows = np.where(np.isfinite(known.speed), known.speed, np.nanmean(known.speed, axis=0))
        self.mean_ = rows.mean(axis=0)
        y = torch.tensor(rows - self.mean_, dtype=torch.float32)
        settings = y.shape[1]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            nn = torch.nn
            self.net_ = nn.Sequential(
                nn.Linear(2 * settings, 64), nn.ReLU(), nn.Linear(64, 8), nn.ReLU(),
                nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, settings),
            )  # fmt: skip
            optimiser = torch.optim.Adam(self.net_.parameters(), lr=1e-3)
            for _ in range(self.epochs):
                mask = (torch.rand(y.shape) < self.shown).float()
                optimiser.zero_grad()
                loss = ((self.net_(torch.cat([y * mask, mask], dim=1)) - y) ** 2).mean()
                loss.backward()
                optimiser.step()
        return self

    def fill(self, tried: list[int], speed: Array) -> Array:
        """The row restored from the tried cells, which are kept."""
        torch = require("torch", extra="neural")
        mask = np.zeros(len(self.mean_))
        row = np.zeros(len(self.mean_))
        mask[tried] = 1.0
        row[tried] = speed - self.mean_[tried]
        with torch.no_grad():
            given = torch.tensor(np.concatenate([row, mask]), dtype=torch.float32)
            filled = self.net_(given[None])[0].numpy() + self.mean_
        filled = np.asarray(filled, dtype=float)
        filled[tried] = speed
        return filled
