"""What a schedule draws: energy, cost, carbon and peak, from the same intervals.

Everything that draws power is an interval with constant watts: a run, processors that wake for it,
processors and GPUs that idle, processors that sleep.  A part's energy is the sum over its
intervals; the site's power is the step function that they add up to, and its integral is the sum of
the parts.  A part whose watts nobody gave is NaN, and so is the total.

    Symbol  Shape  Meaning
    a, b    (k,)   from when to when, s
    w       (k,)   watts
    t       (m,)   moments at which the site's power changes, s
    p       (m,)   the site's power from t[k] until t[k + 1], W
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rheostat.core.machine import Machine
from rheostat.core.series import Series
from rheostat.simulation.timeline import steps

Array = np.ndarray
Pieces = tuple[Array, Array, Array]
J_PER_KWH = 3.6e6
FEW_W = 1e-6
"""Watts by which rounding to microwatts and sums of many floats may miss the cap."""


@dataclass(frozen=True)
class RunIntervals:
    """One row per run, those that a failure ended included; times in s, ``watts`` while it runs.

    ``alloc_s`` is when the processors were taken, ``start_s`` when those asleep had woken.
    """

    job: Array
    part: Array
    procs: Array
    gpus: Array
    alloc_s: Array
    start_s: Array
    end_s: Array
    woken: Array
    watts: Array
    killed: Array


@dataclass(frozen=True)
class Account:
    """Energy by part, J; the site's power ``watts`` from each of ``times``; what came of it.

    ``cap_exceeded_s`` is for how long the site drew more than its cap, which happens only when jobs
    outlive what they were planned with or draw more than was believed.
    """

    energy_j: Mapping[str, float]
    times: Array
    watts: Array
    cost: float
    carbon_g: float
    cap_exceeded_s: float
    cap_excess_w: float
    lost_proc_s: float
    restarts: int
    overrun_proc_s: float
    runs: RunIntervals

    @property
    def total_j(self) -> float:
        """Energy of the site, J."""
        return float(sum(self.energy_j.values()))

    @property
    def peak_w(self) -> float:
        """Highest power of the site, W."""
        return float(self.watts.max()) if len(self.watts) else float("nan")

    def metrics(self) -> dict[str, float]:
        """By name with unit, for tables and JSON; NaN is not known."""
        return {
            "energy_j": self.total_j,
            **{f"energy_{k}_j": v for k, v in self.energy_j.items()},
            "peak_w": self.peak_w,
            "cost": self.cost,
            "carbon_g": self.carbon_g,
            "cap_exceeded_s": self.cap_exceeded_s,
            "cap_excess_w": self.cap_excess_w,
            "lost_proc_s": self.lost_proc_s,
            "restarts": self.restarts,
            "maintenance_overrun_proc_s": self.overrun_proc_s,
        }


def job_watts(machine: Machine, part: Array, procs: Array, gpus: Array, given: Array) -> Array:
    """Watts of whole jobs: what is given, else busy watts of the processors and GPUs.

    >>> from rheostat.core.machine import Machine
    >>> one = np.array([0])
    >>> job_watts(Machine(8, busy_w=50.0), one, np.array([4]), one, np.array([np.nan]))
    array([200.])
    """
    busy = np.array([p.busy_w for p in machine.parts])[part] * procs
    busy = busy + np.array([p.gpu_busy_w for p in machine.parts])[part] * gpus
    return np.where(np.isfinite(given), given, busy)


def account(machine: Machine, runs: RunIntervals, idle: Array, begin: float) -> Account:
    """From the runs and the pieces of idle processors: partition, processors, from, to."""
    end = float(runs.end_s.max(initial=begin))
    parts = _parts(machine, runs, _trimmed(idle, begin, end), begin, end)
    energy = {k: float((w * (b - a)).sum()) for k, (a, b, w) in parts.items()}
    a, b, w = (np.concatenate([p[i] for p in parts.values()]) for i in range(3))
    times, watts = steps(a, b, w)
    over_s, over_w = over_cap(machine.cap_w, times, watts)
    lost = runs.killed * (runs.end_s - runs.alloc_s) * runs.procs
    return Account(
        energy, times, watts,
        priced(times, watts, machine.tariff_per_kwh),
        priced(times, watts, machine.carbon_g_per_kwh),
        over_s, over_w, float(lost.sum()), int(runs.killed.sum()), _overrun(machine, runs), runs,
    )  # fmt: skip


def plain_account(machine: Machine, job: Array, procs: Array, start: Array, end: Array,
                  submit: Array, given: Array) -> Account:  # fmt: skip
    """Of a schedule of the plain engines, whose idle processors are those that do not run."""
    none = np.zeros(len(job), np.int64)
    watts = job_watts(machine, none, procs, none, given)
    runs = RunIntervals(job, none, procs, none, start, start, end, none, watts, none > 0)
    begin, last = float(submit.min()), float(end.max())
    whole = np.array([[0.0, machine.procs, begin, last]])
    return account(
        machine, runs, np.vstack([whole, np.column_stack([none, -procs, start, end])]), begin
    )


def _trimmed(idle: Array, begin: float, end: float) -> Array:
    """Pieces within the time that counts: from the first submission to the last end."""
    made = idle.copy()
    made[:, 2:] = np.clip(made[:, 2:], begin, end)
    return made[made[:, 3] > made[:, 2]]


def _parts(
    machine: Machine, runs: RunIntervals, idle: Array, begin: float, end: float
) -> dict[str, Pieces]:
    """Intervals (a, b, w) of each part of the energy."""
    at = idle[:, 0].astype(np.int64)
    fact = {
        f: np.array([getattr(p, f) for p in machine.parts], float)
        for f in ("idle_w", "sleep_w", "wake_w", "sleep_after_s", "gpu_idle_w", "gpus")
    }
    ready = np.minimum(runs.start_s, runs.end_s)  # a failure may come first
    falls = np.minimum(idle[:, 2] + fact["sleep_after_s"][at], idle[:, 3])
    made = {
        "jobs": _runs(runs, ~runs.killed),
        "idle": (idle[:, 2], falls, idle[:, 1] * fact["idle_w"][at]),
    }
    if runs.killed.any():
        made["lost"] = _runs(runs, runs.killed)
    if np.isfinite(fact["sleep_after_s"]).any():
        p, slow = runs.part, runs.start_s > runs.alloc_s
        wake = runs.woken * np.nan_to_num(fact["wake_w"][p])
        wake = wake + (runs.procs - runs.woken) * fact["idle_w"][p]
        made["wake"] = (runs.alloc_s[slow], ready[slow], wake[slow])
        made["sleep"] = (falls, idle[:, 3], idle[:, 1] * fact["sleep_w"][at])
    if (fact["gpus"] * fact["gpu_idle_w"]).any():
        whole = len(machine.parts)
        made["idle_gpus"] = (
            np.concatenate([np.full(whole, begin), ready]),
            np.concatenate([np.full(whole, end), runs.end_s]),
            np.concatenate(
                [fact["gpus"] * fact["gpu_idle_w"], -runs.gpus * fact["gpu_idle_w"][runs.part]]
            ),
        )
    return {k: _lasting(*v) for k, v in made.items()}


def _runs(runs: RunIntervals, which: Array) -> tuple[Array, Array, Array]:
    return runs.start_s[which], runs.end_s[which], runs.watts[which]


def _lasting(a: Array, b: Array, w: Array) -> tuple[Array, Array, Array]:
    """Without intervals of no length, whose unknown watts would spoil what is known."""
    keep = b > a
    return a[keep], b[keep], w[keep]


def integral(times: Array, watts: Array) -> float:
    """Joules under a step function."""
    return float((watts[:-1] * np.diff(times)).sum())


def priced(times: Array, watts: Array, price: Series | None) -> float:
    """Integral of power times ``price`` per kWh; NaN without a price."""
    if price is None:
        return float("nan")
    if len(times) < 2:
        return 0.0
    edges, power = _cut(times, watts, price)
    return float((power * price.at(edges[:-1]) * np.diff(edges)).sum() / J_PER_KWH)


def _cut(times: Array, watts: Array, series: Series) -> tuple[Array, Array]:
    """Moments at which either changes, and the power between them."""
    edges = np.union1d(times, series.changes(times[0], times[-1]))
    return edges, watts[np.searchsorted(times, edges[:-1], side="right") - 1]


def over_cap(cap: Series | None, times: Array, watts: Array) -> tuple[float, float]:
    """(seconds above the cap, most watts above it); NaN without a cap."""
    if cap is None:
        return float("nan"), float("nan")
    if len(times) < 2:
        return 0.0, 0.0
    edges, power = _cut(times, watts, cap)
    excess = power - cap.at(edges[:-1])
    above = excess > FEW_W
    return float(np.diff(edges)[above].sum()), float(max(excess.max(), 0.0)) if above.any() else 0.0


def _overrun(machine: Machine, runs: RunIntervals) -> float:
    """Processor-seconds of use beyond what maintenance leaves."""
    total = 0.0
    edges = {t for w in machine.maintenance for t in (w.from_s, w.to_s)}
    for k, part in enumerate(machine.parts):
        windows = [w for w in machine.maintenance if w.partition in ("", part.name)]
        if not windows or not len(runs.job):
            continue
        of = runs.part == k
        t, busy = steps(runs.alloc_s[of], runs.end_s[of], runs.procs[of].astype(float))
        if len(t) < 2:
            continue
        moments = np.unique(np.concatenate([t, [e for e in edges if t[0] < e < t[-1]]]))
        use = busy[np.searchsorted(t, moments[:-1], side="right") - 1]
        away = sum(
            np.where((moments[:-1] >= w.from_s) & (moments[:-1] < w.to_s), w.procs or part.procs, 0)
            for w in windows
        )
        over = np.maximum(use - np.maximum(part.procs - away, 0), 0)
        total += float((over * np.diff(moments)).sum())
    return total
