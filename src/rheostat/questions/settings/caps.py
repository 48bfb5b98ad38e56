"""`caps`: how slow an application gets under power caps that nobody tried, and which to keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from rheostat.core.jobs import JobTable
from rheostat.core.report import Grid, Report
from rheostat.decision.caps import CapAdvice, as_runs, choose_caps
from rheostat.explanation.choices.caps import caps_facts, caps_grid, caps_report
from rheostat.questions import inputs, listener
from rheostat.questions.answer import Answer
from rheostat.questions.budget.capped_runs import capped as capped_runs
from rheostat.questions.listener import question
from rheostat.questions.parse import Knobs, Names, parse_space
from rheostat.questions.written import write_csv


@dataclass(frozen=True, kw_only=True, repr=False)
class CapsAnswer(Answer):
    """Caps to keep and to try next.

    Parameters
    ----------
    advice : CapAdvice
        Loss of speed under every cap with its bound, measured or expected.
    """

    schema: ClassVar[str] = "rheostat.caps/1"
    advice: CapAdvice

    def report(self) -> Report:
        """What to keep, what to try, the loss against watts."""
        return caps_report(self._facts)

    def facts(self) -> Mapping[str, Any]:
        """Every setting's loss, watts saved and probability."""
        return self._facts

    def grids(self) -> tuple[Grid, ...]:
        """A row per setting, once the default has been tried."""
        return (caps_grid(self._facts),) if self.advice.ready else ()

    def beside(self) -> tuple[str, ...]:
        """What to keep and what to try."""
        return self.report().sections[0].sentences if self.advice.ready else ()

    def runs(self) -> JobTable:
        """Time and power at every setting, as a table that the other questions read."""
        return as_runs(self.advice)

    @cached_property
    def _facts(self) -> dict[str, Any]:
        return caps_facts(self.advice)


@question
def caps(
    known: inputs.Jobs,
    app: str,
    *,
    runs: inputs.Jobs | None = None,
    loss: float = 0.05,
    risk: float = 0.9,
    knobs: Knobs = None,
    where: Sequence[str] = (),
    group_by: Names = "",
    format: str = "",
    columns: Path | None = None,
    renamed: Sequence[str] = (),
    out: Path | None = None,
) -> CapsAnswer:
    """Say from a few runs how slow an application gets under caps, what to keep, what to try next.

    Parameters
    ----------
    known : JobTable or path
        Runs of known applications under caps: app, runtime_s and cpu_cap_w, gpu_cap_w or cap_w.
    app : str
        The application asked about.
    runs : JobTable or path, optional
        Its few runs; by default those among ``known``.
    loss : float
        Share of speed that may be lost.
    risk : float
        Probability with which the bound must hold.
    knobs : Space, Knob, several Knobs, or texts
        Caps to predict that the known applications did not run.
    where, group_by
        Rows to keep as ``column=value``, and columns that make runs the same application.
    format, columns, renamed
        How files are read; ``renamed`` are texts ``ours=theirs``.
    out : path, optional
        Also write what is believed here as runs, a CSV file for `budget.plan`, once it is ready.

    Returns
    -------
    CapsAnswer
        With ``advice``.

    Raises
    ------
    DataError
        No such application or caps in the tables.
    """
    others = capped_runs(known, where, group_by, format, columns, renamed)
    own = others
    if runs is not None:
        own = capped_runs(runs, None, group_by, format, columns, renamed)
    asked = parse_space(knobs).knobs if knobs else ()
    with listener.working("learning from the known applications"):
        advice = choose_caps(others, own, app, loss=loss, risk=risk, knobs=asked)
    for message in advice.notes:
        listener.note(message)
    answer = CapsAnswer(advice=advice)
    if out is not None and advice.ready:
        write_csv(answer.runs().frame, out)
    return answer
