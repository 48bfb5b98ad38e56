"""Options of commands whose work can be done on Dask workers."""

from __future__ import annotations

from typing import Annotated

from rheostat.cli.options.declared import option

Dask = Annotated[
    str | None,
    option("Work on Dask workers: tcp://host:8786, or local.", "--dask", metavar="ADDRESS"),
]
Queue = Annotated[
    str | None, option("Work on Dask workers submitted to Slurm.", "--slurm", metavar="QUEUE")
]
Count = Annotated[int, option("Workers to start (local, Slurm).", "--workers", min=1, max=10_000)]
Memory = Annotated[str, option("Memory of one started worker.", "--memory")]
