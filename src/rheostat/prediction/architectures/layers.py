"""A training step written down layer by layer: its operations, their arithmetic and their bytes.

`Step` keeps a tape.  Each layer adds its forward operations; `Step.graph` walks the tape backwards
and adds the gradients and the optimiser, so that the graph is that of one whole training step.
Nothing is run and no framework is needed: shapes say all.  Figures are those of the mathematics (a
padded convolution counts its padding, as is usual where GFLOPs are published), four bytes a number.

Notation
--------
b  images of a batch      h, w, c  height, width, channels      k  kernel edge
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat.core.graph import Graph, op_graph

BYTES = 4.0
OPTIMIZERS = {"sgd": (2.0, 3.0, 0.0), "momentum": (4.0, 5.0, 0.0), "adam": (12.0, 7.0, 1.0)}
"""For each weight: arithmetic, numbers read and written, square roots."""


@dataclass(frozen=True)
class Tensor:
    """A value of the step: the node that makes it, and its sizes for one image."""

    node: int
    h: int
    w: int
    c: int

    @property
    def size(self) -> int:
        """Numbers for one image."""
        return self.h * self.w * self.c


@dataclass(frozen=True)
class _TapeEntry:
    inputs: tuple[Tensor, ...]
    output: Tensor
    backward: Callable[[int], Sequence[int]]


class Step:
    """Layers of a network in order, for batches of one size.

    Parameters
    ----------
    name : str
        What the graph is called.
    batch : int
        Images of a batch.
    optimizer : str
        One of `OPTIMIZERS`.

    Examples
    --------
    >>> step = Step("line", 8)
    >>> graph = step.graph(step.dense(step.image(1, 3), 2))
    >>> step.parameters, graph.nodes.filter(op_class="matmul")["flops"].to_list()
    (8, [96.0, 96.0])
    """

    def __init__(self, name: str, batch: int, optimizer: str = "sgd") -> None:
        self.name, self.batch, self.optimizer = name, batch, optimizer
        self.parameters = 0
        self._nodes: list[dict[str, Any]] = []
        self._edges: list[tuple[int, int]] = []
        self._tape: list[_TapeEntry] = []
        self._weights: list[tuple[int, int]] = []

    def image(self, size: int, channels: int = 3) -> Tensor:
        """The batch that comes from the host."""
        n = self.batch * size * size * channels
        shape = [self.batch, size, size, channels]
        node = self._node("infeed", "data_movement", shape, 0.0, BYTES * n)
        return Tensor(node, size, size, channels)

    def conv(
        self, x: Tensor, filters: int, kernel: int | tuple[int, int], stride: int = 1, *,
        same: bool = True, depthwise: bool = False, bias: bool = True, decay: bool = False,
    ) -> Tensor:  # fmt: skip
        """A convolution; ``depthwise`` has one filter per channel, ``decay`` an L2 penalty."""
        kh, kw = (kernel, kernel) if isinstance(kernel, int) else kernel
        h, w = _reach(x.h, kh, stride, same), _reach(x.w, kw, stride, same)
        filters = x.c if depthwise else filters
        depth = kh * kw * (1 if depthwise else x.c)
        code = "depthwise-convolution" if depthwise else "convolution"
        flops = 2.0 * self.batch * h * w * filters * depth
        weights = depth * filters
        y = self._linear(code, "convolution", x, (h, w, filters), flops, weights)
        if decay:
            self._decay(weights)
        return self.bias(y) if bias else y

    def dense(self, x: Tensor, units: int, *, bias: bool = True) -> Tensor:
        """A fully connected layer on all numbers of an image."""
        flops = 2.0 * self.batch * x.size * units
        y = self._linear("dot", "matmul", x, (1, 1, units), flops, x.size * units)
        return self.bias(y) if bias else y

    def bias(self, x: Tensor) -> Tensor:
        """A number per channel added."""
        n = self.batch * x.size
        y = self._forward("add", "elementwise", (x,), (x.h, x.w, x.c), n, 2 * n)

        def backward(grad: int) -> Sequence[int]:
            made = self._node("reduce", "reduction", [x.c], n, BYTES * n, [grad])
            self._trained(x.c, made)
            return (grad,)

        return self._taped((x,), y, backward)

    def norm(self, x: Tensor, *, scale: bool = True) -> Tensor:
        """Batch normalisation; without ``scale`` it has an offset alone."""
        n = self.batch * x.size
        shape = (x.h, x.w, x.c)
        y = self._forward("batch-norm-training", "normalization", (x,), shape, 8 * n, 3 * n)

        def backward(grad: int) -> Sequence[int]:
            made = self._made("batch-norm-grad", "normalization", x, 12 * n, 5 * n, [grad, x.node])
            for _ in range(1 + scale):
                self._trained(x.c, made)
            return (made,)

        return self._taped((x,), y, backward)

    def relu(self, x: Tensor) -> Tensor:
        """The positive part."""
        n = self.batch * x.size
        y = self._forward("maximum", "elementwise", (x,), (x.h, x.w, x.c), n, 2 * n)
        return self._taped(
            (x,), y,
            lambda grad: (self._made("select", "elementwise", x, n, 3 * n, [grad, y.node]),),
        )  # fmt: skip

    def squashed(self, x: Tensor) -> Tensor:
        """A sigmoid or hyperbolic tangent."""
        n = self.batch * x.size
        y = self._forward("tanh", "transcendental", (x,), (x.h, x.w, x.c), n, 2 * n, n)
        return self._taped(
            (x,), y,
            lambda grad: (self._made("multiply", "elementwise", x, 3 * n, 3 * n, [grad, y.node]),),
        )  # fmt: skip

    def dropout(self, x: Tensor) -> Tensor:
        """Numbers left out at random."""
        n = self.batch * x.size
        y = self._forward("rng", "elementwise", (x,), (x.h, x.w, x.c), 4 * n, 3 * n)
        return self._taped(
            (x,), y,
            lambda grad: (self._made("multiply", "elementwise", x, n, 3 * n, [grad, y.node]),),
        )  # fmt: skip

    def pool(self, x: Tensor, kernel: int, stride: int, *, same: bool = False) -> Tensor:
        """The greatest, or the mean, of each window: both cost the same here."""
        h, w = _reach(x.h, kernel, stride, same), _reach(x.w, kernel, stride, same)
        n, out = self.batch * x.size, self.batch * h * w * x.c
        work = float(kernel * kernel * out)
        y = self._forward("reduce-window", "reduction", (x,), (h, w, x.c), work, n + out)
        return self._taped(
            (x,), y,
            lambda grad: (self._made(
                "select-and-scatter", "reduction", x, work, 2 * n + 2 * out, [grad, x.node]),),
        )  # fmt: skip

    def global_pool(self, x: Tensor) -> Tensor:
        """The mean over height and width."""
        n = self.batch * x.size
        y = self._forward("reduce", "reduction", (x,), (1, 1, x.c), n, n + self.batch * x.c)
        return self._taped(
            (x,), y,
            lambda grad: (self._made("broadcast", "data_movement", x, 0, n, [grad]),),
        )  # fmt: skip

    def pad(self, x: Tensor, edge: int) -> Tensor:
        """Zeros around."""
        h, w = x.h + 2 * edge, x.w + 2 * edge
        n, out = self.batch * x.size, self.batch * h * w * x.c
        y = self._forward("pad", "data_movement", (x,), (h, w, x.c), 0, n + out)
        return self._taped(
            (x,), y,
            lambda grad: (self._made("slice", "data_movement", x, 0, 2 * n, [grad]),),
        )  # fmt: skip

    def add(self, a: Tensor, b: Tensor, *, scale: bool = False) -> Tensor:
        """The sum, or with ``scale`` the first and a fixed share of the second."""
        n = self.batch * a.size
        y = self._forward("add", "elementwise", (a, b), (a.h, a.w, a.c), (1 + scale) * n, 3 * n)

        def backward(grad: int) -> Sequence[int]:
            if not scale:
                return (grad, grad)
            return (grad, self._made("multiply", "elementwise", b, n, 2 * n, [grad]))

        return self._taped((a, b), y, backward)

    def concat(self, parts: Sequence[Tensor]) -> Tensor:
        """Channels one after the other."""
        h, w, c = parts[0].h, parts[0].w, sum(p.c for p in parts)
        n = self.batch * h * w * c
        y = self._forward("concatenate", "data_movement", tuple(parts), (h, w, c), 0, 2 * n)

        def backward(grad: int) -> Sequence[int]:
            return [
                self._made("slice", "data_movement", p, 0, 2 * self.batch * p.size, [grad])
                for p in parts
            ]

        return self._taped(tuple(parts), y, backward)

    def graph(self, logits: Tensor, *, training: bool = True) -> Graph:
        """Loss, gradients and optimiser behind ``logits``; without ``training`` what is there."""
        if not training:
            return self._finished()
        n = self.batch * logits.c
        loss = self._forward("exponential", "transcendental", (logits,), (1, 1, logits.c), 4 * n,
                             3 * n, n)  # fmt: skip
        grads: dict[int, list[int]] = {logits.node: [loss.node]}
        for layer in reversed(self._tape):
            coming = grads.pop(layer.output.node, [])
            if not coming:
                continue
            grad = coming[0] if len(coming) == 1 else self._summed(layer.output, coming)
            for x, made in zip(layer.inputs, layer.backward(grad), strict=True):
                grads.setdefault(x.node, []).append(made)
        self._update()
        return self._finished()

    def _linear(
        self, code: str, op_class: str, x: Tensor, out: tuple[int, int, int], flops: float,
        weights: int,
    ) -> Tensor:  # fmt: skip
        n, m = self.batch * x.size, self.batch * out[0] * out[1] * out[2]
        y = self._forward(code, op_class, (x,), out, flops, n + m + weights)
        first = self._nodes[x.node]["opcode"] == "infeed"

        def backward(grad: int) -> Sequence[int]:
            moved = BYTES * (n + m + weights)
            made = self._node(f"{code}-weight-gradient", op_class, [weights], flops, moved,
                              [x.node, grad])  # fmt: skip
            self._trained(weights, made)
            if first:
                return (grad,)
            return (self._made(f"{code}-input-gradient", op_class, x, flops, n + m + weights,
                               [grad]),)  # fmt: skip

        return self._taped((x,), y, backward)

    def _decay(self, weights: int) -> None:
        self._node("reduce", "reduction", [], 2.0 * weights, BYTES * weights)
        self._node("multiply", "elementwise", [weights], weights, BYTES * 3 * weights)

    def _summed(self, x: Tensor, grads: Sequence[int]) -> int:
        n = self.batch * x.size
        flops = (len(grads) - 1.0) * n
        return self._made("add", "elementwise", x, flops, (len(grads) + 1) * n, grads)

    def _trained(self, weights: int, gradient: int) -> None:
        self.parameters += weights
        self._weights.append((weights, gradient))

    def _update(self) -> None:
        flops, moved, roots = OPTIMIZERS[self.optimizer]
        for n, gradient in self._weights:
            self._node(f"{self.optimizer}-update", "elementwise", [n], flops * n,
                       BYTES * moved * n, [gradient], roots * n)  # fmt: skip

    def _forward(
        self, code: str, op_class: str, inputs: tuple[Tensor, ...], out: tuple[int, int, int],
        flops: float, numbers: float, roots: float = 0.0,
    ) -> Tensor:  # fmt: skip
        node = self._node(code, op_class, [self.batch, *out], flops, BYTES * numbers,
                          [x.node for x in inputs], roots)  # fmt: skip
        return Tensor(node, *out)

    def _made(
        self, code: str, op_class: str, like: Tensor, flops: float, numbers: float,
        operands: Sequence[int],
    ) -> int:  # fmt: skip
        shape = [self.batch, like.h, like.w, like.c]
        return self._node(code, op_class, shape, flops, BYTES * numbers, operands)

    def _node(
        self, code: str, op_class: str, shape: list[int], flops: float, moved: float,
        operands: Sequence[int] = (), roots: float = 0.0,
    ) -> int:  # fmt: skip
        self._edges += [(o, len(self._nodes)) for o in operands]
        self._nodes.append({
            "opcode": code, "op_class": op_class, "dtype": "f32", "shape": shape,
            "flops": float(flops), "bytes": float(moved), "transcendentals": float(roots),
            "times": 1.0, "fused": False,
        })  # fmt: skip
        return len(self._nodes) - 1

    def _taped(
        self, inputs: tuple[Tensor, ...], y: Tensor, backward: Callable[[int], Sequence[int]]
    ) -> Tensor:
        self._tape.append(_TapeEntry(inputs, y, backward))
        return y

    def _finished(self) -> Graph:
        columns = {name: [node[name] for node in self._nodes] for name in self._nodes[0]}
        edges = np.array(self._edges, dtype=np.int64).reshape(-1, 2).T
        return op_graph(self.name, columns, edges)


def _reach(size: int, kernel: int, stride: int, same: bool) -> int:
    """Windows along one edge.

    >>> _reach(224, 7, 2, True), _reach(299, 3, 2, False)
    (112, 149)
    """
    return -(-size // stride) if same else (size - kernel) // stride + 1
