"""``rheostat coschedule``: which jobs share a node's GPUs, on how many each, and when."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o


def coschedule(
    profiles: Annotated[
        Path,
        typer.Argument(
            help="Applications on 1, 2, ... GPUs: app, gpus, runtime_s, power_w (of all its GPUs).",
            metavar="PROFILES",
        ),
    ],
    queue: Annotated[
        str,
        typer.Option(
            help="Jobs as lbm,resnet50*3 or a file with app, job_id, submit_s.  [default: every "
            "application once]"
        ),
    ] = "",
    policy: Annotated[
        str,
        typer.Option(
            help="Candidates, of packed, ecosched, ecosched-score, marble, sequential-fastest, "
            "sequential-most and list (the best plain list schedule): all are compared, the best "
            "is shown.  [default: all]"
        ),
    ] = "",
    objective: Annotated[
        str, typer.Option(help="What the best is: edp (energy times makespan), makespan or energy.")
    ] = "edp",
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=VALUE", help="Rows of PROFILES to take. Repeatable."),
    ] = None,
    gpus: Annotated[int, typer.Option(min=1, max=1024, help="GPUs of a node.")] = 4,
    domains: Annotated[int, typer.Option(min=1, max=1024, help="NUMA domains of a node.")] = 2,
    idle: Annotated[str, typer.Option(help="Power of an idle GPU.")] = "60W",
    tenants: Annotated[
        int, typer.Option(min=1, max=1024, help="Most jobs at once (packed, list).")
    ] = 4,
    interference: Annotated[
        float, typer.Option(min=0.0, help="Slowdown of a job per neighbour, 0.05 is 5 %.")
    ] = 0.05,
    nodes: Annotated[
        int,
        typer.Option(min=1, max=10_000, help="Nodes; with several, packed matches jobs to nodes."),
    ] = 1,
    exact: Annotated[
        bool, typer.Option("--exact", help="Also a schedule searched by OR-tools, for one node.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write the best schedule here, as CSV.",
            writable=True,
            dir_okay=False,
        ),
    ] = None,
    html: o.Html = None,
    figure: o.Figure = None,
    seed: o.Seed = 0,
    json: o.Json = False,
) -> None:
    """Pack jobs on the GPUs of a node and say what it takes in time and energy.

    Several policies plan the queue and the best plan in the objective is shown, beside the others.
    Runtimes are those profiled, slowed by neighbours; energy is that of the GPUs, idle ones
    included.  Nothing is started: the schedule is a plan.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.scheduling.coschedule import coschedule as ask
    from rheostat.questions.scheduling.coschedule import node_of

    with printed(json=json, html=html, figure=figure) as put:
        put(ask(profiles, queue, where=where or (), policies=policy, objective=objective,
                node=node_of(gpus, domains, idle), nodes=nodes, tenants=tenants,
                interference=interference, exact=exact, seed=seed, out=out))  # fmt: skip
