"""What an optimiser keeps and what its step holds meanwhile: its own code, run on empty arrays."""

from __future__ import annotations

import copy
import inspect
import weakref
from collections import defaultdict
from typing import Any, NamedTuple

from rheostat.measurement.graphs.from_torch import result_type
from rheostat.measurement.graphs.hlo.hlo_types import HloType

PRODUCTS = ("mm", "bmm", "addmm", "baddbmm", "mv")


class OptimizerMemory(NamedTuple):
    """Bytes that stay from step to step, bytes that live within a step, and products in it.

    A product of matrices is its name in ATen, the result, and what it takes.
    """

    state_b: int
    scratch_b: int
    products: tuple[tuple[str, HloType, list[HloType]], ...] = ()


def optimizer_memory(torch: Any, optimizer: Any) -> OptimizerMemory | None:
    """Of the parameters that have a gradient; None where its code cannot be run so.

    As on a GPU, all parameters are updated together where the optimiser can (``foreach``).
    """
    from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing

    with disable_proxy_modes_tracing(), torch.no_grad():
        for together in (True, False):
            twin = _twin(torch, optimizer, together=together)
            try:
                with _counted(torch) as live:
                    inspect.unwrap(type(optimizer).step)(twin)
            except Exception:  # noqa: BLE001 - any code may be in it
                continue
            leaves = torch.utils._pytree.tree_leaves(list(twin.state.values()))
            arrays = [v for v in leaves if isinstance(v, torch.Tensor)]
            state = sum(v.numel() * v.element_size() for v in arrays)
            return OptimizerMemory(state, max(live.most - state, 0), tuple(live.products))
    return None


def _twin(torch: Any, optimizer: Any, *, together: bool) -> Any:
    """The same optimiser before its first step, with parameters and gradients of its own."""
    twin = copy.copy(optimizer)
    twin.state = defaultdict(dict)
    twin.param_groups = []
    for group in optimizer.param_groups:
        made = {**group, "params": [_like(torch, p) for p in group["params"] if p.grad is not None]}
        if together and group.get("foreach", True) is None and not group.get("fused"):
            made["foreach"] = True
        twin.param_groups.append(made)
    return twin


def _like(torch: Any, parameter: Any) -> Any:
    made = torch.nn.Parameter(torch.empty_like(parameter))
    made.grad = parameter.grad
    return made


def _counted(torch: Any) -> Any:
    """Counts the bytes of arrays that are made inside and still live, and the most of them."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Live(TorchDispatchMode):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.now = self.most = 0
            self.seen: set[int] = set()
            self.products: list[tuple[str, HloType, list[HloType]]] = []

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kw: Any = None) -> Any:
            given = {_storage(v) for v in _tensors((args, kw))}
            made = func(*args, **(kw or {}))
            if (name := func.overloadpacket.__name__) in PRODUCTS:
                sizes = [result_type(v, set()) for v in _tensors((args, kw))]
                self.products.append((name, result_type(made, set()), sizes))
            for value in _tensors(made):
                storage = value.untyped_storage()
                if storage._cdata not in self.seen | given:
                    self._add(storage)
            self.most = max(self.most, self.now)
            return made

        def _add(self, storage: Any) -> None:
            key, size = storage._cdata, storage.nbytes()
            self.seen.add(key)
            self.now += size
            weakref.finalize(storage, self._drop, key, size)

        def _drop(self, key: int, size: int) -> None:
            self.seen.discard(key)
            self.now -= size

    def _tensors(value: Any) -> list[Any]:
        leaves = torch.utils._pytree.tree_leaves(value)
        arrays = [v for v in leaves if isinstance(v, torch.Tensor)]
        return [v for v in arrays if v.layout == torch.strided]

    def _storage(value: Any) -> int:
        return int(value.untyped_storage()._cdata)

    return Live()
