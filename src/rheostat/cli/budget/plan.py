"""``rheostat budget plan``: caps of every node, for a budget of watts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o
from rheostat.cli.budget import budget_options as b


def plan(
    file: o.File,
    total: Annotated[str, typer.Option("--budget", help="Watts of caps in all, as 12kW.")] = "",
    extra: Annotated[
        float | None, typer.Option(help="Instead: watts per node above the caps now.")
    ] = None,
    limits: Annotated[
        Path | None, typer.Option(help="Instead: TOML with [site] total and e.g. [rack] r1.")
    ] = None,
    at: Annotated[str, typer.Option(help="Moment of a total that changes with time.")] = "0",
    nodes: Annotated[
        Path | None,
        typer.Option(
            help="CSV: node, app, caps now, weight, draws, rack, ...; default: one per app."
        ),
    ] = None,
    count: b.Count = 0,
    start: b.Start = "",
    tree: b.Tree = "",
    rapl: b.Rapl = b.RAPL,
    gpu: b.Gpu = "nvml",
    objective: Annotated[
        str, typer.Option(help="mean, max-min, or energy (with --slowdown).")
    ] = "mean",
    risk: Annotated[
        float | None,
        typer.Option(min=0.5, max=0.9999, help="Count only what is reached with this probability."),
    ] = None,
    slowdown: Annotated[
        float | None,
        typer.Option(help="No node may run longer than this times now, as 1.05."),
    ] = None,
    reclaim: Annotated[
        float | None,
        typer.Option(
            min=0.0, help="Take only what devices do not draw, less this margin in watts."
        ),
    ] = None,
    hysteresis: b.Hysteresis = 0.0,
    most_changes: Annotated[
        int | None, typer.Option(min=0, max=10**9, help="Change at most so many nodes.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write the plan here.", writable=True, dir_okay=False),
    ] = None,
    where: o.Where = None,
    by: o.By = "",
    html: o.Html = None,
    figure: o.Figure = None,
    seed: o.Seed = 0,
    form: o.Form = "",
    mapped: o.Map = None,
    json: o.Json = False,
) -> None:
    """Plan caps for every node from FILE, a table of runs under caps.

    FILE has app, runtime_s and cpu_cap_w, gpu_cap_w or cap_w; power_w or energy_j where measured.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.budget import plan as ask

    with printed(json=json, html=html, figure=figure) as put:
        put(ask(file, total, extra_w=extra, limits=limits, at=at, nodes=nodes, count=count,
                start=b.caps_now(start, tree, rapl, gpu), objective=objective, risk=risk,
                slowdown=slowdown, reclaim_w=reclaim, hysteresis=hysteresis,
                most_changes=most_changes, out=out, where=where or (), by=by, seed=seed,
                format=form, columns=mapped))  # fmt: skip
