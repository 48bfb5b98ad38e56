"""``rheostat dnn predict``: what a training step takes, and what to request for it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.dnn import network_options as n
from rheostat.cli.options.declared import argument, option


@asks("dnn.predict", n.one_run, o.table, o.paged, file="runs", name="network")
def predict(
    source: Annotated[
        str,
        argument(
            "A training step: my_train.py:step (its code is run), a graph's file (HLO, ONNX, "
            "torch.export), or a network by name, as resnet50. Or a model saved by rheostat "
            "dnn fit."
        ),
    ],
    file: Annotated[
        Path | None, argument("With a model: runs to predict, a row each.", "[TABLE]")
    ] = None,
    name: Annotated[
        str, option("With a model, instead of TABLE: a network by name.", "--model-name")
    ] = "",
    batch_size: Annotated[
        int | None,
        option(
            "Samples of a step.  [default: as the source has it, else 32]",
            "--batch-size",
            min=1,
            max=10_000_000,
        ),
    ] = None,
    epochs: Annotated[float, option("Passes over the data.", min=0.0)] = 1.0,
    risk: Annotated[
        float, option("Probability that the request is too small.", min=0.0001, max=0.5)
    ] = 0.05,
    graphs: n.Graphs = None,
) -> None:
    """Say how long a training step takes on a GPU, in which memory, and whether it fits.

    my_train.py:step is a torch module's class, or a function step(batch_size) that returns a module
    or a JAX function, and its inputs; nothing is computed, no GPU is needed. Devices are known by
    their data sheets, and the answer says what it rests on, with 90 % intervals.

    With a model of rheostat dnn fit, the runs of TABLE or a network by name are predicted from the
    runs learned from, with time of a pass over the data, energy, and requests for a scheduler: the
    run needs more with probability --risk. The trivial baseline stands beside.
    """
