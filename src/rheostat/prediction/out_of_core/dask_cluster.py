"""Where do the workers run: on this machine, on a cluster that is there already, or under Slurm?

All three give a Dask client, and the fit does not know the difference.  Under Slurm each worker is
a batch job that `dask-jobqueue` submits; the trace must lie where every worker can read it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from rheostat._optional import require
from rheostat.errors import RheostatError


@dataclass(frozen=True)
class Workers:
    """What to compute on.

    ``address`` of a running scheduler ("tcp://host:8786"), or ``slurm`` queue to submit workers to
    (``options`` are `dask_jobqueue.SLURMCluster`'s: account, walltime, job_extra_directives, ...),
    or neither: processes on this machine.  ``memory`` and ``threads`` are those of one worker.
    """

    address: str | None = None
    slurm: str | None = None
    count: int = 2
    threads: int = 1
    memory: str = "8GB"
    options: dict[str, Any] = field(default_factory=dict)
    wait_s: float = 120.0


@contextmanager
def connect(workers: Workers) -> Iterator[Any]:
    """A `dask.distributed.Client` with at least one worker; what was started here is stopped."""
    distributed = require("distributed", extra="cluster")
    with ExitStack() as stack:
        where = workers.address or stack.enter_context(_cluster(distributed, workers))
        try:
            client = stack.enter_context(distributed.Client(where, timeout=workers.wait_s))
            client.wait_for_workers(1, timeout=workers.wait_s)
        except (TimeoutError, OSError, ValueError) as error:  # no address is a ValueError
            raise RheostatError(
                f"no Dask worker answered within {workers.wait_s:.0f} s at "
                f"{workers.address or 'the new cluster'}: {error}"
            ) from error
        yield client


def _cluster(distributed: Any, workers: Workers) -> Any:
    if workers.slurm is None:
        return distributed.LocalCluster(
            n_workers=workers.count,
            threads_per_worker=workers.threads,
            memory_limit=workers.memory,
            processes=True,
            dashboard_address=None,
        )
    if shutil.which("sbatch") is None:
        raise RheostatError("no sbatch here: Slurm's workers are started from a login node")
    cluster = slurm_cluster(workers)
    cluster.scale(jobs=workers.count)
    return cluster


def slurm_cluster(workers: Workers) -> Any:
    """The cluster object; ``.job_script()`` is the batch script each worker is submitted with."""
    jobqueue = require("dask_jobqueue", extra="cluster")
    asked = {
        "queue": workers.slurm or None,
        "cores": workers.threads,
        "memory": workers.memory,
        "processes": 1,
        "job_name": "rheostat-worker",
        "scheduler_options": {"dashboard_address": None},
    }
    return jobqueue.SLURMCluster(**{**asked, **workers.options})
