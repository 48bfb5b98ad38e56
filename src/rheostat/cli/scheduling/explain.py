"""``rheostat explain``: the rules of a scheduling policy, in plain words, and as source code."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o
from rheostat.cli.options.batch import MachineSize


def explain(
    policy: Annotated[
        str,
        typer.Argument(
            help="A tree's file, or with --trace an order (wfp3) or agent:FILE (a learned order, "
            "or DRAS)."
        ),
    ],
    trace: Annotated[
        Path | None,
        typer.Option(help="A job log on which a tree learns to decide as POLICY does."),
    ] = None,
    machine: MachineSize = "",
    depth: Annotated[int, typer.Option(min=0, max=20, help="Questions at most.")] = 6,
    features: Annotated[
        str,
        typer.Option(
            help="What the tree may ask: site (what any site knows of a job) or full (the queue "
            "and ended jobs as well).  [default: site; full of a learned order]"
        ),
    ] = "",
    rounds: Annotated[int, typer.Option(min=1, max=1000, help="Of learning (DAgger).")] = 3,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save",
            help="Write the tree here, for simulate --policy tree:FILE.",
            writable=True,
            dir_okay=False,
        ),
    ] = None,
    export: Annotated[
        str,
        typer.Option(
            help="Source code instead of words: python, c or lua; or slurm: weights of "
            "priority/multifactor (needs --trace)."
        ),
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write the source here.  [default: standard output]",
            writable=True,
            dir_okay=False,
        ),
    ] = None,
    html: o.Html = None,
    figure: o.Figure = None,
    seed: o.Seed = 0,
    form: o.Form = "",
    json: o.Json = False,
) -> None:
    """Say how POLICY decides: its rules, how often each is used, how far they can be trusted.

    A tree explains itself.  Any other policy is imitated by a tree on --trace first; the
    certificate says how often the two put the same job first, on the last fifth of the trace.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.scheduling.explain_policy import (
        ImitationSettings,
        explain_policy,
        export_policy,
    )

    teaching = ImitationSettings(trace, machine or None, form, depth, features, rounds, seed)
    with printed(json=json and not export, html=html, figure=figure) as put:
        if export:
            put(export_policy(policy, export, teaching, save=save, out=out))
        else:
            put(explain_policy(policy, teaching, save=save))
