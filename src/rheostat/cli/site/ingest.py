"""`rheostat site ingest`: jobs into a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o
from rheostat.cli.site.site_options import Store


def ingest(
    store: Store,
    source: Annotated[
        Path | None,
        typer.Option("--from", help="An export of sacct --parsable2 or --json.", metavar="FILE"),
    ] = None,
    sacct: Annotated[
        bool, typer.Option("--sacct", help="Ask sacct itself for what is not read yet.")
    ] = False,
    program: Annotated[
        str, typer.Option("--program", help="The sacct to ask: a name in PATH, or its path.")
    ] = "sacct",
    since: Annotated[
        str, typer.Option(help="Where the first call of sacct begins: 2026-01-31, or 30d.")
    ] = "30d",
    overlap: Annotated[
        str, typer.Option(help="How far a call goes back before the end of the last one.")
    ] = "1h",
    window: Annotated[str, typer.Option(help="How much time one call asks for.")] = "1d",
    zone: o.Zone = "UTC",
    json: o.Json = False,
) -> None:
    """Take jobs into a store that summary, decide, backtest and fit read as they read a log.

    Each job is in it once, however often it is taken in and wherever a process was killed; later
    states replace earlier ones. Energy of steps is counted once, and jobs that shared a node are
    marked, as Slurm gives each of them all joules of the node.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.site.ingest import ingest as ask

    if (source is None) != sacct:
        raise typer.BadParameter("expected either --from FILE or --sacct", param_hint="--from")
    with printed(json=json) as put:
        put(ask(store, source, program=program, since=since, overlap=overlap, window=window,
                zone=zone))  # fmt: skip
