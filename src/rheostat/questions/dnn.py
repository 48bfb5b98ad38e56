"""Questions about training a network: at which batch, on which GPU, by which optimiser."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rheostat.core.front import Constraint, Rule
from rheostat.errors import QuestionError
from rheostat.prediction.persist import load
from rheostat.prediction.step_cost import StepCost
from rheostat.questions.front import FrontAnswer, SettingsAnswer, chosen
from rheostat.questions.listener import question
from rheostat.questions.parse import Knobs, Names, parse_names, parse_rules, parse_space
from rheostat.recipes.dnnperf import one_run
from rheostat.tradeoff import all_settings

TURNED = ("batch_size", "device", "precision_bits", "gpus")
USUAL_BATCHES = "batch_size=16,32,64,128,256"


@question
def front(
    network: str,
    model: StepCost | Path | str,
    *,
    knobs: Knobs = None,
    device: str = "",
    batch_size: int = 32,
    image_px: int = 224,
    classes: int = 1000,
    optimizer: str = "sgd",
    precision_bits: int | None = None,
    gpus: int = 1,
    samples: int | None = None,
    objectives: Names = (),
    rule: str | Rule = "knee",
    limits: Sequence[str | Constraint] = (),
) -> FrontAnswer:
    """Forecast a training run at every setting of the knobs and take one.

    Nothing has to be measured first: the network is known by its name, the devices by the model.

    Parameters
    ----------
    network : str
        A network that is known by name, or a graph's file.
    model : StepCost or path
        As ``rheostat dnn fit`` saves it.
    knobs : Space, Knob, several Knobs, or texts
        Of ``batch_size``, ``device``, ``precision_bits`` and ``gpus``; batches of 16 to 256 on
        every device of the model by default.
    device, batch_size, image_px, classes, optimizer, precision_bits, gpus
        What is not turned.
    samples : int, optional
        Samples of an epoch, for ``epoch_s``.
    objectives : sequence of str
        ``sample_s``, and ``memory_peak_b`` where it was learned, by default.
    rule, limits
        As those of `rheostat.front`.

    Returns
    -------
    FrontAnswer
        With ``front`` and ``choice``.

    Raises
    ------
    QuestionError
        A knob that a training run has not, or an unknown network or device.
    Infeasible
        No setting holds the limits.
    """
    learner: StepCost = (
        load(Path(model), ["step-cost"]) if isinstance(model, (str, Path)) else model
    )
    space = parse_space(knobs or [USUAL_BATCHES, f"device={','.join(learner.devices_)}"])
    if strange := [k for k in space.names if k not in TURNED]:
        raise QuestionError("--knob", [f"expected {', '.join(TURNED)}, got {k}" for k in strange])
    job = one_run(network, device=device or learner.devices_[0], batch_size=batch_size,
                  image_px=image_px, classes=classes, optimizer=optimizer,
                  precision_bits=precision_bits, gpus=gpus, samples=samples)  # fmt: skip
    usual = ("sample_s", *(q for q in ("memory_peak_b",) if q in learner.fits_))
    options = all_settings.front(job, learner, space, parse_names(objectives) or usual)
    return chosen(SettingsAnswer(front=options), parse_rules(rule, limits))
