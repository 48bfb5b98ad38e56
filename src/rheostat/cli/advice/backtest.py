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
    objectives: o.AdviceObjectives = "",
    rule: o.RuleText = "",
    slowdown: o.Slowdown = None,
    within: o.Within = None,
    kind: o.Kind = "auto",
    trial: o.TrialPlan = None,
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
    from rheostat.cli.output import printed
    from rheostat.questions.advice.backtest import backtest as ask

    with printed(json=json, html=html, figure=figure) as put:
        put(ask(file, test_fraction=test_fraction, test_period=test_period, knobs=knob,
                objectives=objectives, rule=rule, slowdown=slowdown, limits=within or (),
                method=kind, trial=trial, machine=machine, seed=seed, format=form,
                columns=mapped))  # fmt: skip
