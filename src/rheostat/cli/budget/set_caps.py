"""``rheostat budget diff|apply|run|restore|slurm``: set the caps of a plan, and put them back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.budget import budget_options as b
from rheostat.cli.options.declared import argument, option


@asks("budget.diff", b.set_at, o.shown, file="plan")
def diff(file: b.PlanFile, node: b.Node = "") -> None:
    """Tell what applying PLAN.json would change here, from what stands now; change nothing."""


@asks("budget.apply", b.set_at, o.shown, file="plan")
def apply(
    file: b.PlanFile,
    journal: b.CapJournal = Path("rheostat.journal"),
    dry_run: Annotated[bool, option("Check everything, change nothing.", "--dry-run")] = False,
    node: b.Node = "",
    settle: b.Settle = 1.0,
) -> None:
    """Set the caps of PLAN.json: lower first, then raise; every change is journalled before."""


@asks("budget.restore", b.set_at)
def restore(
    journal: b.CapJournal = Path("rheostat.journal"),
    force: Annotated[bool, option("Also where somebody else has set a cap since.")] = False,
    settle: b.Settle = 1.0,
) -> None:
    """Put back every cap that the journal names, as it stood before the first change."""


def run(
    file: b.PlanFile,
    command: Annotated[list[str], argument("What to run, after --.")],
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

    where = devices(tree, rapl, gpu)
    raise typer.Exit(ask(file, command, journal=journal, node=node, where=where, settle_s=settle))


@asks("budget.hooks", file="plan")
def slurm(
    file: b.PlanFile,
    out: Annotated[
        Path,
        option(
            "Folder for prolog.sh and epilog.sh.", "--out", "-o", writable=True, file_okay=False
        ),
    ] = Path("."),
    journals: Annotated[str, option("Folder on the nodes.")] = "/var/lib/rheostat",
    program: Annotated[
        str, option("The rheostat of the nodes: a name or an absolute path.")
    ] = "rheostat",
    gpu: b.Gpu = "nvml",
) -> None:
    """Write the Slurm prolog and epilog that apply PLAN.json on its nodes and put caps back."""
