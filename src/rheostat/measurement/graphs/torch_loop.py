"""A function that is a whole training step of PyTorch, as its author runs it, as a graph.

Models and optimisers may be made inside the function or outside.  Nothing is computed, and
optimisers change nothing: the update of each parameter is one operation, as where a module is
traced.  What makes parameters and data is no part of the step.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from io import StringIO
from typing import Any

import numpy as np

from rheostat.core.graph import Graph
from rheostat.core.jobs import Note
from rheostat.measurement.graphs.aten_costs import aten_cost
from rheostat.measurement.graphs.fake_device import without_numbers
from rheostat.measurement.graphs.from_torch import (
    BROKEN,
    PUT_IN,
    UPDATES,
    kept_to_here,
    of_sizes,
    operated,
    result_type,
    untraceable,
    updated,
)
from rheostat.measurement.graphs.held_names import held_by_names
from rheostat.measurement.graphs.hlo.hlo_types import HloType
from rheostat.measurement.graphs.op_rows import OpRows
from rheostat.measurement.graphs.optimizer_memory import OptimizerMemory, optimizer_memory
from rheostat.measurement.graphs.whole_layers import kept_whole

OTHER = "adam"
"""What an optimiser without a rule is counted as."""
MOST_AGAIN = 16
"""Updates of one optimiser before another's first."""
LBFGS = "LBFGS"
"""The optimiser of PyTorch that decides by values how often it computes the loss."""


def _ones(array: Any, **_: Any) -> Any:
    return np.ones(tuple(array.shape), float if array.is_floating_point() else int)


NUMBERS = {"item": lambda x: _ones(x).ravel()[0].item(), "__float__": lambda x: 1.0,
           "numpy": _ones, "tolist": lambda x: _ones(x).tolist()}  # fmt: skip
"""What code reads from arrays: 1."""


@dataclass
class Updates:
    """Optimiser, parameter and gradient of each update asked for, and what optimisers hold."""

    asked: list[tuple[str, Any, Any]] = field(default_factory=list)
    memory: list[OptimizerMemory] = field(default_factory=list)
    others: set[str] = field(default_factory=set)
    seen: dict[Any, None] = field(default_factory=dict)
    named: dict[Any, None] = field(default_factory=dict)
    largest: set[str] = field(default_factory=set)
    last: str = ""
    over: bool = False
    optimizers: list[Any] = field(default_factory=list)
    again: int = 0
    once: tuple[str, int] | None = None

    def begun(self, parameters: list[Any]) -> bool:
        """An update of these, and whether it is their first.

        `StepOver` where one of them was updated before, unless another optimiser has not stepped
        yet: a critic may be trained several times before its generator.
        """
        repeated = any(p in self.seen for p in parameters)
        if repeated:
            self.once = self.once or (self.last, len(self.asked))
            self.again += 1
            if self.again > MOST_AGAIN or not self.waiting:
                raise StepOver
        self.seen |= dict.fromkeys(parameters)
        return not repeated

    @property
    def waiting(self) -> bool:
        """Whether an optimiser was made of which no parameter was updated."""
        groups = ([p for g in o.param_groups for p in g["params"]] for o in self.optimizers)
        return any(own and not any(p in self.seen for p in own) for own in groups)

    def ended(self) -> None:
        """One update of each where an optimiser never stepped."""
        if self.once and self.waiting:
            self.over, (self.last, count) = True, self.once
            del self.asked[count:]

    @property
    def frozen(self) -> list[Any]:
        """Parameters of modules that nothing trains."""
        return [p for p in self.named if not p.requires_grad and p not in self.seen]

    @property
    def notes(self) -> list[Note]:
        """Of optimisers without a rule, of more steps than one."""
        said = f"an update of {', '.join(sorted(self.others))} is timed as one of {OTHER}"
        if any(m.products for m in self.memory):
            said += ", and by the products of matrices in its code"
        more = "it updates the same parameters again: what comes behind the first step is left out"
        once = f"{LBFGS} computes its loss as often as values say: it is counted once"
        searched = [Note(once)] * (LBFGS in self.others)
        return [*[Note(said)] * bool(self.others), *[Note(more)] * self.over, *searched,
                *of_sizes(self.largest)]  # fmt: skip


