"""A saved ``torch.export`` program, read from the JSON in its zip: no pickle in it is opened.

``torch.export.load`` unpickles the weights and the sample inputs beside the program, and evaluates
the expressions of its sizes; either can be made to run anything.  Here the operations alone are
read.  Each is called by its name, if it is one of ATen, on tensors that have a size and no content,
and traced anew: sizes that were left open are those of the example that the program was made with.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rheostat.core.storage.bounded_read import read_member
from rheostat.core.storage.file_kinds import MOST_B
from rheostat.core.storage.files import parse_json
from rheostat.measurement.graphs.whole_layers import RECURRENT

PROGRAMS = re.compile(r"(.*/)?models/[^/]*\.json|serialized_exported_program\.json")
"""Members of the zip: of PyTorch 2.8 on, and before."""
DTYPES = {1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32",
          8: "float64", 9: "complex32", 10: "complex64", 11: "complex128", 12: "bool",
          13: "bfloat16", 28: "uint16", 29: "float8_e4m3fn", 30: "float8_e5m2",
          31: "float8_e4m3fnuz", 32: "float8_e5m2fnuz", 33: "float8_e8m0fnu", 34: "uint32",
          35: "uint64"}  # fmt: skip
FORMATS = {1: "contiguous_format", 2: "channels_last", 3: "channels_last_3d", 4: "preserve_format"}
PLAIN = {
    **{f"_operator.{n}": getattr(operator, n) for n in (
        "add", "sub", "mul", "floordiv", "truediv", "mod", "neg", "eq", "ne", "lt", "le", "gt",
        "ge", "and_", "or_", "getitem")},
    **{f"math.{n}": getattr(math, n) for n in ("ceil", "floor", "trunc")},
}  # fmt: skip
"""Arithmetic of sizes."""
SYMBOL = re.compile(r"Symbol\('(\w+)'[^()]*\)|(\w+)")
NOT_CALLED = ("aten.from_file",)
REPEATED = ("split", "unsafe_split", "unbind", "chunk", "unsafe_chunk", "tensor_split", "hsplit",
            "vsplit", "dsplit", "lstm", "gru", "rnn_tanh", "rnn_relu")  # fmt: skip
RECURRENT_LAYERS = {f"torch.ops.aten.{name}.input": name for name in RECURRENT}
ATTENTION = "torch.ops.aten.scaled_dot_product_attention.default"
MOST_STEPS = 65_536
"""Of an operation that does something for each index of an axis."""


class SavedProgram:
    """The operations of a program, callable with its inputs.

    Parameters
    ----------
    document : mapping
        What ``torch.export.save`` wrote as JSON.
    sizes : mapping, optional
        Of sizes that were left open, as ``{"s77": 64}``; the others are those of the example.

    Raises
    ------
    KeyError, TypeError, ValueError
        It is no such document.
    """

    def __init__(self, document: Mapping[str, Any], sizes: Mapping[str, int] | None = None) -> None:
        module = document["graph_module"]
        self.graph, self.sizes = module["graph"], sizes or {}
        bounds = document.get("range_constraints", {})
        self.open_sizes = sorted(set(bounds) - set(self.sizes))
        self._check(bounds)
        specs = [_only(spec) for spec in module["signature"]["input_specs"]]
        self.kinds = ["weight" if kind == "parameter" else "input" for kind, _ in specs]

    def _check(self, bounds: Mapping[str, Any]) -> None:
        for name, size in self.sizes.items():
            if name not in bounds:
                raise ValueError(f"a size {name}, where {', '.join(bounds) or 'none'} is left open")
            if (most := bounds[name].get("max_val")) is not None and size > most:
                raise ValueError(f"{name} of {size:,}, which it was exported for up to {most:,}")

    @property
    def batches(self) -> list[str]:
        """Names of the open sizes that come first in an input."""
        about = [
            self.graph["tensor_values"][value["name"]]["sizes"][:1]
            for kind, value in map(_only, self.graph["inputs"])
            if kind == "as_tensor"
        ]
        names = [_symbol(size) for sizes in about for size in sizes]
        return sorted({n for n in names if n in self.open_sizes})

    def inputs(self, torch: Any) -> list[Any]:
        """What it takes, in order: tensors are made by ``torch.empty``, so fake where that is."""
        values = self.graph["tensor_values"]
        made = []
        for given in self.graph["inputs"]:
            kind, value = _only(given)
            if kind == "as_tensor":
                about = values[value["name"]]
                sizes = [self.sizes.get(_symbol(s), 0) or self._size(s) for s in about["sizes"]]
                made.append(torch.empty(sizes, dtype=getattr(torch, DTYPES[about["dtype"]])))
            elif kind in ("as_int", "as_float", "as_bool", "as_string", "as_none"):
                made.append(None if kind == "as_none" else value)
            else:
                raise ValueError(f"an input of kind {kind} is not read")
        return made

    def _size(self, given: Mapping[str, Any]) -> int:
        """A size: as it is, or that of the example; no formula of a size that is another now."""
        kind, value = _only(given)
        if kind == "as_expr":
            named = set(re.findall(r"\w+", value["expr_str"]))
            if changed := sorted(named & set(self.sizes)):
                raise ValueError(f"an input whose size is a formula of {changed[0]}")
            _, value = _only(value["hint"])
        return operator.index(value)

    def __call__(self, torch: Any, given: Sequence[Any]) -> list[Any]:
        """Call every operation, in order; the results of the program."""
        return _replayed(torch, self.graph, given)


def read_program(path: Path, sizes: Mapping[str, int] | None = None) -> SavedProgram:
    """The program in a file; errors as `SavedProgram`, or of a zip, where it is none."""
    return SavedProgram(parse_json(read_member(path, PROGRAMS, MOST_B)), sizes)


def _replayed(torch: Any, graph: Mapping[str, Any], given: Sequence[Any]) -> list[Any]:
    values: dict[str, Any] = {}
    for place, value in zip(graph["inputs"], given, strict=True):
        _bind(place, value, values)
    for node in graph["nodes"]:
        results = _called(torch, node, values)
        if len(node["outputs"]) == 1:
            results = (results,)
        for place, value in zip(node["outputs"], results or (), strict=True):
            _bind(place, value, values)
    return [_argument(torch, out, values) for out in graph["outputs"]]


def _called(torch: Any, node: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
    target = node["target"]
    if target.startswith("torch.ops.higher_order."):
        return _inlined(torch, target.rpartition(".")[2], node, values)
    args = {a["name"]: _argument(torch, a["arg"], values) for a in node["inputs"]}
    if target in PLAIN:
        return PLAIN[target](*args.values())
    if (layer := RECURRENT_LAYERS.get(target)) is not None:  # these two may be kept whole
        return getattr(torch.nn.modules.rnn._VF, layer)(*args.values())
    if target == ATTENTION:
        return torch.nn.functional.scaled_dot_product_attention(**args)
    called = _operation(torch, target)
    if called.overloadpacket.__name__ in REPEATED:
        _few(args.values(), target)
    return called(**args)


def _operation(torch: Any, target: str) -> Any:
    """One of ATen; a name leads nowhere else."""
    parts = re.fullmatch(r"torch\.ops\.aten\.(\w+)\.(\w+)", target)
    packet = getattr(torch.ops.aten, parts[1], None) if parts else None
    overload = getattr(packet, parts[2], None) if parts else None
    if not isinstance(overload, torch._ops.OpOverload) or str(packet) in NOT_CALLED:
        raise ValueError(f"{target[:100]} is no operation of ATen that is read")
    return overload


def _inlined(
    torch: Any, name: str, node: Mapping[str, Any], values: Mapping[str, Any]
) -> list[Any]:
    if name not in INLINED:
        raise ValueError(f"the control flow of {name[:60]} is not read")
    given = [a["arg"] for a in node["inputs"]]
    at = next(i for i, arg in enumerate(given) if "as_graph" in arg)
    settings = [_argument(torch, a, values) for a in given[:at]]
    rest = [_argument(torch, a, values) for a in given[at + 1 :]]
    with INLINED[name](torch, *settings):
        results = _replayed(torch, given[at]["as_graph"]["graph"], rest)
    return results[0] if len(node["outputs"]) == 1 else results


def _gradients(torch: Any, enabled: bool) -> Any:
    return torch.set_grad_enabled(bool(enabled))


def _autocast(torch: Any, _device: str, dtype: Any, enabled: bool, _kept: Any = None) -> Any:
    return torch.autocast("cpu", dtype=dtype, enabled=bool(enabled))


INLINED: dict[str, Callable[..., Any]] = {
    "wrap_with_set_grad_enabled": _gradients,
    "wrap_with_autocast": _autocast,
}
"""Blocks that change how the operations in them are done."""


def _few(args: Any, target: str) -> None:
    steps = max((max(v.shape, default=0) for v in _tensors(args)), default=0)
    if steps > MOST_STEPS:
        raise ValueError(f"{target} over {steps:,} steps, at most {MOST_STEPS:,} are read")


def _tensors(args: Any) -> Iterator[Any]:
    for value in args:
        if isinstance(value, list):
            yield from _tensors(value)
        elif hasattr(value, "shape"):
            yield value


def _bind(place: Mapping[str, Any], value: Any, values: dict[str, Any]) -> None:
    """Put a result under the names that the program has for it."""
    kind, name = _only(place)
    if kind == "as_tensor":
        values[name["name"]] = value
    elif kind in ("as_tensors", "as_optional_tensors"):
        for n, v in zip(name, value, strict=True):
            _bind(n if "as_none" in n or "as_tensor" in n else {"as_tensor": n}, v, values)
    elif kind.startswith("as_sym_"):
        values[name["as_name"]] = value


def _argument(torch: Any, given: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
    kind, value = _only(given)
    if kind.startswith("as_sym_"):
        several = kind.endswith("s")
        made = [_known(v, values) for v in (value if several else [value])]
        return made if several else made[0]
    if kind == "as_tensors":
        return [values[v["name"]] for v in value]
    if kind == "as_optional_tensors":
        return [_argument(torch, v, values) for v in value]
    if kind in _TORCH:
        return _TORCH[kind](torch, value)
    if kind == "as_tensor":
        return values[value["name"]]
    if kind not in _AS_IT_IS:
        raise ValueError(f"an argument of kind {kind[:40]} is not read")
    return None if kind == "as_none" else value


_AS_IT_IS = ("as_none", "as_int", "as_ints", "as_float", "as_floats", "as_bool", "as_bools",
             "as_string", "as_strings", "as_int_lists")  # fmt: skip
_TORCH: dict[str, Callable[[Any, Any], Any]] = {
    "as_scalar_type": lambda torch, value: getattr(torch, DTYPES[value]),
    "as_memory_format": lambda torch, value: getattr(torch, FORMATS[value]),
    "as_layout": lambda torch, _value: torch.strided,
    "as_device": lambda torch, _value: torch.device("cpu"),
    "as_complex": lambda _torch, value: complex(value["real"], value["imag"]),
}


def _known(given: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
    kind, value = _only(given)
    return values[value] if kind == "as_name" else value


def _symbol(size: Mapping[str, Any]) -> str:
    """The name of a size that is left open by itself, else nothing."""
    kind, value = _only(size)
    plain = SYMBOL.fullmatch(value["expr_str"]) if kind == "as_expr" else None
    return plain[1] or plain[2] if plain else ""


def _only(given: Mapping[str, Any]) -> tuple[str, Any]:
    """The one entry of a union; the fields that older files leave null do not count."""
    entries = [(k, v) for k, v in given.items() if v is not None]
    if len(entries) != 1:
        raise ValueError(f"expected one of several kinds, got {len(entries)}")
    return entries[0]
