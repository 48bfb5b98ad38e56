"""Rows of a table that are statistics of runs.

Where all rows are, the mean is a run's and its deviation is none; beside the runs neither is one.
"""

from __future__ import annotations

import re

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.checks import ROW, note_rows
from rheostat.measurement.serving.energy_names import plain as plain_heading

MIDDLE = re.compile(r"(geo|geometric )?mean|gmean|avg|average|median|mittel(wert)?|moyenne|media")
SPREAD = re.compile(
    r"std(\.? ?(ev|dev|abw)\.?)?|stabw|standardabweichung|standard deviation|s\.?d\.?|stderr"
    r"|sem|var(iance)?|cv|ci(95)?|min(imum)?|max(imum)?|p\d\d|q[1-4]"
    r"|count|n|range|iqr|sum|total"
)
"""Words of rows that are no run, beside those of a mean."""
NUMBERED = re.compile(
    r"(rep|repeat|repetition|run|trial|iter|iteration|sample|round|attempt|measurement|messung|lauf"
    r"|stat|statistic|wiederholung)s?(_?(no|nr|num|number|id|index))?"
)
"""Headings of columns that number runs; under others ``max`` may be a setting, beside numbers."""
NUMBER = re.compile(r"[a-z]*[ _#-]*\d+")
FEWEST_RUNS = 2
"""Numbered runs of which there are statistics."""


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
    return _beside_runs(frame)


def _beside_runs(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """The rows of runs, where a column numbers them and has statistics of them as well.

    >>> runs = {ROW: [0, 1, 2], "run": ["1", "2", "mean"], "time_s": [400.0, 404.0, 402.0]}
    >>> kept, notes = _beside_runs(pl.DataFrame(runs))
    >>> kept["run"].to_list(), notes[0].message
    ([1, 2], "run says 'mean': no run, but a statistic of the runs")
    """
    for name in (c for c in frame.columns if frame[c].dtype == pl.String):
        words = frame[name].str.strip_chars().str.to_lowercase()
        each = words.drop_nulls().unique(maintain_order=True).to_list()
        others = [w for w in each if MIDDLE.fullmatch(w) or SPREAD.fullmatch(w)]
        numbers = [w for w in each if NUMBER.fullmatch(w) and w not in others]
        headed = NUMBERED.fullmatch(plain_heading(name)) is not None
        if not (headed and others) or len(numbers) < FEWEST_RUNS:
            continue
        if len(numbers) + len(others) < len(each):
            continue
        is_run = ~words.is_in(others).fill_null(value=False)
        gone = frame.filter(~is_run)[ROW].to_list()
        said = f"{name} says {', '.join(map(repr, others))}: no run, but a statistic of the runs"
        kept = frame.filter(is_run)
        whole = kept[name].str.strip_chars().cast(pl.Int64, strict=False)
        if whole.null_count() == kept[name].null_count():
            kept = kept.with_columns(whole)
        return kept, [note_rows(said, gone, dropped=True)]
    return frame, []
