"""A training step from wherever it is written: a file of Python, a module, a graph's file."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from rheostat.core.graph import Graph
from rheostat.errors import DataError, RheostatError
from rheostat.measurement.graphs.fake_device import products_in_tf32
from rheostat.measurement.graphs.read_graph import read_graph
from rheostat.measurement.graphs.user_code import VALUES_NEEDED, no_options, own_line

EXAMPLE = "write `def step(batch_size=32): return model, torch.randn(batch_size, 3, 224, 224)`"
WITH_TF32 = "torch with TF32"
ROUNDED = "its code lets products be rounded to TF32"
AUTOCAST = "its code asks for autocast: all products are taken in 16 bits"
BATCH_NAMES = ("batch_size", "batch", "bs")
ATTRIBUTE = "example_input_array"
USES_TORCH = re.compile(r"^\s*(?:import|from)\s+torch\b", re.M)
CODE = re.compile(r"(?:(.+\.py)|([A-Za-z_][\w.]*)):([A-Za-z_]\w*)")


@dataclass(frozen=True)
class StepSource:
    """A step, and what is known of it.

    Parameters
    ----------
    graph : Graph
        Its operations.
    batch : int or None
        Samples of a step; None where the source does not say.
    optimizer : str
        The one that was put in; "" where the source holds its own, or nothing is trained.
    framework : str
        torch, jax, onnx or graph.
    notes : tuple of str
        What was assumed.
    bits : int
        16 where its code asks for mixed precision.
    """

    graph: Graph
    batch: int | None
    optimizer: str
    framework: str
    notes: tuple[str, ...] = ()
    bits: int = 32


def open_step(source: str, batch: int | None = None, optimizer: str = "sgd") -> StepSource:
    """A step of training, read or traced; nothing is computed.

    Parameters
    ----------
    source : str
        ``my_train.py:step`` or ``module:step``: a `torch.nn.Module`, its class, or a function that
        returns ``(module, *inputs)`` or a JAX function with its arguments, or that does a step of
        PyTorch itself.  Or a graph's file, as `read_graph` takes it.
    batch : int, optional
        Samples of a step; by default as the source has it.
    optimizer : str
        Of a module: sgd, momentum, adam or adamw.

    Returns
    -------
    StepSource
        The graph of the step.

    Raises
    ------
    DataError
        No such source, or its code fails; with the line.
    """
    named = CODE.fullmatch(source)
    if not named or Path(source).exists():
        return _of_file(source, batch)
    file, module, name = named.groups()
    if not file and Path(f"{module}.py").exists():
        file = f"{module}.py"
    with products_in_tf32() as rounded:
        step = _of_code(_module(source, file, module), name, source, batch, optimizer)
        if step.framework == "torch" and rounded():
            return replace(step, framework=WITH_TF32, notes=(*step.notes, ROUNDED))
    return step


def _of_file(source: str, batch: int | None) -> StepSource:
    if Path(source).suffix == ".onnx":
        return _of_onnx(source, batch)
    if Path(source).suffix == ".py":
        problem = f"expected a function or class of it, as {source}:step, got the file alone"
        raise DataError(source, [problem])
    if Path(source).suffix == ".pt2" and batch:
        from rheostat.measurement.graphs.from_torch import exported_batches

        if names := exported_batches(Path(source)):
            graph = read_graph(source, sizes=dict.fromkeys(names, batch))
            taken = f"its open sizes {', '.join(names)} are taken as the batch of {batch}"
            return StepSource(graph, batch, "", "torch", (taken,))
    graph = read_graph(source)
    said = ["a graph's file has the batch that it was written with: --batch-size says which it was"]
    return StepSource(graph, batch, "", "graph", () if batch is None else tuple(said))


def _of_onnx(source: str, batch: int | None) -> StepSource:
    from rheostat.measurement.graphs.from_onnx import open_sizes

    names = open_sizes(Path(source))
    graph = read_graph(source, sizes=dict.fromkeys(names, batch) if batch and names else None)
    notes = ["an ONNX model is a forward pass: no gradients, no optimiser"]
    if batch and names:
        notes.append(f"its open sizes {', '.join(names)} are taken as the batch of {batch}")
    return StepSource(graph, batch, "", "onnx", tuple(notes))


def _module(source: str, file: str | None, name: str) -> ModuleType:
    """The user's code, run; what goes wrong in it is one message with its line."""
    if file and not Path(file).is_file():
        raise DataError(source, [f"expected a file of Python, got no file {file}"])
    place = str(Path(file).resolve().parent) if file else ""
    if place not in sys.path:
        sys.path.insert(0, place)
    try:
        if not file:
            return importlib.import_module(name)
        spec = importlib.util.spec_from_file_location(Path(file).stem, file)
        assert spec is not None
        assert spec.loader is not None
        made = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(spec.name, made)
        with no_options(file), redirect_stdout(sys.stderr), _host(file):
            spec.loader.exec_module(made)  # what it prints is no part of the answer
    except RheostatError:
        raise
    except (Exception, SystemExit) as error:
        raise _failed(source, error) from error
    return made


