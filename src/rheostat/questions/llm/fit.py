"""`llm.fit`: what a served model takes, as a law with units and intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rheostat.core.jobs import JobTable, Moment
from rheostat.core.report import Report, Section
from rheostat.prediction.accelerators import Accelerator, stating
from rheostat.prediction.saved_models.persist import save
from rheostat.prediction.serving_law import ServingLaw, equation
from rheostat.prediction.serving_law.printed_placement import PrintedPlacement
from rheostat.prediction.serving_law.sensitivity import sensitivity
from rheostat.questions import inputs, listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.llm.runs import (
    Files,
    Pairs,
    Sheets,
    configured,
    kernel_medians,
    load_runs,
    parse_sheets,
)
from rheostat.questions.parse import Names, parse_names
from rheostat.recipes.energylens import knobs_in, notes_on, to_measure


@dataclass(frozen=True, kw_only=True, repr=False)
class LawAnswer(Answer):
    """The law of time and energy per token.

    Parameters
    ----------
    law : ServingLaw
        Fitted.
    rows : int
        Runs that it learned from.
    named : tuple of mapping
        Configurations to measure next.
    placement : PrintedPlacement or None
        The law as it answers for some of the configurations.
    form : str
        How `text` writes it: text, latex or python.
    gpus : mapping
        Types of GPU that were stated.
    """

    schema: ClassVar[str] = "rheostat.llm-law/1"
    law: ServingLaw
    rows: int
    named: tuple[Mapping[str, Any], ...] = ()
    placement: PrintedPlacement | None = None
    form: str = "text"
    gpus: Mapping[str, Accelerator] = field(default_factory=dict)

    def report(self) -> Report:
        """The law, parameter by parameter."""
        return Report("", [Section("The law", (self._sure(),), listing=self.text())], self.facts())

    def facts(self) -> dict[str, Any]:
        """Parameters with 90 % intervals, and what time and energy hang on."""
        intervals = equation.intervals(self.law)
        said = {k: {"value": v, "low": a, "high": b} for k, (v, a, b) in intervals.items()}
        return {"runs": self.rows, "parameters": said, "equation": equation.TEXT,
                "next": self.named, "sensitivity": self._sensitivity()}  # fmt: skip

    def text(self) -> str:
        """The law, or that of the placement, and what to measure."""
        of, given = (self.placement, ()) if self.placement else (equation, (self.law,))
        write: Callable[..., str] = getattr(of, f"as_{self.form}")
        with stating(self.gpus):
            said = write(*given)
        wanted = ("next: " + ", ".join(f"{k}={v}" for k, v in n.items()) for n in self.named)
        return "".join(f"{line}\n" for line in (said, *wanted))

    def _sure(self) -> str:
        return (f"The law of {self.rows:,} runs, each parameter with its 90 % interval; "
                "llm plan says how far off it was on runs left out.")  # fmt: skip

    def _sensitivity(self) -> dict[str, Any] | None:
        """Elasticities of time of a step and energy per token, by parameter and batch."""
        with stating(self.gpus):
            made = sensitivity(self.law)
        if made is None:
            return None
        return {
            "placement": made.placement, "batch_cap": made.batch.tolist(),
            "step_time": {n: v.tolist() for n, v in made.step_time.items()},
            "energy_per_token": {n: v.tolist() for n, v in made.energy.items()},
        }  # fmt: skip


@question
def fit(
    runs: Files,
    *,
    for_: Names = (),
    form: str = "text",
    next_count: int = 0,
    out: Path | str | None = None,
    model_config: Path | str | None = None,
    gpus: Sheets = (),
    kernels: Path | str | None = None,
    where: Sequence[str] = (),
    format: str = "",
    columns: Path | None = None,
    renamed: Pairs = (),
    units: Pairs = (),
) -> LawAnswer:
    """Fit the law of time and energy per token to measured configurations.

    Each parameter has a unit and a 90 % interval: the prior of other machines, narrowed by the
    runs.

    Parameters
    ----------
    runs : JobTable, path or several paths
        Measured configurations: gpu_model, gpus, batch_cap, app, params, itl_s,
        energy_per_token_j.
    for_ : str or sequence of str
        Write the law as it answers for these configurations of the runs, as
        ``app=NAME,gpu_model=H100``.
    form : str
        How the law is written: text, latex or python.
    next_count : int
        Also name so many configurations to measure.
    out : path, optional
        Where the law goes.
    model_config : path, optional
        The model's config.json.
    gpus : sequence of str or mapping
        Types of GPU by their data sheets, as ``"NAME=TB/s,TFLOPs,W,GB"``.
    kernels : path, optional
        A directory of kernel tables as prior of their GPUs.
    where : sequence of str
        Rows to keep, as ``column=value``.
    format, columns, renamed, units
        How a file is read.

    Returns
    -------
    LawAnswer
        With ``law``, which predicts ``itl_s``, ``energy_per_token_j`` and ``power_w``.

    Raises
    ------
    DataError
        Columns are missing, or no row can be learned from.

    Examples
    --------
    >>> import rheostat as rh
    >>> runs = rh.table({
    ...     "app": ["a"] * 4, "params": [8e9] * 4, "gpu_model": ["H100", "H100", "A100", "A100"],
    ...     "gpus": [1] * 4, "batch_cap": [8, 32, 8, 32], "itl_s": [0.010, 0.014, 0.013, 0.018],
    ...     "energy_per_token_j": [0.5, 0.2, 0.6, 0.25]})
    >>> answer = rh.llm.fit(runs)
    >>> answer.rows, sorted(answer.to_dict()["parameters"])[:2]
    (4, ['bandwidth', 'cache'])
    """
    sheets = parse_sheets(gpus)
    with stating(sheets):
        jobs = inputs.only(load_runs(runs, format, columns, renamed, units), where)
        jobs, _ = configured(jobs, "", model_config)
        law = ServingLaw(kernels=kernel_medians(kernels)).fit(jobs)
        listener.notes(notes_on(jobs))
        if out is not None:
            save(law, Path(out))
            listener.line(f"wrote {out}")
        named = _to_measure(law, jobs, next_count) if next_count else ()
        if len(named) < next_count:
            listener.line(f"{len(named)} of {next_count} named: no other placement and batch cap "
                          "in RUNS is open")  # fmt: skip
        placed = _placement(law, jobs, for_) if for_ else None
        return LawAnswer(law=law, rows=len(jobs), named=named, placement=placed, form=form,
                         gpus=sheets)  # fmt: skip


def _placement(law: ServingLaw, jobs: JobTable, wanted: Names) -> PrintedPlacement:
    """The configurations of the runs that ``wanted`` names, each once."""
    some = inputs.only(jobs, parse_names(wanted), "--for").known_at(Moment.SUBMIT)
    once = some.frame.with_row_index("_row").unique(some.columns, keep="first", maintain_order=True)
    return PrintedPlacement.of(law, some.rows(np.asarray(once["_row"].to_numpy())))


def _to_measure(law: ServingLaw, jobs: JobTable, count: int) -> tuple[dict[str, Any], ...]:
    names = [n for n in ("app", "workload", *knobs_in(jobs)) if n in jobs.columns]
    return tuple(to_measure(law, jobs, count).frame.select(names).rows(named=True))
