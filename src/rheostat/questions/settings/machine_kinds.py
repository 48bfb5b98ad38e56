"""Kinds of machine behind a column of hosts: what they did to the time, and at which settings.

Log run times are a sum of what the setting does and of what the host does.  Where hosts fall into
two groups that lie apart by more than their own scatter, they are two kinds, and a setting that ran
on one kind alone does not compare with one that ran on the other alone.  So runs of one kind are
compared, and what ran on the other alone is brought to it by how the two differ where both ran.

Notation
--------
n  runs      log t = a(setting) + b(host)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

LEAST = 0.15
"""Of the logarithm of the run time: the widest gap between hosts of one kind may be smaller."""
APART = 5.0
"""Times the scatter of runs by which kinds lie apart."""
MOST_SHOWN = 3
NOTHING = "(empty)"
"""What stands for an empty cell: a remark, or the reason of a throttling, is at few runs."""
QUANTITIES = ("runtime_s", "power_w", "energy_j")


@dataclass(frozen=True)
class MachineKinds:
    """Two groups of a column's values, and how settings are shared among them.

    Parameters
    ----------
    column : str
        The column.
    fast, slow : tuple of str
        Its values.
    factors : mapping of str to float
        How many times as long runs take on the slower kind, and as much of the other quantities.
    knobs : tuple of str
        What is turned.
    on_fast, on_slow : tuple of str
        Settings that ran on that kind alone.
    uneven : bool
        Whether the kinds have other shares of the runs at one setting than at another.
    """

    column: str
    fast: tuple[str, ...]
    slow: tuple[str, ...]
    factors: Mapping[str, float]
    knobs: tuple[str, ...]
    on_fast: tuple[str, ...]
    on_slow: tuple[str, ...]
    uneven: bool

    def words(self) -> str:
        """What that means for the settings."""
        kinds = f"{self.column} is of two kinds, {few(self.fast)} and {few(self.slow)}"
        said = f"{kinds}, on which runs take {self.factors['runtime_s']:.3g} times as long"
        knobs = " x ".join(self.knobs)
        kind = {"faster": self.on_fast, "slower": self.on_slow}
        alone = [f"{knobs} {few(own)} ran on the {k} kind alone" for k, own in kind.items() if own]
        return f"{said}; {' and '.join(alone)}" if alone else said

    def where(self, value: str) -> str:
        """What to type for the runs of a value alone."""
        return "--where " + quote(f"{self.column}={value.replace(NOTHING, '')}")

    def runs_of(self, values: Sequence[str]) -> pl.Expr:
        """Whether a run is of these values."""
        return pl.col(self.column).cast(pl.String).fill_null(NOTHING).is_in(values)

    @property
    def fast_left(self) -> bool:
        """Whether runs on the faster kind are left out: fewer settings ran there.

        Where a cell may be empty, as that of a remark, runs of which nothing is said are kept.
        """
        if NOTHING in (*self.fast, *self.slow):
            return NOTHING in self.slow
        return len(self.on_slow) > len(self.on_fast)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The kind on which fewer settings ran; the slower one where both ran as many."""
        return self.fast if self.fast_left else self.slow

    def to_kept(self) -> dict[str, float]:
        """What makes a quantity on the kind left out one on the other."""
        return {q: f if self.fast_left else 1 / f for q, f in self.factors.items()}


