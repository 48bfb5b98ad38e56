"""``rheostat compare --policies``: batch policies on many traces, and what may be claimed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def compare_policies(
    policies: str,
    traces: Sequence[Path],
    *,
    heuristics: str,
    fitted: Sequence[str],
    max_wait: float,
    seed: int,
    processes: int,
    dask: str | None,
    slurm: str | None,
    workers: int,
    memory: str,
    results: Path | None,
    html: Path | None,
    figure: Path | None,
    json: bool,
    **how: Any,
) -> None:
    """Run what is not in ``results`` yet, judge, print."""
    from rheostat.cli.large import workers_of
    from rheostat.cli.output import on_terminal, put_json, put_report, tell, write_files
    from rheostat.cli.progress import stages
    from rheostat.explanation.schedule_protocol import claims, protocol_report, sweep_grid
    from rheostat.questions.parse import parse_names
    from rheostat.recipes.policies import open_policies, open_policy
    from rheostat.simulation.overdue import agreed
    from rheostat.simulation.protocol import (
        HEURISTICS,
        ComparisonProtocol,
        check_fitted,
        fitted_of,
        judge,
    )
    from rheostat.simulation.sweep import policy_name, sweep, tasks_of, trace_files, trace_name

    rules = ComparisonProtocol(
        tuple(dict.fromkeys(map(policy_name, parse_names(policies)))),
        tuple(map(policy_name, parse_names(heuristics))) or HEURISTICS,
        fitted_of(fitted),
        max_wait,
        seed,
    )
    asked = {"semantics": how["semantics"], "ties": how["ties"]}
    made = open_policies(rules.everything, "--policies", **asked)
    files = trace_files(traces)
    check_fitted(rules, sorted(map(trace_name, files)))
    how["overdue"] = agreed(made, how["overdue"], how["estimates"], default="extend")
    tasks = tasks_of(files, rules.everything, **how)
    cluster = workers_of(dask, slurm, workers, memory)
    with stages() as progress:
        done = sweep(
            tasks,
            open_policy=open_policy,
            processes=processes or cores(),
            workers=cluster,
            results=results,
            progress=progress,
        )
    for note in dict.fromkeys(
        f"{trace_name(t.trace)}: {n}" for t in done for n in done[t]["notes"]
    ):
        tell(f"note: {note}")
    facts = judge(done, rules)
    if json:
        put_json("rheostat.compare-policies/1", facts)
    else:
        put_report(protocol_report(facts), sweep_grid(facts))
        for line in () if on_terminal() else claims(facts):
            tell(line)
    write_files(protocol_report(facts, full=True), html, figure)


def cores() -> int:
    """Processor cores this process may use; a batch system may have given it a few of many."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
