"""The front of a step that nobody ran: devices and batches side by side, from data sheets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rheostat.core.front import Constraint, Front, Objective, Rule
from rheostat.core.graph import Graph
from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Outcome
from rheostat.core.vocabulary import table
from rheostat.errors import DataError, QuestionError
from rheostat.measurement.training_columns import COLUMNS
from rheostat.prediction.step_cost.sheet_forecast import StepForecast, forecast_step
from rheostat.questions import listener
from rheostat.questions.dnn.step import BATCH, PIXELS, checked, each_share, opened, said
from rheostat.questions.parse import Names, parse_names, parse_rules, parse_space
from rheostat.questions.settings.front import FrontAnswer, SettingsAnswer, chosen

MOST_BATCHES = 32


def step_front(
    source: str | Path | Graph,
    *,
    device: Names,
    batches: str | int,
    optimizer: str = "",
    image_px: int = PIXELS,
    classes: int = 1000,
    precision_bits: int | None = None,
    gpus: int = 1,
    objectives: Names = (),
    rule: str | Rule = "knee",
    limits: Sequence[str | Constraint] = (),
) -> FrontAnswer:
    """Forecast a step on every device at every batch from data sheets, and take one that fits."""
    wanted, optimizer = checked(device, optimizer, precision_bits)
    sizes = parse_batches(batches)
    made: list[tuple[int, StepForecast]] = []
    for number, batch in enumerate(sizes):
        step = opened(source, each_share(batch, gpus), optimizer, image_px, classes)
        bits = precision_bits or step.bits
        if not number:
            said(step, bits)
        if step.framework == "graph" and len(sizes) > 1:
            problem = "expected one batch, as a graph's file has the batch it was written with"
            raise QuestionError("--batch-size", [problem])
        made += [(batch, forecast_step(step.graph, d, step.optimizer, framework=step.framework,
                                       bits=bits, gpus=gpus)) for d in wanted]  # fmt: skip
    room = [(b, f) for b, f in made if f.fits in ("yes", "likely")]
    lost = [f"{f.device} at {b:,}" for b, f in made if f.fits not in ("yes", "likely")]
    if lost:
        listener.note(f"does not fit, left out: {', '.join(lost)}")
    if not room:
        raise DataError(str(source), ["fits on none of these devices at none of these batches"])
    names = parse_names(objectives) or ("sample_s", "memory_peak_b")
    minimised = tuple(Objective.of(n) for n in names)
    front = Front(_settings(room), _outcome(room), minimised, turned=("device", "batch_size"),
                  statistic="median")  # fmt: skip
    return chosen(SettingsAnswer(front=front), parse_rules(rule, limits))


def parse_batches(text: str | int) -> list[int]:
    """Batches from a number or ``8..256``, ``8,16,32``.

    >>> parse_batches("8..64"), parse_batches(32), parse_batches("")
    ([8, 16, 32, 64], [32], [32])
    """
    text = str(text or BATCH)
    sizes = list(parse_space(f"batch_size={text}").knobs[0].values)
    if any(not isinstance(b, int) or b < 1 for b in sizes) or len(sizes) > MOST_BATCHES:
        problem = f"expected at most {MOST_BATCHES} whole numbers from 1, as 8..256, got {text}"
        raise QuestionError("--batch-size", [problem])
    return sizes


def _settings(rows: Sequence[tuple[int, StepForecast]]) -> JobTable:
    return table({"device": [f.device for _, f in rows], "batch_size": [b for b, _ in rows]},
                 COLUMNS)  # fmt: skip


def _outcome(rows: Sequence[tuple[int, StepForecast]]) -> Outcome:
    """The draws of the forecasts side by side."""
    step, memory = (np.hstack([f.outcome[name] for _, f in rows])
                    for name in ("runtime_s", "memory_peak_b"))  # fmt: skip
    batch = np.array([b for b, _ in rows], dtype=float)
    return Outcome({"runtime_s": step, "sample_s": step / batch, "memory_peak_b": memory})
