"""``rheostat site``: the loop at a site, from its accounting to advice at submission."""

from __future__ import annotations

import typer

from rheostat.cli.site.drift import drift
from rheostat.cli.site.ingest import ingest
from rheostat.cli.site.install import install, uninstall
from rheostat.cli.site.power import power
from rheostat.cli.site.refit import refit
from rheostat.cli.site.shadow import shadow
from rheostat.cli.site.what_if import what_if

site = typer.Typer(
    help="At a site: take in accounting and power, put advice where people submit, take it out.",
    no_args_is_help=True,
    add_completion=False,
)
for _command in (ingest, power, what_if, shadow, drift, refit, install, uninstall):
    site.command()(_command)
