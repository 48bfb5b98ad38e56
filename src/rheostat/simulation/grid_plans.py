"""What a site can do when power is short, dear or dirty, each simple answer run on its own log.

Plan                       What changes
do nothing                 nothing: the site as it is
idle nodes off             idle processors sleep
jobs wait                  the site holds the power that there is, and jobs start when it lasts
jobs wait, idle nodes off  both
cap all jobs               every job runs capped, at all times
cap or wait                a job runs capped where its full power does not last
hold NN %                  the site holds that share of its peak in the day's worst hours
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.core.series import Series
from rheostat.core.vocabulary import table
from rheostat.simulation.power import priced
from rheostat.simulation.result import Simulation
from rheostat.simulation.simulate import simulate_run
from rheostat.simulation.site.capacity_changes import idle_w
from rheostat.simulation.workload import Array, sizes

DAY_S = 86_400.0
NOTHING = Series.of(0.0)
SLEEP_AFTER_S, WAKE_S = 600.0, 120.0
"""An idle node sleeps after ten minutes and takes two to boot, where the site says nothing."""


@dataclass(frozen=True)
class Capped:
    """What a cap does to a job: its power and its run time, as parts of those without it."""

    power: float
    runtime: float


@dataclass(frozen=True)
class ServedPower:
    """Watts beside the batch jobs, of served models: kept for them at most, drawn in the mean."""

    kept_w: Series = NOTHING
    drawn_w: Series = NOTHING

    def left_of(self, limit: Series) -> Series:
        """What a limit leaves to batch jobs; what is kept changes only where the limit does."""
        kept = self.kept_w.at(np.array(limit.from_s))
        return replace(limit, values=tuple((np.array(limit.values) - kept).tolist()))

    def used(self, begin_s: float, end_s: float, site: Machine) -> tuple[float, float, float]:
        """Energy in J, its cost and its grams of CO2, from one moment to another."""
        inside = self.drawn_w.changes(begin_s, end_s)
        times = np.unique(np.concatenate([[begin_s, end_s], inside]))
        watts = self.drawn_w.at(times)
        energy_j = float((watts[:-1] * np.diff(times)).sum())
        tariff, carbon = site.tariff_per_kwh, site.carbon_g_per_kwh
        return energy_j, priced(times, watts, tariff), priced(times, watts, carbon)


ALONE = ServedPower()
"""No model is served beside the batch jobs."""


@dataclass(frozen=True)
class GridPlan:
    """A site that does something, and the ways in which its jobs may run."""

    name: str
    machine: Machine
    full: bool = True
    capped: Capped | None = None
    served: ServedPower = ALONE

    def run(self, jobs: JobTable, policy: str, believed_w: Array) -> Simulation:
        """The log under this plan; planning believes ``believed_w`` of each job."""
        if self.capped is None:
            return simulate_run(jobs, policy, self.machine, power_w=believed_w)
        ways = alternatives(jobs, believed_w, self.capped, full=self.full)
        return simulate_run(jobs, policy, self.machine, alternatives=ways)


def plans(
    site: Machine,
    available: Series | None,
    held: Sequence[tuple[str, Series]],
    capped: Capped | None,
    full: ServedPower = ALONE,
    shared: ServedPower = ALONE,
) -> tuple[GridPlan, ...]:
    """Every plan that applies, doing nothing first.

    ``available`` is what batch jobs may draw, W; ``held`` names caps for dear or dirty hours.  Caps
    below what the site draws when idle are left out: no order of jobs holds them.  Models are
    served at ``full`` speed, under plans that hold a limit as ``shared`` says.
    """
    asleep = sleeping(site)
    limits = [("jobs wait", available)] if available and holdable(available, site) else []
    held = [(name, cap) for name, cap in held if holdable(cap, site)]
    made = [GridPlan("do nothing", site, served=full)]
    if asleep is not site:
        made.append(GridPlan("idle nodes off", asleep, served=full))
    for name, cap in (*limits, *held):
        made.append(GridPlan(name, replace(site, cap_w=cap), served=shared))
        if asleep is not site and limits:
            off = replace(asleep, cap_w=cap)
            made.append(GridPlan(f"{name}, idle nodes off", off, served=shared))
    if capped is not None:
        made.append(GridPlan("cap all jobs", site, full=False, capped=capped, served=full))
        if limits:
            waits = replace(site, cap_w=available)
            made.append(GridPlan("cap or wait", waits, capped=capped, served=shared))
    return tuple(made)


def holdable(cap: Series, site: Machine) -> bool:
    """Whether the cap never falls below what the site draws when idle."""
    return min(cap.values) >= idle_w(site)


def sleeping(site: Machine) -> Machine:
    """The site with idle processors asleep; itself if some sleep already or draw unknown watts."""
    parts = site.parts
    if any(math.isfinite(p.sleep_after_s) or math.isnan(p.idle_w) for p in parts):
        return site
    asleep = tuple(
        replace(p, sleep_after_s=SLEEP_AFTER_S, wake_s=WAKE_S, wake_w=p.idle_w) for p in parts
    )
    return replace(site, partitions=asleep)


def worst_hours(
    signal: Series, share: float, begin_s: float, end_s: float
) -> list[tuple[float, float]]:
    """From and to of the hours with the highest values, ``share`` of each day.

    >>> worst_hours(Series((0.0, 3600.0, 7200.0), (1.0, 9.0, 2.0)), 1 / 24, 0.0, 10800.0)
    [(3600.0, 7200.0)]
    """
    worst = []
    for day in np.arange(math.floor(begin_s / DAY_S), math.ceil(end_s / DAY_S)) * DAY_S:
        hours = day + 3600.0 * np.arange(24)
        mean = np.mean([signal.at(hours + quarter) for quarter in (0.0, 900.0, 1800.0, 2700.0)], 0)
        dear = np.argsort(-mean, kind="stable")[: round(24 * share)]
        worst += [(float(hours[k]), float(hours[k]) + 3600.0) for k in sorted(dear)]
    return [(a, b) for a, b in worst if a < end_s and b > begin_s]


def least(one: Series, other: Series | None, begin_s: float, end_s: float) -> Series:
    """The lower of two series between two moments.

    >>> least(Series.of(5.0), Series((0.0, 10.0), (9.0, 4.0)), 0.0, 20.0)
    Series(from_s=(0.0, 10.0), values=(5.0, 4.0), repeat_s=0.0)
    """
    if other is None:
        return one
    moments = np.unique(np.concatenate(
        [[begin_s], one.changes(begin_s, end_s), other.changes(begin_s, end_s)]
    ))  # fmt: skip
    values = np.minimum(one.at(moments), other.at(moments))
    return Series(tuple(moments.tolist()), tuple(values.tolist()))


def held_in(hours: Sequence[tuple[float, float]], low: float, high: float) -> Series:
    """``low`` in those hours and ``high`` else.

    >>> held_in([(10.0, 20.0), (20.0, 30.0)], 1.0, 5.0)
    Series(from_s=(9.0, 10.0, 30.0), values=(5.0, 1.0, 5.0), repeat_s=0.0)
    """
    if not hours:
        return Series.of(high)
    values = {hours[0][0] - 1.0: high}
    for begin, end in hours:
        values.setdefault(begin, low)
        if values[begin] == high:  # where the hour before ended
            del values[begin]
        values[end] = high
    return Series(tuple(values), tuple(values.values()))


def believed_watts(jobs: JobTable, site: Machine) -> Array:
    """Watts that a site can expect of each job when it comes: nothing is known of its own run.

    The highest watts per processor among jobs of the same user that had ended, as logged, before it
    was submitted; else the busy watts of the site; else the highest of all that had ended.
    """
    size, submit = sizes(jobs), jobs.numpy("submit_s")
    watts = jobs.numpy("power_w") if "power_w" in jobs.columns else np.full(len(jobs), np.nan)
    user = jobs.frame["user"].to_list() if "user" in jobs.columns else [None] * len(jobs)
    busy = max((p.busy_w for p in site.parts if math.isfinite(p.busy_w)), default=math.nan)
    ended: list[tuple[float, int]] = []
    most: dict[object, float] = {}
    overall, believed = math.nan, np.full(len(jobs), np.nan)
    over = _ended(jobs)
    for row in np.argsort(submit, kind="stable"):
        while ended and ended[0][0] <= submit[row]:
            done = heappop(ended)[1]
            each = watts[done] / size[done]
            overall = np.fmax(overall, each)
            most[user[done]] = np.fmax(most.get(user[done], math.nan), each)
        known = [v for v in (most.get(user[row], math.nan), busy, overall) if math.isfinite(v)]
        believed[row] = size[row] * known[0] if known else math.nan
        if math.isfinite(watts[row]) and math.isfinite(over[row]) and size[row] > 0:
            heappush(ended, (float(over[row]), int(row)))
    return believed


def _ended(jobs: JobTable) -> Array:
    """When each job ended, as logged; one whose start is not known, a run time after it came."""
    start = jobs.numpy("start_s") if "start_s" in jobs.columns else np.full(len(jobs), np.nan)
    start = np.where(np.isfinite(start), start, jobs.numpy("submit_s"))
    ended: Array = start + jobs.numpy("runtime_s")
    return ended


def alternatives(jobs: JobTable, believed_w: Array, capped: Capped, *, full: bool) -> JobTable:
    """Rows for `rheostat.simulation.site.moldable`: each job with full power, if so, and capped."""
    watts = jobs.numpy("power_w") if "power_w" in jobs.columns else np.full(len(jobs), np.nan)
    watts = np.where(np.isfinite(watts), watts, believed_w)
    limit = jobs.numpy("time_limit_s") if "time_limit_s" in jobs.columns else None
    ways = ([(1.0, 1.0)] if full else []) + [(capped.power, capped.runtime)]
    columns = {
        "job_id": np.tile(jobs.frame["job_id"].to_numpy(), len(ways)),
        "cores": np.tile(sizes(jobs), len(ways)).astype(int),
        "power_w": np.concatenate([p * watts for p, _ in ways]),
        "expected_power_w": np.concatenate([p * believed_w for p, _ in ways]),
        "runtime_s": np.concatenate([t * jobs.numpy("runtime_s") for _, t in ways]),
    }
    if limit is not None:
        columns["time_limit_s"] = np.concatenate([t * limit for _, t in ways])
    return table(columns)
