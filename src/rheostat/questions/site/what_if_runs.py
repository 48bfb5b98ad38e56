"""Plans for a grid's conditions, run on a log and on the same log with other submissions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.series import Series
from rheostat.questions import listener
from rheostat.questions.site.what_if_answer import PlanResult
from rheostat.simulation.comparison.jittered_replays import jittered
from rheostat.simulation.comparison.paired_comparison import mean_interval
from rheostat.simulation.grid_plans import GridPlan
from rheostat.simulation.power import over_cap
from rheostat.simulation.result import Simulation
from rheostat.simulation.schedule_metrics import bounded_slowdown
from rheostat.simulation.timeline import even_edges, mean_in

COMPARED = ("energy_j", "cost", "carbon_kg", "turnaround_s", "slowdown")
LATER_S = 60.0
MOST_NAMED = 10
WEEK_S = 7 * 86_400.0


def run_plans(
    todo: Sequence[GridPlan],
    log: JobTable,
    policy: str,
    believed_w: np.ndarray,
    available: Series | None,
    replays: int,
    seed: int,
) -> tuple[tuple[PlanResult, ...], list[Simulation]]:
    """What came of each plan, its differences from the first on every replay, and its run."""
    first: list[Simulation] = []
    measured: list[list[dict[str, float]]] = []
    with listener.counted("replays") as counted:
        for k in range(replays + 1):
            jobs = jittered(log, seed + k) if k else log
            made = [plan.run(jobs, policy, believed_w) for plan in todo]
            first = first or made
            measured.append(
                [
                    _measures(run, plan, made[0], available)
                    for plan, run in zip(todo, made, strict=True)
                ]
            )
            counted(k + 1, replays + 1)
    results = []
    for place, (plan, run) in enumerate(zip(todo, first, strict=True)):
        change = {m: mean_interval(np.array([each[place][m] - each[0][m] for each in measured]))
                  for m in COMPARED}  # fmt: skip
        later = int((beside(run, first[0])["later_s"] > LATER_S).sum())
        left = len(first[0].jobs) - len(run.jobs)
        results.append(PlanResult(name=plan.name, measures=measured[0][place], change=change,
                                  later=later, left_out=left,
                                  over_limit=len(over_limit(run, log))))  # fmt: skip
    return tuple(results), first


def beside(run: Simulation, base: Simulation) -> pl.DataFrame:
    """Jobs that ran under both: how much later each ends, and its run time under ``base``."""
    own = run.jobs.frame.select("job_id", "submit_s", "end_s")
    other = base.jobs.frame.select(
        "job_id", run_s=pl.col("end_s") - pl.col("start_s"), base_end_s="end_s"
    )
    both = own.join(other, on="job_id", maintain_order="left")
    return both.with_columns(later_s=pl.col("end_s") - pl.col("base_end_s"))


def over_limit(run: Simulation, log: JobTable) -> tuple[Any, ...]:
    """Jobs that a plan has run past the time limit that they asked for, though by themselves not.

    Only a cap does that; the simulator gives them the time, a batch system would end them.
    """
    if "time_limit_s" not in log.columns:
        return ()
    asked = log.frame.select("job_id", "runtime_s", limit_s="time_limit_s")
    ran = run.jobs.frame.select("job_id", run_s=pl.col("end_s") - pl.col("start_s"))
    both = ran.join(asked, on="job_id", maintain_order="left")
    past = (pl.col("run_s") > pl.col("limit_s")) & (pl.col("runtime_s") <= pl.col("limit_s"))
    return tuple(both.filter(past)["job_id"].to_list())


def _measures(
    run: Simulation, plan: GridPlan, base: Simulation, available: Series | None
) -> dict[str, float]:
    """Energy, money, CO2 and what jobs bear; slowdown is beside the run time without a cap."""
    account, first = run.account, base.account
    assert account is not None
    assert first is not None
    limit = None if available is None else plan.served.left_of(available)
    over_s, over_w = over_cap(limit, account.times, account.watts)
    served_j, cost, carbon_g = plan.served.used(first.times[0], first.times[-1], plan.machine)
    both = beside(run, base)
    run_s = both["run_s"].to_numpy()
    turnaround = (both["end_s"] - both["submit_s"]).to_numpy()
    return {
        "energy_j": account.total_j + served_j,
        "cost": account.cost + cost,
        "carbon_kg": (account.carbon_g + carbon_g) / 1e3,
        "over_s": over_s,
        "over_w": over_w,
        "mean_wait_s": float(run.jobs.numpy("wait_s").mean()),
        "turnaround_s": float(turnaround.mean()),
        "slowdown": float(bounded_slowdown(turnaround - run_s, run_s).mean()),
    }


def delayed_most(run: Simulation, base: Simulation) -> tuple[Mapping[str, Any], ...]:
    """The jobs that end latest beside ``base``."""
    late = beside(run, base).filter(pl.col("later_s") > LATER_S)
    worst = late.sort("later_s", descending=True, maintain_order=True).head(MOST_NAMED)
    return tuple(worst.select("job_id", "later_s").to_dicts())


def power_over_time(
    todo: Sequence[GridPlan], runs: Sequence[Simulation], taken: int, available: Series | None,
    zero_s: float | None,
) -> dict[str, Any]:  # fmt: skip
    """Mean watts of each hour in the last week of submissions, in which a day can be seen.

    Those of doing nothing and of the plan taken, served models included.
    """
    submit = runs[0].jobs.numpy("submit_s")
    begin, end = max(float(submit.min()), float(submit.max()) - WEEK_S), float(submit.max())
    edges = even_edges(begin, end, max(1, round((end - begin) / 3600.0)))
    mean = {
        todo[k].name: (mean_in(a.times, a.watts, edges) + todo[k].served.drawn_w.at(edges[:-1]))
        for k in (0, taken)
        if (a := runs[k].account)
    }
    lines = {name: watts.tolist() for name, watts in mean.items()}
    if available is not None:
        lines["available"] = available.at(edges[:-1]).tolist()
    since, unit = ("time in that week", "s") if zero_s is None else ("date", "date")
    moments = edges[:-1] + (zero_s or 0.0) - (begin if zero_s is None else 0.0)
    return {"from_s": moments.tolist(), "mean_w": lines, "since": since, "unit": unit}
