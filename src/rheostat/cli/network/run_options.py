"""Options that several commands of a network share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Folder = Annotated[
    Path,
    typer.Argument(
        help="Folder of a simulated run: an iteration log, and what there is of net.conf, wl.conf, "
        "alloc.conf and port telemetry. Or a file: a log or a CSV of iteration times alone.",
        metavar="FOLDER",
    ),
]
App = Annotated[
    list[str] | None, typer.Option(help="Only this application, as wl.conf names it. Repeatable.")
]
Save = Annotated[
    Path | None, typer.Option("--save", "-o", help="Keep the model in this file.", writable=True)
]
Ahead = Annotated[int, typer.Option("--steps", help="Iterations ahead.", min=1, max=30)]
