"""``rheostat caps``: how slow under caps that nobody tried, and which to keep."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o


def caps(
    known: Annotated[
        Path,
        typer.Argument(help="Runs of known applications under caps.", metavar="KNOWN"),
    ],
    app: Annotated[str, typer.Option(help="The application asked about.")],
    tried: Annotated[
        Path | None,
        typer.Option(help="Its few runs; by default those that KNOWN has of it."),
    ] = None,
    loss: Annotated[
        float, typer.Option(min=0, max=0.9, help="Share of speed that may be lost.")
    ] = 0.05,
    risk: Annotated[
        float, typer.Option(min=0.5, max=0.999, help="Probability with which the bound must hold.")
    ] = 0.9,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write what is believed as runs (CSV), for rheostat budget plan.",
            writable=True,
            dir_okay=False,
        ),
    ] = None,
    where: o.Where = None,
    by: o.By = "",
    html: o.Html = None,
    figure: o.Figure = None,
    form: o.Form = "",
    mapped: o.Map = None,
    column: o.Columns = None,
    knob: Annotated[
        list[str] | None,
        typer.Option(
            "--knob",
            help="Caps to predict that the known applications did not run, as cap_w=100..250/5 or "
            "gpu_cap_w=155,165. Repeatable.",
        ),
    ] = None,
    json: o.Json = False,
) -> None:
    """Say from a few runs how slow an application gets under caps, what to keep, what to try next.

    KNOWN has app, runtime_s and cpu_cap_w, gpu_cap_w or cap_w, several applications at the same
    settings; gpus or nodes too where their number varies. The first run of a new application is at
    the highest caps; the others are asked for in turn. Beside the answer stand a line between the
    same runs, bilinear interpolation of the corners, and a Gaussian process's lower bound.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.settings.caps import caps as ask

    with printed(json=json, html=html, figure=figure) as put:
        put(ask(known, app, runs=tried, loss=loss, risk=risk, knobs=knob, where=where or (),
                group_by=by, format=form, columns=mapped, renamed=column or (),
                out=out))  # fmt: skip
