"""The watts of a processor as physics has them: how few numbers explain every application?

A package draws a base, what its uncore draws at its clock, what its busy cores draw at theirs, more
the more instructions they finish per cycle, and what moving data takes; and never more than its
power cap lets through.  Eight to ten positive numbers, fitted once per kind of processor.

Power bends at the cap, so the mean of the power is not the power of the mean: a run that computes
half of its time under a cap and idles for the other half is told from one that is half busy all
along only by looking at short intervals.  The law is meant for intervals; means work less well.

Notation
--------
a  busy share of the cores       f, u  clock of cores, uncore [GHz]      i  work done per cycle
m  bytes moved [100 GB/s]        cap  power cap [W]
demand  D = b + k_u u^e + a f^g (k_c + k_i i) + k_m m
ceiling C = c_0 + c_1 cap        P = C (1 + (C / D)^s)^(-1/s), a soft least of the two

References
----------
Goel, McKee: A methodology for modeling dynamic and static power consumption for multicore
processors, IPDPS 2016 (power from activity and clock).  The soft ceiling is ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array
from rheostat.errors import DataError
from rheostat.prediction.counters.counter_columns import cap_of

NAMES = ("base", "uncore", "uncore_exponent", "core", "core_exponent", "work", "memory",
         "ceiling", "ceiling_slope", "sharpness")  # fmt: skip
START = np.array([0.1, 0.15, 1.0, 0.14, 1.4, 0.18, 0.17, 0.01, 0.92, 3.0])
LOW = np.array([0.0, 0.0, 0.5, 0.0, 0.5, 0.0, 0.0, -0.1, 0.5, 1.0])
HIGH = np.array([0.5, 1.0, 4.0, 1.5, 4.0, 1.5, 3.0, 0.2, 1.2, 30.0])
IN_WATTS = np.array([1, 1, 0, 1, 0, 1, 1, 1, 0, 0], dtype=bool)
LEARNT_FROM = 2000


@dataclass(frozen=True)
class Activity:
    """What the law looks at, row by row, (n,) each; zeros where the machine does not count it."""

    busy: Array
    core_ghz: Array
    uncore_ghz: Array
    work: Array
    moved: Array
    cap_w: Array | None

    def rows(self, index: np.ndarray) -> Activity:
        """The same for some rows."""
        cap = None if self.cap_w is None else self.cap_w[index]
        return Activity(
            self.busy[index], self.core_ghz[index], self.uncore_ghz[index],
            self.work[index], self.moved[index], cap,
        )  # fmt: skip


def missing_for_law(jobs: JobTable) -> list[str]:
    """What the law needs and the table has not; empty if it can be fitted."""
    have = set(jobs.columns)
    counted = "instructions_per_s" in have and {"core_ipc", "ipc"} & have
    if counted or {"cycles_per_s", "c0_share"} & have:
        return []
    return ["nothing tells how busy the cores are: expected cycles_per_s, c0_share, or "
            "instructions_per_s with ipc or core_ipc"]  # fmt: skip


def activity_of(jobs: JobTable) -> Activity:
    """The quantities of the law from whatever counters there are; busy in arbitrary units.

    Busy cores are the share of time not halted, else cycles over clock, else instructions over
    clock and work per cycle.  A clock that is not counted is taken as constant.
    """
    if problems := missing_for_law(jobs):
        raise DataError("law of power", [*problems, f"present: {', '.join(jobs.columns)}"])
    have, n = set(jobs.columns), len(jobs)
    ghz = jobs.numpy("core_hz") / 1e9 if "core_hz" in have else np.ones(n)
    per = _work(jobs)
    if "c0_share" in have:
        busy = jobs.numpy("c0_share")
    elif "cycles_per_s" in have:
        busy = jobs.numpy("cycles_per_s") / np.maximum(ghz, 1e-9)
    else:
        busy = jobs.numpy("instructions_per_s") / np.maximum(ghz * per, 1e-9)
    uncore = jobs.numpy("uncore_hz") / 1e9 if "uncore_hz" in have else np.zeros(n)
    cap = cap_of(jobs)
    moved = _moved(jobs) / 1e11
    return Activity(busy, ghz, uncore, per, moved, None if cap is None else jobs.numpy(cap))


def _work(jobs: JobTable) -> Array:
    """Work per cycle: as counted, or instructions over cycles, or none."""
    for name in ("core_ipc", "ipc"):
        if name in jobs.columns:
            return jobs.numpy(name)
    if {"instructions_per_s", "cycles_per_s"} <= set(jobs.columns):
        cycles = np.maximum(jobs.numpy("cycles_per_s"), 1.0)
        return np.asarray(jobs.numpy("instructions_per_s") / cycles)
    return np.zeros(len(jobs))


def _moved(jobs: JobTable) -> Array:
    if "memory_b_per_s" in jobs.columns:
        return jobs.numpy("memory_b_per_s")
    parts = [c for c in ("memory_read_b_per_s", "memory_write_b_per_s") if c in jobs.columns]
    return np.asarray(sum((jobs.numpy(c) for c in parts), np.zeros(len(jobs))))


class PowerLaw:
    """The law fitted to measured power; ``parameters_`` are its numbers by name, in watts."""

    def fit(self, jobs: JobTable, power_w: Array, weight: Array | None = None) -> PowerLaw:
        """Learn from intervals or runs; at most 2,000 rows, drawn evenly by weight."""
        from scipy.optimize import least_squares

        full = activity_of(jobs)
        self.busy_unit_ = float(np.nanquantile(full.busy, 0.995)) or 1.0
        self.scale_ = float(np.nanquantile(power_w, 0.99))
        rows = _evenly(np.isfinite(power_w) & (power_w > 0) & np.isfinite(full.busy), weight)
        some, seen = full.rows(rows), np.log(power_w[rows])
        fitted = least_squares(
            lambda t: np.log(self._power(t, some)) - seen,
            START, bounds=(LOW, HIGH), loss="soft_l1", f_scale=0.05,
            ftol=1e-5, xtol=1e-4,
        )  # fmt: skip
        self.theta_ = fitted.x
        return self

    @property
    def parameters_(self) -> dict[str, float]:
        """Numbers by name; those that are powers in watts."""
        watts = np.where(IN_WATTS, self.scale_, 1.0)
        return dict(zip(NAMES, (self.theta_ * watts).tolist(), strict=True))

    def predict(self, jobs: JobTable) -> Array:
        """Watts (n,)."""
        return self._power(self.theta_, activity_of(jobs))

    def _power(self, theta: Array, x: Activity) -> Array:
        b, ku, e, kc, g, ki, km, c0, c1, s = np.where(IN_WATTS, self.scale_, 1.0) * theta
        busy = np.clip(x.busy / self.busy_unit_, 0.0, 1.5)
        demand = b + ku * x.uncore_ghz**e + busy * x.core_ghz**g * (kc + ki * x.work) + km * x.moved
        demand = np.maximum(demand, 1e-3 * self.scale_)
        if x.cap_w is None:
            return np.asarray(demand)
        ceiling = np.maximum(c0 + c1 * x.cap_w, 1e-3 * self.scale_)
        return np.asarray(ceiling * (1 + (ceiling / demand) ** s) ** (-1 / s))


class MemoryLaw:
    """Memory power: a base and what each byte read or written takes, none of it negative."""

    def fit(self, jobs: JobTable, power_w: Array, weight: Array | None = None) -> MemoryLaw:
        """Learn from intervals or runs."""
        from scipy.optimize import nnls

        w = np.ones(len(jobs)) if weight is None else weight
        there = np.isfinite(power_w) & (power_w > 0)
        root = np.sqrt(w[there])  # in watts, not in shares: idle intervals must not decide
        self.coef_ = nnls(self._matrix(jobs)[there] * root[:, None], power_w[there] * root)[0]
        return self

    def predict(self, jobs: JobTable) -> Array:
        """Watts (n,)."""
        return np.asarray(self._matrix(jobs) @ self.coef_)

    def _matrix(self, jobs: JobTable) -> Array:
        x = activity_of(jobs)
        names = ("memory_read_b_per_s", "memory_write_b_per_s")
        each = [jobs.numpy(c) / 1e11 for c in names if c in jobs.columns] or [x.moved]
        return np.column_stack([np.ones(len(jobs)), x.uncore_ghz, *each])


def _evenly(there: np.ndarray, weight: Array | None) -> np.ndarray:
    """Rows to learn from: all, or 2,000 at even steps of the cumulated weight."""
    rows = np.flatnonzero(there)
    if len(rows) <= LEARNT_FROM:
        return rows
    total = np.cumsum(np.ones(len(rows)) if weight is None else weight[rows])
    levels = (np.arange(LEARNT_FROM) + 0.5) / LEARNT_FROM * total[-1]
    return np.asarray(rows[np.searchsorted(total, levels)])