class StepOver(BaseException):  # no code that catches errors shall catch it
    """Code begins its second step."""


def from_loop(torch: Any, call: Callable[[], Any], name: str) -> tuple[Graph, str]:
    """The graph of what a function does, and the optimiser in it, "" for none.

    Parameters
    ----------
    torch : module
        PyTorch.
    call : callable
        Does forward, ``backward()`` and ``step()``.
    name : str
        What the graph is called.

    Raises
    ------
    DataError
        It cannot be traced.
    """
    from torch.fx.experimental.proxy_tensor import make_fx

    made = Updates()  # of the last call: PyTorch may call twice

    def outputs() -> list[Any]:
        with held_updates(torch) as updates:
            call()
        vars(made).update(vars(updates))
        gradients = [g for _, _, g in updates.asked]
        return [p for _, p, _ in updates.asked] + gradients + updates.frozen

    try:
        with (
            without_numbers(torch) as chosen, kept_whole(torch), told_once(),
            held_by_names(torch) as held,
        ):  # fmt: skip
            traced = make_fx(outputs, tracing_mode="real", _allow_non_fake_inputs=True)()
    except BROKEN as error:
        raise untraceable(name, error) from error
    kinds = [kind for kind, _, _ in made.asked]
    names = {last.name: [node.name for node in nodes] for last, nodes in held.items()}
    made.largest = set(chosen)
    graph = _graph(torch, traced, kinds, name, made, names)
    return graph, max(set(kinds), key=kinds.count, default="")


@contextmanager
def told_once() -> Iterator[None]:
    """What code prints or warns of is not told while this is open: it ran before."""
    with warnings.catch_warnings(), redirect_stdout(StringIO()):
        warnings.simplefilter("ignore")
        yield


