"""``rheostat next``: which settings to measure next, from the results at hand."""

from __future__ import annotations

from typing import Annotated

import typer

from rheostat.cli import options as o


def next(
    file: o.File,
    knob: o.Knobs = None,
    where: o.Where = None,
    count: Annotated[
        int, typer.Option("-n", "--count", min=1, max=100_000, help="Settings to name.")
    ] = 1,
    method: o.Method = "auto",
    prior: o.Prior = None,
    objectives: o.Objectives = o.RUNTIME_ENERGY,
    rule: o.RuleText = "knee",
    within: o.Within = None,
    seed: o.Seed = 0,
    form: o.Form = "",
    mapped: o.Map = None,
    json: o.Json = False,
) -> None:
    """Name the settings to measure next, given the runs in FILE; nothing is run.

    Measure them, append the rows to FILE, and call it again.  With --where the other rows of FILE,
    being other applications, teach the method, unless --prior names a table that does.  The method
    is that of `rheostat search`.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.settings.next_settings import next_settings as ask

    with printed(json=json) as put:
        put(ask(file, knobs=knob, where=where or (), count=count, method=method, prior=prior,
                objectives=objectives, rule=rule, limits=within or (), seed=seed, format=form,
                columns=mapped))  # fmt: skip
