"""Everything that several runs over one trace say, as plain values: what a page and JSON hold."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from rheostat.core.jobs import JobTable
from rheostat.simulation.comparison.paired_comparison import gains, paired
from rheostat.simulation.note_numbers import noted
from rheostat.simulation.result import Simulation
from rheostat.simulation.schedule_metrics import breakdown, metrics


def facts(
    trace: str,
    runs: Sequence[Simulation],
    planning: Mapping[str, str] | None = None,
    *,
    read: JobTable | None = None,
    seed: int = 0,
    deep: bool = True,
) -> dict[str, Any]:
    """Metrics of each run and its paired differences from the first.

    ``read`` is the trace that was run.  ``planning`` says how the runs were made (estimates,
    semantics, ties), for the record.  ``deep`` adds the breakdowns by size, length and user, and
    who gains and who loses, which take longer than the rest together.
    """
    base = runs[0]
    spent = sum(r.cpu_s for r in runs)
    return {
        "trace": trace,
        "machine": {"name": base.machine.name, "procs": base.machine.procs},
        "planning": dict(planning or {}),
        "engine": {
            "jobs_per_cpu_s": sum(len(r.jobs) for r in runs) / spent if spent else None,
            "cpu_s": spent,
            "process_cpu_s": time.process_time(),
            "clairvoyant": any(r.clairvoyant for r in runs),
        },
        "policies": {r.policy.name: _policy(r, base, seed=seed, deep=deep) for r in runs},
        "notes": noted(read or JobTable(base.jobs.frame, base.jobs.schema), runs),
    }


def _policy(run: Simulation, base: Simulation, *, seed: int, deep: bool) -> dict[str, Any]:
    result: dict[str, Any] = {"clairvoyant": run.clairvoyant, "passes": run.passes}
    result |= metrics(run.jobs, run.machine.procs)
    result["power"] = None if run.account is None else run.account.metrics()
    first = run is base
    against = {"against": base.policy.name}
    result["paired"] = None if first else against | paired(run.jobs, base.jobs, seed=seed)
    if deep:
        result |= breakdown(run.jobs, run.machine.procs)
        result["gains"] = None if first else against | gains(run.jobs, base.jobs)
    return result
