"""``rheostat budget demo``: generated runs under caps, for trying the others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import argument, option


@asks("budget.demo")
def demo(
    out: Annotated[Path, argument("CSV to write.", writable=True, dir_okay=False)] = Path(
        "capped_runs.csv"
    ),
    apps: Annotated[int, option("Applications.", min=2, max=10_000)] = 12,
    repeats: Annotated[int, option("Runs of each setting.", min=1, max=10_000)] = 1,
    noise: Annotated[float, option("Relative spread of a run.", min=0, max=10)] = 0.01,
    tree: Annotated[
        Path | None,
        option(
            "Also a folder of caps as files, to rehearse apply.", writable=True, file_okay=False
        ),
    ] = None,
    seed: o.Seed = 0,
) -> None:
    """Write a generated table of runs under CPU and GPU caps, for trying the others."""
