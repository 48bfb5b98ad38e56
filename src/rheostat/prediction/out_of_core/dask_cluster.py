"""Where do the workers run: on this machine, on a cluster that is there already, or under Slurm?

All three give a Dask client, and the work does not know the difference.  Under Slurm each worker is
a batch job that `dask-jobqueue` submits; files named in the work must lie where every worker can
read them.
"""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from rheostat._optional import require
from rheostat.errors import RheostatError

RETRIES = 3
"""Tries of work that failed with a worker, beyond the first."""
AHEAD = 2
"""Items for each thread of a worker that are under way at once."""
QUIET = {"distributed.admin.large-graph-warning-threshold": "1GB"}
"""Pieces of a log travel inside the work on purpose: workers need not see the file."""
Spread = Callable[..., Iterator[Any]]
"""``spread(work, items, *shared)``: ``work(item, *shared)`` of every item, in the items' order."""


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


def here(work: Callable[..., Any], items: Iterable[Any], *shared: Any) -> Iterator[Any]:
    """``work(item, *shared)`` of every item, one after the other in this process.

    >>> list(here(pow, (1, 2, 3), 2))
    [1, 4, 9]
    """
    return (work(item, *shared) for item in items)


@contextmanager
def spread_over(workers: Workers | None) -> Iterator[Spread]:
    """`here`, or the same on ``workers``."""
    if workers is None:
        yield here
        return
    with connect(workers) as client:
        yield partial(on_workers, client)


def on_workers(
    client: Any, work: Callable[..., Any], items: Iterable[Any], *shared: Any
) -> Iterator[Any]:
    """As `here`, on the workers of a Dask client, a few items ahead of the one that is waited for.

    What a lost worker had not delivered is done again by another.  What is ``shared`` travels once;
    it is kept as work of the scheduler, as data on workers would be lost with the last one.
    """
    held = [client.submit(_itself, s, pure=False) for s in shared]
    waiting: deque[Any] = deque()
    for item in items:
        waiting.append(client.submit(work, item, *held, retries=RETRIES, pure=False))
        if len(waiting) > AHEAD * sum(client.nthreads().values()):
            yield delivered(waiting.popleft())
    while waiting:
        yield delivered(waiting.popleft())


def _itself(value: Any) -> Any:
    return value


def delivered(future: Any) -> Any:
    """The result; where workers are lost again and again with this work, an error that says so."""
    distributed = require("distributed", extra="cluster")
    try:
        return future.result()
    except (distributed.KilledWorker, distributed.client.FutureCancelledError) as error:
        hint = "out of memory, or ended by their batch system? --memory gives one worker more"
        raise RheostatError(f"Dask workers end while they work: {hint} ({error})") from error


@contextmanager
def connect(workers: Workers) -> Iterator[Any]:
    """A `dask.distributed.Client` with at least one worker; what was started here is stopped."""
    distributed, dask = (require(m, extra="cluster") for m in ("distributed", "dask"))
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(QUIET))
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
    configured = require("dask", extra="cluster").config.get
    asked = {
        "queue": workers.slurm or None,
        "cores": workers.threads,
        "memory": workers.memory,
        "processes": 1,
        "job_name": "rheostat-worker",
        "scheduler_options": {"dashboard_address": None}
        | (configured("jobqueue.slurm.scheduler-options", None) or {}),
    }
    return jobqueue.SLURMCluster(**{**asked, **workers.options})
