"""Options that describe one training run of a named network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli.options.declared import option

Graphs = Annotated[
    Path | None,
    option(
        "Folder where the files named in column graph lie.  [default: that of TABLE]",
        "--graphs",
        file_okay=False,
        exists=True,
    ),
]


def one_run(
    device: Annotated[
        str, option("GPUs, as T4 or A100,H100; with a model one that was learned from.")
    ] = "",
    image_px: Annotated[int, option("Edge of the images.", min=1, max=100_000)] = 224,
    classes: Annotated[int, option("Outputs of the network.", min=1, max=100_000_000)] = 1000,
    optimizer: Annotated[
        str,
        option(
            "sgd, momentum, adam or adamw.  [default: adamw for a step, sgd with a model]",
            "--optimizer",
        ),
    ] = "",
    precision_bits: Annotated[
        int | None,
        option("Bits of a number.  [default: those in the device's name, else 32]", min=1, max=512),
    ] = None,
    gpus: Annotated[int, option("Devices that share the batch.", min=1, max=1_000_000)] = 1,
    samples: Annotated[
        int | None, option("Samples of a pass over the data.", min=1, max=10**15)
    ] = None,
) -> None:
    """Where and how a network is trained."""
