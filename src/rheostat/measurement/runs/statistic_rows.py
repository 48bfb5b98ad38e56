"""Rows of a table that are statistics of runs: the mean is a run's, its deviation is none."""

from __future__ import annotations

import re

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.checks import ROW, note_rows

MIDDLE = re.compile(r"mean|avg|average|median|mittel(wert)?|moyenne|media")
SPREAD = re.compile(
    r"std(ev|dev)?|s\.?d\.?|stderr|sem|var(iance)?|cv|ci(95)?|min(imum)?|max(imum)?|p\d\d|q[1-4]"
    r"|count|n|range|iqr|sum|total"
)
"""Words of rows that are no run, beside those of a mean."""


def without_statistics(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """The rows of means, where a column says of each row which statistic it is.

    >>> runs = {ROW: [0, 1], "nodes": [1, 1], "stat": ["mean", "std"], "time_s": [400.0, 5.0]}
    >>> kept, notes = without_statistics(pl.DataFrame(runs))
    >>> kept.rows(), notes[0].message
    ([(0, 1, 400.0)], "stat says 'std': no run, the row of the mean is")
    """
    for name in (c for c in frame.columns if frame[c].dtype == pl.String):
        plain = frame[name].str.strip_chars().str.to_lowercase()
        words = plain.drop_nulls().unique(maintain_order=True).to_list()
        means = [w for w in words if MIDDLE.fullmatch(w)]
        others = [w for w in words if SPREAD.fullmatch(w)]
        if len(means) != 1 or not others or len(means) + len(others) < len(words):
            continue
        if plain.null_count():
            continue
        is_mean = (plain == means[0]).to_numpy()
        gone = frame.filter(~is_mean)[ROW].to_list()
        said = f"{name} says {', '.join(map(repr, others))}: no run, the row of the {means[0]} is"
        return frame.filter(is_mean).drop(name), [note_rows(said, gone, dropped=True)]
    return frame, []
