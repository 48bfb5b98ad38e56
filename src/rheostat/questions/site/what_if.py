"""`site_what_if`: power that is short, dear or dirty, and each plan for it on a site's own log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.core.series import Series
from rheostat.core.units import format_quantity, parse_duration
from rheostat.decision.budget.divided_power import BatchPower
from rheostat.errors import QuestionError
from rheostat.measurement.grid_conditions import GridConditions, read_grid
from rheostat.measurement.job_logs.log_usage import calendar_zero_s
from rheostat.questions import inputs, listener
from rheostat.questions.listener import question
from rheostat.questions.site.served_share import read_served
from rheostat.questions.site.what_if_answer import PlanResult, SiteWhatIfAnswer
from rheostat.questions.site.what_if_runs import (
    delayed_most,
    over_limit,
    power_over_time,
    run_plans,
)
from rheostat.simulation.grid_plans import (
    Capped,
    GridPlan,
    believed_watts,
    held_in,
    holdable,
    least,
    plans,
    worst_hours,
)
from rheostat.simulation.site.capacity_changes import idle_w

Array = np.ndarray
HOLDS = (0.9, 0.75, 0.5)
NO_LIMIT = "they share a limit of power: expected available_w or available_share of the grid's file"
WORST = 0.25
"""Of each day, the hours in which a site holds power where only price or carbon is given."""


@question
def site_what_if(
    jobs: inputs.Jobs,
    grid: GridConditions | Path | str,
    *,
    machine: Machine | str,
    policy: str = "easy",
    capped: str | Capped | None = None,
    served: Sequence[inputs.Jobs] = (),
    longer: float | str = "10m",
    replays: int = 5,
    zone: str = "UTC",
    seed: int = 0,
) -> SiteWhatIfAnswer:
    """Replay a site's log under what a grid asks - price, carbon, a cap that moves - plan by plan.

    Every plan is an answer that a site can give at once: do nothing, let jobs wait, shut idle nodes
    down, cap jobs. Planning believes what the site could have known of a job's power when it came.

    Parameters
    ----------
    jobs : JobTable or path
        A log with submissions, run times and sizes; ``power_w`` where it was measured.
    grid : GridConditions or path
        As `rheostat.measurement.grid_conditions.read_grid` takes it.
    machine : Machine or str
        A TOML file with idle watts, or a machine.
    policy : str
        The site's batch policy.
    capped : text or Capped, optional
        What a cap does to a job: ``0.8=1.07`` is 80 % of its power and 1.07 times its run time.
    served : sequence of JobTable or path
        Language models that share the power: runs under caps, as `rheostat.llm.plan` writes them.
    longer : float or str
        By how much later jobs may end on average, s or ``10m``.
    replays : int
        For the intervals, 0 to 20.
    zone : str
        Of times without a time zone.
    seed : int
        Of the replays.

    Returns
    -------
    SiteWhatIfAnswer
        With ``results`` and ``choice``.

    Raises
    ------
    DataError
        The file says nothing of price, carbon or power, the machine has no idle watts, or the times
        of log and file have nothing in common.

    Examples
    --------
    >>> import rheostat as rh
    >>> log = rh.table({"job_id": [1, 2], "submit_s": [0.0, 10.0], "runtime_s": [100.0, 100.0],
    ...     "time_limit_s": [100.0, 100.0], "nodes": [1, 1], "power_w": [300.0, 300.0]})
    >>> site = rh.Machine(2, idle_w=100.0, busy_w=300.0)
    >>> short = GridConditions(available_w=Series.of(400.0))
    >>> answer = site_what_if(log, short, machine=site, replays=0)
    >>> [(r.name, r.measures["over_s"], r.measures["mean_wait_s"]) for r in answer.results[:3:2]]
    [('do nothing', 90.0, 0.0), ('jobs wait', 0.0, 45.0)]
    """
    if not 0 <= replays <= 20:
        raise QuestionError("site_what_if", [f"expected 0 to 20 replays, got {replays}"])
    log = inputs.as_logged(jobs)
    log.require("job_id", "submit_s", "runtime_s")
    log = _each_once(log)
    site = Machine.load(machine) if isinstance(machine, str) else machine
    begin_s = float(np.nanmin(log.numpy("submit_s")))
    zero_s = calendar_zero_s(log)
    stated = grid
    if not isinstance(stated, GridConditions):
        stated = read_grid(stated, zone, begin_s + (zero_s or 0.0)).since(zero_s or 0.0)
    end_s = float(np.nanmax(log.numpy("submit_s") + log.numpy("runtime_s")))
    _overlap(stated, begin_s, end_s)
    site = replace(
        site,
        tariff_per_kwh=stated.price_per_kwh or site.tariff_per_kwh,
        carbon_g_per_kwh=stated.carbon_g_per_kwh or site.carbon_g_per_kwh,
    )
    share = read_served(served)
    whole_w = site.cap_w
    if whole_w is not None:
        site = replace(site, cap_w=share.full.left_of(whole_w))
    believed = believed_watts(log, site)
    base = GridPlan("do nothing", site).run(log, policy, believed)
    if base.account is None:
        problem = (
            "expected idle_w and busy_w of the machine, or power_w in the log: no watts are known"
        )
        raise QuestionError("site_what_if", [problem])
    peak_w = base.account.peak_w
    available = _available(stated, whole_w, peak_w + share.most_w)
    if available is not None:
        available = least(available, whole_w, begin_s, end_s)
    elif share.models:
        raise QuestionError("--served", [NO_LIMIT])
    how = _capped(capped)
    share = share.divided(available, _batch(site, peak_w, how))
    batch = None if available is None else share.shared(available).left_of(available)
    held = () if available else _held(site, peak_w, begin_s, end_s)
    todo = plans(site, batch, held, how, share.full, share.shared(available))
    results, runs = run_plans(todo, log, policy, believed, available, replays, seed)
    _say(log, site, batch)
    if any(run.clairvoyant for run in runs):
        listener.note("no busy_w and no earlier job tells some jobs' watts: planning has the truth")
    longer_s = parse_duration(longer)
    choice = _choice(
        results,
        longer_s,
        "cost" if site.tariff_per_kwh else "carbon_kg" if site.carbon_g_per_kwh else "slowdown",
    )
    return SiteWhatIfAnswer(
        results=results,
        choice=choice,
        longer_s=longer_s,
        delayed=delayed_most(runs[choice or 0], runs[0]),
        power=power_over_time(todo, runs, choice or 0, available, zero_s),
        served=share.rows(),
        over_limit=over_limit(runs[choice or 0], log),
    )


def _each_once(log: JobTable) -> JobTable:
    """Jobs by their rows where a number comes again, as of jobs that were requeued."""
    if not log.frame["job_id"].is_duplicated().any():
        return log
    listener.note("job_id: some come several times; jobs are numbered by their rows")
    return log.with_columns([log.schema["job_id"]], job_id=np.arange(len(log)))


def _overlap(stated: GridConditions, begin_s: float, end_s: float) -> None:
    span = stated.span_s()
    if span is not None and not (span[0] < end_s and span[1] >= begin_s):
        problem = (
            f"the log goes from {begin_s:.0f} to {end_s:.0f} s and the grid's values from "
            f"{span[0]:.0f} to {span[1]:.0f} s (since 1970): expected times in common, or times of "
            "the clock alone (17:00), which hold for each day"
        )
        raise QuestionError("site_what_if", [problem])


def _available(stated: GridConditions, cap_w: Series | None, peak_w: float) -> Series | None:
    """Watts that there are; a share is one of the site's cap, else of what doing nothing draws."""
    if stated.available_w is not None or stated.available_share is None:
        return stated.available_w
    whole = max(cap_w.values) if cap_w else peak_w
    share = stated.available_share
    return replace(share, values=tuple(v * whole for v in share.values))


