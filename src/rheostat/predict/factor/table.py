"""Applications by cap settings: how fast each ran, relative to its own default setting.

The default is the setting with the highest caps: what a job runs at when nobody caps it, so one run
of it is the first thing known of any application.  Relative to it, speeds need no look at settings
that were never tried.  (Published evaluations divide by the fastest of the whole sweep instead,
which nobody knows online; `fastest` does so, to compare with them.)

Notation
--------
A  applications      p  cap settings      k  caps      F  counters
caps_w : (p, k)      speed : (A, p), 1 at the default, NaN not measured      counters : (A, p, F)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array
from rheostat.errors import DataError
from rheostat.predict.surface import CAPS


@dataclass(frozen=True)
class CapTable:
    """Speeds, and counters where there are any, of A applications at p settings.

    >>> t = CapTable(("a",), ("cap_w",), np.array([[100.0], [200.0]]), np.array([[0.5, 1.0]]))
    >>> t.default, t.saved_w
    (1, array([100.,   0.]))
    """

    apps: tuple[str, ...]
    knobs: tuple[str, ...]
    caps_w: Array
    speed: Array
    counters: Array | None = None
    counter_names: tuple[str, ...] = ()

    @property
    def default(self) -> int:
        """The setting with the highest caps."""
        return int(self.caps_w.sum(axis=1).argmax())

    @property
    def saved_w(self) -> Array:
        """Watts of caps below the default, (p,)."""
        total = self.caps_w.sum(axis=1)
        return np.asarray(total.max() - total)

    @property
    def depth(self) -> Array:
        """How far each cap is below its highest, as a share of its range, (p, k)."""
        low, high = self.caps_w.min(axis=0), self.caps_w.max(axis=0)
        return (high - self.caps_w) / np.where(high > low, high - low, 1.0)

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

    Applications without a run at the default setting are a `DataError` that names them.
    """
    jobs.require("app", "runtime_s", *counters)
    knobs = tuple(c for c in CAPS if c in jobs.columns)
    if not knobs:
        raise DataError("runs under caps", [f"expected a column {', '.join(CAPS)}"])
    frame = jobs.frame.drop_nulls(["app", "runtime_s", *knobs]).filter(pl.col("runtime_s") > 0)
    cells = frame.group_by("app", *knobs).agg(
        pl.col("runtime_s").log().mean().exp(), *(pl.col(c).mean() for c in counters)
    )
    caps, place = np.unique(
        cells.select(knobs).cast(pl.Float64).to_numpy(), axis=0, return_inverse=True
    )
    names = cells["app"].cast(pl.String)
    apps = tuple(names.unique(maintain_order=False).sort())
    row = np.searchsorted(np.array(apps), names.to_numpy().astype(str))
    runtime = np.full((len(apps), len(caps)), np.nan)
    runtime[row, place] = cells["runtime_s"].to_numpy()
    values = np.full((len(apps), len(caps), len(counters)), np.nan)
    for i, c in enumerate(counters):
        values[row, place, i] = cells[c].cast(pl.Float64).fill_null(np.nan).to_numpy()
    made = CapTable(apps, knobs, caps, runtime, values if counters else None, tuple(counters))
    first = runtime[:, made.default]
    without = [a for a, t in zip(apps, first, strict=True) if not np.isfinite(t)]
    if without:
        at = ", ".join(f"{k}={v:g}" for k, v in zip(knobs, caps[made.default], strict=True))
        raise DataError(
            "runs under caps", [f"{a} has no run at the default, {at}" for a in without]
        )
    return replace(made, speed=first[:, None] / runtime)
