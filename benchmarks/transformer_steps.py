"""Operations of the transformers that NeuSight timed, from their sizes alone, in 32 bits.

Layers as the `transformers` package runs them one by one: attention in pieces, GELU of GPT-2 in
eight.  Each entry is (kind of `Work`, FLOPs, bytes, times).
"""

from __future__ import annotations

import numpy as np

from rheostat.prediction.step_cost.device_law import Work

WORD = 4.0
SIZES = {
    "bert_large": (24, 1024, 16, 4096, 30522),
    "gpt2_large": (36, 1280, 20, 5120, 50257),
    "gpt3_xl": (24, 3072, 24, 12288, 50257),
    "gpt3_27": (32, 2560, 32, 10240, 50257),
    "opt_13": (24, 2048, 32, 8192, 50272),
}
"""Layers, width, heads, inner width, words: of the configurations in NeuSight's repository."""
SWITCH = (24, 1024, 32, 128, 16384, 32128)
"""Layers of encoder and of decoder, width, heads, head width, inner width, words."""


class Operations:
    """Grows by products and by operations that move numbers; backward passes with them."""

    def __init__(self, *, train: bool) -> None:
        self.train = train
        self.rows: list[tuple[int, float, float, float]] = []

    def product(
        self, m: int, n: int, k: int, times: int, batch: int = 1, *, weights: bool = True
    ) -> None:
        """``batch`` products of (m, k) and (k, n), and in training those of both gradients."""
        moved = WORD * (batch * m * k + k * n * (1 if weights else batch) + batch * m * n)
        flops = 2.0 * batch * m * n * k
        self.rows += [(0, flops, moved, float(times))] * (3 if self.train else 1)

    def moving(self, numbers: int, each: float, times: int, back: float | None = None) -> None:
        """Reads and writes ``each`` for every number, and ``back`` of them in the backward pass."""
        self.rows.append((-1, float(numbers), WORD * numbers * each, float(times)))
        if self.train:
            again = each + 1 if back is None else back
            self.rows.append((-1, float(numbers), WORD * numbers * again, float(times)))

    def work(self) -> Work:
        """All of it."""
        kind, flops, moved, times = (np.array(c) for c in zip(*self.rows, strict=True))
        return Work(kind.astype(np.int64), flops, moved, times)


def transformer_work(model: str, length: int, batch: int, *, train: bool) -> Work:
    """One pass of a model over ``batch`` sequences, and back where it trains."""
    o = Operations(train=train)
    if model == "switchxl4":
        _switch(o, length, batch)
        return o.work()
    layers, width, heads, inner, words = SIZES[model]
    rows, scores = batch * length, batch * heads * length * length
    for n, k in ((3 * width, width), (width, width), (inner, width), (width, inner)):
        o.product(rows, n, k, layers)
    head = width // heads
    o.product(length, length, head, layers, batch * heads, weights=False)
    o.product(length, head, length, layers, batch * heads, weights=False)
    o.moving(scores, 2, layers, 2)  # scaled
    o.moving(scores, *((2, layers, 0) if model == "bert_large" else (2.25, layers, 2)))  # masked
    o.moving(scores, 2, layers, 3)  # softmax
    if train:
        o.moving(scores, 2.25, layers, 2.25)  # dropout
        o.moving(rows * width, 2.25, 2 * layers, 2.25)
    o.moving(rows * width, 2, 4 * layers, 2)  # permuted
    o.moving(rows * width, 2, 2 * layers, 4)  # normalised
    o.moving(rows * width, 3, 2 * layers, 0)  # residuals
    o.moving(rows * inner, 2, layers, 3)
    if model.startswith("gpt"):
        o.moving(rows * inner, 2.3, 7 * layers, 2.3)
    o.product(rows, words, width, 1)
    return o.work()


def _switch(o: Operations, length: int, batch: int) -> None:
    """Encoder and decoder; every token goes to one expert."""
    layers, width, heads, head, inner, words = SWITCH
    rows, scores = batch * length, batch * heads * length * length
    for times in (layers, 2 * layers):
        o.product(rows, heads * head, width, 3 * times)
        o.product(rows, width, heads * head, times)
        o.product(length, length, head, times, batch * heads, weights=False)
        o.product(length, head, length, times, batch * heads, weights=False)
        o.moving(scores, 3, times)
        o.moving(scores, 2, times, 3)
        if o.train:
            o.moving(scores, 3, times, 3)
        o.moving(rows * heads * head, 2, 4 * times, 2)
        o.moving(rows * width, 2, 4 * times)
        o.moving(rows * width, 3, times, 0)
    o.product(rows, inner, width, 2 * layers)
    o.product(rows, width, inner, 2 * layers)
    o.moving(rows * inner, 2, 2 * layers)
    o.moving(rows * width, 2, 8 * layers)
    o.moving(rows * width, 3, 2 * layers, 0)
    o.moving(rows * width, 3, 8 * layers)
    o.product(rows, words, width, 1)
