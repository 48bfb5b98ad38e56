"""Whether energy is power times runtime: where not, a unit is another or a reading is wrong."""

from __future__ import annotations

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.checks import ROW, note_rows

BALANCE = {"energy_j", "power_w", "runtime_s"}
FAR = 2.0
"""Off by this factor in the median row: a unit is likely another."""
IMPOSSIBLE = 20.0
"""Off by this factor from the other rows: no peak, idle power or part of a node does that."""


def energy_balance(runs: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """The table without energy and power in rows where these cannot both be right.

    >>> runs = pl.DataFrame({ROW: [0, 1, 2], "runtime_s": [100, 80, 80],
    ...                      "energy_j": [2e4, 2.4e4, 2.4e7], "power_w": [200.0, 300.0, 300.0]})
    >>> kept, notes = energy_balance(runs)
    >>> kept["energy_j"].to_list()
    [20000.0, 24000.0, None]
    >>> notes[0].message
    'energy_j is 1,000 times power_w x runtime_s in data row 3: one of them is wrong, both are out'
    """
    if not set(runs.columns) >= BALANCE:
        return runs, []
    product = pl.col("power_w") * pl.col("runtime_s")
    ratio = runs.select(pl.col("energy_j") / pl.when(product > 0).then(product)).to_series()
    usual = _usual(ratio)
    if usual is None:
        return runs, []
    notes = [] if 1 / FAR < usual < FAR else [Note(
        f"energy_j is {usual:.3g} times power_w x runtime_s in the median row: "
        "is the unit of one of them another?")]  # fmt: skip
    off = ~_within(ratio / usual, IMPOSSIBLE).fill_null(value=True)
    if not off.any():
        return runs, notes
    rows, times = runs[ROW].filter(off), ratio.filter(off)[0]
    times = f"{times:,.0f}" if times > 100 else f"{times:.3g}"
    said = f"energy_j is {times} times power_w x runtime_s in data row {rows[0] + 1}"
    notes.append(note_rows(f"{said}: one of them is wrong, both are out", rows))
    left = [pl.when(~off).then(pl.col(q)).alias(q) for q in ("energy_j", "power_w")]
    return runs.with_columns(left), notes


def _usual(ratio: pl.Series) -> float | None:
    """Energy over power times runtime as it should be: 1 where a third of the rows says so."""
    there = ratio.filter(ratio.is_finite() & (ratio > 0))
    if there.is_empty():
        return None
    if 3 * _within(there, FAR).sum() >= len(there):
        return 1.0
    return float(there.sort()[(len(there) - 1) // 2])


def _within(ratio: pl.Series, factor: float) -> pl.Series:
    return (ratio > 1 / factor) & (ratio < factor)
