"""Options that describe one training run of a named network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli.options.declared import option

Devices = Annotated[
    str, option("GPUs, as T4 or A100,H100; with a model one that was learned from.")
]
Batch = Annotated[
    int | None,
    option(
        "Samples of a step.  [default: as the source has it, else 32]",
        "--batch-size",
        min=1,
        max=10_000_000,
    ),
]
OwnOptimizer = Annotated[
    str,
    option(
        "sgd, momentum, adam or adamw.  [default: adamw for a step, sgd with a model]",
        "--optimizer",
    ),
]
Batches = Annotated[str, option("Samples of a step, as 32, 8,16,32 or 8..256.", "--batch-size")]
ImagePx = Annotated[int, option("Edge of the images.", min=1, max=100_000)]
Classes = Annotated[int, option("Outputs of the network.", min=1, max=100_000_000)]
PrecisionBits = Annotated[
    int | None,
    option("Bits of a number.  [default: those in the device's name, else 32]", min=1, max=512),
]
Gpus = Annotated[int, option("Devices that share the batch.", min=1, max=1_000_000)]
Samples = Annotated[int | None, option("Samples of a pass over the data.", min=1, max=10**15)]
Graphs = Annotated[
    Path | None,
    option(
        "Folder where the files named in column graph lie.  [default: that of TABLE]",
        "--graphs",
        file_okay=False,
        exists=True,
    ),
]
