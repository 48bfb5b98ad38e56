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
IMPOSSIBLE = 20.0
"""Beyond either bound by this factor energy of no stated unit is in another: that is asked for."""
FEWEST = 10
"""Of fewer jobs each has to be beyond a bound."""
UNITS = {"kWh": 3.6e6, "Wh": 3600.0, "kJ": 1e3}
"""Units of energy by what one is in joules; a column that ends in one is read so."""


def energy_doubt(jobs: JobTable) -> tuple[Note, ...]:
    """A note where the median job draws fewer or more watts per node than any node does; else none.

    Where the column's own name has no unit and the watts are beyond all doubt it is a `DataError`.

    >>> from rheostat.core.vocabulary import table
    >>> runs = {"nodes": [2] * 10, "runtime_s": [3600.0] * 10}
    >>> energy_doubt(table({**runs, "energy_j": [2.88e6] * 10}))
    ()
    >>> energy_doubt(table({**runs, "energy_j": [0.8] * 10}))[0].message.partition(":")[0]
    'energy_j over runtime_s and nodes is 0.000111 W per node in the median job, of 10'
    """
    nodes = next((n for n in ("nodes_alloc", "nodes") if n in jobs.columns), "")
    needed = [nodes, "runtime_s", "energy_j"]
    if not all(n in jobs.columns and jobs.frame[n].dtype.is_numeric() for n in needed):
        return ()
    size, run, energy = (jobs.numpy(n).astype(float) for n in needed)
    known = (size > 0) & (run > 0) & (energy > 0) & np.isfinite(size * run * energy)
    watts = energy[known] / (size * run)[known]
    count, middle = len(watts), float(np.median(watts)) if len(watts) else LEAST_W
    beyond = (watts < LEAST_W) | (watts > MOST_W)
    if LEAST_W <= middle <= MOST_W or (count < FEWEST and not beyond.all()):
        return ()
    if not LEAST_W / IMPOSSIBLE <= middle <= MOST_W * IMPOSSIBLE:
        _ask(jobs, middle)
    return (
        Note(
            f"energy_j over runtime_s and {nodes} is {middle:.3g} W per node in the median job, "
            f"of {count:,}: a node draws {LEAST_W:.0f} W to {MOST_W / 1000:.0f} kW. "
            f"{_remedy(middle)}",
            (),
            count,
        ),
    )


def _ask(jobs: JobTable, watts: float) -> None:
    """Refuse energy whose column says no unit, and that cannot be joules."""
    theirs = jobs.schema["energy_j"].meaning.removeprefix("from ")
    if theirs == jobs.schema["energy_j"].meaning or split_unit(theirs)[2]:
        return
    problem = (
        f"{theirs} has no unit, and as joules it is {watts:.3g} W per node in the median job, "
        f"which no node draws. {_remedy(watts)} ({theirs}_J where they are)"
    )
    raise DataError("energy", [problem])


def _remedy(watts: float) -> str:
    """What to type, by the units that would make it a node's watts."""
    fits = [u for u, joules in UNITS.items() if LEAST_W <= watts * joules <= MOST_W]
    if fits:
        named = " or ".join(f"energy_{u}" for u in fits)
        return f"If these are no joules, name the column by its unit in the first line: {named}"
    return "All figures of energy and power are off by as much: give the column in joules"
