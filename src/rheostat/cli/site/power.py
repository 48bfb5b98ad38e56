"""`rheostat site power`: the power of jobs from a site's Prometheus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import option
from rheostat.cli.site.site_options import Store


@asks("site.power", o.shown, mapped="mapping")
def power(
    store: Store,
    mapped: Annotated[
        Path, option("TOML: the server, and which series are whose.", "--map", metavar="FILE")
    ],
    overlap: Annotated[
        str, option("How far before the end of the last call jobs may have ended.")
    ] = "1h",
    window: Annotated[str, option("How much time one query asks for.")] = "1h",
) -> None:
    """Take the power of jobs that ended from a site's Prometheus into their store.

    For sites whose Slurm counts no energy. Series are of jobs, or of nodes; those of a node say
    nothing of jobs that shared it. Counters that begin anew and gaps are counted, and a job with
    samples of less than 80 % of its run has no energy.
    """
