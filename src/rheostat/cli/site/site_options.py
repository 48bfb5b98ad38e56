"""Options that commands of a site share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Store = Annotated[
    Path, typer.Option(help="Folder of jobs; made if there is none.", file_okay=False)
]
Log = Annotated[Path, typer.Argument(help="A job log, or the folder that ingest fills.")]
Etc = Annotated[Path, typer.Option(help="Folder of slurm.conf.", file_okay=False)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, do nothing.")]
