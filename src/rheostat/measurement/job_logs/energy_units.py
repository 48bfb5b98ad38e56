"""Are the joules of a table joules?  Watts per node that no node draws point at another unit.

Notation
--------
P  W, energy over run time and nodes of a job
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.errors import DataError
from rheostat.measurement.runs.header_units import split_unit

LEAST_W, MOST_W = 20.0, 20_000.0
"""A node draws more than the least when it idles; no rack unit takes away more than the most."""
LEAST_RUN_W, MOST_RUN_W = 1.0, 1e8
"""The same of a run whose nodes are not known: on a small computer, or on the largest."""
IMPOSSIBLE = 20.0
"""Beyond either bound by this factor energy of no stated unit is in another: that is asked for."""
FEWEST = 10
"""Of fewer jobs each has to be beyond a bound."""
NEVER_W = 1e5
"""No node draws this; a counter that wrapped, or watts taken for kilowatts, say more."""
UNLIKE = 30.0
"""Times less or more than the median job, where that is beyond all doubt."""
FOLLOWS = 1e-3
"""A share of power by which it is energy over run time."""
LEAST_S = 600.0
"""Of shorter runs a meter may have seen nothing."""
UNITS = {"kWh": 3.6e6, "Wh": 3600.0, "kJ": 1e3, "mJ": 1e-3, "uJ": 1e-6}
"""Units of energy by what one is in joules; a column that ends in one is read so."""


def energy_doubt(jobs: JobTable) -> tuple[Note, ...]:
    """A note where the median job draws fewer or more watts per node than any node does; else none.

    Where nodes are not known, it is what the whole run draws.
    Where the column's own name has no unit and the watts are beyond all doubt it is a `DataError`.

    >>> from rheostat.core.vocabulary import table
    >>> runs = {"nodes": [2] * 10, "runtime_s": [3600.0] * 10}
    >>> energy_doubt(table({**runs, "energy_j": [2.88e6] * 10}))
    ()
    >>> energy_doubt(table({**runs, "energy_j": [0.8] * 10}))[0].message.partition(":")[0]
    'energy_j over runtime_s and nodes is 0.000111 W per node in the median job, of 10'
    """
    nodes = _nodes(jobs)
    if not _numbers(jobs, "runtime_s") or not _numbers(jobs, "energy_j"):
        return ()
    run, energy = (jobs.numpy(n).astype(float) for n in ("runtime_s", "energy_j"))
    size = jobs.numpy(nodes).astype(float) if nodes else np.ones(len(run))
    known = (size > 0) & (run > 0) & (energy > 0) & np.isfinite(size * run * energy)
    watts = energy[known] / (size * run)[known]
    least, most = (LEAST_W, MOST_W) if nodes else (LEAST_RUN_W, MOST_RUN_W)
    surely = most
    most = MOST_W if _unsaid(jobs) else most
    count, middle = len(watts), float(np.median(watts)) if len(watts) else least
    beyond = (watts < least) | (watts > most)
    if least <= middle <= most or (count < FEWEST and not beyond.all()):
        return ()
    if not least / IMPOSSIBLE <= middle <= surely * IMPOSSIBLE:
        _ask(jobs, middle, "per node " * bool(nodes))
    over, each = (f" and {nodes}", " per node") if nodes else ("", "")
    draws = "a node draws 20 W to 20 kW" if nodes else "a computer draws 1 W to 20 kW"
    said = f"energy_j over runtime_s{over} is {middle:.3g} W{each} in the median job, of {count:,}"
    return (Note(f"{said}: {draws}. {_remedy(middle)}", (), count),)


def possible_energy(jobs: JobTable) -> JobTable:
    """The log without energy of jobs whose nodes would have drawn what no node draws.

    >>> from rheostat.core.vocabulary import table
    >>> runs = {"nodes": [1, 1, 2], "runtime_s": [900.0] * 3, "energy_j": [4.29e9, 3e5, 6e5]}
    >>> kept = possible_energy(table(runs))
    >>> kept.frame["energy_j"].to_list(), kept.notes[0].rows
    ([None, 300000.0, 600000.0], (0,))
    """
    nodes = _nodes(jobs)
    if not nodes or not _numbers(jobs, "runtime_s") or not _numbers(jobs, "energy_j"):
        return jobs
    watts = pl.col("energy_j") / (pl.col("runtime_s") * pl.col(nodes))
    low = (watts > 0) & (watts < LEAST_RUN_W) & (pl.col("runtime_s") >= LEAST_S)
    high = watts.is_finite() & (watts > NEVER_W)
    at, off = (jobs.frame.select(c).to_series() for c in (watts.cast(pl.Float64), high | low))
    off = off.fill_null(value=False)
    usual = at.filter(~off & at.is_finite() & (at > 0)).median()
    if not off.any() or not isinstance(usual, float) or off.sum() > len(jobs) / 2:
        return jobs
    off &= (at > UNLIKE * usual) | (at < usual / UNLIKE)
    rows, drawn = off.arg_true().to_list(), at.filter(off)
    if not rows:
        return jobs
    said = (
        f"energy_j of {len(rows):,} jobs is left out: {_span(drawn)} a node, which none draws"
        f"{_dated(jobs, off)}"
    )
    frame = jobs.frame.with_columns(energy_j=pl.when(~off).then("energy_j"))
    if "power_w" in jobs.columns:  # where it is this energy over the run time, and no reading
        follows = (pl.col("power_w") * jobs.frame["runtime_s"] / jobs.frame["energy_j"] - 1).abs()
        lost = off & frame.select(follows < FOLLOWS).to_series().fill_null(value=False)
        frame = frame.with_columns(power_w=pl.when(~lost).then("power_w"))
        said += ", and so is power_w where it follows from it" * bool(lost.any())
    return replace(jobs, frame=frame).noted(Note(said, tuple(rows), len(rows)))


def _span(watts: pl.Series) -> str:
    low, high = (f"{float(w):.3g} W" for w in (watts.min(), watts.max()))  # type: ignore[arg-type]
    return low if low == high else f"{low} to {high}"


def _dated(jobs: JobTable, off: pl.Series) -> str:
    """Where they are the first jobs or the last of the log: from then on the unit is another."""
    if "submit_s" not in jobs.columns or int(off.sum()) < FEWEST:
        return ""
    bad, good = (jobs.frame["submit_s"].filter(rows) for rows in (off, ~off))
    if (good > bad.max()).all():
        kind, day = "until", bad.max()
    elif (good < bad.min()).all():
        kind, day = "since", bad.min()
    else:
        return ""
    date = datetime.fromtimestamp(float(day), UTC).date()  # type: ignore[arg-type]
    return f"; they are all jobs {kind} {date} (UTC): was the unit another?"


def _nodes(jobs: JobTable) -> str:
    """The column of nodes that has any; what was allocated before what was asked for."""
    there = (n for n in ("nodes_alloc", "nodes") if _numbers(jobs, n))
    return next((n for n in there if jobs.frame[n].null_count() < len(jobs)), "")


def _numbers(jobs: JobTable, name: str) -> bool:
    return name in jobs.columns and jobs.frame[name].dtype.is_numeric()


def _unsaid(jobs: JobTable) -> str:
    """The column in the file that energy was taken from, where its name says no unit; else ""."""
    meaning = jobs.schema["energy_j"].meaning
    theirs = meaning.removeprefix("from ")
    return "" if theirs == meaning or split_unit(theirs)[2] else theirs


def _ask(jobs: JobTable, watts: float, each: str) -> None:
    """Refuse energy whose column says no unit, and that cannot be joules."""
    if not (theirs := _unsaid(jobs)):
        return
    said = f"{theirs} has no unit, and as joules it is {watts:.3g} W {each}in the median job"
    which = f"which no {'node' if each else 'computer'} draws"
    remedy = f"{_remedy(watts)} ({theirs}_J where they are)"
    raise DataError("energy", [f"{said}, {which}. {remedy}"])


def _remedy(watts: float) -> str:
    """What to type, by the units that would make it a node's watts."""
    fits = [u for u, joules in UNITS.items() if LEAST_W <= watts * joules <= MOST_W]
    if fits:
        named = " or ".join(f"energy_{u}" for u in fits)
        return f"If these are no joules, name the column by its unit in the first line: {named}"
    return "All figures of energy and power are off by as much: give the column in joules"
