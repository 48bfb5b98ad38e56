"""Runs of one serving configuration that disagree, and what tells the odd one from the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from rheostat.core.jobs import Note
from rheostat.core.outcome import Array

DISAGREE = 1.5
"""Figures of one configuration that differ by more are no noise."""
UNITS = {"itl_s": "s between tokens", "energy_per_token_j": "J a token"}


def unlike_repeats(
    runs: pl.DataFrame, figures: Mapping[str, Array], keys: Sequence[str]
) -> tuple[Note, ...]:
    """A note where figures of one configuration differ by a factor; it names the farthest one.

    Parameters
    ----------
    runs : polars.DataFrame
        One row per run.
    figures : mapping of str to ndarray of shape (n,)
        What each run measured, positive: names of `UNITS`.
    keys : sequence of str
        Columns that make a configuration.

    Examples
    --------
    >>> import numpy as np
    >>> runs = pl.DataFrame({"batch_cap": [8, 8, 8], "remark": [None, "throttled", None]})
    >>> times = {"itl_s": np.array([0.02, 0.04, 0.021])}
    >>> print(unlike_repeats(runs, times, ["batch_cap"])[0].message)
    runs of one configuration differ by a factor above 1.5, and all were learned from: at
    batch_cap 8 one has 0.04 s between tokens where others have 0.02 to 0.021 (remark throttled in
    that row alone); take out rows that were disturbed
    """
    frame = runs.with_columns(**{name: pl.Series(values) for name, values in figures.items()})
    most = frame.select(pl.col(*figures).max().over(keys))
    spread = most / frame.select(pl.col(*figures).min().over(keys))
    factor = spread.max_horizontal()
    odd = factor > DISAGREE
    if not odd.any():
        return ()
    place = int(factor.arg_max() or 0)
    worst = frame.row(place, named=True)
    name = max(figures, key=lambda n: spread[n][place])
    same = pl.all_horizontal(pl.col(k).eq_missing(worst[k]) for k in keys)
    said = f"runs of one configuration differ by a factor above {DISAGREE:g}, and all were learned "
    said += f"from: at {_settings(worst, keys)} "
    said += _odd_one(frame.filter(same), name, {*keys, *figures})
    return (Note(f"{said}; take out rows that were disturbed", (), int(odd.sum())),)


def _odd_one(group: pl.DataFrame, name: str, known: set[str]) -> str:
    """The run farthest from the middle (of two the larger), and the columns where it is alone."""
    far = (group[name].log() - group[name].log().median()).abs().round(9).alias("_far")
    place = int(group.select(pl.struct(far, group[name]).arg_max()).item())
    one, others = group.row(place, named=True), group.filter(pl.int_range(pl.len()) != place)
    values = others[name].to_numpy()
    low, high = float(values.min()), float(values.max())
    said = f"one has {one[name]:.3g} {UNITS[name]} where others have {low:.3g}"
    said += "" if low == high else f" to {high:.3g}"
    rest = [c for c in group.columns if c not in known and others[c].n_unique() == 1]
    alone = [c for c in rest if others[c][0] != one[c]
             and (len(others) > 1 or group[c].dtype in (pl.String, pl.Boolean))]  # fmt: skip
    return said + (f" ({_settings(one, alone)} in that row alone)" if alone else "")


def _settings(row: Mapping[str, object], columns: Sequence[str]) -> str:
    return ", ".join(f"{c} {'empty' if row[c] is None else row[c]}" for c in columns)
