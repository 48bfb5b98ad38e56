"""`dnn.predict`: how long a step takes and in which memory, learned from runs or from a sheet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rheostat.core.graph import Graph
from rheostat.core.report import Grid, Report, Section
from rheostat.core.storage.file_kinds import kind_in
from rheostat.errors import DataError, QuestionError
from rheostat.explanation.number_words import quantity, spanned
from rheostat.measurement.graphs.step_source import StepSource, open_step
from rheostat.prediction.accelerators import accelerators
from rheostat.prediction.architectures.named import _SPELLED, ARCHITECTURES, training_step
from rheostat.prediction.step_cost import StepCost
from rheostat.prediction.step_cost.sheet_forecast import (
    StepForecast,
    forecast_step,
    recurrent,
    unknown_operations,
)
from rheostat.questions import inputs, listener
from rheostat.questions.answer import Answer
from rheostat.questions.dnn.runs import RunsAnswer, forecast_runs
from rheostat.questions.listener import question
from rheostat.questions.parse import Names, parse_names

OPTIMIZERS = ("sgd", "momentum", "adam", "adamw")
PIXELS, BATCH = 224, 32
MEMORY_PARTS = {"parameters_b": "parameters", "gradients_b": "gradients",
                "optimizer_b": "optimiser", "activations_b": "activations",
                "data_b": "data", "workspace_b": "libraries"}  # fmt: skip


@dataclass(frozen=True, kw_only=True, repr=False)
class StepAnswer(Answer):
    """Time and memory of one step on devices.

    Parameters
    ----------
    source : str
        What was asked about.
    batch_size : int or None
        Samples of a step; None where the source does not say.
    optimizer : str
        "" where the source holds its own, or nothing is trained.
    forecasts : tuple of StepForecast
        One a device.
    """

    schema: ClassVar[str] = "rheostat.dnn-step/1"
    source: str
    batch_size: int | None
    optimizer: str
    forecasts: tuple[StepForecast, ...]

    def report(self) -> Report:
        """A sentence a device, memory by part, and the table."""
        said = [s for f in self.forecasts for s in self._sentences(f)]
        return Report("", [Section("step", tuple(said), self._grid())], self.facts())

    def facts(self) -> Mapping[str, Any]:
        """Every number of every device."""
        return {"source": self.source, "batch_size": self.batch_size,
                "optimizer": self.optimizer or None, "level": 0.9,
                "devices": [self._facts(f) for f in self.forecasts],
                "notes": list(self.notes)}  # fmt: skip

    def grids(self) -> tuple[Grid, ...]:
        """A row a device."""
        return (self._grid(),)

    def beside(self) -> tuple[str, ...]:
        """The sentences."""
        return self.report().sections[0].sentences

    def _sentences(self, f: StepForecast) -> list[str]:
        each = f" with {self.batch_size:,} samples" if self.batch_size else ""
        first = f"{f.device}: a step{each} takes {spanned(*f.runtime_s, 's')} ({f.grade})."
        parts = [f"{name} {quantity(value, 'B')}" for key, name in MEMORY_PARTS.items()
                 if (value := getattr(f.memory, key)) > 0]  # fmt: skip
        memory = f"{f.device}: {spanned(*f.memory_b, 'B')} of {quantity(f.sheet.memory_b, 'B')}"
        return [first, f"{memory}, fits: {f.fits}; {', '.join(parts)}."]

    def _facts(self, f: StepForecast) -> dict[str, Any]:
        return {
            "device": f.device, "runtime_s": _span(f.runtime_s),
            "sample_s": f.runtime_s[0] / self.batch_size if self.batch_size else None,
            "memory_peak_b": _span(f.memory_b), "device_memory_b": f.sheet.memory_b,
            "fits": f.fits, "grade": f.grade, "runtime_parts_s": f.parts_s,
            "memory_parts_b": {k: getattr(f.memory, k) for k in MEMORY_PARTS},
        }  # fmt: skip

    def _grid(self) -> Grid:
        heads = ("device", "batch_size", "runtime_s", "sample_s", "memory_peak_b", "fits", "grade")
        rows = [(f.device, self.batch_size, f.runtime_s,
                 f.runtime_s[0] / self.batch_size if self.batch_size else None,
                 f.memory_b, f.fits, f.grade) for f in self.forecasts]  # fmt: skip
        return Grid(heads, tuple(rows), ("", "", "s", "s", "B", "", ""))


@question
def predict(
    source: str | Path | Graph | StepCost,
    runs: inputs.Jobs | None = None,
    *,
    network: str = "",
    device: Names = "",
    batch_size: int | None = None,
    optimizer: str = "",
    image_px: int = PIXELS,
    classes: int = 1000,
    precision_bits: int | None = None,
    gpus: int = 1,
    samples: int | None = None,
    epochs: float = 1.0,
    risk: float = 0.05,
    graphs: Path | None = None,
    format: str = "",
    columns: Path | None = None,
    renamed: Sequence[str] = (),
) -> StepAnswer | RunsAnswer:
    """Say how long a step takes and which memory, before it was run or from other runs.

    Parameters
    ----------
    source : str, path, Graph or StepCost
        ``my_train.py:step`` (its code is run, nothing is computed; it returns a module and its
        inputs, or does a step), a graph's file (HLO, ONNX, ``torch.export``), a graph, or the name
        of a network, as resnet50: from the data sheets of devices.  Or a model as `fit` makes it:
        from the runs that it learned from.
    runs : JobTable or path, optional
        With a model: runs to forecast.
    network : str
        With a model: instead of ``runs``, a network by name.
    device : str or sequence of str
        Names of GPUs, as T4 or "A100,H100".
    batch_size : int, optional
        Samples of a step; by default as the source has it.
    optimizer : str
        sgd, momentum, adam or adamw; adamw for a module, sgd with a model, by default.
    image_px, classes : int
        Of a named network.
    precision_bits : int, optional
        16 for mixed precision; by default where the code asks for autocast.
    gpus : int
        Devices that share the batch and sum their gradients.
    samples, epochs, risk
        With a model: samples and number of passes over the data,
        probability that a request is too small.
    graphs, format, columns, renamed
        How ``runs`` are read.

    Returns
    -------
    StepAnswer or RunsAnswer
        With ``forecasts``, or with ``outcome``.

    Raises
    ------
    QuestionError
        No device, or an unknown optimiser.
    DataError
        An unknown device, or a source that cannot be read or traced.
    """
    if isinstance(source, StepCost) or is_model(source):
        run = {"network": network, "device": ",".join(parse_names(device)),
               "batch_size": batch_size, "image_px": image_px, "classes": classes,
               "optimizer": optimizer or "sgd", "precision_bits": precision_bits, "gpus": gpus,
               "samples": samples}  # fmt: skip
        assert not isinstance(source, Graph)
        return forecast_runs(source, runs, run, epochs=epochs, risk=risk, graphs=graphs,
                             format=format, columns=columns, renamed=renamed)  # fmt: skip
    if batch_size is not None and batch_size < 1:
        raise QuestionError("--batch-size", [f"expected a whole number from 1, got {batch_size}"])
    wanted, optimizer = checked(device, optimizer, precision_bits, runs, network)
    step = opened(source, each_share(batch_size, gpus), optimizer, image_px, classes)
    bits = precision_bits or step.bits
    said(step, bits)
    made = [forecast_step(step.graph, d, step.optimizer, framework=step.framework, bits=bits,
                          gpus=gpus) for d in wanted]  # fmt: skip
    return StepAnswer(source=step.graph.name, batch_size=step.batch and step.batch * gpus,
                      optimizer=step.optimizer, forecasts=tuple(made))  # fmt: skip


def each_share(batch: int | None, gpus: int) -> int | None:
    """Samples of each device, which share a batch evenly; None where the source says how many.

    >>> each_share(32, 4), each_share(None, 4)
    (8, None)
    """
    if batch is None or gpus == 1:
        return batch
    if gpus < 1 or batch % gpus:
        problem = f"expected a batch that {gpus} devices share evenly, got {batch}"
        raise QuestionError("--gpus", [problem, "--batch-size is that of all devices together"])
    return batch // gpus


def is_model(source: str | Path | Graph) -> bool:
    """Whether it is a file of a saved model, right or wrong, and no graph's."""
    if isinstance(source, Graph) or not Path(source).is_file():
        return False
    return kind_in(Path(source)) not in (None, "", "graph")


