"""Energies that may be the readings of a meter that counts on, of which each run took a step."""

from __future__ import annotations

import polars as pl

from rheostat.core.jobs import Note

FEWEST = 4
ALIKE, UNLIKE = 1.3, 2.0
"""Factors between the watts of a node by steps of the meter, and by readings as they stand."""
PARTS = ("nodes", "gpus", "cores", "threads")
SAID = (
    "energy_j grows from row to row: taken as readings of one meter its steps are {0:.0f} to "
    "{1:.0f} W{4}, as energies of runs {2:.0f} to {3:.0f} W: if they are readings, write what each "
    "run took, its reading less the one before"
)


def counted_on(table: pl.DataFrame) -> list[Note]:
    """A note where steps of the energy give all runs like watts, and the energies do not.

    >>> runs = {"nodes": [1, 2, 4, 8], "runtime_s": [400.0, 210.0, 115.0, 70.0]}
    >>> runs["energy_j"] = [152e3, 312e3, 487e3, 700e3]
    >>> counted_on(pl.DataFrame(runs))[0].message[:50]
    'energy_j grows from row to row: taken as readings '
    """
    needed = ("energy_j", "runtime_s")
    if not all(table.schema.get(c, pl.String).is_numeric() for c in needed):
        return []
    part = next((c for c in PARTS if table.schema.get(c, pl.String).is_numeric()), "")
    held = (pl.col(part) if part else pl.lit(1)).cast(pl.Float64) * pl.col("runtime_s")
    rows = table.select(e=pl.col("energy_j").cast(pl.Float64), held=held).drop_nulls()
    rows = rows.filter(pl.col("held") > 0)
    steps = rows["e"] - rows["e"].shift(1, fill_value=0.0)
    if rows.height < max(FEWEST, table.height) or not (steps > 0).all():
        return []
    by_step, as_is = steps / rows["held"], rows["e"] / rows["held"]
    low, high, least, most = (float(v) for s in (by_step, as_is) for v in (s.min(), s.max()))  # type: ignore[arg-type]
    if high > ALIKE * low or most < UNLIKE * least:
        return []
    return [Note(SAID.format(low, high, least, most, f" per {part[:-1]}" * bool(part)))]
