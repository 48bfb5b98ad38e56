"""`backtest`: what the advice would have changed last month."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from rheostat.core.front import Constraint, Rule
from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.core.report import Report
from rheostat.decision import backtest as backtests
from rheostat.decision.backtest import Backtest, divided
from rheostat.explanation.narrate import explain
from rheostat.prediction.out_of_core.dask_cluster import Workers, spread_over
from rheostat.questions import inputs, listener
from rheostat.questions.advice.log_advice import LogAdvice, advice_method, advice_rules, can_answer
from rheostat.questions.listener import question
from rheostat.questions.logs.advised_month import (
    AdvisedMonth,
    advised_month,
    largest_use,
    month_facts,
    month_section,
)
from rheostat.questions.parse import Knobs, Names, parse_space
from rheostat.recipes.nodecount import model as new_model

SCHEMA = "rheostat.backtest/1"


@dataclass(frozen=True, kw_only=True, repr=False)
class BacktestAnswer(LogAdvice):
    """Advice for the recent jobs by a model of the past, and what it would have changed.

    Parameters
    ----------
    result : Backtest
        The advice, and its forecasts beside what really ran.
    month : AdvisedMonth or None
        The recent jobs simulated with and without the advice; None where the machine's size is not
        known.
    """

    schema: ClassVar[str] = SCHEMA
    result: Backtest
    month: AdvisedMonth | None = field(default=None)

    def report(self) -> Report:
        """Accuracy, what would have changed, by user, and the simulated month."""
        said = self._explained
        month = [] if self.month is None else [month_section(self.month)]
        return Report(said.title, [*said.sections, *month], self.facts(), said.next_commands)

    def facts(self) -> dict[str, Any]:
        """All of it as data."""
        month = None if self.month is None else month_facts(self.month)
        return {**self.log.facts, **self._explained.facts, "month": month}

    @cached_property
    def _explained(self) -> Report:
        return explain(self.result)


@question
def backtest(
    jobs: inputs.Jobs,
    *,
    test_fraction: float = 0.2,
    test_period: str = "",
    knobs: Knobs = None,
    objectives: Names = (),
    rule: str | Rule | None = None,
    slowdown: float | None = None,
    limits: Sequence[str | Constraint] = (),
    method: str = "auto",
    trial: inputs.Jobs | None = None,
    machine: str = "",
    workers: Workers | None = None,
    seed: int = 0,
    format: str = "",
    columns: Path | None = None,
    renamed: Sequence[str] = (),
) -> BacktestAnswer:
    """Learn from the past, advise the recent jobs, report what it would have changed.

    What really ran is compared with its forecast; what the advised settings would have cost is a
    forecast and is called one.  The recent jobs are simulated on the site's machine with and
    without the advice: waiting, makespan, power.

    Parameters
    ----------
    jobs : JobTable or path
        A log of finished jobs.
    test_fraction : float
        Share of the newest jobs that is not learned from and tested on.
    test_period : str
        Instead: the jobs of so many last days, as ``30d``.
    knobs, objectives, rule, slowdown, limits, method, trial, seed, format, columns, renamed
        As those of `rheostat.decide`.
    machine : str
        Nodes of the site, for the simulated month; else the most ever in use.
    workers : Workers, optional
        Dask workers that judge blocks of the recent jobs.

    Returns
    -------
    BacktestAnswer
        With ``result``, ``month`` and ``log``.

    Raises
    ------
    DataError
        No such knob or objective in the table, or too few jobs on either side.
    Infeasible
        The log cannot answer; ``answer`` of the error says why.
    """
    space = parse_space(knobs)
    log = inputs.opened(jobs, format, columns, space.names, renamed)
    log = inputs.with_trial(log, trial, space.names)
    learner = new_model(advice_method(method, log, None), log, knobs=space.names, seed=seed)
    split: str | float = test_period or 1.0 - test_fraction
    wanted = inputs.judged(log, objectives or inputs.usual_objectives(log))
    rules = advice_rules(rule, slowdown, limits, wanted)
    said = "learning from the past, advising the recent jobs"
    with listener.working(said), spread_over(workers) as spread:
        result = backtests.backtest(
            log, learner, space, *rules, split=split, objectives=wanted, spread=spread
        )
    answer = can_answer(learner, log, space.names, SCHEMA)
    month = _month(log, divided(log, split)[1], result, learner, machine)
    return BacktestAnswer(result=result, month=month, log=answer)


def _month(
    log: JobTable, recent: JobTable, result: Backtest, learner: Any, machine: str
) -> AdvisedMonth | None:
    nodes = Machine.load(machine).procs if machine else largest_use(log)
    if nodes is None or not {"nodes", "runtime_s"} <= set(log.columns):
        listener.note("the month is not simulated: the log does not say how large the machine is")
        return None
    with listener.working("simulating the month with and without the advice"):
        return advised_month(recent, result.advice, learner, nodes)
