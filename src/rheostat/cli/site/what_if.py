"""`rheostat site what-if`: a log under what a grid asks, plan by plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import option
from rheostat.cli.site.site_options import Log


@asks("site.what_if", o.paged, log="jobs")
def what_if(
    log: Log,
    grid: Annotated[
        Path,
        option(
            "Price, carbon intensity or available power over time: CSV, or JSON of a service.",
            metavar="FILE",
        ),
    ],
    machine: Annotated[str, option("TOML file of the site, with its idle watts.")],
    policy: Annotated[str, option("The site's batch policy.")] = "easy",
    capped: Annotated[
        str,
        option(
            "What a cap does to a job: 0.8=1.07 is 80 % of its power in 1.07 times its time.",
            metavar="POWER=RUNTIME",
        ),
    ] = "",
    served: Annotated[
        list[Path] | None,
        option(
            "Runs under caps of language models that share the power, as llm plan --out writes "
            "them. Repeatable.",
            metavar="FILE",
        ),
    ] = None,
    longer: Annotated[str, option("By how much later jobs may end on average.")] = "10m",
    replays: Annotated[int, option("For the intervals.", min=0, max=20)] = 5,
    zone: o.Zone = "UTC",
    seed: o.Seed = 0,
) -> None:
    """Replay a site's log under what a grid asks - price, carbon, a cap that moves - plan by plan.

    Do nothing, let jobs wait, shut idle nodes down, cap jobs: each with energy, money and CO2,
    waits, and for how long it exceeds the power that there is. Times of the clock alone (17:00)
    hold for each day.
    """
