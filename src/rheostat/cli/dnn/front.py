"""``rheostat dnn front``: which batch size, device, precision or number of devices to take."""

from __future__ import annotations

from typing import Annotated

import typer

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.dnn import network_options as n
from rheostat.cli.options.declared import argument, option

TURNED = "batch_size, device, precision_bits, gpus"
USUAL_BATCHES = "batch_size=16,32,64,128,256"


@asks("dnn.front", n.one_run, o.drawn, source="network", name="model_name")
def front(
    source: Annotated[
        str,
        argument(
            "A training step, as of rheostat dnn predict: my_train.py:step (its code is "
            "run), a graph's file, a network by name. Or a model saved by rheostat dnn fit."
        ),
    ],
    name: Annotated[
        str, option("With a model: a network by name, as resnet50.", "--model-name")
    ] = "",
    knob: Annotated[
        list[str] | None,
        typer.Option(
            help=f"With a model, what may be turned, NAME=V1,V2: {TURNED}. "
            f"Repeatable.  [default: {USUAL_BATCHES} and every device learned from]"
        ),
    ] = None,
    batch_size: Annotated[
        str, option("Samples of a step, as 32, 8,16,32 or 8..256.", "--batch-size")
    ] = "32",
    objectives: Annotated[
        str,
        option(
            "Minimised quantities, comma-separated: sample_s, runtime_s, epoch_s "
            "(--samples), energy_j, memory_peak_b.  [default: sample_s, and memory_peak_b "
            "where it was learned]"
        ),
    ] = "",
    rule: o.RuleText = "knee",
    within: o.Within = None,
) -> None:
    """Forecast a training run at every setting of the knobs and take one, as rheostat front does.

    Nothing has to be measured first: a step is known by its code or its graph, --device by data
    sheets, as A100,H100, each at every --batch-size, as 8..256; what does not fit is left out. With
    a model of rheostat dnn fit, a network is known by its name, devices by the runs learned from.
    """
