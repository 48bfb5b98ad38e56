"""Energy and power without those at idle, where a table has what a machine draws at idle, too.

A run costs what its machine draws at idle for as long as it runs: without it the slowest setting
looks thriftiest.
"""

from __future__ import annotations

import re
from shlex import quote

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.runs.cell_units import seconds_of_cell
from rheostat.measurement.runs.guess import NET, guess_name, lone_time
from rheostat.measurement.runs.header_units import split_unit

IDLE = re.compile(r"(^|_)(idle|static|baseline)(_|$)")
"""Words of what is drawn by a machine that does nothing."""
OF_ONE = re.compile(r"(^|_)(node|host|server|gpu|card)(_|$)")
"""Words of what one of several draws."""
COUNTS = ("nodes", "gpus")
OURS = {"_j": "energy_j", "_w": "power_w"}
SAID = "{} is {} + {}, so that it counts what is drawn at idle; --column {}={} leaves that out"


def with_idle(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """The table with whole energy (or power) where it has that without idle, and that at idle.

    >>> runs = pl.DataFrame({"time_s": [10.0, 5.0], "energy_minus_idle_kJ": [1.0, 1.5],
    ...                      "idle_power_W": [200, 200]})
    >>> whole, notes = with_idle(runs)
    >>> whole["energy_j"].to_list(), notes[0].message[:63]
    ([3000.0, 2500.0], 'energy_j is energy_minus_idle_kJ + idle_power_W x time_s, so th')
    """
    metered = [c for c in frame.columns if split_unit(c)[1] in OURS]
    amounts = [c for c in metered if frame[c].dtype.is_numeric()]
    net = [c for c in amounts if NET.search(_plain(c))]
    idle = [c for c in amounts if c not in net and IDLE.search(_plain(c))]
    gross = {guess_name(c) for c in frame.columns if c not in net} & {"energy_j", "power_w"}
    if len(net) != 1 or len(idle) != 1 or gross or _of_several(frame, idle[0]):
        return frame, []
    ours = OURS[split_unit(net[0])[1]]
    added, words = _at_idle(frame, idle[0], ours)
    if added is None:
        return frame, []
    whole = frame.with_columns((_amount(net[0]) + added).alias(ours)).drop(net[0])
    return whole, [Note(SAID.format(ours, net[0], words, ours, quote(net[0])))]


def _at_idle(frame: pl.DataFrame, idle: str, ours: str) -> tuple[pl.Expr | None, str]:
    """What idle adds to a run, and in words; None where no run time says for how long."""
    if split_unit(idle)[1] == ours[-2:]:
        return _amount(idle), idle
    time = next((c for c in frame.columns if guess_name(c) == "runtime_s"), lone_time(frame))
    if time is None or ours == "power_w":
        return None, ""
    seconds = _amount(time, timed=True)
    if frame[time].dtype == pl.String:
        seconds = pl.col(time).map_elements(seconds_of_cell, return_dtype=pl.Float64)
    return _amount(idle) * seconds, f"{idle} x {time}"


def _amount(heading: str, *, timed: bool = False) -> pl.Expr:
    return pl.col(heading).cast(pl.Float64) * split_unit(heading, timed=timed)[3]


def _of_several(frame: pl.DataFrame, idle: str) -> bool:
    """Whether watts at idle may be those of one of several nodes or GPUs of a run."""
    counts = [c for c in frame.columns if guess_name(c) in COUNTS and frame[c].dtype.is_numeric()]
    for count in (c for c in counts if (frame[c].max() or 1) != 1):
        each = frame.select((pl.col(idle) / pl.col(count)).alias("each")).to_series()
        grows = frame[count].n_unique() > 1 and _alike(each)
        if OF_ONE.search(_plain(idle)) or not grows:
            return True
    return False


def _alike(values: pl.Series) -> bool:
    """Whether all are within a tenth of each other."""
    low, high = values.min(), values.max()
    return isinstance(low, float) and isinstance(high, float) and high <= 1.1 * low


def _plain(heading: str) -> str:
    return re.sub(r"[\W_]+", "_", heading.lower()).strip("_")
