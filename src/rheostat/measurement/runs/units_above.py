"""Units that a comment or a title above a table says of its columns: ``# times in minutes``."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.runs.guess import guess_name
from rheostat.measurement.runs.header_units import split_unit

KINDS = {
    "_s": r"(?:run|wall|execution|elapsed|solve)?[ -]?times?|durations?|elapsed",
    "_j": r"energy|energies",
    "_w": r"powers?",
    "_hz": r"frequency|frequencies|clocks?",
}
"""Words of what a unit is said of, by the ending of our names."""
MOMENTS = {"submit_s", "start_s", "end_s"}
_IN = r"\s*(?:\b(?:is|are|given|all|measured|values?|units?)\b\s*)*(?:\bin\b|[:=(\[])\s*"


def units_said(lines: Sequence[str]) -> dict[str, str]:
    """Units by the ending of our names; of two for one kind neither.

    >>> units_said(["# lbm on 4 nodes, times in minutes, energy (kWh)"])
    {'_s': 'minutes', '_j': 'kWh'}
    >>> units_said(["# time in queue counts, power: see below"])
    {}
    """
    made = {}
    for ending, words in KINDS.items():
        spelt = re.findall(rf"\b(?:{words})\b{_IN}([A-Za-zµ]+)", " ; ".join(lines), re.IGNORECASE)
        units = {u for u in spelt if split_unit(f"time [{u}]", timed=True)[1] == ending}
        if len(units) == 1:
            made[ending] = units.pop()
    return made


def with_units_above(frame: pl.DataFrame, above: Sequence[str]) -> tuple[pl.DataFrame, list[Note]]:
    """Numbers whose heading has no unit with the one that lines above the table say.

    >>> frame, notes = with_units_above(pl.DataFrame({"n": [1], "time": [9.0]}), ["time in min"])
    >>> frame.columns, notes[0].message
    (['n', 'time [min]'], 'units from the lines above the headings: time [min]')
    """
    said, names = units_said(above), {}
    for column in (c for c in frame.columns if said and frame[c].dtype.is_numeric()):
        ours = guess_name(column) or ""
        ending = next((e for e in said if ours.endswith(e) and ours not in MOMENTS), "")
        if ending and not split_unit(column)[2]:
            names[column] = f"{column} [{said[ending]}]"
    message = f"units from the lines above the headings: {', '.join(names.values())}"
    return frame.rename(names), [Note(message)] if names else []
