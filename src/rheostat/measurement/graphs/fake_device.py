"""PyTorch code run without computing: arrays have sizes, types and a GPU, and no numbers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from rheostat.measurement.graphs.value_sizes import as_large_as_can_be
from rheostat.measurement.graphs.whole_layers import not_compiled

UNSAID = "none"
TRUNCATED = "_no_grad_trunc_normal_"
"""Of `torch.nn.init`: draws until no number lies outside, of which empty arrays have none."""


@contextmanager
def without_numbers(torch: Any) -> Iterator[set[str]]:
    """Arrays made inside are empty; what is meant for a GPU needs none.

    Yields the operations whose sizes depend on values, as `as_large_as_can_be` does.
    """
    mode = torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True)
    before, copies, init = torch.nn.Module._apply, torch.Tensor.__deepcopy__, torch.nn.init
    drawn = getattr(init, TRUNCATED, None)
    torch.nn.Module._apply, torch.Tensor.__deepcopy__ = _applied, _copied(copies)
    setattr(init, TRUNCATED, lambda tensor, *_, **__: tensor)
    try:
        with mode, on_the_host(torch), not_compiled(torch), as_large_as_can_be(torch) as chosen:
            yield chosen
    finally:
        torch.nn.Module._apply, torch.Tensor.__deepcopy__ = before, copies
        setattr(init, TRUNCATED, drawn)


def _copied(before: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Copies of arrays, whose memory is not there to be copied."""

    def copied(array: Any, memo: dict[int, Any]) -> Any:
        if not array.is_leaf:
            return before(array, memo)
        if id(array) not in memo:
            memo[id(array)] = array.detach().clone().requires_grad_(array.requires_grad)
        return memo[id(array)]

    return copied


class _Elapsed:
    """An event or stream of a GPU, in whose place nothing happens."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.elapsed_time = lambda *_: 1.0

    def __getattr__(self, name: str) -> Callable[..., None]:
        return _nothing


def _nothing(*_: Any, **__: Any) -> None:
    return None


GPU_CALLS: dict[str, Any] = {
    **dict.fromkeys(("set_device", "synchronize", "reset_peak_memory_stats"), _nothing),
    "current_device": lambda: 0, "get_device_name": lambda *_: "", "Event": _Elapsed,
    "Stream": _Elapsed,
}  # fmt: skip
"""What code asks of `torch.cuda` beside its arithmetic."""


@contextmanager
def on_the_host(torch: Any, host: str = "cpu") -> Iterator[None]:
    """Every GPU that is named inside is the host, and data are loaded by no other process."""
    import_module("torch._dynamo")  # it cannot be imported first where calls are looked at

    loader, calls = torch.utils.data.DataLoader, {n: getattr(torch.cuda, n) for n in GPU_CALLS}
    before = loader._get_iterator
    loader._get_iterator = _loaded_here
    vars(torch.cuda).update(GPU_CALLS)
    try:
        with _devices(torch, host):
            yield
    finally:
        loader._get_iterator = before
        vars(torch.cuda).update(calls)


def _loaded_here(loader: Any) -> Any:
    """Batches of a `DataLoader`: empty arrays cannot be sent from its workers."""
    from torch.utils.data.dataloader import _SingleProcessDataLoaderIter

    loader.num_workers, loader.timeout, loader.prefetch_factor = 0, 0, None
    return _SingleProcessDataLoaderIter(loader)


def _devices(torch: Any, host: str) -> Any:
    """A PyTorch without CUDA has no other device than the host."""

    def placed(value: Any) -> Any:
        named = isinstance(value, (str, torch.device)) and str(value).startswith("cuda")
        return host if named else value

    class OnTheHost(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func is torch.Tensor.pin_memory:
                return args[0]
            if func is torch.Tensor.cuda:
                return args[0].to(host)
            named = {k: placed(v) for k, v in (kwargs or {}).items() if k != "pin_memory"}
            return func(*[placed(a) for a in args], **named)

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
