"""Which caps for one application, from a few of its runs and what others have taught?

The runs of known applications teach how speed falls under caps; a few runs of the new one tell
which kind it is.  The setting kept is the one that saves most watts and still holds the loss bound
with the probability asked for; the next one to try is where success would save most beyond it.

Notation
--------
p  settings      k  caps
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.predict.factor.choose import Kept, keep, next_try
from rheostat.predict.factor.judge import LOSS, RISK
from rheostat.predict.factor.mixture import CapMixture, Completion
from rheostat.predict.factor.table import CapTable, cap_table
from rheostat.predict.surface import CAPS


@dataclass(frozen=True)
class Advised:
    """What is believed of an application, which setting to keep and which to try next.

    ``row`` are its measured speeds, NaN where not tried; ``ready`` is False while the default has
    not been tried: then that is next, and nothing else can be said.
    """

    known: CapTable
    app: str
    row: Array
    default_s: float
    found: Completion
    kept: Kept
    next_setting: int
    left_out: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        """Whether the default has been tried."""
        return bool(np.isfinite(self.default_s))


def advise_caps(
    known: JobTable, tried: JobTable, app: str, *, loss: float = LOSS, risk: float = RISK
) -> Advised:
    """Complete the row of ``app`` from its runs ``tried``, taught by the others in ``known``."""
    others, left_out = _with_default(known.rows(pl.col("app").cast(pl.String) != app))
    if others.frame["app"].n_unique() < 2:
        raise DataError("known applications", [f"expected two or more beside {app}"])
    learnt = cap_table(others)
    runtime = _runtimes(learnt, tried, app)
    first = float(runtime[learnt.default])
    row = first / runtime
    model = CapMixture().fit(learnt)
    at = [int(i) for i in np.flatnonzero(np.isfinite(row))]
    found = model.complete(at, row[at])
    kept = keep(found, learnt.saved_w, loss, risk)
    ready = bool(np.isfinite(first))
    after = next_try(model, found, learnt.saved_w, loss, risk) if ready else learnt.default
    if not ready:
        kept = Kept(learnt.default, 0.0, 1.0)
    return Advised(learnt, app, row, first, found, kept, after, left_out)


def _with_default(known: JobTable) -> tuple[JobTable, tuple[str, ...]]:
    """Runs of applications that ran at the highest caps, and the names of the others."""
    knobs = [c for c in CAPS if c in known.columns]
    if not knobs or "app" not in known.columns:
        return known, ()  # cap_table tells what is missing
    top = (pl.col(c) == known.frame[c].max() for c in knobs)
    there = known.frame.filter(*top)["app"].unique()
    gone = known.frame.filter(~pl.col("app").is_in(there.implode()))["app"].unique().sort()
    return known.rows(pl.col("app").is_in(there.implode())), tuple(map(str, gone))


def _runtimes(known: CapTable, tried: JobTable, app: str) -> Array:
    """Mean runtime of the application at each setting, (p,); NaN where not tried."""
    frame = tried.frame
    if "app" in frame.columns:
        frame = frame.filter(pl.col("app").cast(pl.String) == app)
    result = np.full(len(known.caps_w), np.nan)
    problems = [f"column {c} is missing" for c in (*known.knobs, "runtime_s") if c not in frame]
    if problems:
        raise DataError("tried", problems)
    cells = frame.drop_nulls([*known.knobs, "runtime_s"]).group_by(*known.knobs)
    for *caps, seconds in cells.agg(pl.col("runtime_s").log().mean().exp()).rows():
        place = np.flatnonzero(np.isclose(known.caps_w, np.array(caps, float)).all(axis=1))
        if len(place):
            result[place[0]] = seconds
        else:
            told = ", ".join(f"{k}={v:g}" for k, v in zip(known.knobs, caps, strict=True))
            problems.append(f"{told}: the known applications have no runs there")
    if problems:
        raise DataError("tried", problems)
    return result


def as_runs(advised: Advised, draws: int = 8) -> JobTable:
    """What is believed, as a table of runs: so many equally likely runtimes at each setting.

    Such a table can be given wherever measured runs can, to `rheostat budget plan` for instance.
    """
    levels = (np.arange(draws) + 0.5) / draws
    speeds = np.stack([advised.found.bound(1.0 - level) for level in levels], axis=1)
    caps = np.repeat(advised.known.caps_w, draws, axis=0)
    columns = {k: caps[:, j] for j, k in enumerate(advised.known.knobs)}
    runtime = advised.default_s / speeds.ravel()
    return table({"app": [advised.app] * len(caps), **columns, "runtime_s": runtime})
