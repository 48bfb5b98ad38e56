"""`Knob` and `Space`: the columns that may be turned and the values they may take.

A setting of a job is the job's row with other values in the knob columns, so the alternatives of a
job are a `JobTable` like any other.

Notation
--------
k  knobs        N  settings of a finite space        u : (N, k) settings scaled to the unit cube
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.jobs import JobTable, Moment, Schema
from rheostat.core.vocabulary import column
from rheostat.errors import DataError

Setting = Mapping[str, Any]
MOST_SETTINGS = 100_000
"""Values of a knob, and settings of a finite space: each is a row that is forecast or weighed."""
LARGEST = 2**53
"""Of whole numbers: beyond it, floats no longer tell neighbours apart."""


class TooManySettings(DataError):
    """More settings than are forecast or weighed at once."""


def few_enough(what: str, count: float) -> None:
    """More settings than `MOST_SETTINGS` are refused before any is made.

    >>> few_enough("nodes", 1e12)
    Traceback (most recent call last):
    ...
    rheostat.core.space.TooManySettings: nodes: expected 100,000 values or settings at most, \
got 1e+12; take larger steps, powers of two or fewer knobs
    """
    if count > MOST_SETTINGS:
        raise TooManySettings(what, [f"expected {MOST_SETTINGS:,} values or settings at most, "
            f"got {count:.7g}; take larger steps, powers of two or fewer knobs"])  # fmt: skip


@dataclass(frozen=True, init=False)
class Knob:
    """A column and its values: a finite list, or a range ``low``..``high``.

    Numeric values are sorted, made unique and of one type; names keep their order.  ``log`` scales
    the knob by ratio; by default a positive numeric knob that spans a factor of 4 or more does.

    Parameters
    ----------
    name : str
        The column that is turned.
    values : iterable, optional
        Numbers or names that it can take.
    low, high : float
        Ends of a range, instead of values.
    log : bool, optional
        Whether ratios or differences count.

    Raises
    ------
    DataError
        Neither values nor a range, a value that is no number and no name, or more values than
        `MOST_SETTINGS`.

    Examples
    --------
    >>> Knob("nodes", [4, 1, 2, 2]).values
    (1, 2, 4)
    >>> Knob("clock_ghz", [2, 1.5]).values
    (1.5, 2.0)
    >>> Knob("cap_w", low=100, high=300).finite
    False
    >>> Knob("compiler", ["gcc", "icx"]).numeric
    False
    """

    name: str
    values: tuple[Any, ...]
    low: float
    high: float
    log: bool

    def __init__(
        self,
        name: str,
        values: Iterable[Any] | None = None,
        *,
        low: float = math.nan,
        high: float = math.nan,
        log: bool | None = None,
    ) -> None:
        listed = tuple(values) if values is not None else ()
        few_enough(f"Knob {name}", len(listed))
        numeric = all(
            isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in listed
        )
        if listed and numeric:
            plain = {v.item() if isinstance(v, np.number) else v for v in listed}
            if odd := [v for v in plain if isinstance(v, int) and abs(v) > LARGEST]:
                problem = f"expected whole numbers up to {LARGEST:,}, got {odd[0]}"
                raise DataError(f"Knob {name}", [problem[:300]])
            kind = float if any(isinstance(v, float) for v in plain) else int
            listed = tuple(sorted(map(kind, plain)))
            low, high = float(listed[0]), float(listed[-1])
        elif listed:
            if odd := [v for v in listed if not isinstance(v, (str, bool, int, float, np.number))]:
                problem = f"expected numbers or names, got {', '.join(map(repr, odd))}"
                raise DataError(f"Knob {name}", [problem[:300]])
            listed = tuple(dict.fromkeys(listed))
        elif not all(isinstance(v, (int, float)) for v in (low, high)) or not low <= high:
            raise DataError(
                f"Knob {name}", [f"expected values, or low <= high; got low={low}, high={high}"]
            )
        ratio = numeric and low > 0 and high >= 4 * low
        for key, value in {
            "name": name,
            "values": listed,
            "low": low,
            "high": high,
            "log": ratio if log is None else log,
        }.items():
            object.__setattr__(self, key, value)

    @property
    def finite(self) -> bool:
        """Whether the knob is a list of values rather than a range."""
        return bool(self.values)

    @property
    def numeric(self) -> bool:
        """Whether values are numbers (order and ratio mean something)."""
        return not self.finite or not math.isnan(self.low)

    def scale(self, values: Sequence[Any]) -> NDArray[np.float64]:
        """Values to [0, 1]; names become their position."""
        if not self.numeric:
            place = {v: i for i, v in enumerate(self.values)}
            return np.array([place[v] for v in values], dtype=float) / max(1, len(self.values) - 1)
        x = np.asarray(values, dtype=float)
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        return (
            ((np.log(x) if self.log else x) - low) / (high - low)
            if high > low
            else np.zeros(len(x))
        )

    def unscale(self, u: float) -> Any:
        """The value nearest to ``u`` in [0, 1]."""
        if self.finite:
            grid = self.scale(self.values)
            return self.values[int(np.argmin(np.abs(grid - u)))]
        if self.log:
            return float(
                math.exp(math.log(self.low) + u * (math.log(self.high) - math.log(self.low)))
            )
        return float(self.low + u * (self.high - self.low))


def powers_of_two(low: int, high: int) -> tuple[int, ...]:
    """Powers of two from ``low`` to ``high``.

    Parameters
    ----------
    low, high : int
        Smallest and largest number, both included.

    Returns
    -------
    tuple of int
        Ascending.

    Examples
    --------
    >>> powers_of_two(3, 40)
    (4, 8, 16, 32)
    """
    return tuple(2**i for i in range(64) if low <= 2**i <= high)


@dataclass(frozen=True)
class Forbidden:
    """A constraint of `Space`: not all of these knobs at one of these values each.

    Parameters
    ----------
    values : tuple of (str, tuple)
        Names of knobs, and the values that they do not have together.

    Examples
    --------
    >>> without = Forbidden((("solver", ("cg",)), ("precision", ("half", "single"))))
    >>> [without({"solver": "cg", "precision": p}) for p in ("half", "double")]
    [False, True]
    """

    values: tuple[tuple[str, tuple[Any, ...]], ...]

    def __call__(self, setting: Setting) -> bool:
        """Whether a setting is not forbidden."""
        return not all(setting[name] in values for name, values in self.values)


@dataclass(frozen=True)
class Space:
    """Knobs together; ``constraints`` are predicates on a setting (a mapping knob -> value).

    Parameters
    ----------
    knobs : tuple of Knob
        What may be turned.
    constraints : tuple of callable
        Predicates on a setting; all must hold.

    Examples
    --------
    >>> knobs = (Knob("nodes", [1, 2]), Knob("cap_w", [200, 300]))
    >>> s = Space(knobs, (lambda s: s["nodes"] * s["cap_w"] <= 500,))
    >>> [tuple(x.values()) for x in s.settings()]
    [(1, 200), (1, 300), (2, 200)]
    """

    knobs: tuple[Knob, ...]
    constraints: tuple[Callable[[Setting], bool], ...] = ()

    @classmethod
    def of(cls, knobs: Space | Knob | Iterable[Knob]) -> Space:
        """A space from one knob, several, or a space."""
        if isinstance(knobs, Space):
            return knobs
        return cls((knobs,) if isinstance(knobs, Knob) else tuple(knobs))

    @property
    def names(self) -> tuple[str, ...]:
        """Knob names, in order."""
        return tuple(k.name for k in self.knobs)

    @property
    def finite(self) -> bool:
        """Whether every knob is a list of values."""
        return all(k.finite for k in self.knobs)

    @property
    def count(self) -> int:
        """Settings of a finite space before constraints."""
        return math.prod(len(k.values) for k in self.knobs)

    def allows(self, setting: Setting) -> bool:
        """Whether all constraints hold."""
        return all(c(setting) for c in self.constraints)

    def settings(self) -> list[dict[str, Any]]:
        """Every allowed setting of a finite space, the last knob turning fastest.

        Before constraints `MOST_SETTINGS` at most.
        """
        if not self.finite:
            raise DataError(
                "Space",
                [
                    f"{k.name} is a range: sample it, or give it values"
                    for k in self.knobs
                    if not k.finite
                ],
            )
        few_enough(f"Space of {', '.join(self.names)}", self.count)
        every = itertools.product(*(k.values for k in self.knobs))
        return [s for v in every if self.allows(s := dict(zip(self.names, v, strict=True)))]

    def sample(self, u: NDArray[np.float64]) -> list[dict[str, Any]]:
        """Settings at points of the unit cube ``u`` (n, k); those not allowed are left out."""
        every = (
            dict(
                zip(
                    self.names,
                    (k.unscale(x) for k, x in zip(self.knobs, row, strict=True)),
                    strict=True,
                )
            )
            for row in u
        )
        return [s for s in every if self.allows(s)]

    def scale(self, jobs: JobTable) -> NDArray[np.float64]:
        """The knob columns of ``jobs`` in the unit cube, (n, k)."""
        jobs.require(*self.names)
        return np.column_stack([k.scale(jobs.frame[k.name].to_list()) for k in self.knobs])

    def alternatives(
        self, job: JobTable | None = None, settings: Sequence[Setting] | None = None
    ) -> JobTable:
        """One row per setting: the job's submit-time columns with the knobs turned.

        Columns known only after submission are dropped: they belong to the setting that ran.
        """
        rows = self.settings() if settings is None else list(settings)
        frame = pl.DataFrame(
            {k.name: _of_one_type(k, [r[k.name] for r in rows]) for k in self.knobs}
        )
        base = JobTable(pl.DataFrame(), Schema()) if job is None else _one_row(job)
        keep = [c for c in base.columns if c not in self.names]
        turned = frame if not keep else base.frame.select(keep).join(frame, how="cross")
        described = {c: base.schema[c] for c in base.columns}
        schema = Schema(tuple(described.get(c) or column(c) for c in turned.columns))
        return JobTable(turned, schema)


def _of_one_type(knob: Knob, values: Sequence[Any]) -> Sequence[Any]:
    """Values as the knob lists them: a table may hold 4.0 where the knob says 4."""
    listed = {v: v for v in knob.values}
    own = [listed.get(v, v) for v in values]
    return [float(v) for v in own] if any(isinstance(v, float) for v in own) else own


def _one_row(job: JobTable) -> JobTable:
    if len(job) != 1:
        raise DataError("alternatives", [f"expected one job (one row), got {len(job)} rows"])
    return job.known_at(Moment.SUBMIT)
