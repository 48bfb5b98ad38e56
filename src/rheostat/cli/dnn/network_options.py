"""Options that describe one training run of a named network."""

from __future__ import annotations

from typing import Annotated

import typer

Device = Annotated[str, typer.Option(help="Device of the named network.")]
BatchSize = Annotated[int, typer.Option(min=1, max=10_000_000, help="Samples of a step.")]
ImagePx = Annotated[int, typer.Option(min=1, max=100_000, help="Edge of the images.")]
Classes = Annotated[int, typer.Option(min=1, max=100_000_000, help="Outputs of the network.")]
Optimizer = Annotated[str, typer.Option(help="sgd, momentum or adam.")]
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
