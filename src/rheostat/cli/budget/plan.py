"""``rheostat budget plan``: caps of every node, for a budget of watts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.budget import budget_options as b
from rheostat.cli.options.declared import option, written


@asks("budget.plan", b.held, b.begun, o.table, o.drawn, file="runs")
def plan(
    file: o.File,
    total: Annotated[str, option("Watts of caps in all, as 12kW.", "--budget")] = "",
    extra: Annotated[float | None, option("Instead: watts per node above the caps now.")] = None,
    limits: Annotated[
        Path | None, option("Instead: TOML with [site] total and e.g. [rack] r1.")
    ] = None,
    at: Annotated[str, option("Moment of a total that changes with time.")] = "0",
    nodes: Annotated[
        Path | None,
        option("CSV: node, app, caps now, weight, draws, rack, ...; default: one per app."),
    ] = None,
    objective: Annotated[
        str,
        option(
            "mean (gain in speed over the caps now), max-min (the least of these gains), "
            "max-min-speed (the least speed, as a share of that at its best caps), or energy (with "
            "--slowdown)."
        ),
    ] = "mean",
    risk: Annotated[
        float | None,
        option("Count only what is reached with this probability.", min=0.5, max=0.9999),
    ] = None,
    slowdown: Annotated[
        float | None, option("No node may run longer than this times now, as 1.05.")
    ] = None,
    reclaim: Annotated[
        float | None,
        option("Take only what devices do not draw, less this margin in watts.", min=0.0),
    ] = None,
    most_changes: Annotated[
        int | None, option("Change at most so many nodes.", min=0, max=10**9)
    ] = None,
    served: Annotated[
        list[Path] | None,
        option(
            "Runs of language models that share the budget, as llm plan --out writes them; FILE is "
            "then under cap_w. Repeatable.",
            metavar="FILE",
        ),
    ] = None,
    out: Annotated[Path | None, written("Write the plan here.", "--out", "-o")] = None,
    seed: o.Seed = 0,
) -> None:
    """Plan caps for every node from FILE, a table of runs under caps.

    FILE has app, runtime_s and cpu_cap_w, gpu_cap_w or cap_w; power_w or energy_j where measured.
    """
