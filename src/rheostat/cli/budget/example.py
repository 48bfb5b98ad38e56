"""``rheostat budget demo``: generated runs under caps, for trying the others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o


def demo(
    out: Annotated[
        Path, typer.Argument(help="CSV to write.", writable=True, dir_okay=False)
    ] = Path("capped_runs.csv"),
    apps: Annotated[int, typer.Option(min=2, max=10_000, help="Applications.")] = 12,
    repeats: Annotated[int, typer.Option(min=1, max=10_000, help="Runs of each setting.")] = 1,
    noise: Annotated[float, typer.Option(min=0, max=10, help="Relative spread of a run.")] = 0.01,
    tree: Annotated[
        Path | None,
        typer.Option(
            help="Also a folder of caps as files, to rehearse apply.",
            writable=True,
            file_okay=False,
        ),
    ] = None,
    seed: o.Seed = 0,
) -> None:
    """Write a generated table of runs under CPU and GPU caps, for trying the others."""
    from rheostat.questions.budget import demo as ask

    ask(out, apps=apps, repeats=repeats, noise=noise, tree=tree, seed=seed)
