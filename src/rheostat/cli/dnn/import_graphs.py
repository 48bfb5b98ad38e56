"""``rheostat dnn import``: what a step of deep learning costs, from its graph of operations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o


def import_(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Files with a graph: HLO text, ONNX, a torch.export program (.pt2), records as "
            "steps.jsonl#0, or a graph kept before; or module:function, which returns a JAX "
            "function or a torch module and its inputs.",
            metavar="SOURCE...",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Keep the graph in this file.", writable=True),
    ] = None,
    size: Annotated[
        list[str] | None,
        typer.Option("--size", help="A size that an ONNX model leaves open, as N=32."),
    ] = None,
    json: o.Json = False,
) -> None:
    """Read graphs of operations, and print what one run costs by class of operation.

    FLOPs, transcendentals and bytes follow XLA's cost analysis; loops count as often as they run.
    Nothing is compiled, and no accelerator is needed.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.dnn import read

    with printed(json=json) as put:
        put(read(sources, sizes=size or (), out=out))
