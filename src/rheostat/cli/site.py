"""``rheostat site``: the loop at a site, from its accounting to advice at submission."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o
from rheostat.cli.read import Zone

site = typer.Typer(
    help="At a site: take in accounting and power, put advice where people submit, take it out.",
    no_args_is_help=True,
    add_completion=False,
)

Store = Annotated[
    Path, typer.Option(help="Folder of jobs; made if there is none.", file_okay=False)
]


@site.command()
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
    zone: Zone = "UTC",
    json: o.Json = False,
) -> None:
    """Take jobs into a store that summary, decide, backtest and fit read as they read a log.

    Each job is in it once, however often it is taken in and wherever a process was killed; later
    states replace earlier ones. Energy of steps is counted once, and jobs that shared a node are
    marked, as Slurm gives each of them all joules of the node.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.site_ingest import ingest as ask

    if (source is None) != sacct:
        raise typer.BadParameter("expected either --from FILE or --sacct", param_hint="--from")
    with printed(json=json) as put:
        put(ask(store, source, program=program, since=since, overlap=overlap, window=window,
                zone=zone))  # fmt: skip


@site.command()
def power(
    store: Store,
    mapped: Annotated[
        Path,
        typer.Option("--map", help="TOML: the server, and which series are whose.", metavar="FILE"),
    ],
    overlap: Annotated[
        str, typer.Option(help="How far before the end of the last call jobs may have ended.")
    ] = "1h",
    window: Annotated[str, typer.Option(help="How much time one query asks for.")] = "1h",
    json: o.Json = False,
) -> None:
    """Take the power of jobs that ended from a site's Prometheus into their store.

    For sites whose Slurm counts no energy. Series are of jobs, or of nodes; those of a node say
    nothing of jobs that shared it. Counters that begin anew and gaps are counted, and a job with
    samples of less than 80 % of its run has no energy.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.site_power import power as ask

    with printed(json=json) as put:
        put(ask(store, mapped, overlap=overlap, window=window))
