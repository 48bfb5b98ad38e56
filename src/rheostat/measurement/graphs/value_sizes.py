"""Sizes that depend on values, taken as large as they can be while PyTorch runs without numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def as_large_as_can_be(torch: Any) -> Iterator[set[str]]:
    """Rows that values choose are all there are while this is open; yields what chose some."""
    known, rules, seen = _implementations(), _rules(torch), set[str]()
    before = {op: known[op] for op in rules if op in known}

    def noted(rule: Any) -> Any:
        def run(_: Any, op: Any, *args: Any, **named: Any) -> Any:
            if torch.Tag.dynamic_output_shape in op.tags and "ctc" not in str(op):
                seen.add(str(op).rpartition(".")[0])
            return rule(*args, **named)

        return run

    known.update({op: noted(rule) for op, rule in rules.items()})
    try:
        yield seen
    finally:
        for op in rules:
            del known[op]
        known.update(before)


def _implementations() -> dict[Any, Any]:
    """How PyTorch finds the size of what an operation gives, by operation."""
    from torch._subclasses import fake_impls

    made: dict[Any, Any] = fake_impls.op_implementations_dict
    return made


def _rules(torch: Any) -> dict[Any, Any]:
    aten = torch.ops.aten
    return {
        aten.nonzero.default: lambda x: _whole(x, (x.numel(), x.dim())),
        aten.masked_select.default: lambda x, mask: x.new_empty(
            (math.prod(torch.broadcast_shapes(x.shape, mask.shape)),)),
        aten._unique2.default: lambda x, *_, **__: (
            x.new_empty((x.numel(),)), _whole(x, x.shape), _whole(x, (x.numel(),))),
        aten.linalg_lstsq.default: _solved,
        **dict.fromkeys((aten._ctc_loss.default, aten._ctc_loss.Tensor), _aligned),
        **dict.fromkeys((aten._ctc_loss_backward.default, aten._ctc_loss_backward.Tensor),
                        lambda _, log_probs, *__, **___: log_probs.new_empty(log_probs.shape)),
    }  # fmt: skip


def _whole(x: Any, shape: Any) -> Any:
    import torch

    return x.new_empty(tuple(shape), dtype=torch.int64)


def _solved(matrix: Any, right: Any, *_: Any, **__: Any) -> tuple[Any, Any, Any, Any]:
    """Solution, and residuals, ranks and singular values where all have them."""
    *batch, rows, columns = matrix.shape
    solution = right.new_empty((*batch, columns, right.shape[-1]))
    residuals = right.new_empty((*batch, right.shape[-1]) if rows > columns else (0,))
    return solution, residuals, _whole(matrix, batch), matrix.new_empty((0,))


def _aligned(log_probs: Any, targets: Any, *_: Any, **__: Any) -> tuple[Any, Any]:
    """Losses, and a score for each step and place in the labels with blanks between them."""
    steps, batch = log_probs.shape[0], log_probs.shape[1] if log_probs.dim() == 3 else 1
    labels = targets.shape[-1] if targets.dim() == 2 else -(-targets.numel() // batch)
    scores = log_probs.new_empty((batch, steps, 2 * labels + 1))
    return log_probs.new_empty((batch,) if log_probs.dim() == 3 else ()), scores
