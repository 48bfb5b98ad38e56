"""Options that several commands of a network share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli.options.declared import argument, option

Folder = Annotated[
    Path,
    argument(
        "Folder of a simulated run: an iteration log, and what there is of net.conf, "
        "wl.conf, alloc.conf and port telemetry. Or a file: a log or a CSV of iteration "
        "times alone.",
        "FOLDER",
    ),
]
App = Annotated[list[str] | None, option("Only this application, as wl.conf names it. Repeatable.")]
Save = Annotated[Path | None, option("Keep the model in this file.", "--save", "-o", writable=True)]
Ahead = Annotated[int, option("Iterations ahead.", "--steps", min=1, max=30)]
