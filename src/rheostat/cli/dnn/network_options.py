"""Options that describe one training run of a named network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Devices = Annotated[
    str, typer.Option(help="GPUs, as T4 or A100,H100; with a model one that was learned from.")
]
Batch = Annotated[
    int | None,
    typer.Option(
        "--batch-size", min=1, max=10_000_000,
        help="Samples of a step.  [default: as the source has it, else 32]",
    ),
]  # fmt: skip
OwnOptimizer = Annotated[
    str,
    typer.Option(
        "--optimizer",
        help="sgd, momentum, adam or adamw.  [default: adamw for a step, sgd with a model]",
    ),
]
Batches = Annotated[
    str, typer.Option("--batch-size", help="Samples of a step, as 32, 8,16,32 or 8..256.")
]
ImagePx = Annotated[int, typer.Option(min=1, max=100_000, help="Edge of the images.")]
Classes = Annotated[int, typer.Option(min=1, max=100_000_000, help="Outputs of the network.")]
PrecisionBits = Annotated[
    int | None,
    typer.Option(
        min=1, max=512, help="Bits of a number.  [default: those in the device's name, else 32]"
    ),
]
Gpus = Annotated[int, typer.Option(min=1, max=1_000_000, help="Devices that share the batch.")]
Samples = Annotated[
    int | None, typer.Option(min=1, max=10**15, help="Samples of a pass over the data.")
]
Graphs = Annotated[
    Path | None,
    typer.Option(
        "--graphs", file_okay=False, exists=True,
        help="Folder where the files named in column graph lie.  [default: that of TABLE]",
    ),
]  # fmt: skip
