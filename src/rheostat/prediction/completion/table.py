"""Applications by settings: how fast each ran, relative to its own default setting.

The default is the setting with the highest caps (and the most GPUs or nodes where their number
varies): what a job runs at when nobody limits it, so one run of it is the first thing known of any
application.  Relative to it, speeds need no look at settings that were never tried.  (Published
evaluations divide by the fastest of the whole sweep instead, which nobody knows online; `fastest`
does so, to compare with them.)

Notation
--------
A  applications      p  settings      k  knobs: caps, and counts that vary      F  counters
values : (p, k)      speed : (A, p), 1 at the default, NaN not measured      counters : (A, p, F)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array
from rheostat.errors import DataError
from rheostat.prediction.surface import CAPS, caps_together, knobs_in


@dataclass(frozen=True)
class CapTable:
    """Speeds, and counters where there are any, of A applications at p settings.

    >>> t = CapTable(("a",), ("cap_w",), np.array([[100.0], [200.0]]), np.array([[0.5, 1.0]]))
    >>> t.default, t.saved_w
    (1, array([100.,   0.]))
    """

    apps: tuple[str, ...]
    knobs: tuple[str, ...]
    values: Array
    speed: Array
    counters: Array | None = None
    counter_names: tuple[str, ...] = ()

    @property
    def default(self) -> int:
        """The setting with every knob at its highest, or nearest to that."""
        return int(self.depth.sum(axis=1).argmin())

    @property
    def total_w(self) -> Array:
        """Watts that the caps allow together, (p,)."""
        return caps_together(self.knobs, self.values)

    @property
    def saved_w(self) -> Array:
        """Watts of caps below the default, (p,)."""
        return np.asarray(self.total_w[self.default] - self.total_w)

    @property
    def depth(self) -> Array:
        """How far each knob is below its highest, as a share of its range, (p, k).

        Counts are taken as logarithms: from 4 GPUs to 2 is as far as from 2 to 1.
        """
        scale = [c if knob in CAPS else np.log(c) for knob, c in self._columns()]
        x = np.stack(scale, axis=1)
        low, high = x.min(axis=0), x.max(axis=0)
        return np.asarray((high - x) / np.where(high > low, high - low, 1.0))

    def _columns(self) -> list[tuple[str, Array]]:
        return list(zip(self.knobs, self.values.T, strict=True))

    def index(self, setting: Sequence[float]) -> int | None:
        """The number of a setting; None if it is none of these."""
        places = np.flatnonzero(np.isclose(self.values, np.asarray(setting)).all(axis=1))
        return int(places[0]) if len(places) else None

    def covers(self, setting: Sequence[float]) -> bool:
        """Whether a setting is between the lowest and the highest of every knob."""
        x = np.asarray(setting, dtype=float)
        return bool(((x >= self.values.min(axis=0)) & (x <= self.values.max(axis=0))).all())

    def with_settings(self, settings: Sequence[Sequence[float]]) -> CapTable:
        """The same with more settings, at which nothing was measured; speeds only."""
        new = [list(map(float, s)) for s in settings if self.index(s) is None]
        if not new:
            return self
        values = np.vstack([self.values, np.unique(np.array(new), axis=0)])
        gap = np.full((len(self.apps), len(values) - len(self.values)), np.nan)
        order = np.lexsort(values.T[::-1])
        speed = np.hstack([self.speed, gap])[:, order]
        return CapTable(self.apps, self.knobs, values[order], speed)

    def only(self, rows: Sequence[int]) -> CapTable:
        """Some of the applications."""
        index = list(rows)
        counters = None if self.counters is None else self.counters[index]
        apps = tuple(self.apps[i] for i in index)
        return replace(self, apps=apps, speed=self.speed[index], counters=counters)

    def fastest(self) -> CapTable:
        """Speeds and counters over their highest in the whole sweep: looks at every setting."""
        speed = self.speed / np.nanmax(self.speed, axis=1, keepdims=True)
        counters = self.counters
        if counters is not None:
            most = np.nanmax(counters, axis=1, keepdims=True)
            counters = counters / np.where(most > 0, most, 1.0)
        return replace(self, speed=speed, counters=counters)

    def counters_by_default(self) -> CapTable:
        """Counters over their value at the default setting; one that is 0 there stays 0."""
        if self.counters is None:
            return self
        first = self.counters[:, [self.default]]
        scaled = np.divide(self.counters, first, out=np.zeros_like(self.counters), where=first > 0)
        return replace(self, counters=np.minimum(scaled, 10.0))


def cap_table(jobs: JobTable, counters: Sequence[str] = ()) -> CapTable:
    """A table of runs as applications by settings; repeated runs are averaged (log of runtime).

    Runs that were cut off are not used.
    Applications without a run at the default setting are a `DataError` that names them.
    """
    jobs.require("app", "runtime_s", *counters)
    knobs = knobs_in(jobs)
    if not set(knobs) & set(CAPS):
        raise DataError("runs under caps", [f"expected a column {', '.join(CAPS)}"])
    frame = (
        jobs.finished()
        .frame.drop_nulls(["app", "runtime_s", *knobs])
        .filter(pl.col("runtime_s") > 0)
    )
    cells = frame.group_by("app", *knobs).agg(
        pl.col("runtime_s").log().mean().exp(), *(pl.col(c).mean() for c in counters)
    )
    values, place = np.unique(
        cells.select(knobs).cast(pl.Float64).to_numpy(), axis=0, return_inverse=True
    )
    names = cells["app"].cast(pl.String)
    apps = tuple(names.unique(maintain_order=False).sort())
    row = np.searchsorted(np.array(apps), names.to_numpy().astype(str))
    runtime = np.full((len(apps), len(values)), np.nan)
    runtime[row, place] = cells["runtime_s"].to_numpy()
    counted = np.full((len(apps), len(values), len(counters)), np.nan)
    for i, c in enumerate(counters):
        counted[row, place, i] = cells[c].cast(pl.Float64).fill_null(np.nan).to_numpy()
    made = CapTable(apps, knobs, values, runtime, counted if counters else None, tuple(counters))
    first = runtime[:, made.default]
    without = [a for a, t in zip(apps, first, strict=True) if not np.isfinite(t)]
    if without:
        at = ", ".join(f"{k}={v:g}" for k, v in zip(knobs, values[made.default], strict=True))
        raise DataError(
            "runs under caps", [f"{a} has no run at the default, {at}" for a in without]
        )
    return replace(made, speed=first[:, None] / runtime)
