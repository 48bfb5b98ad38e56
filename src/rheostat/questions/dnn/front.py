"""Questions about training a network: at which batch, on which GPU, by which optimiser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rheostat.core.front import Constraint, Rule
from rheostat.core.graph import Graph
from rheostat.errors import QuestionError
from rheostat.prediction.saved_models.persist import load
from rheostat.prediction.step_cost import StepCost
from rheostat.questions.dnn.step import is_model
from rheostat.questions.dnn.step_front import parse_batches, step_front
from rheostat.questions.listener import question
from rheostat.questions.parse import Knobs, Names, parse_names, parse_rules, parse_space
from rheostat.questions.settings.front import FrontAnswer, SettingsAnswer, chosen
from rheostat.recipes.dnnperf import one_run
from rheostat.tradeoff import all_settings

TURNED = ("batch_size", "device", "precision_bits", "gpus")
USUAL_BATCHES = "batch_size=16,32,64,128,256"


@question
def front(
    network: str | Path | Graph,
    model: StepCost | Path | str | None = None,
    *,
    model_name: str = "",
    knobs: Knobs = None,
    device: Names = "",
    batch_size: int | str = 32,
    image_px: int = 224,
    classes: int = 1000,
    optimizer: str = "",
    precision_bits: int | None = None,
    gpus: int = 1,
    samples: int | None = None,
    objectives: Names = (),
    rule: str | Rule = "knee",
    limits: Sequence[str | Constraint] = (),
) -> FrontAnswer:
    """Forecast a training run at every setting of the knobs and take one.

    Nothing has to be measured first: the network is known by its name or its code, the devices by
    a model of runs or by their data sheets.

    Parameters
    ----------
    network : str, path or Graph
        A network that is known by name; without ``model`` whatever `predict` takes, as
        ``my_train.py:step``.  Or a saved model, with ``model_name``.
    model : StepCost or path, optional
        As ``rheostat dnn fit`` saves it.  Without it the forecast is from data sheets, of all of
        ``device`` at all of ``batch_size``, and what does not fit is left out.
    model_name : str
        With a model as ``network``: a network that is known by name.
    knobs : Space, Knob, several Knobs, or texts
        Of ``batch_size``, ``device``, ``precision_bits`` and ``gpus``; batches of 16 to 256 on
        every device of the model by default.
    device, batch_size, image_px, classes, optimizer, precision_bits, gpus
        What is not turned; without a model ``"A100,H100"`` and ``"8..256"`` are.
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
    if model is None and is_model(network):
        network, model = model_name, str(network)
    if model is None:
        return step_front(network, device=device, batches=batch_size, optimizer=optimizer,
                          image_px=image_px, classes=classes, precision_bits=precision_bits,
                          gpus=gpus, objectives=objectives, rule=rule, limits=limits)  # fmt: skip
    learner: StepCost = (
        load(Path(model), ["step-cost"]) if isinstance(model, (str, Path)) else model
    )
    space = parse_space(knobs or [USUAL_BATCHES, f"device={','.join(learner.devices_)}"])
    if strange := [k for k in space.names if k not in TURNED]:
        raise QuestionError("--knob", [f"expected {', '.join(TURNED)}, got {k}" for k in strange])
    job = one_run(str(network), device=",".join(parse_names(device)) or learner.devices_[0],
                  batch_size=parse_batches(batch_size)[0], image_px=image_px, classes=classes,
                  optimizer=optimizer or "sgd",
                  precision_bits=precision_bits, gpus=gpus, samples=samples)  # fmt: skip
    usual = ("sample_s", *(q for q in ("memory_peak_b",) if q in learner.fits_))
    options = all_settings.front(job, learner, space, parse_names(objectives) or usual)
    answer = SettingsAnswer(front=replace(options, statistic="median"))
    return chosen(answer, parse_rules(rule, limits))
