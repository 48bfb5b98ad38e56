"""Options of commands whose work can be done on Dask workers."""

from __future__ import annotations

from typing import Annotated

from rheostat.cli.asks import Values
from rheostat.cli.options.declared import option

Memory = Annotated[str, option("Memory of one started worker.", "--memory")]


def on_workers(
    dask: Annotated[
        str | None,
        option("Work on Dask workers: tcp://host:8786, or local.", "--dask", metavar="ADDRESS"),
    ] = None,
    slurm: Annotated[
        str | None, option("Work on Dask workers submitted to Slurm.", "--slurm", metavar="QUEUE")
    ] = None,
    workers: Annotated[
        int, option("Workers to start (local, Slurm).", "--workers", min=1, max=10_000)
    ] = 2,
    memory: Memory = "2GB",
) -> Values:
    """Where the work is done."""
    from rheostat.questions.workers import workers_of

    return {"workers": workers_of(dask, slurm, workers, memory)}
