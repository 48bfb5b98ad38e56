"""``rheostat dnn``: what training a network takes, on a device that was measured or not."""

from __future__ import annotations

import typer

from rheostat.cli.dnn.fit import fit
from rheostat.cli.dnn.front import front
from rheostat.cli.dnn.import_graphs import import_
from rheostat.cli.dnn.predict import predict

dnn = typer.Typer(
    help="Deep learning: time, memory and energy of a training step, from its graph of operations.",
    no_args_is_help=True,
)
for _command in (fit, predict, front):
    dnn.command()(_command)
dnn.command("import")(import_)
