"""``rheostat backtest``: what the advice would have changed last month."""

from __future__ import annotations

from typing import Annotated

import typer

from rheostat.cli import options as o


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
    html: o.Html = None,
    figure: o.Figure = None,
    seed: o.Seed = 0,
    form: o.Form = "",
    mapped: o.Map = None,
    json: o.Json = False,
) -> None:
    """Learn from the past, advise the recent jobs, report what it would have changed.

    Rules and methods are those of `rheostat decide`. What really ran is compared with its forecast;
    what the advised settings would have cost is a forecast and is called one.
    """
    from rheostat.cli.output import put_json, put_report, working, write_files
    from rheostat.decision.backtest import backtest as run
    from rheostat.explanation.narrate import explain
    from rheostat.recipes.nodecount import model

    space = o.space(knob)
    chosen_by, limits = o.advice_rules(rule, slowdown, within, objectives)
    jobs = o.load(file, form, mapped)
    kind = o.advice_kind(kind, jobs, None)
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
    answer = o.can_answer(learner)
    report = explain(result)
    if json:
        put_json("rheostat.backtest/1", {**answer, **report.facts})
    else:
        put_report(report)
    write_files(report, html, figure)
