"""``rheostat llm``: what serving a language model costs, and in which order to answer."""

from __future__ import annotations

import typer

from rheostat.cli.llm.calibrate import calibrate
from rheostat.cli.llm.example import demo
from rheostat.cli.llm.fit import fit
from rheostat.cli.llm.plan import plan
from rheostat.cli.llm.proxy import proxy
from rheostat.cli.llm.rank import rank
from rheostat.cli.llm.simulate import simulate

llm = typer.Typer(
    help="Serving language models: energy law, configuration, order of requests, a proxy.",
    no_args_is_help=True,
)
for _command in (demo, plan, fit, simulate, calibrate, rank, proxy):
    llm.command()(_command)
