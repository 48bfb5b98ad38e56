"""``module:function`` as a graph of operations: the one source that is the user's own code."""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
from typing import Any

from rheostat.core.graph import Graph
from rheostat.errors import DataError, RheostatError

RETURNS = "expected a function without arguments that returns (step, *arguments)"
EXAMPLE = "write `def step(): return model, torch.empty(8, 3, 224, 224)` and name that"


def from_function(reference: str) -> Graph:
    """The graph of ``module:function``, which takes nothing and returns what is to be run.

    Parameters
    ----------
    reference : str
        The function returns ``(step, *arguments)``: a JAX function and its arguments, or a
        ``torch.nn.Module`` and its inputs.  Sizes alone matter; no weights are needed.

    Returns
    -------
    Graph
        Of the JAX function, or of a training step of the module.

    Raises
    ------
    DataError
        No such module or function, or it returns something else.
    """
    made = _made_by(reference)
    if not isinstance(made, tuple) or not made or not callable(made[0]):
        raise DataError(reference, [f"{RETURNS}, got {type(made).__name__}", EXAMPLE])
    return _of_callable(made[0], made[1:], reference)


def _made_by(reference: str) -> Any:
    """What ``module:function`` returns; what goes wrong in it is told with its line."""
    module, _, name = reference.partition(":")
    if "" not in sys.path:
        sys.path.append("")
    try:
        function = getattr(importlib.import_module(module), name, None)
        if problems := _problems(function, f"function {name} in module {module}"):
            raise DataError(reference, problems)  # noqa: TRY301
        return function()  # type: ignore[misc]  # None has a problem
    except ModuleNotFoundError as error:
        raise DataError(reference, [f"expected module:function, got {error}"]) from error
    except RheostatError:
        raise
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        problem = f"raised {type(error).__name__}: {error} ({at.filename}, line {at.lineno})"
        raise DataError(reference, [problem]) from error


def _problems(function: Any, wanted: str) -> list[str]:
    """Why a thing cannot be called for a step; empty where it can."""
    if function is None:
        return [f"expected a {wanted}, got none"]
    if not callable(function) or _is_module(function):
        return [f"{RETURNS}, got a {type(function).__name__}", EXAMPLE]
    asked = _asked(function)
    return [f"{RETURNS}, got one that asks for {asked}", EXAMPLE] if asked else []


def _asked(function: Any) -> str:
    """Arguments that a function cannot do without; none where its signature is not to be had."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ""
    plain = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return ", ".join(p.name for p in parameters if p.default is p.empty and p.kind not in plain)


def _is_module(thing: Any) -> bool:
    """Whether it is a ``torch.nn.Module``; PyTorch is not imported for the question."""
    bases = {f"{c.__module__}.{c.__name__}" for c in type(thing).__mro__}
    return "torch.nn.modules.module.Module" in bases


def _of_callable(step: Any, args: tuple[Any, ...], name: str) -> Graph:
    if _is_module(step):
        from rheostat.measurement.graphs.from_torch import from_torch

        return from_torch(step, *args, training=True, name=name)
    from rheostat.measurement.graphs.from_jax import from_jax

    return from_jax(step, *args, name=name)
