"""``rheostat budget``: share a power budget, and set, check and put back the caps."""

from __future__ import annotations

import typer

from rheostat.cli.budget.example import demo
from rheostat.cli.budget.follow import follow
from rheostat.cli.budget.plan import plan
from rheostat.cli.budget.set_caps import apply, diff, restore, run, slurm

budget = typer.Typer(
    help="Share a power budget: plan caps, compare, apply, put back.",
    no_args_is_help=True,
    add_completion=False,
)
for _command in (plan, follow, demo, diff, apply, restore, run, slurm):
    budget.command()(_command)
