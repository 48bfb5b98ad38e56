"""What a search has been told so far, in an order that does not depend on the telling.

Results of a batch come back in any order, and a resumed search hears them all at once.  Everything
a proposer reads it reads from here, where rows are sorted by setting and then by value, so that the
same set of results gives the same next question.

Notation
--------
n  told rows     k  knobs     d  draws (repetitions), shorter rows padded with NaN
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rheostat.core.front import Front, Objective
from rheostat.core.jobs import JobTable, Moment, concat
from rheostat.core.outcome import Outcome
from rheostat.core.space import Space
from rheostat.core.vocabulary import column
from rheostat.errors import DataError

Key = tuple[object, ...]


class Observations:
    """Told rows of a space; see the module."""

    def __init__(self, space: Space, objectives: Sequence[Objective]) -> None:
        self.space = space
        self.objectives = tuple(objectives)
        self._parts: list[tuple[JobTable, Outcome]] = []
        self._front: Front | None = None

    def __len__(self) -> int:
        return sum(len(jobs) for jobs, _ in self._parts)

    def add(self, jobs: JobTable, outcome: Outcome) -> None:
        """Remember results; a `DataError` says all that is wrong with them."""
        problems = misfits(self.space, jobs)
        if len(jobs) != len(outcome):
            problems.append(f"{len(jobs)} rows but outcomes for {len(outcome)}")
        if problems:
            raise DataError("tell", problems)
        if len(jobs):
            self._parts.append((jobs, outcome))
            self._front = None

    @property
    def front(self) -> Front:
        """All told settings as a `Front`, sorted; repeats of one are its draws, sorted by value."""
        if not self._parts:
            nothing = Outcome({o.name: np.empty((1, 0)) for o in self.objectives})
            return front_of(self.space, self.space.alternatives(None, []), nothing, self.objectives)
        if self._front is None:
            jobs = concat([j for j, _ in self._parts])
            outcome = stack([o for _, o in self._parts])
            order = self._order(jobs, outcome)
            whole = merged(self.space, jobs.rows(order), outcome.rows(order))
            self._front = front_of(self.space, *whole, self.objectives)
        return self._front

    def table(self, also: Sequence[str] = ()) -> JobTable:
        """Told rows with the means of what was measured, and of ``also``, as columns."""
        front = self.front
        names = [*front.outcome.names, *(o.name for o in self.objectives), *also]
        measured = {n: front.mean(n) for n in dict.fromkeys(names)}
        return front.alternatives.with_columns(
            [column(n, Moment.END) for n in measured], **measured
        )

    def _order(self, jobs: JobTable, outcome: Outcome) -> np.ndarray:
        values = [outcome[n].sum(axis=0, where=np.isfinite(outcome[n])) for n in outcome.names]
        keys = [*reversed(values), *reversed(self.space.scale(jobs).T)]
        return np.lexsort(keys)


def front_of(
    space: Space, jobs: JobTable, outcome: Outcome, objectives: Sequence[Objective]
) -> Front:
    """The front of measured settings, which knows their knobs and their numbers of runs."""
    runs = [np.isfinite(v).sum(axis=0) for v in outcome.draws.values()]
    repeats = np.max(runs, axis=0) if runs else np.zeros(len(jobs), np.int64)
    return Front(jobs, outcome, tuple(objectives), repeats, space.names)


def misfits(space: Space, jobs: JobTable) -> list[str]:
    """What keeps ``jobs`` from being settings of ``space``: absent columns, unknown names."""
    absent = [n for n in space.names if n not in jobs.columns]
    problems = [f"column {n} is missing" for n in absent]
    for knob in space.knobs:
        if knob.numeric or knob.name in absent:
            continue
        strange = sorted({str(v) for v in jobs.frame[knob.name].to_list() if v not in knob.values})
        problems += [f"{knob.name}: {v!r} is not one of {knob.values}" for v in strange]
    return problems


def keys(space: Space, jobs: JobTable) -> list[Key]:
    """The knob values of each row, hashable."""
    return list(jobs.select(space.names).frame.rows())


def stack(outcomes: Sequence[Outcome]) -> Outcome:
    """Outcomes one after the other; a quantity or repetition one lacks is NaN there.

    >>> once = Outcome({"power_w": np.array([[1.0]])})
    >>> twice = Outcome({"power_w": np.array([[2.0], [4.0]])})
    >>> stack([once, twice]).mean("power_w")
    array([1., 3.])
    """
    names = tuple(dict.fromkeys(n for o in outcomes for n in o.names))
    deep = max((len(o.draws[n]) for o in outcomes for n in o.names), default=1)
    joined = {n: np.concatenate([_padded(o, n, deep) for o in outcomes], axis=1) for n in names}
    supports = [o.support for o in outcomes if o.support is not None]
    support = np.concatenate(supports) if len(supports) == len(outcomes) > 0 else None
    notes = tuple(dict.fromkeys(n for o in outcomes for n in o.notes))
    return Outcome(joined, support, notes)


def merged(space: Space, jobs: JobTable, outcome: Outcome) -> tuple[JobTable, Outcome]:
    """Rows of the same setting as one row with the draws of all, where the first of them stands.

    A setting that was measured twice is not two settings, of which the luckier would be chosen.

    >>> from rheostat import Knob, table
    >>> runs = Outcome({"power_w": np.array([[2.0, 5.0, 4.0]])})
    >>> jobs, whole = merged(Space.of(Knob("nodes", [1, 2])), table({"nodes": [1, 2, 1]}), runs)
    >>> jobs.frame["nodes"].to_list(), whole.mean("power_w").tolist()
    ([1, 2], [3.0, 5.0])
    """
    places: dict[Key, list[int]] = {}
    for row, key in enumerate(keys(space, jobs) if len(jobs) else ()):  # none has no columns
        places.setdefault(key, []).append(row)
    if len(places) == len(jobs):
        return jobs, outcome
    groups = list(places.values())
    most = max(map(len, groups))
    draws = {}
    for name, values in outcome.draws.items():
        draws[name] = np.full((most * len(values), len(groups)), np.nan)
        for column_, rows in enumerate(groups):
            own = values[:, rows].T.reshape(-1)
            draws[name][: len(own), column_] = own
    known = outcome.support
    support = None if known is None else np.array([known[rows].sum() for rows in groups])
    return jobs.rows(np.array([rows[0] for rows in groups])), Outcome(draws, support, outcome.notes)


def _padded(outcome: Outcome, name: str, deep: int) -> np.ndarray:
    block = np.full((deep, len(outcome)), np.nan)
    if name in outcome.draws:
        draws = outcome[name]
        block[: len(draws)] = draws
    elif name in outcome:
        derived = outcome[name]
        block[: len(derived)] = derived
    return block
