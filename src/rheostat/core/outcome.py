"""`Outcome`: draws of named quantities; a measurement and a prediction are the same type.

A measured value has one draw per repetition, a predicted one as many as the model gives.  Derived
quantities (energy = power x runtime) are computed draw by draw, so that correlation survives: a
model that is unsure how long a job runs but sure of its power has energy bounds to match.

Notation
--------
d  draws            n  rows (jobs at settings)           draws[name] : (d, n), NaN = no value
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rheostat.core.jobs import JobTable, Note
from rheostat.errors import DataError

Array = NDArray[np.float64]

GRADES = ("none", "borrowed", "interpolated", "measured")
"""What a forecast of a setting rests on: no run near it, runs of other applications, runs of this
application at settings around it, runs of this application at this setting."""

DERIVED: Mapping[str, tuple[tuple[str, ...], Callable[..., Array]]] = {
    "energy_j": (("runtime_s", "power_w"), lambda t, p: t * p),
    "power_w": (("energy_j", "runtime_s"), lambda e, t: e / t),
    "edp_js": (("energy_j", "runtime_s"), lambda e, t: e * t),
}


@dataclass(frozen=True)
class Outcome:
    """Draws of named quantities for n rows, with how many similar runs support each row.

    A row of NaN draws is an abstention: the model has no support there and says so in ``notes``;
    every summary of it is NaN.  A quantity that is neither given nor derivable is a `DataError`.
    ``grade`` (n,) holds places in `GRADES`, or None where nobody graded the rows.

    Parameters
    ----------
    draws : mapping of str to array
        For each quantity an array (d, n): d draws of n rows, in SI units.
    support : array, optional
        (n,) number of similar past runs behind each row.
    notes : tuple of Note
        What the model says of rows, such as why it abstains.
    grade : array, optional
        (n,) places in `GRADES`.

    Raises
    ------
    DataError
        Arrays are not of shape (draws, rows) with equal rows.

    Examples
    --------
    >>> o = Outcome({"runtime_s": np.array([[10.0], [12.0]]), "power_w": np.array([[5.0], [5.0]])})
    >>> o.mean("energy_j"), o.names
    (array([55.]), ('runtime_s', 'power_w'))
    """

    draws: Mapping[str, Array]
    support: Array | None = None
    notes: tuple[Note, ...] = field(default=())
    grade: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        shapes = {k: np.shape(v) for k, v in self.draws.items()}
        if any(len(s) != 2 for s in shapes.values()) or len({s[1:] for s in shapes.values()}) > 1:
            raise DataError(
                "Outcome", [f"expected draws of shape (draws, rows) with equal rows, got {shapes}"]
            )

    def __len__(self) -> int:
        return next((int(np.shape(v)[1]) for v in self.draws.values()), 0)

    @property
    def names(self) -> tuple[str, ...]:
        """Quantities given (not the derivable ones)."""
        return tuple(self.draws)

    def __contains__(self, name: object) -> bool:
        parts = DERIVED[str(name)][0] if name in DERIVED else ()
        return name in self.draws or bool(parts and all(_reachable(p, self.draws) for p in parts))

    def __getitem__(self, name: str) -> Array:
        """Draws of ``name``, shape (d, n); derived draw by draw where not given."""
        if name in self.draws:
            return np.asarray(self.draws[name], dtype=float)
        if name not in self:
            raise DataError("Outcome", [f"has no {name}; given: {', '.join(self.names)}"])
        parts, law = DERIVED[name]
        return law(*(self[p] for p in parts))

    def mean(self, name: str) -> Array:
        """Mean over draws, (n,); draws that are NaN do not count, all NaN gives NaN."""
        values = self[name]
        there = np.isfinite(values)
        count = there.sum(axis=0)
        total = np.where(there, values, 0.0).sum(axis=0)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    def quantile(self, name: str, q: float) -> Array:
        """The q-quantile over draws, (n,)."""
        values = self[name]
        result = np.full(values.shape[1], np.nan)
        finite = np.isfinite(values)
        full = finite.all(axis=0) & bool(len(values))
        some = finite.any(axis=0) & ~full
        if full.any():
            result[full] = np.quantile(values[:, full], q, axis=0)
        if some.any():  # a loop inside numpy, a hundred times slower: only where it is needed
            result[some] = np.nanquantile(values[:, some], q, axis=0)
        return result

    def interval(self, name: str, level: float = 0.9) -> tuple[Array, Array]:
        """Central interval that holds ``level`` of the draws: (low, high), each (n,)."""
        return self.quantile(name, (1 - level) / 2), self.quantile(name, (1 + level) / 2)

    @property
    def abstained(self) -> NDArray[np.bool_]:
        """Rows with no value at all in some quantity, (n,)."""
        if not self.draws:
            return np.zeros(0, dtype=bool)
        empty = [~np.isfinite(v).any(axis=0) for v in self.draws.values()]
        return np.asarray(np.any(empty, axis=0))

    def rows(self, index: NDArray[np.int64] | NDArray[np.bool_]) -> Outcome:
        """The same draws for some rows."""
        support = None if self.support is None else self.support[index]
        grade = None if self.grade is None else self.grade[index]
        return Outcome({k: v[:, index] for k, v in self.draws.items()}, support, self.notes, grade)

    @classmethod
    def measured(cls, jobs: JobTable, *names: str) -> Outcome:
        """One draw per row from a table's own columns; null is NaN."""
        return cls({n: jobs.numpy(n)[None, :] for n in names})


def _reachable(name: str, given: Mapping[str, Array]) -> bool:
    """Whether ``name`` is given, or derivable in one step from what is given."""
    return name in given or (name in DERIVED and all(p in given for p in DERIVED[name][0]))


@runtime_checkable
class Predictor(Protocol):
    """Learns from jobs, predicts jobs.  Searches ask nothing else of a model."""

    def fit(self, jobs: JobTable) -> Predictor:
        """Learn.

        Parameters
        ----------
        jobs : JobTable
            Finished jobs.

        Returns
        -------
        Predictor
            Itself.
        """
        ...

    def predict(self, jobs: JobTable) -> Outcome:
        """Predict jobs at their settings.

        Parameters
        ----------
        jobs : JobTable
            n rows; only columns known at submission are used.

        Returns
        -------
        Outcome
            Draws (d, n) in row order; NaN and a note where the model abstains.
        """
        ...
