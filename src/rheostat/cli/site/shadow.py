"""`rheostat site shadow`: what advice would have changed, and what it saved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import option
from rheostat.cli.site.site_options import Log


@asks("site.shadow", o.paged, log="jobs")
def shadow(
    log: Log,
    advice: Annotated[
        Path, option("What rheostat decide --out wrote before the jobs came.", metavar="FILE")
    ],
) -> None:
    """Say what installed advice would have changed, by user and application, and what it saved.

    What would have been saved, and what wrong advice would have cost, is a forecast by the model;
    of jobs that install --mode trial drew by chance it is measured, with an interval. Jobs that
    came before the newest that the advice knows do not count.
    """
