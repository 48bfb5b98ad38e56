"""``rheostat demo``: the whole job in one go, offline."""

from __future__ import annotations

from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import option


@asks("demo", o.drawn)
def demo(
    seed: o.Seed = 0,
    jobs: Annotated[int, option("Jobs to generate.", min=200, max=1_000_000)] = 2000,
    kind: Annotated[str, option("Model: auto, law, forest, boosting, xgboost, lightgbm.")] = "auto",
) -> None:
    """Show the main job on a generated log whose truth is known: under a minute, no network."""
