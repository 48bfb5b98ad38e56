"""``rheostat budget follow``: a plan for a budget that changes with time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.budget import budget_options as b
from rheostat.cli.options.declared import option


@asks("budget.follow", b.held, b.begun, o.table, o.shown, file="runs")
def follow(
    file: o.File,
    limits: Annotated[Path, option("TOML with a [site] total that changes with time.")],
    until: Annotated[str, option("How far to look.")] = "24h",
    lead: Annotated[float, option("Seconds before a fall at which caps go down.", min=0.0)] = 2.0,
    nodes: Annotated[Path | None, option("CSV of nodes, as for plan.")] = None,
    seed: o.Seed = 0,
) -> None:
    """Plan for a budget that changes with time: what happens when, each plan from the last.

    Caps go down before the budget falls and up after it has risen.
    """
