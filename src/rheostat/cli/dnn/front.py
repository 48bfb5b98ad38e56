"""``rheostat dnn front``: which batch size, device, precision or number of devices to take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rheostat.cli import knob_options
from rheostat.cli import options as o
from rheostat.cli.dnn import network_options as n
from rheostat.cli.front import show

if TYPE_CHECKING:
    from rheostat.prediction.step_cost import StepCost

TURNED = ("batch_size", "device", "precision_bits", "gpus")
USUAL_BATCHES = "batch_size=16,32,64,128,256"


def front(
    model: Annotated[Path, typer.Argument(help="A model saved by rheostat dnn fit.")],
    name: Annotated[str, typer.Option("--model-name", help="A network by name, as resnet50.")],
    knob: Annotated[
        list[str] | None,
        typer.Option(
            help=f"What may be turned, NAME=V1,V2: {', '.join(TURNED)}. "
            f"Repeatable.  [default: {USUAL_BATCHES} and every device learned from]"
        ),
    ] = None,
    device: n.Device = "",
    batch_size: n.BatchSize = 32,
    image_px: n.ImagePx = 224,
    classes: n.Classes = 1000,
    optimizer: n.Optimizer = "sgd",
    precision_bits: n.PrecisionBits = None,
    gpus: n.Gpus = 1,
    samples: n.Samples = None,
    objectives: Annotated[
        str,
        typer.Option(
            help="Minimised quantities, comma-separated: sample_s, runtime_s, epoch_s (--samples), "
            "energy_j, memory_peak_b.  [default: sample_s, and memory_peak_b where it was learned]"
        ),
    ] = "",
    rule: o.RuleText = "knee",
    within: o.Within = None,
    html: o.Html = None,
    figure: o.Figure = None,
    json: o.Json = False,
) -> None:
    """Forecast a training run at every setting of the knobs and take one, as rheostat front does.

    Nothing has to be measured first: the network is known by its name, the devices by the model.
    """
    from rheostat.errors import Infeasible
    from rheostat.prediction.persist import load
    from rheostat.recipes.dnnperf import one_run
    from rheostat.recipes.log_answer import LogAnswer
    from rheostat.tradeoff import all_settings

    learner: StepCost = load(model, ["step-cost"])
    space = knob_options.space(knob or [USUAL_BATCHES, f"device={','.join(learner.devices_)}"])
    if strange := [k for k in space.names if k not in TURNED]:
        raise typer.BadParameter(f"--knob: expected {', '.join(TURNED)}, got {strange[0]}")
    job = one_run(name, device=device or learner.devices_[0], batch_size=batch_size,
                  image_px=image_px, classes=classes, optimizer=optimizer,
                  precision_bits=precision_bits, gpus=gpus, samples=samples)  # fmt: skip
    usual = ("sample_s", *(q for q in ("memory_peak_b",) if q in learner.fits_))
    options = all_settings.front(job, learner, space, o.names(objectives) or usual)
    chosen_by, limits = o.rules(rule, within)
    answer = LogAnswer()
    try:
        choice = options.choose(chosen_by, limits)
    except Infeasible as stop:
        show(options, None, {}, answer, json=json, html=html, figure=figure, stop=stop)
        raise
    show(options, choice, {}, answer, json=json, html=html, figure=figure)