@contextmanager
def held_updates(torch: Any) -> Iterator[Updates]:
    """Optimisers find no gradients while this is open: what they would update is listed."""
    from torch.fx.experimental.proxy_tensor import get_proxy_mode
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    updates = Updates()
    before = {n: torch.Tensor.__dict__.get(n) for n in NUMBERS}

    def hold(optimizer: Any, args: Any, named: Any) -> Any:
        closure = named.get("closure", (*args, None, None)[1])
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        own = [p for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
        first = updates.begun(own)
        known = optimizer_memory(torch, optimizer) if first else None
        updates.memory += [known] if known else []
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    updates.asked.append((_kind(optimizer, group, updates), p.detach(), p.grad))
                    p.grad = None
        if (mode := get_proxy_mode()) is not None:
            updates.last = next(iter(reversed(mode.tracer.graph.nodes))).name
        return None if closure is None else ((optimizer, lambda: loss), {})

    def stepped(_: Any, optimizer: Any, __: Any, *args: Any, **named: Any) -> Any:
        return optimizer.step(*args, **named)

    plain = torch.optim.Optimizer
    begins = plain.__init__

    def begun(optimizer: Any, *args: Any, **named: Any) -> None:
        begins(optimizer, *args, **named)
        updates.optimizers.append(optimizer)

    plain.__init__ = begun
    scaler = torch.amp.GradScaler
    asks, scaler._maybe_opt_step = scaler._maybe_opt_step, stepped  # no number says that one is inf
    search = torch.optim.LBFGS
    searches, search.step = search.step, torch.optim.Optimizer.profile_hook_step(
        lambda _, closure: closure())  # fmt: skip
    search.step.hooked = True
    handle = register_optimizer_step_pre_hook(hold)
    naming = torch.nn.modules.module.register_module_parameter_registration_hook(
        lambda _, __, made: None if made is None else updates.named.setdefault(made)
    )
    for n, read in NUMBERS.items():  # a loss that is printed: any number will do
        setattr(torch.Tensor, n, read)
    try:
        yield updates
    except StepOver:
        updates.over = True
    finally:
        updates.ended()
        plain.__init__ = begins
        handle.remove()
        naming.remove()
        scaler._maybe_opt_step, search.step = asks, searches
        for n, known in before.items():
            delattr(torch.Tensor, n) if known is None else setattr(torch.Tensor, n, known)


def _kind(optimizer: Any, group: dict[str, Any], updates: Updates) -> str:
    kind = type(optimizer).__name__
    if kind == "SGD" and group.get("momentum"):
        return "momentum"
    if kind.lower() in UPDATES:
        return kind.lower()
    updates.others.add(kind)
    return OTHER


def _graph(
    torch: Any, traced: Any, kinds: list[str], name: str, made: Updates,
    held: Mapping[str, Sequence[str]],
) -> Graph:  # fmt: skip
    """Rows of the operations, and one for each update at the end."""
    rows, places, kept = OpRows(), dict[Any, int](), dict[str, int]()
    nodes = list(traced.graph.nodes)
    if made.over:
        names = [n.name for n in nodes]
        nodes[names.index(made.last) + 1 : -1] = []
    nodes = [n for n in nodes if not str(n.target).startswith("profiler.")]
    given = list(nodes[-1].args[0])
    weights, gradients = given[: len(kinds)], given[len(kinds) : 2 * len(kinds)]
    of_modules = weights + given[2 * len(kinds) :]
    before, copies = _ancestors(of_modules), _copies(of_modules)
    for node in nodes[:-1]:
        type_ = result_type(node.meta.get("val"), set())
        if node.op == "get_attr":
            value = getattr(traced, node.target)
            kind = "weight" if isinstance(value, torch.nn.Parameter) else "input"
            if node.target not in kept:
                kept[node.target] = rows.add(kind, PUT_IN, type_)
            places[node] = kept[node.target]
        elif node in copies:
            places[node] = rows.add("weight", PUT_IN, type_)
        elif node in before and node.all_input_nodes:
            places[node] = places[node.all_input_nodes[0]]
        elif not node.all_input_nodes:
            kind = "weight" if node in before else "input"
            places[node] = rows.add(kind, PUT_IN, type_)
        else:
            places[node] = operated(rows, node, places, type_)
        if node.name in held:
            known = {n.name: place for n, place in places.items()}
            kept_to_here(rows, [known[n] for n in held[node.name] if n in known])
    for kind, weight, gradient in zip(kinds, weights, gradients, strict=True):
        updated(rows, kind, places[weight], places.get(gradient))
    for memory in made.memory:
        rows.add("state", PUT_IN, HloType("u8", (memory.state_b,)))
        rows.add("scratch", PUT_IN, HloType("u8", (memory.scratch_b,)))
        for code, result, given in memory.products:  # what they hold is in scratch
            cost = replace(aten_cost(code, result, given, (), pointwise=False),
                           bytes=float(sum(t.size_b for t in (result, *given))))  # fmt: skip
            rows.add(f"aten.{code}", cost, HloType(result.dtype, (0,)))
    return rows.graph(name, made.notes)


def _copies(weights: list[Any]) -> set[Any]:
    """Copies of one parameter that are parameters beside it, as of layers that were deep-copied."""
    begun: dict[Any, dict[Any, None]] = {}
    for weight in weights:
        line = [weight]
        while line[-1].all_input_nodes:
            line.append(line[-1].all_input_nodes[0])
        own = next((n for n in line if str(n.target).startswith("aten.clone")), line[-1])
        begun.setdefault(line[-1], {})[own] = None
    made = set[Any]()
    for first, own in begun.items():
        own.pop(first if first in own else next(iter(own)))
        made |= set(own)
    return made


def _ancestors(weights: list[Any]) -> set[Any]:
    """These and all that they were made from; not what they were changed by once they were used."""
    lines = set[Any]()
    for weight in weights:
        node = weight
        while node not in lines:
            lines.add(node)
            node = next(iter(node.all_input_nodes), node)
    used = _reached([u for n in lines for u in n.users], lambda n: list(n.users), lines)

    def made_from(node: Any) -> list[Any]:
        first, *others = node.all_input_nodes or [None]
        changed = getattr(getattr(node.target, "_schema", None), "is_mutable", False)
        return [n for n in (first, *others) if n and not (changed and n in used)]

    return _reached(weights, made_from, set())


def _reached(begin: list[Any], following: Callable[[Any], list[Any]], never: set[Any]) -> set[Any]:
    """Nodes that are reached from these, and these, without those that are never gone to."""
    seen, waiting = set[Any](), list(begin)
    while waiting:
        node = waiting.pop()
        if node not in seen and node not in never:
            seen.add(node)
            waiting += following(node)
    return seen
