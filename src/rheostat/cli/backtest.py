"""``rheostat backtest``: what the advice would have changed last month."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import advice_options, knob_options
from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.core.jobs import JobTable
    from rheostat.core.report import Report
    from rheostat.decision.decide import Advice


def backtest(
    file: o.File,
    test_fraction: o.TestFraction = 0.2,
    test_period: Annotated[
        str, typer.Option(help="Instead: test on the jobs of so many last days, as 30d.")
    ] = "",
    knob: o.Knobs = None,
    objectives: o.Objectives = o.RUNTIME_ENERGY,
    rule: o.RuleText = "",
    slowdown: o.Slowdown = None,
    within: o.Within = None,
    kind: o.Kind = "auto",
    trial: advice_options.TrialPlan = None,
    machine: Annotated[
        str,
        typer.Option(help="Nodes of the site, for the simulated month; else the most ever in use."),
    ] = "",
    html: o.Html = None,
    figure: o.Figure = None,
    seed: o.Seed = 0,
    form: o.Form = "",
    mapped: o.Map = None,
    json: o.Json = False,
) -> None:
    """Learn from the past, advise the recent jobs, report what it would have changed.

    Rules and methods are those of `rheostat decide`. What really ran is compared with its forecast;
    what the advised settings would have cost is a forecast and is called one. The recent jobs are
    simulated on the site's machine with and without the advice: waiting, makespan, power.
    """
    from rheostat.cli.output import put_json, put_report, working, write_files
    from rheostat.decision.backtest import backtest as run
    from rheostat.explanation.narrate import explain
    from rheostat.recipes.nodecount import model

    space = knob_options.space(knob)
    chosen_by, limits = advice_options.advice_rules(rule, slowdown, within, objectives)
    jobs = advice_options.with_trial(
        o.load(file, form, mapped, knobs=space.names), trial, space.names
    )
    kind = advice_options.advice_kind(kind, jobs, None)
    learner = model(kind, jobs, knobs=space.names, seed=seed)
    with working("learning from the past, advising the recent jobs"):
        result = run(
            jobs,
            learner,
            space,
            chosen_by,
            limits,
            split=test_period or 1.0 - test_fraction,
            objectives=o.judged(jobs, objectives),
        )
    answer = advice_options.can_answer(learner, jobs, space.names, SCHEMA, json=json)
    report: Report = explain(result)
    split = test_period or 1.0 - test_fraction
    report = _on_the_machine(report, jobs, result.advice, learner, machine, split=split)
    if json:
        put_json(SCHEMA, {**answer.facts, **report.facts})
    else:
        put_report(report)
    write_files(answer.above(report), html, figure)


SCHEMA = "rheostat.backtest/1"


def _on_the_machine(
    report: Report, jobs: JobTable, advice: Advice, model: Any, given: str, *, split: str | float
) -> Report:
    """The report with the simulated month; without a machine's size a note instead."""
    from dataclasses import replace

    from rheostat.cli.output import tell, working
    from rheostat.core.machine import Machine
    from rheostat.decision.backtest import divided
    from rheostat.recipes.advised_month import (
        advised_month,
        largest_use,
        month_facts,
        month_section,
    )

    nodes = Machine.load(given).procs if given else largest_use(jobs)
    if nodes is None or not {"nodes", "runtime_s"} <= set(jobs.columns):
        tell("note: the month is not simulated: the log does not say how large the machine is")
        return replace(report, facts={**report.facts, "month": None})
    with working("simulating the month with and without the advice"):
        month = advised_month(divided(jobs, split)[1], advice, model, nodes)
    sections = [*report.sections, month_section(month)]
    return replace(report, sections=sections, facts={**report.facts, "month": month_facts(month)})
