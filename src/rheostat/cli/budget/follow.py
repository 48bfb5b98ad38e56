"""``rheostat budget follow``: a plan for a budget that changes with time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o
from rheostat.cli.budget import budget_options as b


def follow(
    file: o.File,
    limits: Annotated[Path, typer.Option(help="TOML with a [site] total that changes with time.")],
    until: Annotated[str, typer.Option(help="How far to look.")] = "24h",
    lead: Annotated[
        float, typer.Option(min=0.0, help="Seconds before a fall at which caps go down.")
    ] = 2.0,
    nodes: Annotated[Path | None, typer.Option(help="CSV of nodes, as for plan.")] = None,
    count: b.Count = 0,
    start: b.Start = "",
    tree: b.Tree = "",
    rapl: b.Rapl = b.RAPL,
    gpu: b.Gpu = "nvml",
    hysteresis: b.Hysteresis = 0.0,
    where: o.Where = None,
    by: o.By = "",
    seed: o.Seed = 0,
    form: o.Form = "",
    mapped: o.Map = None,
    json: o.Json = False,
) -> None:
    """Plan for a budget that changes with time: what happens when, each plan from the last.

    Caps go down before the budget falls and up after it has risen.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.budget import follow as ask

    with printed(json=json) as put:
        put(ask(file, limits, until=until, lead_s=lead, nodes=nodes, count=count,
                start=b.caps_now(start, tree, rapl, gpu), hysteresis=hysteresis,
                where=where or (), by=by, seed=seed, format=form, columns=mapped))  # fmt: skip
