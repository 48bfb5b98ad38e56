"""`rheostat site drift`: how right a saved model was, by week."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import option
from rheostat.cli.site.site_options import Log


@asks("site.drift", log="jobs")
def drift(
    log: Log,
    model: Annotated[Path, option("What rheostat fit --out wrote.", metavar="FILE")],
    json: o.Json = False,
) -> None:
    """Say by week how right a saved model was, and raise an alarm with its reason.

    An alarm is raised where the newest week's 90 % intervals held clearly less than 85 %, beyond
    what chance between users' applications explains, or where half of its forecasts were off by 1.5
    times what was usual before. Jobs that the model learned from flatter it.
    """