def _host(file: str) -> AbstractContextManager[None]:
    """Code that names a GPU while it is read needs none, where it is PyTorch's."""
    if not USES_TORCH.search(Path(file).read_text(errors="replace")):
        return nullcontext()
    try:
        import torch
    except ImportError:  # said by the code itself
        return nullcontext()
    from rheostat.measurement.graphs.fake_device import on_the_host

    return on_the_host(torch)


def _failed(source: str, error: BaseException) -> DataError:
    """With the last line of the user's own code that ran."""
    said = str(error).splitlines()[0][:300] if str(error) else ""
    problems = [f"raised {type(error).__name__}: {said} ({own_line(error)})"]
    if type(error).__name__ in VALUES_NEEDED:
        problems += ["nothing is computed here, and there a size or a choice depends on values",
                     "give a step without, as masks in place of indices"]  # fmt: skip
    return DataError(source, problems)


def _of_code(
    module: ModuleType, name: str, source: str, batch: int | None, optimizer: str
) -> StepSource:
    thing = getattr(module, name, None)
    if thing is None:
        here = [n for n in vars(module) if not n.startswith("_")][:20]
        raise DataError(source, [f"expected a step {name}, got a file with {', '.join(here)}"])
    torch = sys.modules.get("torch")
    call, given, default = _call(thing, batch, source)
    made: tuple[Any, ...] = (None,)
    try:
        with _empty(torch), redirect_stdout(sys.stderr):
            made = call()
    except RheostatError:
        raise
    except (Exception, SystemExit) as error:
        raise _failed(source, error) from error
    if torch is not None and isinstance(made[0], torch.nn.Module) and len(made) > 1:
        return _of_torch(torch, made, source, batch, given, optimizer)
    given_badly = batch is not None and not given
    if torch is not None and inspect.isfunction(thing) and not callable(made[0]):
        step = _of_loop(torch, call, source, None if given_badly else batch or default)
        if step is not None and given_badly:
            problem = "expected a step that takes batch_size, as --batch-size is given"
            raise DataError(source, [problem, "leave it out for the batch that the code has"])
        if step is not None:
            return step
    if len(made) == 1 or not callable(made[0]):
        got = type(made[0]).__name__
        problem = f"expected a module or function and its inputs, got {got} alone"
        raise DataError(source, [problem, EXAMPLE, f"or give the module an {ATTRIBUTE}"])
    if given_badly:
        problem = "expected a step that takes batch_size, as --batch-size is given"
        raise DataError(source, [problem, "write `def step(batch_size=32): return fn, *arguments`"])
    from rheostat.measurement.graphs.from_jax import from_jax

    graph = from_jax(made[0], *made[1:], name=source)
    said = "a JAX function is taken as the whole step: what it takes in holds parameters and data"
    return StepSource(graph, batch or default, "", "jax", (said,))


@contextmanager
def _empty(torch: Any) -> Iterator[None]:
    """Arrays of PyTorch are empty, optimisers change nothing, a missing GPU is not warned of."""
    if torch is None:
        yield
        return
    from rheostat.measurement.graphs.fake_device import without_numbers
    from rheostat.measurement.graphs.torch_loop import held_updates
    from rheostat.measurement.graphs.whole_layers import kept_whole

    with (
        without_numbers(torch), kept_whole(torch), held_updates(torch), warnings.catch_warnings(),
    ):  # fmt: skip
        warnings.simplefilter("ignore")
        yield


