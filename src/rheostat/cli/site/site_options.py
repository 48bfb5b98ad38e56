"""Options that commands of a site share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli.options.declared import argument, option

Store = Annotated[Path, option("Folder of jobs; made if there is none.", file_okay=False)]
Log = Annotated[Path, argument("A job log, or the folder that ingest fills.")]
Etc = Annotated[Path, option("Folder of slurm.conf.", file_okay=False)]
DryRun = Annotated[bool, option("Say what would be done, do nothing.", "--dry-run")]
