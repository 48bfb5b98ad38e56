"""Whether energy is power times runtime: where not, a unit is another or a reading is wrong."""

from __future__ import annotations

from shlex import quote

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.checks import ROW, note_rows
from rheostat.measurement.runs.rounding import EXACT, Rounded, open_share

WHICH = ("energy_j", "power_w")
FAR = 2.0
"""Off by this factor in the median row: a unit is likely another."""
IMPOSSIBLE = 20.0
"""Off by this factor from the other rows: no peak, idle power or part of a node does that."""
CLOSE, FEWEST, MOST = 1.1, 3, 0.75
"""Where so many rows, and this share of all, agree so closely, none is off by `FAR`."""
APART = 1.25
"""Rows off by factors that differ so: what takes least hangs on which of the two counts."""


def energy_balance(runs: pl.DataFrame, by: Rounded = EXACT) -> tuple[pl.DataFrame, list[Note]]:
    """The table without energy and power in rows where these cannot both be right.

    ``by`` says how far their digits leave them open, and which of the two somebody named: that one
    stays.

    >>> runs = pl.DataFrame({ROW: [0, 1, 2], "runtime_s": [100, 80, 80],
    ...                      "energy_j": [2e4, 2.4e4, 2.4e7], "power_w": [200.0, 300.0, 300.0]})
    >>> kept, notes = energy_balance(runs)
    >>> kept["energy_j"].to_list()
    [20000.0, 24000.0, None]
    >>> notes[0].message[:82]
    'energy_j is 1,000 times power_w x runtime_s in data row 3: one of them is wrong, b'
    """
    if not set(runs.columns) >= {*WHICH, "runtime_s"}:
        return runs, []
    product = pl.col("power_w") * pl.col("runtime_s")
    ratio = runs.select(pl.col("energy_j") / pl.when(product > 0).then(product)).to_series()
    usual = _usual(ratio)
    if usual is None:
        return runs, []
    notes = [] if 1 / FAR < usual < FAR else [Note(
        f"energy_j is {usual:.3g} times power_w x runtime_s in the median row: "
        "is the unit of one of them another?")]  # fmt: skip
    low, high = _ends(ratio / usual, runs, by)
    most = FAR if _agree(low, high) else IMPOSSIBLE
    off = (low >= most) | (high <= 1 / most)
    if not off.any():
        return runs, [*notes, *_apart(ratio, low, high)]
    out = [q for q in WHICH if q not in by.asked]
    out = out if len(out) == 1 else list(WHICH)
    left = [pl.when(~off.fill_null(value=False)).then(pl.col(q)).alias(q) for q in out]
    return runs.with_columns(left), [*notes, _wrong(runs, ratio, off, out, by)]


def _ends(ratio: pl.Series, runs: pl.DataFrame, by: Rounded) -> tuple[pl.Series, pl.Series]:
    """The least and the most that the ratio of each row may be, by the last digits."""
    share = open_share(runs, by)
    known = pl.DataFrame({"ratio": ratio, "share": share}).select(
        low=pl.col("ratio") * (1 - pl.col("share")).clip(0.0),
        high=pl.col("ratio") * (1 + pl.col("share")),
    )
    return known["low"], known["high"]


def _agree(low: pl.Series, high: pl.Series) -> bool:
    """Whether most rows are as good as the usual one: nothing stands between energy and power.

    >>> ratio = pl.Series([1.0, 1.02, 0.98, 0.4])
    >>> _agree(ratio, ratio), _agree(ratio.head(2), ratio.head(2))
    (True, False)
    """
    close = ((low < CLOSE) & (high > 1 / CLOSE)).sum()
    return bool(close >= max(FEWEST, MOST * low.count()))


def _wrong(
    runs: pl.DataFrame, ratio: pl.Series, off: pl.Series, out: list[str], by: Rounded
) -> Note:
    """Which rows cannot be, what of them is left out, and how to say which of the two is right."""
    rows, times = runs[ROW].filter(off), ratio.filter(off)[0]
    times = f"{times:,.0f}" if times > 100 else f"{times:.3g}"
    said = f"energy_j is {times} times power_w x runtime_s in data row {rows[0] + 1}"
    if len(out) == 1:
        return note_rows(
            f"{said}: one of them is wrong; the other was named, {out[0]} is out", rows
        )
    said = f"{said}: one of them is wrong, both are out"
    if named := by.headings.get("energy_j"):
        said += f"; if it is the power, --column {quote(f'energy_j={named}')} keeps the energy"
    return note_rows(said, rows)


def _apart(ratio: pl.Series, low: pl.Series, high: pl.Series) -> list[Note]:
    """That rows are off by unlike factors, beyond their digits."""
    known = ratio.filter(ratio > 0)
    if known.is_empty() or float(low.max()) < APART * float(high.min()):  # type: ignore[arg-type]
        return []
    ends = "{:.3g} to {:.3g}".format(*(float(v) for v in (known.min(), known.max())))  # type: ignore[arg-type]
    said = "energy_j counts, and power is energy over time"
    return [Note(f"energy_j is {ends} times power_w x runtime_s: {said}")]


def _usual(ratio: pl.Series) -> float | None:
    """Energy over power times runtime as it should be: 1 where a third of the rows says so."""
    there = ratio.filter(ratio.is_finite() & (ratio > 0))
    if there.is_empty():
        return None
    if 3 * ((there > 1 / FAR) & (there < FAR)).sum() >= len(there):
        return 1.0
    return float(there.sort()[(len(there) - 1) // 2])