def machine_kinds(runs: JobTable, column: str, knobs: Sequence[str]) -> MachineKinds | None:
    """The two kinds of a column of names; None where its values do not lie apart.

    >>> from rheostat import table
    >>> threads, host = [1, 1, 1, 2, 2, 4, 4], ["a1", "a2", "b1", "a1", "a2", "b1", "b1"]
    >>> took = {"threads": threads, "host": host, "runtime_s": [9.0, 9.1, 18, 5, 5.05, 6, 6.05]}
    >>> kinds = machine_kinds(table(took), "host", ["threads"])
    >>> kinds.fast, kinds.slow, round(kinds.factors["runtime_s"], 1), kinds.on_fast, kinds.on_slow
    (('a1', 'a2'), ('b1',), 2.0, ('2',), ('4',))
    """
    there = {"runtime_s", column, *knobs} <= set(runs.columns)
    if not there or runs.frame[column].dtype not in (pl.String, pl.Boolean):
        return None
    ended = runs.frame.filter(~runs.cut_off)  # what was cut off tells nothing of a machine's speed
    known = ended.filter(pl.col("runtime_s") > 0).drop_nulls(knobs)
    known = known.with_columns(pl.col(column).cast(pl.String).fill_null(NOTHING))
    names = known[column].unique().sort().to_list()
    setting = known.select(pl.struct(knobs).rank("dense")).to_series().to_numpy() - 1
    host = np.searchsorted(names, known[column].to_list())
    if len(names) < 2 or len(known) < len(names) + 2:
        return None
    y = np.log(known["runtime_s"].to_numpy())
    effect = _effects(y, setting, host, len(names))
    slow = _slower(effect)
    gap, scatter = _gap(y, setting, slow[host])
    if not gap > max(LEAST, APART * scatter):
        return None
    ran: dict[bool, set[tuple[object, ...]]] = {False: set(), True: set()}
    for row, is_slow in zip(known.select(knobs).rows(), slow[host], strict=True):
        ran[bool(is_slow)].add(row)
    share = np.bincount(setting, slow[host]) / np.bincount(setting)
    fast, only_slow = (
        tuple(n for n, s in zip(names, slow, strict=True) if s == kind) for kind in (False, True)
    )
    alone = _texts(ran[False] - ran[True]), _texts(ran[True] - ran[False])
    factors = {
        q: float(np.exp(_gap(np.log(known[q].to_numpy()), setting, slow[host])[0]))
        for q in QUANTITIES
        if q in known.columns and (known[q] > 0).all()
    }
    uneven = bool(np.ptp(share) > 0)
    return MachineKinds(column, fast, only_slow, factors, tuple(knobs), *alone, uneven)


def apart(
    runs: JobTable, column: str, knobs: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Values of a column of names of which no other ran their settings, and those settings.

    None where runs of one value link all settings, or the column is a name of each run.

    >>> from rheostat import table
    >>> ran = {"compiler": ["gcc"] * 3 + ["icx"] * 3, "host": ["a1", "a2", "a1", *["b1"] * 3]}
    >>> apart(table(ran), "host", ["compiler"])
    (('b1',), ('icx',))
    """
    known = runs.frame.drop_nulls([column, *knobs])
    if known[column].dtype != pl.String or known[column].n_unique() > len(known) / 2:
        return None
    names = known[column].unique().sort().to_list()
    settings = known.select(knobs).unique(maintain_order=True).rows()
    host = np.searchsorted(names, known[column].to_list())
    at = np.array([settings.index(s) for s in known.select(knobs).rows()], dtype=int)
    size = len(names) + len(settings)
    links = coo_array((np.ones(len(at)), (host, at + len(names))), shape=(size, size))
    count, part = connected_components(links, directed=False)
    if count < 2:
        return None
    own = part == min(range(count), key=lambda k: (part == k).sum())
    alone = {s for s, mine in zip(settings, own[len(names) :], strict=True) if mine}
    return tuple(n for n, mine in zip(names, own, strict=False) if mine), _texts(alone)


def _effects(y: Array, setting: Ints, host: Ints, hosts: int) -> Array:
    """B of each host, (hosts,), by least squares; the least of those that fit as well."""
    n, settings = len(y), int(setting.max()) + 1
    design = np.zeros((n, settings + hosts))
    design[np.arange(n), setting] = 1.0
    design[np.arange(n), settings + host] = 1.0
    return np.asarray(np.linalg.lstsq(design, y, rcond=None)[0][settings:])


def _slower(effect: Array) -> Mask:
    """Hosts above the widest gap between effects."""
    order = np.sort(effect)
    edge = int(np.argmax(np.diff(order)))
    return np.asarray(effect > (order[edge] + order[edge + 1]) / 2)


def _gap(y: Array, setting: Ints, slow: Mask) -> tuple[float, float]:
    """How much longer the slower kind takes in the logarithm, and the scatter of what is left."""
    settings = int(setting.max()) + 1
    design = np.zeros((len(y), settings + 1))
    design[np.arange(len(y)), setting] = 1.0
    design[:, settings] = slow
    solved, _, rank, _ = np.linalg.lstsq(design, y, rcond=None)
    left = y - design @ solved
    free = len(y) - int(rank)
    if free < 1 or rank < settings + 1:
        return 0.0, 0.0
    return float(solved[settings]), float(np.sqrt(left @ left / free))


def _texts(settings: set[tuple[object, ...]]) -> tuple[str, ...]:
    return tuple(" x ".join(map(str, s)) for s in sorted(settings, key=str))


def few(names: Sequence[str]) -> str:
    """The first of them, and whether there are more."""
    return ", ".join(names[:MOST_SHOWN]) + ", ..." * (len(names) > MOST_SHOWN)
