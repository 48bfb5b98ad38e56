"""``rheostat llm demo``: generated runs and requests, for trying the other commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import argument, option


@asks("llm.demo", o.shown)
def demo(
    folder: Annotated[Path, argument("Folder to write to.", writable=True, file_okay=False)] = Path(
        "llm-demo"
    ),
    requests: Annotated[int, option("Requests of the log.", min=10, max=1_000_000)] = 1500,
    seed: o.Seed = 0,
) -> None:
    """Write generated runs and a log of requests, and print what to ask of them.

    The runs are of five made-up models on three types of GPU; their true law is in
    rheostat.measurement.synthetic.served_models.
    """
