"""What a table of measured training runs teaches: `dnn.fit`, and forecasts of other runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rheostat.core.graph import Graph
from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Outcome
from rheostat.core.report import Grid, Report, Section
from rheostat.core.units import plain_name, unit_of
from rheostat.errors import QuestionError
from rheostat.explanation.number_words import number_words
from rheostat.measurement.graphs.read_graph import graphs_of
from rheostat.prediction.saved_models.persist import load, save
from rheostat.prediction.step_cost import StepCost
from rheostat.prediction.step_cost.rows import TrainingRows
from rheostat.questions import inputs, listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.parse import Names, parse_names
from rheostat.recipes.dnnperf import (
    least_run,
    left_out_errors,
    nearest_runs,
    one_run,
    request,
    to_measure,
)

QUANTITIES = ("runtime_s", "sample_s", "epoch_s", "memory_peak_b", "energy_j", "power_w")
WHO = ("app", "device", "batch_size", "image_px", "gpus")


@dataclass(frozen=True, kw_only=True, repr=False)
class StepFitAnswer(Answer):
    """A model of training steps, and how right it is.

    Parameters
    ----------
    model : StepCost
        Fitted.
    rows : int
        Runs learned from.
    errors : dict
        Median relative errors by quantity: of a run and of a network left out, of the baseline.
    named : sequence of dict
        Configurations to measure next.
    expected_error : sequence of float
        Of the wanted predictions, now and after each of them.
    """

    schema: ClassVar[str] = "rheostat.dnn-fit/1"
    model: StepCost
    rows: int
    errors: Mapping[str, Mapping[str, float]]
    named: Sequence[Mapping[str, Any]] = ()
    expected_error: Sequence[float] = ()
    path: str | None = None

    def report(self) -> Report:
        """How right it is, what was learned from, what to measure next."""
        model = self.model
        learned = max(len(fit.log_y) for fit in model.fits_.values())
        said = [
            f"{name}: median error {100 * e['run']:.1f} % on a run left out, "
            f"{100 * e['network']:.1f} % on a network left out; that of the trivial baseline is "
            f"{100 * e['baseline']:.0f} %."
            for name, e in self.errors.items()
        ]
        said.append(f"Learnt from {learned:,} configurations of {self.rows:,} runs: "
                    f"{len(model.apps_)} networks on {', '.join(model.devices_)}.")  # fmt: skip
        said += [
            "Measure next: "
            + ", ".join(f"{k}={v}" for k, v in row.items() if v is not None)
            + f"; the error to expect of wanted predictions falls to {100 * after:.1f} %."
            for row, after in zip(self.named, self.expected_error[1:], strict=False)
        ]
        return Report("", [Section("fit", tuple(said))], self.facts())

    def facts(self) -> Mapping[str, Any]:
        """Counts, errors and configurations to measure."""
        model = self.model
        return {
            "model": self.path, "rows": self.rows, "devices": model.devices_,
            "networks": model.apps_,
            "configurations": {name: len(fit.log_y) for name, fit in model.fits_.items()},
            "median_ape": self.errors, "next": list(self.named),
            "expected_error": list(self.expected_error),
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True, repr=False)
class RunsAnswer(Answer):
    """Forecasts of training runs.

    Parameters
    ----------
    jobs : JobTable
        What was asked about.
    outcome : Outcome
        Draws of every quantity.
    grid : Grid
        A row a run: medians with 90 % intervals, baselines, requests.
    risk : float
        Probability that a request is too small.
    """

    schema: ClassVar[str] = "rheostat.dnn-predict/1"
    jobs: JobTable
    outcome: Outcome
    grid: Grid
    risk: float
    path: str | None = None

    def report(self) -> Report:
        """One sentence and the table."""
        return Report("", [Section("predict", self.beside(), self.grid)])

    def facts(self) -> Mapping[str, Any]:
        """A mapping a run."""
        rows = [dict(zip(self.grid.heads, map(_plain, row), strict=True)) for row in self.grid.rows]
        return {"model": self.path, "level": 0.9, "risk": self.risk, "runs": rows,
                "notes": list(self.notes)}  # fmt: skip

    def grids(self) -> tuple[Grid, ...]:
        """A row a run."""
        return (self.grid,)

    def beside(self) -> tuple[str, ...]:
        """What the first quantity is between, and the risk of a request."""
        name = next(q for q in QUANTITIES if q in self.outcome)
        middle = self.outcome.quantile(name, 0.5)
        known = middle[np.isfinite(middle)].tolist() or [math.nan]
        ends = dict.fromkeys(number_words(v, unit_of(name)) for v in (min(known), max(known)))
        return (f"{plain_name(name)}: {' to '.join(ends)} in the median, each with its 90 % "
                f"interval; a request is too small with probability {self.risk:g}.",)  # fmt: skip


@question
def fit(
    runs: inputs.Jobs,
    *,
    targets: Names = "",
    graphs: Path | None = None,
    next_count: int = 0,
    wanted: Sequence[str] = (),
    device: str = "",
    where: Sequence[str] = (),
    seed: int = 0,
    out: Path | str | None = None,
    format: str = "",
    columns: Path | None = None,
    renamed: Sequence[str] = (),
) -> StepFitAnswer:
    """Learn what training steps take from measured runs, and say how right it is.

    Parameters
    ----------
    runs : JobTable or path
        Measured training runs: app, device, batch_size, runtime_s.
    targets : str or sequence of str
        Quantities to learn; by default those of the table.
    graphs : path, optional
        Folder of the files that column ``graph`` names; by default that of the table.
    next_count : int
        Name so many configurations to measure.
    wanted : sequence of str
        Whose predictions those are to improve, as ``app=VGG16``.
    device : str
        Where they are to be measured; by default the device least run.
    where : sequence of str
        Rows to keep, as ``column=value``.
    seed : int
        Of which configurations are learned from where there are too many.
    out : path, optional
        Where the model goes.
    format, columns, renamed
        How a file is read.

    Returns
    -------
    StepFitAnswer
        With ``model``.

    Raises
    ------
    DataError
        No row has a known graph and a target.
    """
    jobs = inputs.only(_table(runs, format, columns, renamed), where)
    model = StepCost(parse_names(targets) or None, seed=seed).knowing(_graphs(jobs, runs, graphs))
    with listener.working(f"learning from {len(jobs):,} runs"):
        model.fit(jobs)
    listener.notes(model.notes_)
    errors = {name: left_out_errors(model, name) for name in model.fits_}
    place = device or least_run(model)
    named, expected = to_measure(model, jobs, place, next_count, inputs.only(jobs, wanted))
    if len(named) < next_count:
        listener.note(f"--next {next_count}: {len(named)} named, as every other configuration of "
                      f"the table was run on {place}")  # fmt: skip
    path = None if out is None else str(out)
    if out is not None:
        listener.line(f"wrote {save(model, Path(out))}")
    return StepFitAnswer(model=model, rows=len(jobs), errors=errors, named=named,
                     expected_error=expected.tolist(), path=path)  # fmt: skip


def forecast_runs(
    model: StepCost | Path | str,
    runs: inputs.Jobs | None,
    run: Mapping[str, Any],
    *,
    epochs: float = 1.0,
    risk: float = 0.05,
    graphs: Path | None = None,
    format: str = "",
    columns: Path | None = None,
    renamed: Sequence[str] = (),
) -> RunsAnswer:
    """Forecasts of a table of runs, or of the one run of a named network that ``run`` describes."""
    path = None if isinstance(model, StepCost) else str(model)
    if bool(run.get("network")) == (runs is not None):
        raise QuestionError("dnn predict", ["expected a TABLE or --model-name, one of the two"])
    learner: StepCost = model if isinstance(model, StepCost) else load(Path(model), ["step-cost"])
    if runs is not None:
        jobs = _table(runs, format, columns, renamed).known_at(Moment.SUBMIT)
        learner.knowing(_graphs(jobs, runs, graphs))
    else:
        device = run.get("device") or learner.devices_[0]
        jobs = one_run(**{**run, "device": device, "batch_size": run.get("batch_size") or 32})
    outcome = learner.predict(jobs)
    grid = _grid(learner, jobs, outcome, request(outcome, risk, epochs=epochs))
    if unknown := set(TrainingRows.of(jobs, learner.terms).device) - set(learner.devices_):
        listener.note(f"no run on {', '.join(sorted(unknown))} was learned from, only on "
                      f"{', '.join(learner.devices_)}: intervals are wide")  # fmt: skip
    listener.notes(outcome.notes)
    return RunsAnswer(jobs=jobs, outcome=outcome, grid=grid, risk=risk, path=path)


def _table(
    runs: inputs.Jobs, format: str, columns: Path | None, renamed: Sequence[str]
) -> JobTable:
    if isinstance(runs, JobTable):
        return runs
    return inputs.load(Path(runs), format, columns, renamed, otherwise="training")


def _graphs(jobs: JobTable, runs: inputs.Jobs, folder: Path | None) -> dict[str, Graph]:
    """Graphs that column ``graph`` names, if there is one."""
    if "graph" not in jobs.columns or (folder is None and isinstance(runs, JobTable)):
        return {}
    place = folder if folder is not None else Path(str(runs)).parent
    with listener.working("reading graphs"):
        return graphs_of(jobs, place)


def _grid(learner: StepCost, jobs: JobTable, outcome: Outcome, asked: Mapping[str, Any]) -> Grid:
    who = [c for c in WHO if c in jobs.columns]
    made: list[tuple[str, str, list[Any]]] = [(c, "", jobs.frame[c].to_list()) for c in who]
    for q in (q for q in QUANTITIES if q in outcome):
        low, high = outcome.interval(q)
        middle = outcome.quantile(q, 0.5)
        spans = list(zip(middle.tolist(), low.tolist(), high.tolist(), strict=True))
        made.append((q, unit_of(q), spans))
        if q in learner.fits_:
            made.append((f"baseline_{q}", unit_of(q), nearest_runs(learner, jobs, q).tolist()))
    made += [(q, unit_of(q), values.tolist()) for q, values in asked.items()]
    heads, units, columns = zip(*made, strict=True)
    return Grid(heads, tuple(zip(*columns, strict=True)), units)


def _plain(value: Any) -> Any:
    keys = ("median", "low", "high")
    return dict(zip(keys, value, strict=True)) if isinstance(value, tuple) else value
