"""Two small attention networks for tables, and the one loop that trains either.

TabNet chooses, in a few steps, which features of a row to look at; its embedding is the sum of what
the steps found [Arik2021]_.  The feature-token encoder turns each feature into a vector, lets the
vectors attend to one another, and reads the answer off an extra token [Gorishniy2021]_.  This
module imports torch: import it late.

Notation
--------
n  rows      k  features      t  targets      d  width of the embedding
x : (n, k) standardised features      z : (n, d) embedding      masks : (n, k), rows sum to 1

References
----------
.. [Arik2021] Arik, Pfister: TabNet: attentive interpretable tabular learning. AAAI 2021.
.. [Gorishniy2021] Gorishniy et al.: Revisiting deep learning models for tabular data. NeurIPS 2021.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat._threads import one_thread
from rheostat.core.outcome import Array

torch = require("torch", extra="neural")

LEAST_BATCH, BATCHES = 32, 8
"""Few rows are cut into at least eight batches, so that an epoch is more than one step."""
DECIMALS = 6
"""Results are computed in double precision and rounded here: batch size cannot change them."""


class TabNetNet(torch.nn.Module):  # type: ignore[misc,name-defined]
    """TabNet's encoder with a linear head; the embedding is the sum of its step outputs."""

    def __init__(self, k: int, t: int, *, width: int, steps: int) -> None:
        super().__init__()
        tabnet = require("pytorch_tabnet.tab_network", extra="neural")
        self.encoder = tabnet.TabNetEncoder(
            k, t, n_d=width, n_a=width, n_steps=steps, virtual_batch_size=256, momentum=0.1
        )
        self.head = torch.nn.Linear(width, t)

    def embed(self, x: Any) -> tuple[Any, Any]:
        """Embedding (n, d) and the penalty on undecided masks."""
        # the package makes its prior in single precision; handing it one keeps doubles doubles
        prior = torch.ones((len(x), self.encoder.attention_dim), dtype=x.dtype)
        eye = self.encoder.group_attention_matrix
        self.encoder.group_attention_matrix = eye.to(x.dtype)
        steps, penalty = self.encoder(x, prior)
        return torch.stack(steps).sum(dim=0), 1e-3 * penalty

    def masks(self, x: Any) -> Any:
        """How much each step's output rests on each feature, (n, k), rows sum to 1."""
        self.encoder.group_attention_matrix = torch.eye(x.shape[1])
        total, _ = self.float().encoder.forward_masks(x.float())
        return total / total.sum(dim=1, keepdim=True).clamp_min(1e-12)


class TokenNet(torch.nn.Module):  # type: ignore[misc,name-defined]
    """Feature tokens, ``layers`` of self-attention, an answer token, a linear head."""

    def __init__(self, k: int, t: int, *, width: int, layers: int, heads: int = 2) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.randn(k, width) / width**0.5)
        self.shift = torch.nn.Parameter(torch.randn(k, width) / width**0.5)
        self.answer = torch.nn.Parameter(torch.zeros(1, 1, width))
        self.layers = torch.nn.ModuleList(_Layer(width, heads) for _ in range(layers))
        self.norm = torch.nn.LayerNorm(width)
        self.head = torch.nn.Linear(width, t)

    def _read(self, x: Any) -> tuple[Any, Any]:
        tokens = x[:, :, None] * self.scale + self.shift
        tokens = torch.cat([self.answer.expand(len(x), -1, -1), tokens], dim=1)
        looks = []
        for layer in self.layers:
            tokens, look = layer(tokens)
            looks.append(look[:, 0, 1:])
        return self.norm(tokens[:, 0]), torch.stack(looks).mean(dim=0)

    def embed(self, x: Any) -> tuple[Any, Any]:
        """Embedding (n, d); no penalty."""
        return self._read(x)[0], 0.0

    def masks(self, x: Any) -> Any:
        """Attention of the answer token to each feature, (n, k), rows sum to 1."""
        look = self._read(x)[1]
        return look / look.sum(dim=1, keepdim=True).clamp_min(1e-12)


