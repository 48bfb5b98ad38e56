"""``rheostat dnn import``: what a step of deep learning costs, from its graph of operations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import argument, option


@asks("dnn.read", o.shown)
def import_(
    sources: Annotated[
        list[str],
        argument(
            "Files with a graph: HLO text, ONNX, a torch.export program (.pt2), records as "
            "steps.jsonl#0, or a graph kept before; or module:function, which returns a JAX "
            "function or a torch module and its inputs.",
            "SOURCE...",
        ),
    ],
    out: Annotated[
        Path | None, option("Keep the graph in this file.", "--out", "-o", writable=True)
    ] = None,
    size: Annotated[
        list[str] | None,
        option("A size that a model of ONNX or torch.export leaves open, as N=32.", "--size"),
    ] = None,
) -> None:
    """Read graphs of operations, and print what one run costs by class of operation.

    FLOPs, transcendentals and bytes follow XLA's cost analysis; loops count as often as they run.
    Nothing is compiled, and no accelerator is needed.
    """
