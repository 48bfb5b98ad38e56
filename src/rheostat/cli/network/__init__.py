"""``rheostat network``: simulated runs on a Dragonfly, and forecasts of their iterations."""

from __future__ import annotations

import typer

from rheostat.cli.network.fit import fit
from rheostat.cli.network.forecast import forecast
from rheostat.cli.network.generate import generate
from rheostat.cli.network.read import read
from rheostat.cli.network.serve import serve

network = typer.Typer(
    help="Applications on a shared network: read a simulated run, forecast its iterations.",
    no_args_is_help=True,
)
for _command in (read, generate, forecast, fit, serve):
    network.command()(_command)