def _batch(site: Machine, peak_w: float, how: Capped | None) -> BatchPower:
    """What the site's jobs take of a limit: idle nodes, and at most what doing nothing draws."""
    capped = (1.0, 1.0) if how is None else (how.power, 1.0 / how.runtime)
    return BatchPower(idle_w(site), peak_w, capped)


def _held(site: Machine, peak_w: float, begin_s: float, end_s: float) -> list[tuple[str, Series]]:
    signal = site.tariff_per_kwh or site.carbon_g_per_kwh
    if signal is None or len(set(signal.values)) < 2:
        return []
    hours = worst_hours(signal, WORST, begin_s, end_s)
    caps = [(f"hold {h:.0%}", held_in(hours, h * peak_w, 10 * peak_w)) for h in HOLDS]
    return [(name, least(cap, site.cap_w, begin_s, end_s)) for name, cap in caps]


def _capped(given: str | Capped | None) -> Capped | None:
    if given is None or isinstance(given, Capped):
        return given
    try:
        power, runtime = (float(v) for v in given.split("="))
    except ValueError:
        power = runtime = float("nan")
    if not (0 < power <= 1 <= runtime < 100):
        problem = (
            f"expected POWER=RUNTIME like 0.8=1.07, parts of those without a cap, got {given!r}"
        )
        raise QuestionError("--capped", [problem])
    return Capped(power, runtime)


def _choice(results: Sequence[PlanResult], longer_s: float, wanted: str) -> int | None:
    """The cheapest plan that holds the power, runs every job and is within ``longer_s``."""
    holds = [k for k, r in enumerate(results) if not (r.measures["over_s"] > 0 or r.left_out)]
    if not holds:
        return None
    short = [k for k in holds if results[k].change["turnaround_s"][0] <= longer_s]
    if not short:
        return min(holds, key=lambda k: results[k].measures["turnaround_s"])
    return min(short, key=lambda k: results[k].measures[wanted])


def _say(log: JobTable, site: Machine, available: Series | None) -> None:
    known = int(np.isfinite(log.numpy("power_w")).sum()) if "power_w" in log.columns else 0
    if known < len(log):
        listener.note(
            f"power_w of {known:,} of {len(log):,} jobs is known; the others draw what the machine "
            "says of a busy processor"
        )
    if available and not holdable(available, site):
        listener.note(
            f"the power that there is for batch jobs falls to "
            f"{format_quantity(min(available.values), 'W')}, "
            f"below the {format_quantity(idle_w(site), 'W')} that the site draws when idle: "
            "no plan that lets jobs wait holds it"
        )
