"""The networks of DRAS: one filter over two numbers, two wide layers, an answer.

A 1x2 convolution turns each row of the input (`encode`) into one number.  Two layers without a
bias follow, then either one probability per slot of the window ("pg") or one value between 0 and 1
for the single job shown ("dql").  The widths are fixed by the machine: one input per node.

    Symbol  Shape      Meaning
    jobs    (b, J, 2)  rows of jobs; J = 2 W for "pg", 2 for "dql"
    nodes   (c, N, 2)  rows of nodes; c is b, or 1 if all b share them
    a       (b, A)     answer: A = W scores before the softmax ("pg") or 1 value ("dql")

The parameters are 3 + (J + N) h1 + h1 h2 + h2 A + A: on Theta (N = 4,360, h = 4,000 and
1,000, W = 50) 21,890,053 for "pg" and 21,449,004 for "dql", on Cori (N = 12,076, h = 10,000 and
4,000) 161,960,053 and 160,784,004, as published.

References
----------
Fan et al., IPDPS 2021 (table of networks).  The released code has ReLU where the paper says leaky
rectifier; ReLU is here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat.training.rl.dras_config import DrasConfig

torch = require("torch", extra="train")
F = torch.nn.functional


def job_rows(setup: DrasConfig) -> int:
    """Rows of jobs in one input."""
    return 2 * setup.window if setup.method == "pg" else 2


@dataclass(frozen=True)
class Slopes:
    """``values`` (b,); by name of the weights both sides of each slope, (b, r) and (b, c)."""

    values: np.ndarray
    slopes: dict[str, tuple[np.ndarray, np.ndarray]]


class Network(torch.nn.Module):  # type: ignore[misc, name-defined]
    """The network of a `DrasConfig` for ``nodes`` nodes; weights are Glorot's, uniform.

    ``seed`` None leaves the weights unset, which is quicker where others are loaded.

    >>> small = Network(DrasConfig(window=3, hidden=(5, 4)), nodes=7, seed=0)
    >>> sum(p.numel() for p in small.parameters()) == 3 + (6 + 7) * 5 + 5 * 4 + 4 * 3 + 3
    True
    """

    def __init__(self, setup: DrasConfig, nodes: int, seed: int | None) -> None:
        super().__init__()
        self.rows, (first, second) = job_rows(setup), setup.hidden
        answers = setup.window if setup.method == "pg" else 1
        shapes = {
            "filter": (1, 2),
            "filter_bias": (1,),
            "first": (first, self.rows + nodes),
            "second": (second, first),
            "last": (answers, second),
            "last_bias": (answers,),
        }
        for name, shape in shapes.items():
            setattr(self, name, torch.nn.Parameter(torch.empty(shape)))
        self.values = setup.method == "dql"
        if seed is not None:
            self._draw(torch.Generator().manual_seed(seed))

    def _draw(self, rng: Any) -> None:
        with torch.no_grad():
            for name, weight in self.named_parameters():
                if name.endswith("bias"):
                    weight.zero_()
                    continue
                # a convolution counts its two taps on both sides
                fan = 4 if name == "filter" else sum(weight.shape)
                weight.uniform_(-((6 / fan) ** 0.5), (6 / fan) ** 0.5, generator=rng)

    def values_and_slopes(self, jobs: Any, nodes: Any) -> Slopes:
        """Values (b,) of "dql", and how each weight would change each of them.

        A weight's slope for one value is an outer product: of what the layer above passes back and
        of what the layer below puts out.
        """
        with torch.no_grad():
            rows = torch.cat((jobs, nodes), 1)
            filtered = F.linear(rows, self.filter, self.filter_bias)[..., 0]
            first = torch.relu(F.linear(filtered, self.first))
            second = torch.relu(F.linear(first, self.second))
            values = torch.sigmoid(F.linear(second, self.last, self.last_bias))
            last = values * (1 - values)
            at_second = last * self.last * (second > 0)
            at_first = at_second @ self.second * (first > 0)
            at_rows = at_first @ self.first
            one = torch.ones_like(values)
            result = {
                "filter": (one, torch.einsum("bj,bjc->bc", at_rows, rows)),
                "filter_bias": (one, at_rows.sum(1, keepdim=True)),
                "first": (at_first, filtered),
                "second": (at_second, first),
                "last": (last, second),
                "last_bias": (last, one),
            }
        return Slopes(
            values[:, 0].numpy(), {k: (d.numpy(), x.numpy()) for k, (d, x) in result.items()}
        )

    def judge(self, jobs: Any, part: Any) -> Any:
        """As `forward`, where ``part`` (h1,) is what the nodes add to the first layer."""
        filtered = F.linear(jobs, self.filter, self.filter_bias)[..., 0]
        return self._answer(F.linear(filtered, self.first[:, : self.rows]) + part)

    def filtered(self, nodes: Any) -> Any:
        """(N,) the filter's number for each node."""
        return F.linear(nodes, self.filter, self.filter_bias)[..., 0]

    def forward(self, jobs: Any, nodes: Any) -> Any:
        """(b, A): values for "dql"; for "pg" scores whose softmax are the probabilities."""
        filtered, floor = (
            F.linear(x, self.filter, self.filter_bias)[..., 0] for x in (jobs, nodes)
        )
        if len(filtered) == len(floor):
            hidden = F.linear(torch.cat((filtered, floor), 1), self.first)
        else:  # the nodes are the same for all jobs that "dql" compares: computed once
            hidden = F.linear(filtered, self.first[:, : self.rows])
            hidden = hidden + F.linear(floor, self.first[:, self.rows :])
        return self._answer(hidden)

    def _answer(self, hidden: Any) -> Any:
        hidden = torch.relu(F.linear(torch.relu(hidden), self.second))
        answer = F.linear(hidden, self.last, self.last_bias)
        return torch.sigmoid(answer) if self.values else answer
