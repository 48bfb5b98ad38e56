"""Samples within runs, a clock from 0 in each beside its settings, as one row for each run.

A run lasts to its last sample; its energy is the integral of its power over that time.
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from rheostat.core.jobs import Moment, Note
from rheostat.measurement.checks import ROW, note_rows
from rheostat.measurement.runs.guess import guess_known

COUNTED = re.compile(r"(sample|step|iter(ation)?|epoch|index|idx|row|tick|i|n|no)([ _]?(id|no))?",
                     re.IGNORECASE)  # fmt: skip
"""What numbers samples: it goes on in a run and is no setting."""
LEAST, MANY, ALIKE, REGULAR = 5, 20, 2.0, 0.9
"""Samples of a run, at least, and where none is at 0; steps within this factor of the usual one,
and the share of steps that is."""


def samples_together(table: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """A row for each run of which rows are samples; other tables as they are.

    >>> runs = {ROW: range(12), "run": ["a"] * 6 + ["b"] * 6, "nodes": [1] * 6 + [2] * 6,
    ...         "runtime_s": [0.0, 5, 10, 15, 20, 25, 0, 2, 4, 6, 8, 10], "power_w": [300.0] * 12}
    >>> whole, notes = samples_together(pl.DataFrame(runs))
    >>> whole.select("nodes", "runtime_s", "energy_j").rows()
    [(1, 25.0, 7500.0), (2, 10.0, 3000.0)]
    """
    if not table.schema.get("runtime_s", pl.String).is_numeric() or table.height < 2 * LEAST:
        return table, []
    anew = (pl.col("runtime_s").diff() <= 0).fill_null(value=False).cum_sum().alias("_run")
    rows = table.with_columns(anew)
    runs = rows.partition_by("_run", maintain_order=True)
    fixed = [c for c in table.columns if c not in (ROW, "runtime_s") and not COUNTED.fullmatch(c)
             and guess_known(c, table[c]) is Moment.SUBMIT]  # fmt: skip
    if not fixed or not all(_is_sampled(run, fixed) for run in runs):
        return table, []
    whole = pl.concat([_of_samples(run) for run in runs]).drop("_run")
    said = f"samples of {len(runs)} runs, not runs of their own: each lasts to its last sample"
    said += "; energy_j is the integral of its power" if "power_w" in table.columns else ""
    ends = rows.filter(~pl.col("_run").is_last_distinct())[ROW].to_list()
    return whole, [note_rows(said, ends, dropped=True)]


def _is_sampled(run: pl.DataFrame, fixed: list[str]) -> bool:
    """Whether times go on from 0 by like steps at one setting."""
    t = run["runtime_s"].drop_nulls().to_numpy()
    if len(t) < LEAST or len(t) < run.height or any(run[c].n_unique() > 1 for c in fixed):
        return False
    steps = np.diff(t)
    usual = float(np.median(steps))
    like = (steps > usual / ALIKE) & (steps < ALIKE * usual)
    first = usual / ALIKE if len(t) < MANY else usual * ALIKE
    return bool(0 <= t[0] < first and like.mean() >= REGULAR)


def _of_samples(run: pl.DataFrame) -> pl.DataFrame:
    """The last sample, with the run's mean power and energy; a counter's growth is energy, too."""
    last = run.tail(1)
    if "energy_j" in run.columns and run["energy_j"].dtype.is_numeric():
        joules = run["energy_j"].drop_nulls().to_numpy()
        grown = len(joules) > 1 and bool((np.diff(joules) >= 0).all())
        counted = float(joules[-1] - joules[0]) if grown else None
        last = last.with_columns(energy_j=pl.lit(counted, pl.Float64))
    if "power_w" not in run.columns:
        return last
    known = run.filter(pl.col("power_w").is_not_null())
    t, watts = (known[c].cast(pl.Float64).to_numpy() for c in ("runtime_s", "power_w"))
    spent = float(np.trapezoid(watts, t)) if len(t) >= LEAST else None
    mean = spent / (t[-1] - t[0]) if spent is not None else None
    own = {} if "energy_j" in run.columns else {"energy_j": pl.lit(spent, pl.Float64)}
    return last.with_columns(power_w=pl.lit(mean, pl.Float64), **own)
