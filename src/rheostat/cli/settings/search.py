"""``rheostat search``: measure one's own code at a few well-chosen settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o


def search(
    space: Annotated[
        Path, typer.Argument(help="TOML: a [knobs] table, see --help below.", metavar="SPACE.toml")
    ],
    measure: Annotated[
        str,
        typer.Option(
            help="Command to run; {nodes}, outside quotes, is the value of the knob nodes."
        ),
    ],
    budget: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Settings to measure in all.")
    ] = 8,
    journal: Annotated[
        Path | None, typer.Option(help="Results on disk as they come; the same call continues.")
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, max=10_000, help="Runs of each setting.")] = 1,
    warm_up: Annotated[
        int, typer.Option(min=0, max=10_000, help="Runs of each setting before those that count.")
    ] = 0,
    check: Annotated[
        str,
        typer.Option(help="REGEX in the output of a right run, or 'cmd: COMMAND' that reads it."),
    ] = "",
    method: o.Method = "auto",
    prior: o.Prior = None,
    known: Annotated[
        Path | None,
        typer.Option("--from", help="Runs of this code at hand: told first, not counted."),
    ] = None,
    power_model: Annotated[
        Path | None,
        typer.Option(help="Power of runs that are not metered: a model saved by rheostat fit."),
    ] = None,
    timeout: Annotated[str, typer.Option(help="A run that takes longer counts as failed.")] = "1d",
    objectives: o.Objectives = o.RUNTIME_ENERGY,
    rule: o.RuleText = "knee",
    within: o.Within = None,
    html: o.Html = None,
    figure: o.Figure = None,
    seed: o.Seed = 0,
    json: o.Json = False,
) -> None:
    """Measure a few settings of your own code, well chosen, and take one.

    SPACE.toml holds [knobs] with lines like nodes = [1, 2, 4] or cap_w = {low = 100, high = 300}.
    Runs are timed here. What the command prints counts by its name, as a JSON object on a line:
    {"runtime_s": 12.5, "energy_j": 4100}; a bare number does not. RAPL, NVML or Zeus are read for
    missing watts, where they can, and the report says where each figure came from. Without a meter,
    --objectives runtime_s,node_hours needs no energy, and --power-model predicts it. A run that
    fails, or whose output --check calls wrong, is not asked again.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.settings.search import search as ask

    o.two_to_draw(figure, objectives)
    with printed(json=json, html=html, figure=figure) as put:
        put(ask(space, measure, budget=budget, journal=journal, repeat=repeat, warm_up=warm_up,
                check=check, method=method, prior=prior, known=known, power_model=power_model,
                timeout=timeout, objectives=objectives, rule=rule, limits=within or (),
                seed=seed))  # fmt: skip
