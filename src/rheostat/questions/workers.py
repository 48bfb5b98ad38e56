"""Where work that is too much for one process is done: this machine's cores, or Dask workers."""

from __future__ import annotations

import os

from rheostat.errors import DataError
from rheostat.prediction.out_of_core.dask_cluster import Workers


def workers_of(dask: str | None, slurm: str | None, count: int, memory: str) -> Workers | None:
    """Workers by their address or queue; None: this process alone.

    >>> workers_of(None, None, 2, "2GB") is None, workers_of("local", None, 2, "2GB").count
    (True, 2)
    """
    if dask and slurm:
        raise DataError("--dask and --slurm", ["give one of them, or neither"])
    if not (dask or slurm):
        return None
    address = None if dask in (None, "local") else dask
    return Workers(address=address, slurm=slurm, count=count, memory=memory)


def cores() -> int:
    """Processor cores this process may use; a batch system may have given it a few of many."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
