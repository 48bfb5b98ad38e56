"""A JAX function as a graph of operations, lowered but not compiled; no accelerator is needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rheostat._optional import require
from rheostat.core.graph import Graph
from rheostat.measurement.graphs.hlo.hlo_graph import from_hlo


def from_jax(function: Callable[..., Any], *args: Any, name: str = "") -> Graph:
    """The graph of one call.

    Parameters
    ----------
    function : callable
        As for ``jax.jit``; a training step is a function too.
    *args : arrays or jax.ShapeDtypeStruct, or trees of them
        Sizes and types alone matter: nothing is computed.
    name : str
        What the graph is called; the function's name by default.

    Returns
    -------
    Graph
        Before optimisation: nothing is fused.

    Raises
    ------
    MissingExtra
        JAX is not installed.

    Examples
    --------
    >>> import pytest; jax = pytest.importorskip("jax")
    >>> x = jax.ShapeDtypeStruct((2, 3), "float32")
    >>> graph = from_jax(lambda a: a @ a.T, x, name="gram")
    >>> float(graph.numpy("flops").sum()), graph.name
    (24.0, 'gram')
    """
    jax = require("jax", extra="graphs")
    lowered = jax.jit(function).lower(*args)
    text = lowered.compiler_ir("hlo").as_hlo_text()
    called = name or getattr(function, "__name__", "function")
    return replace(from_hlo(text, called), name=called)
