"""Arrays that live through a way back as names of the user's code refer to them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rheostat.measurement.graphs.user_code import is_own

Held = dict[Any, list[Any]]
"""Nodes that live until another one has run, the last of a way back."""


@contextmanager
def held_by_names(torch: Any) -> Iterator[Held]:
    """While PyTorch traces: what local names of the code that asks for gradients hold."""
    from torch.fx.experimental.proxy_tensor import get_proxy_mode, get_proxy_slot

    held: Held = {}
    before = torch.autograd.backward

    def backward(*args: Any, **named: Any) -> Any:
        mode = get_proxy_mode()
        arrays = _named_arrays(torch) if mode is not None else []
        made = before(*args, **named)
        if mode is not None:
            slots = [get_proxy_slot(a, mode.tracer, None) for a in arrays]
            last = next(iter(reversed(mode.tracer.graph.nodes)), None)
            held.setdefault(last, []).extend(s.proxy.node for s in slots if s is not None)
        return made

    torch.autograd.backward = backward
    try:
        yield held
    finally:
        torch.autograd.backward = before


def _named_arrays(torch: Any) -> list[Any]:
    """Of the frames of the user's code, the arrays that no parameter is, in any nesting."""
    matched, frame = [], sys._getframe(1)
    while frame is not None:
        if is_own(frame.f_code.co_filename):
            values = [dict(v) if isinstance(v, Mapping) else v for v in frame.f_locals.values()]
            matched += torch.utils._pytree.tree_leaves(values)
        frame = frame.f_back  # type: ignore[assignment]
    arrays = [v for v in matched if isinstance(v, torch.Tensor)]
    return [v for v in arrays if not isinstance(v, torch.nn.Parameter)]