class _Layer(torch.nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.first, self.second = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.attention = torch.nn.MultiheadAttention(width, heads, batch_first=True)
        self.feed = torch.nn.Sequential(
            torch.nn.Linear(width, 2 * width), torch.nn.GELU(), torch.nn.Linear(2 * width, width)
        )

    def forward(self, tokens: Any) -> tuple[Any, Any]:
        inner = self.first(tokens)
        seen, look = self.attention(inner, inner, inner, need_weights=True)
        tokens = tokens + seen
        return tokens + self.feed(self.second(tokens)), look


@dataclass(frozen=True)
class Training:
    """How long and how fast to learn."""

    epochs: int = 25
    batch: int = 512
    rate: float = 1e-2
    patience: int = 6
    held_out: float = 0.15


@contextmanager
def reproducible(seed: int) -> Iterator[None]:
    """Torch with its own random stream and one thread; what was set before comes back after."""
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def train(
    make: Callable[[], Any], x: Array, y: Array, weights: Array, *, seed: int, plan: Training
) -> Any:
    """Fit a network on standardised ``x`` (n, k) and ``y`` (n, t); the best epoch is kept.

    The best is judged on held-out rows by mean squared error; training ends after ``patience``
    epochs without a better one.
    """
    with reproducible(seed):
        net = make()
        data = [torch.as_tensor(a, dtype=torch.float32) for a in (x, y, weights)]
        order = torch.randperm(len(x))
        cut = int(plan.held_out * len(x)) if len(x) >= 40 else 0
        held, used = (order[:cut] if cut else order), order[cut:]
        batch = min(plan.batch, max(LEAST_BATCH, len(used) // BATCHES))
        steps = -(-len(used) // batch) * plan.epochs
        optimiser = torch.optim.AdamW(net.parameters(), lr=plan.rate, weight_decay=1e-5)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, plan.rate, max(steps, 2))
        best, kept, waited = float("inf"), None, 0
        for _ in range(plan.epochs):
            _epoch(net, data, used, batch, optimiser, schedule)
            loss = _judge(net, data, held)
            if loss < best or kept is None:
                best, waited = loss, 0
                kept = {k: v.detach().clone() for k, v in net.state_dict().items()}
            else:
                waited += 1
            if waited >= plan.patience:
                break
        net.load_state_dict(kept)
        return net.eval()


def _epoch(net: Any, data: list[Any], rows: Any, batch: int, optimiser: Any, schedule: Any) -> None:
    net.train()
    for part in rows[torch.randperm(len(rows))].split(batch):
        if len(part) < 2:  # batch normalisation needs two rows
            continue
        x, y, w = (a[part] for a in data)
        z, penalty = net.embed(x)
        loss = (w[:, None] * (net.head(z) - y) ** 2).mean() + penalty
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 2.0)
        optimiser.step()
        schedule.step()


def _judge(net: Any, data: list[Any], rows: Any) -> float:
    net.eval()
    with torch.no_grad():
        x, y, w = (a[rows] for a in data)
        return float((w[:, None] * (net.head(net.embed(x)[0]) - y) ** 2).mean())


def evaluate(net: Any, x: Array, what: str) -> Array:
    """``what`` ("embedding", "head" or "masks") for rows ``x``, the same for any batch size."""
    import copy

    net = copy.deepcopy(net).double().eval()
    parts = []
    with reproducible(0), torch.no_grad():
        for chunk in torch.as_tensor(x, dtype=torch.float64).split(4096):
            if what == "masks":
                parts.append(net.masks(chunk).double())
                continue
            z = net.embed(chunk)[0]
            parts.append(net.head(z) if what == "head" else z)
    return np.asarray(np.round(torch.cat(parts).numpy(), DECIMALS))
