"""What the nodes of a large machine tell the first layer, without reading all weights each time.

All nodes of a job look alike, and all free ones: the first layer's part of them is a sum over jobs
of (what one of its nodes looks like) x (the sum of the weights of its nodes).  Sums are kept from
decision to decision, until the weights change; only those of jobs that have started are new.

    Symbol  Shape  Meaning
    owner   (N,)   job on each node, -1 if free
    told    (N,)   the filter's number for each node: one value per owner
    W       (h, N) weights of the nodes in the first layer
    part    (h,)   W told
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat._optional import require

torch = require("torch", extra="train")
LARGE = 1 << 20  # weights below which one product is quicker


class FirstLayerCache:
    """The sums of one set of weights ``W``, which `forget` must be told to have changed."""

    def __init__(self) -> None:
        self._sums: dict[int, Any] = {}
        self._all: Any = None

    def forget(self) -> None:
        """The weights have changed."""
        self._sums, self._all = {}, None

    def part(self, weights: Any, owner: np.ndarray, filtered: Any) -> Any:
        """(h,) as the product of ``weights`` and ``filtered``."""
        owners, places = np.unique(owner, return_index=True)
        here = {int(o): filtered[int(p)] for o, p in zip(owners, places, strict=True)}
        busy = {job: self._sum(weights, owner, job) for job in here if job >= 0}
        if self._all is None:
            self._all = self._sum(weights, owner, -1) + sum(busy.values())
        self._sums = busy
        result = sum((here[job] * both for job, both in busy.items()), torch.zeros(len(weights)))
        if -1 in here:
            result = result + here[-1] * (self._all - sum(busy.values()))
        return result

    def _sum(self, weights: Any, owner: np.ndarray, job: int) -> Any:
        if job in self._sums:
            return self._sums[job]
        edges = np.flatnonzero(np.diff(np.concatenate(([0], owner == job, [0])))).tolist()
        parts = [weights[:, a:b].sum(1) for a, b in zip(edges[::2], edges[1::2], strict=True)]
        return sum(parts, torch.zeros(len(weights)))
