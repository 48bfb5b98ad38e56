"""PyTorch programs as graphs of operations: what ``torch.export`` gives, and a training step."""

from __future__ import annotations

import operator
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from rheostat._optional import require
from rheostat.core.graph import Graph
from rheostat.core.jobs import Note
from rheostat.errors import DataError
from rheostat.measurement.graphs.aten_costs import aten_cost
from rheostat.measurement.graphs.exported_program import SavedProgram, read_program
from rheostat.measurement.graphs.fake_device import on_the_host
from rheostat.measurement.graphs.hlo.hlo_types import HloType
from rheostat.measurement.graphs.op_rows import OpCost, OpRows
from rheostat.measurement.graphs.recurrent_rows import add_recurrent
from rheostat.measurement.graphs.user_code import VALUES_NEEDED, own_line
from rheostat.measurement.graphs.value_sizes import AT_MOST, EVENLY, as_large_as_can_be
from rheostat.measurement.graphs.whole_layers import kept_whole

DTYPES = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "bool": "pred",
          "int64": "s64", "int32": "s32", "int16": "s16", "int8": "s8", "uint8": "u8",
          "uint16": "u16", "uint32": "u32", "uint64": "u64", "complex64": "c64",
          "complex128": "c128", "float8_e4m3fn": "f8e4m3fn", "float8_e5m2": "f8e5m2"}  # fmt: skip
STEP_SIZE = 0.01
UPDATES = {"sgd": (2.0, 3.0, 0.0), "momentum": (4.0, 5.0, 0.0), "adam": (12.0, 7.0, 1.0),
           "adamw": (13.0, 7.0, 1.0)}  # fmt: skip
"""For each parameter: arithmetic, numbers read and written, square roots."""
PUT_IN = OpCost("parameter_constant", bytes=0.0)
BROKEN = (RuntimeError, ValueError, KeyError, TypeError, AttributeError, OSError, EOFError,
          AssertionError, IndexError, ArithmeticError, zipfile.BadZipFile, zlib.error,
          struct.error)  # fmt: skip


def from_torch(
    module: Any,
    *args: Any,
    training: bool = False,
    loss: Callable[[Any], Any] | None = None,
    name: str = "",
    optimizer: str = "",
) -> Graph:
    """The graph of one call of a module, or of one training step.

    Parameters
    ----------
    module : torch.nn.Module
        Its parameters' sizes alone matter.
    *args : torch.Tensor
        Inputs, of which sizes and types matter; nothing is computed.
    training : bool
        A step: forward, gradients of all parameters, and their update by plain gradient descent.
    loss : callable, optional
        A number from what the module returns; the mean of all of it by default.
    name : str
        What the graph is called; the module's class by default.
    optimizer : str
        One of `UPDATES`: the update of each parameter is one operation, and the others are those
        that PyTorch runs one by one, layers such as normalisation in one piece.  By default they
        are decomposed, and the update is that of plain gradient descent.

    Returns
    -------
    Graph
        ATen operations; opcode ``weight`` for parameters and ``input`` for what is put in.

    Raises
    ------
    MissingExtra
        PyTorch is not installed.
    DataError
        The module cannot be traced: it decides by values.
    """
    torch = require("torch", extra="graphs")
    called = name or type(module).__name__
    if not training:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return from_exported(torch.export.export(module, args), called)
        except BROKEN as error:
            raise untraceable(called, error) from error
    from torch.fx.experimental.proxy_tensor import make_fx

    weights, others = dict(module.named_parameters()), dict(module.named_buffers())
    trained = [k for k, v in weights.items() if v.requires_grad]
    if not trained:
        problem = "expected a module with parameters to train, got none with requires_grad"
        raise DataError(called, [problem])
    step = _step(torch, module, loss or _mean, trained, update=not optimizer)
    table = None if optimizer else torch.export.default_decompositions()
    trace = make_fx(step, tracing_mode="fake", decomposition_table=table,
                    _allow_non_fake_inputs=True)  # fmt: skip
    try:
        with (
            warnings.catch_warnings(), kept_whole(torch), torch.device(_where(weights)),
            on_the_host(torch, _where(weights)), as_large_as_can_be(torch) as chosen,
        ):  # fmt: skip
            warnings.simplefilter("ignore")
            traced = trace(weights, others, *args)
    except BROKEN as error:
        raise untraceable(called, error) from error
    leaves = len(torch.utils._pytree.tree_leaves(args))
    kinds = ["weight"] * len(weights) + ["input"] * (len(others) + leaves)
    return _of_nodes(traced.graph.nodes, kinds, called, chosen, optimizer)


def _where(weights: Mapping[str, Any]) -> str:
    """Arrays that a module makes, on a GPU or without a device, are beside its parameters."""
    return str(next(iter(weights.values())).device)


def untraceable(name: str, error: Exception) -> DataError:
    """What to say of code that PyTorch cannot trace."""
    said = (str(error).splitlines() or [type(error).__name__])[0]
    problem = f"expected a module that PyTorch traces, got {said[:300]} ({own_line(error)})"
    advice = []
    if isinstance(error, TypeError):
        advice = ["give what its forward takes, each by itself (module, x, y), without labels"]
    elif type(error).__name__ in VALUES_NEEDED or "data-dependent" in str(error).lower():
        advice = ["a module whose steps depend on values cannot be traced: give a module without"]
    return DataError(name, [problem, *advice])


