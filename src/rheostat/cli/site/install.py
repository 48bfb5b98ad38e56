"""`rheostat site install` and `uninstall`: advice where people submit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.budget.budget_options import Gpu
from rheostat.cli.options.declared import argument, option
from rheostat.cli.site.site_options import DryRun, Etc


@asks("site.install", o.shown)
def install(
    advice: Annotated[Path, argument("What rheostat decide --out wrote.", "ADVICE")],
    etc: Etc = Path("/etc/slurm"),
    mode: Annotated[
        Literal["record", "suggest", "set", "trial"],
        option("Write to slurmctld's log alone, tell who submits, change jobs, or change a share."),
    ] = "record",
    share: Annotated[
        float, option("Of a trial: share of jobs that are changed.", min=0.01, max=0.99)
    ] = 0.5,
    plan: Annotated[Path | None, option("Plan of caps that a prolog and an epilog apply.")] = None,
    gpu: Gpu = "nvml",
    priority: Annotated[
        Path | None,
        option("Weights of the queue's order, by rheostat explain POLICY --export slurm."),
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Write Slurm's hooks for advice at submission into its folder; nothing of the site's changes.

    cli_filter.lua tells who submits, job_submit.lua records or sets, rheostat-advice is the file
    that both look into, rheostat.conf the settings, which slurm.conf includes by a line that you
    add. A trial sets a share of the jobs, drawn by a hash, and keeps the others as asked: site
    shadow reads what that saved. Every file says how to take it out.
    """


@asks("site.uninstall", o.shown)
def uninstall(etc: Etc = Path("/etc/slurm"), dry_run: DryRun = False) -> None:
    """Take out what install wrote, as far as nobody has changed it since.

    Refused while slurm.conf still includes our settings: slurmctld would not start without them.
    """
