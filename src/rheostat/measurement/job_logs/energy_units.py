"""Are the joules of a table joules?  Watts per node that no node draws point at another unit.

Notation
--------
P  W, energy over run time and nodes of a job
"""

from __future__ import annotations

import numpy as np

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
    nodes = next((n for n in ("nodes_alloc", "nodes") if _numbers(jobs, n)), "")
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
