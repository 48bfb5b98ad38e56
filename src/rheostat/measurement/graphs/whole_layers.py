"""Layers that a GPU runs in one piece, kept whole while PyTorch traces a step.

Without a GPU PyTorch takes attention apart into its products, and recurrent layers into each step
of their sequence: ten times the operations that cuDNN starts, and scores that no kernel of today
writes to memory.  Inside `kept_whole` both are one operation each, and one backwards.  What is
packed, or has weights between the states, is left to PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from types import SimpleNamespace
from typing import Any

RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")
KINDS = """
attention(Tensor query, Tensor key, Tensor value) -> Tensor
attention_backward(Tensor gradient, Tensor query, Tensor key, Tensor value, Tensor out) -> Tensor[]
recurrent(Tensor x, Tensor[] state, Tensor[] weights, int sides) -> Tensor[]
recurrent_backward(Tensor gradient, Tensor x, Tensor[] state, Tensor[] weights, Tensor kept, int sides) -> Tensor[]
"""  # noqa: E501


@contextmanager
def kept_whole(torch: Any) -> Iterator[None]:
    """Attention and recurrent layers are one operation each while this is open."""
    functional, layers = torch.nn.functional, torch.nn.modules.rnn
    before, made = (functional.scaled_dot_product_attention, layers._VF), _functions(torch)

    def attention(query: Any, key: Any, value: Any, attn_mask: Any = None, *more: Any,
                  **named: Any) -> Any:  # fmt: skip
        if not _beside(query, key, value, **named) or getattr(attn_mask, "requires_grad", False):
            return before[0](query, key, value, attn_mask, *more, **named)
        return made.attention(query, key, value)

    functional.scaled_dot_product_attention = attention
    layers._VF = _Recurrent(before[1], made.recurrent)
    try:
        with not_compiled(torch), _flexible(made.attention):
            yield
    finally:
        functional.scaled_dot_product_attention, layers._VF = before


@contextmanager
def _flexible(attention: Any) -> Iterator[None]:
    """``flex_attention`` is attention, too: what changes its scores is a part of its kernel."""
    from torch.nn.attention import flex_attention as module

    def called(query: Any, key: Any, value: Any, *_: Any) -> tuple[Any, Any, Any]:
        each = query.new_empty(query.shape[:-1])
        return attention(query, key, value), each, each

    instead = {"flex_attention_hop": called, "_validate_device": lambda *_: None,
               "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG": True}  # fmt: skip
    before = {name: getattr(module, name) for name in instead}
    for name, value in instead.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


def _beside(query: Any, key: Any, value: Any, enable_gqa: bool = False, **_: Any) -> bool:
    """Whether each head of the queries has keys and values, its own or those of its group."""
    if not enable_gqa or query.dim() < 4:
        return bool(query.shape[:-2] == key.shape[:-2] == value.shape[:-2])
    alike = query.shape[:-3] == key.shape[:-3] == value.shape[:-3]
    return bool(alike and key.shape[-3] == value.shape[-3] and not query.shape[-3] % key.shape[-3])


@contextmanager
def not_compiled(torch: Any) -> Iterator[None]:
    """``torch.compile`` leaves code as it is: what it fuses is not known before it runs."""
    nested = torch._dynamo.config.patch(error_on_nested_fx_trace=False)
    with torch.compiler.set_stance("force_eager"), nested:
        yield


class _Recurrent:
    """PyTorch's recurrent functions: those of `RECURRENT` in one piece, the others as they are."""

    def __init__(self, plain: Any, whole: Any) -> None:
        self.plain, self.whole = plain, whole

    def __getattr__(self, name: str) -> Any:
        known = getattr(self.plain, name)
        if name not in RECURRENT:
            return known

        def called(x: Any, states: Any, weights: Any, *rest: Any) -> Any:
            if not isinstance(weights, (list, tuple)):
                return known(x, states, weights, *rest)
            state = list(states) if isinstance(states, (list, tuple)) else [states]
            sides = 1 + bool(rest[-2])
            return self.whole(x, len(state), sides, *state, *weights)[: len(state) + 1]

        return called


@cache
def _functions(torch: Any) -> SimpleNamespace:
    """Attention and recurrent layers with their gradients, each an operation of ours."""
    library = torch.library.Library("rheostat", "DEF")
    for text in KINDS.strip().splitlines():
        library.define(text)
    for name, sizes in (("attention", _attended), ("attention_backward", _as_given),
                        ("recurrent", _run), ("recurrent_backward", _run_back)):  # fmt: skip
        torch.library.register_fake(f"rheostat::{name}", sizes, lib=library)
    ops = torch.ops.rheostat

    class Attention(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, query: Any, key: Any, value: Any) -> Any:
            out = ops.attention(query, key, value)
            ctx.save_for_backward(query, key, value, out)
            return out

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return tuple(ops.attention_backward(gradient, *ctx.saved_tensors))

    class Recurrent(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, states: int, sides: int, *rest: Any) -> Any:
            made = ops.recurrent(x, list(rest[:states]), list(rest[states:]), sides)
            ctx.save_for_backward(x, made[-1], *rest)
            ctx.states, ctx.sides = states, sides
            ctx.set_materialize_grads(False)  # zeros for the gates would be made and held
            return tuple(made)

        @staticmethod
        def backward(ctx: Any, gradient: Any, *others: Any) -> Any:
            x, kept, *rest = ctx.saved_tensors
            state, weights = rest[: ctx.states], rest[ctx.states :]
            gradient = next(g for g in (gradient, *others) if g is not None)
            made = ops.recurrent_backward(gradient, x, state, weights, kept, ctx.sides)
            return (made[0], None, None, *made[1:])

    return SimpleNamespace(attention=Attention.apply, recurrent=Recurrent.apply, library=library)


def _attended(query: Any, key: Any, value: Any) -> Any:
    """Heads beside each other for each position, as kernels write it: no copy makes them a row."""
    *batch, heads, length, _ = (1, *query.shape) if query.dim() == 3 else query.shape
    made = query.new_empty((*batch, length, heads, value.shape[-1])).transpose(-2, -3)
    return made.reshape((*query.shape[:-1], value.shape[-1]))


def _as_given(gradient: Any, query: Any, key: Any, value: Any, out: Any) -> list[Any]:
    """In the order of what they are gradients of."""
    import torch

    return [torch.empty_like(x) for x in (query, key, value)]


def _run(x: Any, state: Sequence[Any], weights: Sequence[Any], sides: int) -> list[Any]:
    """What comes out, the states after it, and the gates that the way back needs."""
    y = x.new_empty((*x.shape[:-1], sides * state[0].shape[-1]))
    gates = sum(w.shape[0] for w in weights if w.dim() == 2) // 2
    steps = x.numel() // x.shape[-1]
    return [y, *(s.new_empty(s.shape) for s in state), x.new_empty((steps, gates))]


def _run_back(gradient: Any, x: Any, state: Sequence[Any], weights: Sequence[Any], kept: Any,
              sides: int) -> list[Any]:  # fmt: skip
    return [v.new_empty(v.shape) for v in (x, *state, *weights)]
