"""``rheostat demo``: the whole job in one go, offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o


def demo(
    seed: o.Seed = 0,
    jobs: Annotated[int, typer.Option(min=200, max=1_000_000, help="Jobs to generate.")] = 2000,
    html: Annotated[
        Path | None,
        typer.Option(help="Also write an HTML report here.", writable=True, dir_okay=False),
    ] = None,
    figure: o.Figure = None,
    kind: Annotated[
        str, typer.Option(help="Model: auto, law, forest, boosting, xgboost, lightgbm.")
    ] = "auto",
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Show the main job on a generated log whose truth is known: under a minute, no network."""
    from rheostat.cli.output import printed
    from rheostat.questions.demonstration.answer import demo as ask

    with printed(json=json, html=html, figure=figure) as put:
        put(ask(seed, jobs=jobs, method=kind))
