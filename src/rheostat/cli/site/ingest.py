"""`rheostat site ingest`: jobs into a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options import workers as w
from rheostat.cli.options.declared import option
from rheostat.cli.site.site_options import Store


@asks("site.ingest", w.on_workers, o.shown)
def ingest(
    store: Store,
    source: Annotated[
        Path | None, option("An export of sacct --parsable2 or --json.", "--from", metavar="FILE")
    ] = None,
    sacct: Annotated[bool, option("Ask sacct itself for what is not read yet.", "--sacct")] = False,
    program: Annotated[
        str, option("The sacct to ask: a name in PATH, or its path.", "--program")
    ] = "sacct",
    since: Annotated[
        str, option("Where the first call of sacct begins: 2026-01-31, or 30d.")
    ] = "30d",
    overlap: Annotated[
        str, option("How far a call goes back before the end of the last one.")
    ] = "1h",
    window: Annotated[str, option("How much time one call asks for.")] = "1d",
    zone: o.Zone = "UTC",
) -> None:
    """Take jobs into a store that summary, decide, backtest and fit read as they read a log.

    Each job is in it once, however often it is taken in and wherever a process was killed; later
    states replace earlier ones. Energy of steps is counted once, and jobs that shared a node are
    marked, as Slurm gives each of them all joules of the node.
    """
    if (source is None) != sacct:
        raise typer.BadParameter("expected either --from FILE or --sacct", param_hint="--from")
