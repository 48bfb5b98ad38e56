"""PyTorch code run without computing: arrays have sizes, types and a GPU, and no numbers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rheostat.measurement.graphs.whole_layers import not_compiled

UNSAID = "none"
TRUNCATED = "_no_grad_trunc_normal_"
"""Of `torch.nn.init`: draws until no number lies outside, of which empty arrays have none."""


@contextmanager
def without_numbers(torch: Any) -> Iterator[Any]:
    """Arrays made inside are empty; what is meant for a GPU needs none."""
    mode = torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True)
    before, init = torch.nn.Module._apply, torch.nn.init
    drawn = getattr(init, TRUNCATED, None)
    torch.nn.Module._apply = _applied
    setattr(init, TRUNCATED, lambda tensor, *_, **__: tensor)
    try:
        with mode, _on_the_host(torch), not_compiled(torch):
            yield mode
    finally:
        torch.nn.Module._apply = before
        setattr(init, TRUNCATED, drawn)


def _on_the_host(torch: Any) -> Any:
    """Every device that is named inside is the host: a PyTorch without CUDA has no other."""

    def host(value: Any) -> Any:
        named = isinstance(value, (str, torch.device)) and str(value).startswith("cuda")
        return "cpu" if named else value

    class OnTheHost(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func is torch.Tensor.cuda:
                return args[0]
            named = {k: host(v) for k, v in (kwargs or {}).items()}
            return func(*[host(a) for a in args], **named)

    return OnTheHost()


@contextmanager
def autocast_seen(torch: Any) -> Iterator[list[str]]:
    """Types of device for which code inside asks for fewer bits; no array here is on one."""
    kind = torch.amp.autocast_mode.autocast
    before, seen = kind.__enter__, list[str]()

    def enter(self: Any) -> Any:
        if self._enabled or self.device not in ("cpu", "meta"):
            seen.append(self.device)
        return before(self)

    kind.__enter__ = enter
    try:
        yield seen
    finally:
        kind.__enter__ = before


@contextmanager
def products_in_tf32() -> Iterator[Callable[[], bool]]:
    """Asks whether code inside lets PyTorch round products to TF32; behind it all is as before."""

    def precision() -> str:
        torch = sys.modules.get("torch")
        return torch.backends.cuda.matmul.fp32_precision if torch else UNSAID

    before = precision()
    try:
        yield lambda: precision() == "tf32"
    finally:
        if precision() != before:
            sys.modules["torch"].backends.cuda.matmul.fp32_precision = before


def emptied(torch: Any, thing: Any) -> Any:
    """A module, or arrays in any nesting, with sizes and types alone; the rest as it is."""

    def empty(value: Any) -> Any:
        if isinstance(value, torch.nn.Module):
            return _applied(value, empty)
        if not isinstance(value, torch.Tensor):
            return value
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")

    return torch.utils._pytree.tree_map(empty, thing)


def _applied(
    module: Any,
    change: Callable[[Any], Any],
    recurse: bool = True,
    made: dict[Any, Any] | None = None,
) -> Any:
    """`torch.nn.Module._apply`, which cannot exchange empty arrays in their place.

    A parameter of several layers stays one, and one that is not changed stays itself: an optimiser
    may have it.
    """
    import torch

    made = {} if made is None else made
    for child in module.children() if recurse else ():
        _applied(child, change, made=made)
    for name, value in module._parameters.items():
        if value is None:
            continue
        if value not in made:
            plain = value.detach()
            with torch.no_grad():
                changed = change(plain)
            same = changed is plain
            made[value] = value if same else torch.nn.Parameter(changed, value.requires_grad)
        module._parameters[name] = made[value]
    for name, value in module._buffers.items():
        if value is not None:
            module._buffers[name] = change(value)
    return module
