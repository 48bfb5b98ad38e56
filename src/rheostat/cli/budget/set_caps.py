"""``rheostat budget diff|apply|run|restore|slurm``: set the caps of a plan, and put them back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o
from rheostat.cli.budget import budget_options as b


def diff(
    file: b.PlanFile,
    node: b.Node = "",
    tree: b.Tree = "",
    rapl: b.Rapl = b.RAPL,
    gpu: b.Gpu = "nvml",
    json: o.Json = False,
) -> None:
    """Tell what applying PLAN.json would change here, from what stands now; change nothing."""
    from rheostat.cli.output import printed
    from rheostat.questions.budget import devices
    from rheostat.questions.budget import diff as ask

    with printed(json=json) as put:
        put(ask(file, node=node, where=devices(tree, rapl, gpu)))


def apply(
    file: b.PlanFile,
    journal: b.CapJournal = Path("rheostat.journal"),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, change nothing.")
    ] = False,
    node: b.Node = "",
    tree: b.Tree = "",
    rapl: b.Rapl = b.RAPL,
    gpu: b.Gpu = "nvml",
    settle: b.Settle = 1.0,
    json: o.Json = False,
) -> None:
    """Set the caps of PLAN.json: lower first, then raise; every change is journalled before."""
    from rheostat.cli.output import printed
    from rheostat.questions.budget import apply as ask
    from rheostat.questions.budget import devices

    with printed(json=json) as put:
        put(ask(file, journal=journal, dry_run=dry_run, node=node,
                where=devices(tree, rapl, gpu), settle_s=settle))  # fmt: skip


def restore(
    journal: b.CapJournal = Path("rheostat.journal"),
    force: Annotated[
        bool, typer.Option(help="Also where somebody else has set a cap since.")
    ] = False,
    tree: b.Tree = "",
    rapl: b.Rapl = b.RAPL,
    gpu: b.Gpu = "nvml",
    settle: b.Settle = 1.0,
) -> None:
    """Put back every cap that the journal names, as it stood before the first change."""
    from rheostat.questions.budget import devices
    from rheostat.questions.budget import restore as ask

    ask(journal, force=force, where=devices(tree, rapl, gpu), settle_s=settle)


def run(
    file: b.PlanFile,
    command: Annotated[list[str], typer.Argument(help="What to run, after --.")],
    journal: b.CapJournal = Path("rheostat.journal"),
    node: b.Node = "",
    tree: b.Tree = "",
    rapl: b.Rapl = b.RAPL,
    gpu: b.Gpu = "nvml",
    settle: b.Settle = 1.0,
) -> None:
    """Run a command under the caps of PLAN.json; they are put back however this ends, kill -9 too.

    A second process waits for the end of this one and restores from the journal.
    """
    from rheostat.questions.budget import devices
    from rheostat.questions.budget import run as ask

    raise typer.Exit(ask(file, command, journal=journal, node=node,
                         where=devices(tree, rapl, gpu), settle_s=settle))  # fmt: skip


def slurm(
    file: b.PlanFile,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="Folder for prolog.sh and epilog.sh.",
            writable=True,
            file_okay=False,
        ),
    ] = Path("."),
    journals: Annotated[str, typer.Option(help="Folder on the nodes.")] = "/var/lib/rheostat",
    program: Annotated[
        str, typer.Option(help="The rheostat of the nodes: a name or an absolute path.")
    ] = "rheostat",
    gpu: b.Gpu = "nvml",
) -> None:
    """Write the Slurm prolog and epilog that apply PLAN.json on its nodes and put caps back."""
    from rheostat.questions.budget import hooks

    hooks(file, out, journals=journals, program=program, gpu=gpu)
