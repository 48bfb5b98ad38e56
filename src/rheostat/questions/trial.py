"""A small randomised trial, to learn what settings do: plan it, read its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from rheostat.core.jobs import Note
from rheostat.core.report import Grid, Report, Section
from rheostat.decision.trials.trial import Trial, plan_trial
from rheostat.decision.trials.trial_size import (
    APART,
    TrialResult,
    TrialSize,
    trial_result,
    trial_size,
)
from rheostat.errors import DataError
from rheostat.prediction.effects import WithinApplication
from rheostat.prediction.features.requested_settings import all_drawn
from rheostat.questions import inputs, listener
from rheostat.questions.advice.log_advice import advice_method
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.written import write_csv

MOST_SHARE = 0.5
ALL_DRAWN = (
    "chance drew the {knob} of every job, and nothing says what a job had asked for, so there is "
    "nothing to hold the trial against: rheostat decide LOG and backtest LOG learn from all jobs"
)
NO_TRIAL = (
    "expected jobs that ran at other {knob} than asked for, drawn by chance; the log does not name "
    "them: give the plan by which they ran, --plan PLAN (rheostat trial plan --out PLAN made it), "
    "or name the column of what was asked for, --column {knob}_requested=THEIRS"
)


@dataclass(frozen=True, kw_only=True, repr=False)
class TrialPlan(Answer):
    """The jobs of a trial, and how much it will tell.

    Parameters
    ----------
    trial : Trial
        A row per job, with the setting to run it at and whether it takes part.
    size : TrialSize
        Jobs needed, and the accuracy that is expected.
    share : float
        Share of jobs that was asked for.
    """

    schema: ClassVar[str] = "rheostat.trial/2"
    trial: Trial
    size: TrialSize
    share: float

    def table(self) -> pl.DataFrame:
        """The jobs that take part."""
        frame = self.trial.table.frame
        return frame.filter(frame["takes_part"])

    def report(self) -> Report:
        """How many take part and are needed, and which."""
        return Report("", [Section("trial", self.beside(), self.grids()[0])], self.facts())

    def facts(self) -> dict[str, Any]:
        """The jobs that take part, and the size."""
        facts = {"share": self.share, "knob": self.trial.knob,
                 "taking_part": self.trial.taking_part}  # fmt: skip
        return {**facts, "size": asdict(self.size), "jobs": self.table().to_dicts()}

    def grids(self) -> tuple[Grid, ...]:
        """A row per job that takes part."""
        part = self.table()
        return (Grid(tuple(part.columns), tuple(part.rows())),)

    def beside(self) -> tuple[str, ...]:
        """How many take part and are needed."""
        taking, every = self.trial.taking_part, len(self.trial.table)
        known = self._known()
        return (f"{taking:,} of {every:,} jobs take part{known}.", *_size_words(self.size))

    def _known(self) -> str:
        """How surely they tell what is asked."""
        if not self.size.expected:
            return ""
        return f", which tells the exponent of runtime to ±{self.size.reached:.2f} (90 %)"


@dataclass(frozen=True, kw_only=True, repr=False)
class TrialReading(Answer):
    """What a trial's jobs said, beside what the log alone would say.

    Parameters
    ----------
    result : TrialResult
        Exponents of runtime by the trial, by the log, and by the forecast, with intervals.
    knob : str
        The setting that was turned.
    """

    schema: ClassVar[str] = "rheostat.trial-read/1"
    result: TrialResult
    knob: str

    def report(self) -> Report:
        """The three exponents, and whether they agree."""
        said = self.result
        trial, log, forecast, beside = (
            "nothing" if v is None else "{:.2f} [{:.2f}, {:.2f}]".format(*v)
            for v in (said.by_trial, said.by_log, said.by_forecast, said.beside)
        )
        these = "these jobs" if said.beside is None else (
            f"the {said.forecast:,} of these jobs that have a forecast, of which the trial says "
            f"{beside}"
        )  # fmt: skip
        sentences = (
            f"Exponent of runtime in {self.knob} by the trial: {trial}, averaged over the "
            f"{said.turned:,} jobs of {said.applications:,} applications that ran at other "
            f"{self.knob} than asked for.",
            f"The requests of the log alone would say {log}.",
            f"What is advised rests on {forecast} for {these}: {_agreement(said, self.knob)}.",
        )
        return Report("", [Section("trial", sentences)], self.facts())

    def facts(self) -> dict[str, Any]:
        """The exponents with their intervals."""
        return {**asdict(self.result), "agrees": self.result.agrees}


def _agreement(said: TrialResult, knob: str) -> str:
    """Whether the forecast says what the trial said, and else by how much it is off."""
    if said.by_forecast is None or said.agrees:
        return "both agree" if said.by_forecast else "the two cannot be compared"
    off = 2 ** (said.by_forecast[0] - (said.beside or said.by_trial)[0]) - 1
    return (
        f"the two differ by more than their intervals; at twice the {knob} the run time that is "
        f"forecast is {abs(off):.0%} too {'long' if off > 0 else 'short'} in the mean of these jobs"
    )


@question
def plan(
    jobs: inputs.Jobs,
    *,
    share: float = 0.05,
    knob: str = "nodes",
    largest: int = 256,
    accuracy: float = 0.05,
    past: inputs.Jobs | None = None,
    seed: int = 0,
    format: str = "",
    columns: Path | None = None,
    renamed: Sequence[str] = (),
    out: Path | None = None,
) -> TrialPlan:
    """Name the jobs to run at a quarter or four times their setting; how many are needed.

    Parameters
    ----------
    jobs : JobTable or path
        Jobs to come.
    share : float
        Expected share of jobs that take part; larger jobs more often.
    knob : str
        The setting that is turned.
    largest : int
        Largest setting that exists.
    accuracy : float
        How well the exponent of runtime is to be known.
    past : JobTable or path, optional
        Log that tells how runtimes vary; by default ``jobs``.
    seed : int
        Of the draw.
    format, columns, renamed : str, path and sequence of str
        How a file is read.
    out : path, optional
        Also write the plan here, a CSV file.

    Returns
    -------
    TrialPlan
        With ``trial`` and ``size``.

    Raises
    ------
    DataError
        ``jobs`` have no such setting, or the share is not between 0 and 0.5.
    """
    asked = inputs.opened(jobs, format, columns, columns=renamed)
    trial = plan_trial(asked, share, knob, high=largest, seed=seed)
    log = asked if past is None else inputs.opened(past)
    answer = TrialPlan(trial=trial, size=trial_size(trial, log, accuracy), share=share)
    if out is not None:
        write_csv(trial.table.frame, out)
    return answer


@question
def read(
    jobs: inputs.Jobs,
    *,
    trial: inputs.Jobs | None = None,
    knob: str = "nodes",
    seed: int = 0,
    format: str = "",
    columns: Path | None = None,
    renamed: Sequence[str] = (),
) -> TrialReading:
    """Say what the trial's jobs in a log told, beside what the log alone would say.

    Parameters
    ----------
    jobs : JobTable or path
        The log of the month of the trial.
    trial : JobTable or path, optional
        The plan; not needed where the log has the column KNOB_requested.
    knob, seed, format, columns, renamed
        As those of `plan`.

    Returns
    -------
    TrialReading
        With ``result``.

    Raises
    ------
    DataError
        No two applications ran at another setting than asked for.
    """
    recorded = inputs.opened(jobs, format, columns, columns=renamed)
    log = inputs.with_trial(recorded, trial, (knob,))
    if f"{knob}_requested" in set(recorded.columns) - set(log.columns):  # users had reasons
        raise DataError("trial read", [log.notes[-1].message])
    if f"{knob}_requested" not in log.columns:
        said = ALL_DRAWN if all_drawn(log.frame) else NO_TRIAL
        raise DataError("trial read", [said.format(knob=knob)])
    method = advice_method("auto", log, None)
    model = inputs.fitted(log, None, method, seed, (knob,)) if method == "within" else None
    if isinstance(model, WithinApplication):
        listener.notes(Note(doubt) for doubt in model.identification_.doubts)
    result = trial_result(log, knob, model)
    if result is None:
        raise DataError("trial read", ["expected jobs of two applications that ran at another "
                                       f"{knob} than asked for; got fewer"])  # fmt: skip
    return TrialReading(result=result, knob=knob)


def _size_words(size: TrialSize) -> tuple[str, ...]:
    basis = "as in the past runs" if size.measured else "assumed: no past runs are given"
    needed = (
        f"{size.needed:,} jobs are needed to know the exponent of runtime, averaged over them, to "
        f"±{size.accuracy:g} (90 %), if runtimes at equal requests vary by {size.spread:.2f} in "
        f"logarithm ({basis}) and exponents by {APART:g}."
    )
    if size.expected >= size.needed:
        return (needed, f"As planned it will be known to ±{size.reached:.2f}.")
    if not size.expected:
        return (needed,)
    more = f"--share {size.share:.2g}" if size.share <= MOST_SHARE else "a longer trial"
    return (needed, f"As planned ±{size.reached:.2f}: {more} reaches it.")
