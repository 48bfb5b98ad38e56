"""``rheostat site``: the loop at a site, from its accounting to advice at submission."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

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
    from rheostat.questions.site_ingest_power import power as ask

    with printed(json=json) as put:
        put(ask(store, mapped, overlap=overlap, window=window))


@site.command("what-if")
def what_if(
    log: Annotated[Path, typer.Argument(help="A job log, or the folder that ingest fills.")],
    grid: Annotated[
        Path,
        typer.Option(
            help="Price, carbon intensity or available power over time: CSV, or JSON of a service.",
            metavar="FILE",
        ),
    ],
    machine: Annotated[str, typer.Option(help="TOML file of the site, with its idle watts.")],
    policy: Annotated[str, typer.Option(help="The site's batch policy.")] = "easy",
    capped: Annotated[
        str,
        typer.Option(
            help="What a cap does to a job: 0.8=1.07 is 80 % of its power in 1.07 times its time.",
            metavar="POWER=RUNTIME",
        ),
    ] = "",
    longer: Annotated[str, typer.Option(help="By how much later jobs may end on average.")] = "10m",
    replays: Annotated[int, typer.Option(help="For the intervals.", min=0, max=20)] = 5,
    zone: Zone = "UTC",
    seed: o.Seed = 0,
    json: o.Json = False,
    html: o.Html = None,
) -> None:
    """Replay a site's log under what a grid asks - price, carbon, a cap that moves - plan by plan.

    Do nothing, let jobs wait, shut idle nodes down, cap jobs: each with energy, money and CO2,
    waits, and for how long it exceeds the power that there is. Times of the clock alone (17:00)
    hold for each day.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.site_what_if import site_what_if

    with printed(json=json, html=html) as put:
        put(site_what_if(log, grid, machine=machine, policy=policy, capped=capped or None,
                         longer=longer, replays=replays, zone=zone, seed=seed))  # fmt: skip


@site.command()
def shadow(
    log: Annotated[Path, typer.Argument(help="A job log, or the folder that ingest fills.")],
    advice: Annotated[
        Path,
        typer.Option(help="What rheostat decide --out wrote before the jobs came.", metavar="FILE"),
    ],
    json: o.Json = False,
    html: o.Html = None,
) -> None:
    """Say what installed advice would have changed, by user and application, and what it saved.

    What would have been saved, and what wrong advice would have cost, is a forecast by the model;
    of jobs that install --mode trial drew by chance it is measured, with an interval. Jobs that
    came before the newest that the advice knows do not count.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.site_shadow import site_shadow

    with printed(json=json, html=html) as put:
        put(site_shadow(log, advice))


@site.command()
def drift(
    log: Annotated[Path, typer.Argument(help="A job log, or the folder that ingest fills.")],
    model: Annotated[Path, typer.Option(help="What rheostat fit --out wrote.", metavar="FILE")],
    json: o.Json = False,
) -> None:
    """Say by week how right a saved model was, and raise an alarm with its reason.

    An alarm is raised where the newest week's 90 % intervals held clearly less than 85 %, beyond
    what chance between users' applications explains, or where half of its forecasts were off by 1.5
    times what was usual before. Jobs that the model learned from flatter it.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.site_drift import site_drift

    with printed(json=json) as put:
        put(site_drift(log, model))


Etc = Annotated[Path, typer.Option(help="Folder of slurm.conf.", file_okay=False)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, do nothing.")]


@site.command()
def install(
    advice: Annotated[
        Path, typer.Argument(help="What rheostat decide --out wrote.", metavar="ADVICE")
    ],
    etc: Etc = Path("/etc/slurm"),
    mode: Annotated[
        Literal["record", "suggest", "set", "trial"],
        typer.Option(
            help="Write to slurmctld's log alone, tell who submits, change jobs, or change a share."
        ),
    ] = "record",
    share: Annotated[
        float, typer.Option(help="Of a trial: share of jobs that are changed.", min=0.01, max=0.99)
    ] = 0.5,
    plan: Annotated[
        Path | None, typer.Option(help="Plan of caps that a prolog and an epilog apply.")
    ] = None,
    gpu: Annotated[Literal["nvml", "amd", "none"], typer.Option(help="How GPU caps are set.")] = (
        "nvml"
    ),
    dry_run: DryRun = False,
    json: o.Json = False,
) -> None:
    """Write Slurm's hooks for advice at submission into its folder; nothing of the site's changes.

    cli_filter.lua tells who submits, job_submit.lua records or sets, rheostat-advice is the file
    that both look into, rheostat.conf the settings, which slurm.conf includes by a line that you
    add. A trial sets a share of the jobs, drawn by a hash, and keeps the others as asked: site
    shadow reads what that saved. Every file says how to take it out.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.site_install import install as ask

    with printed(json=json) as put:
        put(ask(advice, etc, mode=mode, share=share, plan=plan, gpu=gpu, dry_run=dry_run))


@site.command()
def uninstall(etc: Etc = Path("/etc/slurm"), dry_run: DryRun = False, json: o.Json = False) -> None:
    """Take out what install wrote, as far as nobody has changed it since.

    Refused while slurm.conf still includes our settings: slurmctld would not start without them.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.site_install import uninstall as ask

    with printed(json=json) as put:
        put(ask(etc, dry_run=dry_run))
