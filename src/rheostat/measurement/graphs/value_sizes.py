"""Sizes that depend on values, while PyTorch runs without numbers: how many rows a choice has.

They are as many as there can be, but where the best of a few classes is compared with one class, as
routers to experts do: over all classes those choose each row once, and each is given its share.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

AT_MOST, EVENLY = " at most", " evenly"
"""Behind the name of what chose rows: how many were taken."""
BEST = {"topk": (2, -1), "max": (1, None), "argmax": (1, None), "multinomial": (9, -1)}
"""What gives the best classes: where its axis of classes stands, and which it is by default."""
BUT_SURE = math.nextafter(1.0, 0.0)
"""All places, and known to be: each class has some rows."""
COPIES = ("to", "long", "int", "float", "bool", "type", "type_as", "clone", "contiguous", "reshape",
          "flatten", "__getitem__")  # fmt: skip


@contextmanager
def as_large_as_can_be(torch: Any) -> Iterator[set[str]]:
    """Rows that values choose are all there are while this is open, or a class's share of them.

    Yields what chose some, with `AT_MOST` or `EVENLY` behind each name.
    """
    shares = _Shares()
    known, rules, seen = _implementations(), _rules(torch, shares), set[str]()
    before = {op: known[op] for op in rules if op in known}

    def noted(rule: Any) -> Any:
        def run(_: Any, op: Any, *args: Any, **named: Any) -> Any:
            if torch.Tag.dynamic_output_shape in op.tags and "ctc" not in str(op):
                even = op in shared and shares.of(args[-1]) < 1.0
                seen.add(str(op).rpartition(".")[0] + (EVENLY if even else AT_MOST))
            return rule(*args, **named)

        return run

    shared = (torch.ops.aten.nonzero.default, torch.ops.aten.masked_select.default)
    known.update({op: noted(rule) for op, rule in rules.items()})
    try:
        with _looked_at(torch, shares), _unchecked(torch):
            yield seen
    finally:
        for op in rules:
            del known[op]
        known.update(before)


@contextmanager
def _unchecked(torch: Any) -> Iterator[None]:
    """What PyTorch itself asks of values: distributions are sound, and no mask is a causal one."""
    kinds, layers = torch.distributions.Distribution, torch.nn.modules.transformer
    before = kinds._validate_args, layers._detect_is_causal_mask
    kinds._validate_args = False
    layers._detect_is_causal_mask = lambda _, is_causal=None, __=None: bool(is_causal)
    try:
        yield
    finally:
        kinds._validate_args, layers._detect_is_causal_mask = before


class _Shares:
    """Which share of the places of an array any one class has, by the memory that views share."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[Any, float]] = {}

    def of(self, array: Any) -> float:
        """1 where nothing is known."""
        try:
            return self.known.get(array.untyped_storage()._cdata, (None, 1.0))[1]
        except NotImplementedError:  # an array that stands for several, as in `vmap`
            return 1.0

    def set(self, array: Any, share: float) -> None:
        """The memory is kept, so that no other array has its place."""
        with suppress(NotImplementedError):
            memory = array.untyped_storage()
            self.known[memory._cdata] = (memory, min(share, 1.0))

    def rows(self, array: Any) -> int:
        """That a class has of all places."""
        return math.ceil(int(array.numel()) * self.of(array) - 1e-9)

    def follow(self, name: str, args: Any, named: Any, made: Any) -> None:
        """What a call that gave ``made`` means for its shares."""
        first = args[0]
        if name in BEST:
            place, usual = BEST[name]
            dim = named.get("dim", args[place] if len(args) > place else usual)
            if isinstance(dim, int) and first.dim():
                self.set(made[1] if isinstance(made, tuple) else made, 1.0 / first.shape[dim])
        elif name == "one_hot":
            self.set(made, 1.0 / made.shape[-1])
        elif name in ("eq", "__eq__") and isinstance(args[-1], int):
            self.set(made, self.of(first))
        elif name == "any":
            chosen = self.of(first) * first.numel() / max(made.numel(), 1)
            self.set(made, min(chosen, BUT_SURE))
        elif name in COPIES:
            self.set(made, self.of(first))


def _looked_at(torch: Any, shares: _Shares) -> Any:
    """Python's calls of PyTorch, those of which shares follow."""
    starts, goes_on = {*BEST, "one_hot"}, {"eq", "__eq__", "any", *COPIES}

    class Followed(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            name, named = getattr(func, "__name__", ""), kwargs or {}
            array = bool(args) and isinstance(args[0], torch.Tensor)
            known = array and shares.of(args[0]) < 1.0
            if known and name == "__bool__":
                return True
            made = func(*args, **named)
            if (array and name in starts) or (known and name in goes_on):
                shares.follow(name, args, named, made)
            return made

    return Followed()


def _implementations() -> dict[Any, Any]:
    """How PyTorch finds the size of what an operation gives, by operation."""
    from torch._subclasses import fake_impls

    made: dict[Any, Any] = fake_impls.op_implementations_dict
    return made


def _rules(torch: Any, shares: _Shares) -> dict[Any, Any]:
    aten = torch.ops.aten
    return {
        aten.nonzero.default: lambda x: _whole(x, (shares.rows(x), x.dim())),
        aten.masked_select.default: lambda x, mask: x.new_empty((math.ceil(
            math.prod(torch.broadcast_shapes(x.shape, mask.shape)) * shares.of(mask) - 1e-9),)),
        aten._unique2.default: lambda x, *_, **__: (
            x.new_empty((x.numel(),)), _whole(x, x.shape), _whole(x, (x.numel(),))),
        aten.linalg_lstsq.default: _solved,
        aten.equal.default: lambda *_: False,  # as `torch.cov` asks of weights
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
