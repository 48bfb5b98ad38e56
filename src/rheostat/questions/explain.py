"""`rheostat.explain` with what the upper floors return: schedules, shared nodes, learned orders.

Their facts are made where they belong; here they meet the words of `rheostat.explanation`.
"""

from __future__ import annotations

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.report import Grid, Report, Section
from rheostat.errors import DataError
from rheostat.explanation.explainer_table import Context, Things, explains
from rheostat.explanation.explainers import only
from rheostat.explanation.narrate import explain

__all__ = ["explain"]


@explains("core.jobs.JobTable", "a schedule (simulate)")
def schedule(things: Things, about: Context) -> Report:
    """Waits, slowdowns and how full the processors were that the schedule ever used."""
    from rheostat.explanation.schedules.schedule import policy_grid
    from rheostat.simulation.schedule_metrics import metrics

    jobs = only(things)
    missing = [c for c in ("start_s", "end_s", "wait_s", "procs", "estimate_s")
               if c not in jobs.columns]  # fmt: skip
    if missing:
        raise DataError("explain", [f"expected a schedule from simulate, without {missing[0]}"])
    procs = most_used(jobs)
    facts = {"procs": procs, "policies": {"schedule": metrics(jobs, procs)}}
    said = (
        f"{len(jobs):,} jobs; at most {procs:,} processors in use at once.",
        "Wait: from submission to start.  Used: of those processors, from the first submission to "
        "the last end.",
    )
    return Report("", [Section("schedule", said, policy_grid(facts))], facts)


def most_used(jobs: JobTable) -> int:
    """Processors in use at once, at most; a job that ends makes room at that moment.

    >>> from rheostat import table
    >>> most_used(table({"start_s": [0.0, 5.0, 9.0], "end_s": [9.0, 9.0, 12.0],
    ...                  "procs": [2, 3, 4]}))
    5
    """
    start, end, procs = (jobs.numpy(c) for c in ("start_s", "end_s", "procs"))
    moments, steps = np.concatenate([end, start]), np.concatenate([-procs, procs])
    return int(np.cumsum(steps[np.argsort(moments, kind="stable")]).max(initial=0))


@explains("simulation.result.Simulation", "simulations of one trace (simulate_run)")
def simulations(things: Things, about: Context) -> Report:
    """Policies side by side, with pictures."""
    from rheostat.explanation.schedules.schedule import schedule_report
    from rheostat.simulation.report_facts import facts
    from rheostat.simulation.report_series import picture

    runs = list(things)
    return schedule_report(facts("trace", runs, deep=True), picture(runs), ())


@explains("simulation.coschedule.node_simulation.NodeRun", "plans of a shared node (coschedule)")
def shared_node(things: Things, about: Context) -> Report:
    """Policies compared, and the first one's schedule."""
    from rheostat.explanation.schedules.coschedule import coschedule_report
    from rheostat.recipes.ecosched import coschedule_facts

    seen = {int(g) for run in things for ids in run.jobs.frame["gpu_ids"] for g in ids.split()}
    nodes = max(int(run.jobs.frame["node"].max()) for run in things) + 1
    return coschedule_report(coschedule_facts(things, max(seen) + 1, nodes))


@explains("simulation.learned_priority.priority.LearnedPriority", "a learned order")
def learned_order(things: Things, about: Context) -> Report:
    """How the order is made and guarded; what it prefers takes a trace (``rheostat explain``)."""
    order = only(things)
    rows = (
        ("weights of the score", len(order.weights)),
        ("longest wait allowed, in usual longest waits", order.limit),
        ("weights of planned run times", len(order.trust)),
        ("plans with what ended jobs predict", order.history),
    )
    said = (
        "A network scores every waiting job by its size, request, wait and user's past; the "
        "highest goes first, within the guard.",
        "Its preferences as rules: `rheostat explain agent:FILE --trace TRACE`.",
    )
    facts = {"limit": order.limit, "trained": dict(order.trained)}
    return Report("", [Section("order", said, Grid(("property", "value"), rows))], facts)