def _mean(output: Any) -> Any:
    """The loss that a module returns, else the mean of all arrays of what it returns."""
    named = output if isinstance(output, Mapping) else getattr(output, "__dict__", {})
    if getattr(loss := named.get("loss"), "ndim", None) == 0:
        return loss
    parts = [p for p in _arrays(output) if p.is_floating_point()]
    if not parts:
        raise TypeError(f"a {type(output).__name__} without an array that may be a loss")
    return sum(p.float().mean() for p in parts)


def _arrays(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        value = vars(value)
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from _arrays(part)
    elif hasattr(value, "is_floating_point"):
        yield value


def _step(
    torch: Any, module: Any, loss: Callable[[Any], Any], trained: Sequence[str], *, update: bool
) -> Callable[..., list[Any]]:
    """One step of gradient descent as a function of parameters, buffers and inputs.

    Without ``update`` the gradients themselves, None where there is none, and behind them what the
    module returned, which a name holds as a rule; what is not ``trained`` has no gradient.
    """

    class BothWays(torch.nn.Module):  # type: ignore[misc]
        """The way back inside the call, too: what is checkpointed is computed again there."""

        def __init__(self) -> None:
            super().__init__()
            self.inner = module

        def forward(self, values: list[Any], *args: Any) -> Any:
            made = module(*args)
            return torch.autograd.grad(loss(made), values, allow_unused=True), list(_arrays(made))

    def step(weights: Mapping[str, Any], others: Mapping[str, Any], *args: Any) -> list[Any]:
        values = {k: v.detach().requires_grad_(k in trained) for k, v in weights.items()}
        copies = {k: v.clone() for k, v in others.items()}
        named = {f"inner.{k}": v for k, v in {**values, **copies}.items()}
        given = ([values[k] for k in trained], *args)
        made, outputs = torch.func.functional_call(BothWays(), named, given)
        gradients = dict(zip(trained, made, strict=True))
        if not update:
            return [*(gradients.get(k) for k in weights), *outputs]
        return [weights[k] - STEP_SIZE * g for k, g in gradients.items() if g is not None]

    return step


def from_exported(program: Any, name: str = "") -> Graph:
    """The graph of a program of ``torch.export``.

    Parameters
    ----------
    program : torch.export.ExportedProgram
        Decomposed to core ATen here, if it is not.
    name : str
        What the graph is called.

    Returns
    -------
    Graph
        Opcode ``weight`` for parameters, ``input`` for buffers and what is put in.
    """
    program = program.run_decompositions()
    weights = program.graph_signature.inputs_to_parameters
    places = [n for n in program.graph.nodes if n.op == "placeholder"]
    kinds = ["weight" if n.name in weights else "input" for n in places]
    return _of_nodes(program.graph.nodes, kinds, name or "exported program")


def exported_batches(path: Path) -> list[str]:
    """Sizes that a file of ``torch.export.save`` leaves open, those that come first in an input."""
    try:
        return read_program(path).batches
    except BROKEN:  # what is wrong with it is said where it is read
        return []


def read_exported(path: Path, sizes: Mapping[str, int] | None = None) -> Graph:
    """The graph in a file of ``torch.export.save``; `DataError` where it is none."""
    torch = require("torch", extra="graphs")
    try:
        program = read_program(path, sizes)
        with warnings.catch_warnings(), kept_whole(torch):
            warnings.simplefilter("ignore")
            traced = _traced_anew(torch, program).run_decompositions()
    except BROKEN as error:
        said = (str(error).splitlines() or [""])[0][:200]
        got = f"no field {said}" if isinstance(error, KeyError) else said or type(error).__name__
        problem = f"expected a program of torch.export, got {got}"
        advice = "save it anew with torch.export.save, or name module:function"
        raise DataError(str(path), [problem, advice]) from error
    return _of_nodes(traced.graph.nodes, program.kinds, str(path), program.open_sizes)


def _traced_anew(torch: Any, program: SavedProgram) -> Any:
    """The program of a file as PyTorch's own, made of tensors without content."""

    class Replayed(torch.nn.Module):  # type: ignore[misc]
        def forward(self, *given: Any) -> list[Any]:
            return program(torch, given)

    with torch._subclasses.FakeTensorMode():
        given = tuple(program.inputs(torch))
    return torch.export.export(Replayed(), given, strict=False)


def _of_nodes(
    nodes: Any, kinds: list[str], name: str, open_sizes: Iterable[str] = (), optimizer: str = ""
) -> Graph:
    rows, places = OpRows(), dict[Any, int]()
    open_sizes = set(open_sizes)
    entering = iter(kinds)
    for node in nodes:
        if node.op == "output":
            if optimizer:
                count = kinds.count("weight")
                kept_to_here(rows, [places[n] for n in node.args[0][count:] if n in places])
                for weight, gradient in enumerate(node.args[0][:count]):  # parameters are first
                    updated(rows, optimizer, weight, places.get(gradient))
            continue
        type_ = result_type(node.meta.get("val"), open_sizes)
        if node.op in ("placeholder", "get_attr"):
            opcode = next(entering, "input") if node.op == "placeholder" else "constant"
            places[node] = rows.add(opcode, PUT_IN, type_)
            continue
        places[node] = operated(rows, node, places, type_)
    return rows.graph(name, of_sizes(open_sizes))


def of_sizes(open_sizes: set[str]) -> list[Note]:
    """What was taken of sizes that no number fixes."""
    most, even = (sorted(s for s in open_sizes if s.endswith(taken)) for taken in (AT_MOST, EVENLY))
    said = {"sizes that are left open are taken as traced": sorted(open_sizes - {*most, *even}),
            "sizes that depend on values are taken as large as they can be":
            [s.removesuffix(AT_MOST) for s in most],
            "rows that values choose are taken as shared evenly among the classes":
            [s.removesuffix(EVENLY) for s in even]}  # fmt: skip
    return [Note(f"{what}: {', '.join(names)}") for what, names in said.items() if names]


def operated(rows: OpRows, node: Any, places: Mapping[Any, int], type_: HloType) -> int:
    """The row of an operation, whose operands have theirs."""
    operands = [places[n] for n in node.all_input_nodes]
    given = [rows.types[places[n]] for n in _given(node)]
    if getattr(node.meta.get("val"), "is_sparse", False):
        type_ = _sparse(type_, given)
    if str(node.target).startswith("rheostat.recurrent"):
        add_recurrent(rows, str(node.target), given, node.args, operands)
    return rows.add(*_called(node, type_, given), type_, operands)


def _sparse(dense: HloType, given: list[HloType]) -> HloType:
    """A gradient that holds the rows that were looked up: as many as there are places."""
    places = [g.elements for g in given if g.dtype in ("s64", "s32")]
    rows = max(places) if places else given[0].dims[0]
    return HloType(dense.dtype, (rows, *dense.dims[1:]))


def kept_to_here(rows: OpRows, places: Sequence[int]) -> None:
    """What lives on though no operation takes it."""
    rows.add("held", OpCost("control", bytes=0.0), HloType("opaque"), list(places))


def updated(rows: OpRows, optimizer: str, weight: int, gradient: int | None) -> None:
    """The update of a parameter from its gradient, one operation of `UPDATES`."""
    if gradient is None:
        return
    flops, moved, roots = UPDATES[optimizer]
    type_ = rows.types[weight]
    some = min(type_, rows.types[gradient], key=lambda t: t.elements)  # of a sparse gradient
    cost = OpCost("elementwise", flops * some.elements, roots * some.elements,
                  moved * some.size_b)  # fmt: skip
    rows.add(f"{optimizer}-update", cost, type_, [weight, gradient])


def _given(node: Any) -> list[Any]:
    """The nodes that it takes, each as often as it is taken."""
    from torch.fx.node import map_arg

    matched: list[Any] = []
    map_arg((node.args, node.kwargs), matched.append)
    return matched


def _called(node: Any, type_: HloType, given: list[HloType]) -> tuple[str, OpCost]:
    if node.target is operator.getitem:
        return "getitem", OpCost("data_movement", bytes=0.0)
    packet = getattr(node.target, "_schema", None)
    if packet is None:
        return getattr(node.target, "__name__", "call"), OpCost("control", bytes=0.0)
    library, _, name = packet.name.partition("::")
    import torch

    plain = name[:-1] if name.endswith("_") and not name.startswith("_") else name
    pointwise = torch.Tag.pointwise in node.target.tags or _tagged(torch, plain)
    if library == "rheostat" and name.startswith("recurrent"):
        return name, OpCost("control", bytes=0.0)
    return f"aten.{name}", aten_cost(plain, type_, given, node.args, pointwise)


def _tagged(torch: Any, name: str) -> bool:
    """Whether PyTorch says so of the plain form of what writes in place."""
    packet = getattr(torch.ops.aten, name, None)
    forms = packet.overloads() if packet is not None else []
    return any(torch.Tag.pointwise in getattr(packet, f).tags for f in forms)


def result_type(value: Any, open_sizes: set[str]) -> HloType:
    """Of an array; of several, of the first."""
    while isinstance(value, (tuple, list)):
        value = next((v for v in value if v is not None), None)
    if value is None or not hasattr(value, "shape"):
        return HloType("opaque")
    dtype = DTYPES.get(str(value.dtype).removeprefix("torch."), "opaque")
    return HloType(dtype, tuple(_size(d, open_sizes) for d in value.shape))


def _size(size: Any, open_sizes: set[str]) -> int:
    if isinstance(size, int):
        return size
    if (hint := size.node.hint) is not None:
        open_sizes.add(str(size))
        return int(hint)
    most = size.node.shape_env.bound_sympy(size.node.expr).upper
    if not str(most).isdigit():
        said = f"the size {size} of an array depends on values, and nothing bounds it"
        raise DataError("graph", [said])
    open_sizes.add(f"{size}{AT_MOST}")
    return int(most)
