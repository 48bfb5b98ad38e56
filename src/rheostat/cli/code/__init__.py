"""``rheostat code``: source code as a knob, and the evidence that a candidate is right."""

from __future__ import annotations

import typer

from rheostat.cli.code.refactor import refactor
from rheostat.cli.code.search import search
from rheostat.cli.code.suite import suite
from rheostat.cli.code.translate import translate
from rheostat.cli.code.verify import verify

code = typer.Typer(
    help="Programs: verify a changed one, search or translate to faster and thriftier variants.",
    no_args_is_help=True,
)
for _command in (verify, search, translate, refactor, suite):
    code.command()(_command)
