"""`rheostat site shadow`: what advice would have changed, and what it saved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o
from rheostat.cli.site.site_options import Log


def shadow(
    log: Log,
    advice: Annotated[
        Path,
        typer.Option(help="What rheostat decide --out wrote before the jobs came.", metavar="FILE"),
    ],
    json: o.Json = False,
    html: o.Html = None,
) -> None:
    """Say what installed advice would have changed, by user and application, and what it saved.

    What would have been saved, and what wrong advice would have cost, is a forecast by the model;
    of jobs that install --mode trial drew by chance it is measured, with an interval. Jobs that
    came before the newest that the advice knows do not count.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.site.shadow import site_shadow

    with printed(json=json, html=html) as put:
        put(site_shadow(log, advice))