def checked(
    device: Names, optimizer: str, bits: int | None, runs: Any = None, network: str = ""
) -> tuple[tuple[str, ...], str]:
    """Devices and optimiser, all mistakes at once."""
    wanted, optimizer = parse_names(device), optimizer or "adamw"
    problems = [] if wanted else ["expected --device, as T4 or A100,H100"]
    if runs is not None or network:
        problems.append("a TABLE and --model-name go with a model of rheostat dnn fit")
    if optimizer not in OPTIMIZERS:
        problems.append(f"--optimizer: expected one of {', '.join(OPTIMIZERS)}, got {optimizer}")
    if bits not in (None, 16, 32):
        problems.append(f"--precision-bits: expected 16 or 32, got {bits}")
    if problems:
        raise QuestionError("dnn", problems)
    accelerators(wanted)
    return wanted, optimizer


def opened(
    source: str | Path | Graph, batch: int | None, optimizer: str, image_px: int, classes: int
) -> StepSource:
    """The step that a text, a file or a graph means."""
    if isinstance(source, Graph):
        return StepSource(source, batch, "", "graph")
    plain = str(source).lower().replace("_", "").replace("-", "")
    if plain in _SPELLED and not Path(source).exists():
        batch = batch or BATCH
        kind = "adam" if optimizer == "adamw" else optimizer
        graph = training_step(str(source), image_px, batch, classes, optimizer=kind)
        return StepSource(graph, batch, optimizer, "torch")
    if not Path(source).exists() and ":" not in str(source):
        names = f"a network of {', '.join(ARCHITECTURES)}"
        problem = f"expected a file, FILE.py:NAME or {names}, got no such thing"
        raise DataError(str(source), [problem])
    if Path(source).is_file() and kind_in(Path(source)) == "graph":
        return open_step(str(source), batch, optimizer)
    with listener.working(f"reading {source}"):
        return open_step(str(source), batch, optimizer)


def said(step: StepSource, bits: int) -> None:
    """What was assumed, what is not known."""
    for message in step.notes:
        listener.note(message)
    listener.notes(n for n in step.graph.notes)
    if lost := unknown_operations(step.graph):
        listener.note(f"the interval is wider for {', '.join(lost[:5])}: no rule for their FLOPs")
    if recurrent(step.graph).any():
        listener.note("recurrent layers were never timed on a GPU by the tables learned from: "
                      "the interval is wider, how much is set, not measured")  # fmt: skip
    if bits < 32:
        listener.note("no run in 16 bits was learned from: rates are a prior's, intervals are wide")


def _span(values: Sequence[float]) -> dict[str, float]:
    return dict(zip(("median", "low", "high"), values, strict=True))