def _call(thing: Any, batch: int | None, source: str) -> tuple[Callable[[], Any], bool, int | None]:
    """What makes the step and its inputs, whether the batch is given to it, and its own batch."""
    given, more, default = False, dict[str, int](), None
    if inspect.isfunction(thing) or inspect.isclass(thing):
        asked = inspect.signature(thing).parameters
        batches = [n for n in BATCH_NAMES if n in asked][:1]
        given = bool(batches) and batch is not None
        lacking = [p.name for p in asked.values()
                   if p.default is p.empty and p.name not in batches
                   and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]  # fmt: skip
        if lacking:
            kind = "class" if inspect.isclass(thing) else "function"
            problem = f"expected a {kind} of batch_size or of nothing, got {', '.join(lacking)}"
            raise DataError(source, [problem, EXAMPLE])
        more = {n: batch or 32 for n in batches
                if given or asked[n].default is inspect.Parameter.empty}  # fmt: skip
        sizes = [*more.values(), *(asked[n].default for n in batches)]
        default = next((n for n in sizes if isinstance(n, int)), None)

    def call() -> tuple[Any, ...]:
        with no_options(source):
            made = thing(**more) if inspect.isclass(thing) or inspect.isfunction(thing) else thing
        made = tuple(made) if isinstance(made, (tuple, list)) and made else (made,)
        if len(made) == 1 and (example := getattr(made[0], ATTRIBUTE, None)) is not None:
            made = (made[0], *(example if isinstance(example, tuple) else (example,)))
        return made

    return call, given, default


def _of_loop(
    torch: Any, call: Callable[[], Any], source: str, batch: int | None
) -> StepSource | None:  # fmt: skip
    """A function that is the step itself; None where no parameter is in it."""
    from rheostat.measurement.graphs.fake_device import autocast_seen
    from rheostat.measurement.graphs.torch_loop import from_loop

    with autocast_seen(torch) as seen:
        graph, optimizer = from_loop(torch, call, source)
    if not (graph.nodes["opcode"] == "weight").any():
        return None
    notes = ["the function is taken as the whole step: forward, gradients and updates in it"]
    few = any(kind not in ("cpu", "meta") for kind in seen)
    return StepSource(graph, batch, optimizer, "torch",
                      (*notes, *[AUTOCAST] * few), 16 if few else 32)  # fmt: skip


def _of_torch(
    torch: Any, made: tuple[Any, ...], source: str, batch: int | None, given: bool, optimizer: str
) -> StepSource:  # fmt: skip
    from rheostat.measurement.graphs.fake_device import autocast_seen, emptied
    from rheostat.measurement.graphs.from_torch import from_torch

    module, *inputs = by_name(torch, emptied(torch, made))
    sizes = {int(x.shape[0]) for x in _arrays(torch, inputs) if x.dim()}
    notes = ["the loss is what the module returns as its loss, or the mean of all it returns"]
    if len(sizes) == 1 and batch and not given and sizes != {batch}:
        inputs = torch.utils._pytree.tree_map(lambda x: _resized(torch, x, batch), inputs)
        notes.append(f"the first size of every input is taken as the batch, {batch} instead of "
                     f"{sizes.pop()}")  # fmt: skip
    elif batch and not given and len(sizes) > 1:
        problem = f"expected inputs that agree in their first size, got {sorted(sizes)}"
        raise DataError(source, [f"{problem}; --batch-size needs a step that takes it", EXAMPLE])
    with autocast_seen(torch) as seen:
        graph = from_torch(module, *inputs, training=True, name=source, optimizer=optimizer)
    notes += [AUTOCAST] * bool(seen)
    known = batch or (sizes.pop() if len(sizes) == 1 else None)
    return StepSource(replace(graph, name=source), known, optimizer, "torch", tuple(notes),
                      16 if seen else 32)  # fmt: skip


def by_name(torch: Any, made: tuple[Any, ...]) -> tuple[Any, ...]:
    """A module and its inputs; of a mapping behind them its forward takes each value by name.

    One tuple of all that a forward of several arguments takes is taken apart.
    """
    module, *inputs, last = made
    takes = inspect.signature(module.forward)
    if not inputs and isinstance(last, (tuple, list)):
        return (module, *last) if _binds(takes, last) and not _binds(takes, [last]) else made
    behind = list(takes.parameters)[len(inputs) :]
    if not isinstance(last, Mapping) or not set(last) <= set(behind):
        return made

    class ByName(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, *values: Any) -> Any:
            given, named = values[: len(inputs)], values[len(inputs) :]
            return self.module(*given, **dict(zip(last, named, strict=True)))

    return (ByName(), *inputs, *last.values())


def _binds(takes: inspect.Signature, given: Sequence[Any]) -> bool:
    """Whether a call with these arguments is one of that signature."""
    try:
        takes.bind(*given)
    except TypeError:
        return False
    return True


def _arrays(torch: Any, inputs: Any) -> list[Any]:
    return [x for x in torch.utils._pytree.tree_leaves(inputs) if isinstance(x, torch.Tensor)]


def _resized(torch: Any, value: Any, batch: int) -> Any:
    if not isinstance(value, torch.Tensor) or not value.dim():
        return value
    return torch.empty((batch, *value.shape[1:]), dtype=value.dtype, device=value.device)
