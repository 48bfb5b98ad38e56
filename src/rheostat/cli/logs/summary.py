"""``rheostat summary FILE``: what is in a job log, the first answer to an operator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import argument, option


@asks("summary", o.log, o.drawn)
def summary(
    file: Annotated[Path, argument("A job log, any format read knows.", "FILE")],
    machine: Annotated[
        str, option("Processors, or a TOML file; what the log tells by default.")
    ] = "",
    seed: o.Seed = 0,
) -> None:
    """Say what is in a job log: use, energy, failures, waits beside a simulation, what it can tell.

    Always answers, and says what the log lacks in the place of what it would tell. Node-hours,
    energy and its source, and runs that did not complete, by application, user and partition; waits
    as logged beside FCFS with EASY on the machine as found in the log; whether the log can tell
    what a node count does, and the one thing that would change that.
    """
