"""``rheostat llm demo``: generated runs and requests, for trying the other commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o


def demo(
    folder: Annotated[
        Path, typer.Argument(help="Folder to write to.", writable=True, file_okay=False)
    ] = Path("llm-demo"),
    requests: Annotated[
        int, typer.Option(min=10, max=1_000_000, help="Requests of the log.")
    ] = 1500,
    seed: o.Seed = 0,
    json: o.Json = False,
) -> None:
    """Write generated runs and a log of requests, and print what to ask of them.

    The runs are of five made-up models on three types of GPU; their true law is in
    rheostat.measurement.synthetic.served_models.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.llm import demo as ask

    with printed(json=json) as put:
        put(ask(folder, requests=requests, seed=seed))
