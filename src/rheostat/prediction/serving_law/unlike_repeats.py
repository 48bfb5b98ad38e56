"""Runs of one serving configuration that disagree, and what tells the odd one from the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from rheostat.core.jobs import Note
from rheostat.core.outcome import Array

DISAGREE = 1.5
"""Energies of one configuration that differ by more are no noise."""
_ENERGY = "_energy"


def unlike_repeats(runs: pl.DataFrame, energy: Array, keys: Sequence[str]) -> tuple[Note, ...]:
    """A note where energies of one configuration differ by a factor; it names the farthest one.

    Parameters
    ----------
    runs : polars.DataFrame
        One row per run.
    energy : ndarray of shape (n,)
        Joules of each run's token or request.
    keys : sequence of str
        Columns that make a configuration.

    Examples
    --------
    >>> runs = pl.DataFrame({"batch_cap": [8, 8, 8], "throttled": ["no", "yes", "no"]})
    >>> print(unlike_repeats(runs, np.array([0.09, 0.17, 0.1]), ["batch_cap"])[0].message)
    energies of runs of one configuration differ by a factor above 1.5, and all were learned from:
    at batch_cap 8 one has 0.17 J where others have 0.09 to 0.1 (throttled yes in that row alone);
    take out rows that were disturbed
    """
    frame = runs.with_columns(pl.Series(_ENERGY, energy))
    spread = frame.select(pl.col(_ENERGY).max().over(keys) / pl.col(_ENERGY).min().over(keys))
    factor = spread.to_series().to_numpy()
    odd = factor > DISAGREE
    if not odd.any():
        return ()
    worst = frame.row(int(np.argmax(np.where(odd, factor, 0.0))), named=True)
    same = pl.all_horizontal(pl.col(k).eq_missing(worst[k]) for k in keys)
    said = f"energies of runs of one configuration differ by a factor above {DISAGREE:g}, and all "
    said += f"were learned from: at {_settings(worst, keys)} {_odd_one(frame.filter(same), keys)}"
    return (Note(f"{said}; take out rows that were disturbed", (), int(odd.sum())),)


def _odd_one(group: pl.DataFrame, keys: Sequence[str]) -> str:
    """The run farthest from the middle of its configuration, and where it differs from the rest."""
    distance = (group[_ENERGY].log() - group[_ENERGY].log().median()).abs()
    place = int(distance.arg_max() or 0)
    one, others = group.row(place, named=True), group.filter(pl.int_range(pl.len()) != place)
    rest = others[_ENERGY].to_numpy()
    low, high = float(rest.min()), float(rest.max())
    said = f"one has {one[_ENERGY]:.3g} J where others have {low:.3g}"
    said += "" if low == high else f" to {high:.3g}"
    alone = [c for c in group.columns if c not in {*keys, _ENERGY} and len(others) > 1
             and others[c].n_unique() == 1 and others[c][0] != one[c]]  # fmt: skip
    return said + (f" ({_settings(one, alone)} in that row alone)" if alone else "")


def _settings(row: dict[str, object], columns: Sequence[str]) -> str:
    return ", ".join(f"{c} {row[c]}" for c in columns if row[c] is not None)
