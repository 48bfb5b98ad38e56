"""Is the machine another one since a date, of a log that names no problems?

Users' problems change at dates of their own, the machine and its software for all at once.  A step
that most users' applications show at one date, at equal requests and sizes, is taken off the runs
before it, so that levels are those of the machine as it is.

Notation
--------
n  rows in order of time      g  columns of what was asked for, what ran, and sizes
y = level(cell) + given . w + step (since a date) + noise
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from rheostat.core.outcome import Array
from rheostat.prediction.effects.doubts import MOST_NOISE, SURE, Ints, Mask, within_slope
from rheostat.prediction.effects.effect_coding import Rows
from rheostat.prediction.effects.eras import DATES
from rheostat.prediction.effects.levels import centred

FEWEST_CELLS = 8
"""Users' applications that have to show a step."""
SECOND = 0.5
"""Of a step: where another as large as this share of it follows, times come and go."""


@dataclass(frozen=True)
class Stepped:
    """What one quantity took before ``since_s`` over what it took since, in logarithm."""

    since_s: float
    before: float

    def since_end(self, frame: pl.DataFrame, seen: Ints) -> Array:
        """Logarithm of what rows (n,) take over what they took at the end of the log.

        >>> jobs = pl.DataFrame({"submit_s": [50.0, 100.0, None]})
        >>> Stepped(100.0, 0.5).since_end(jobs, np.zeros(3, dtype=int)).tolist()
        [0.5, 0.0, 0.0]
        """
        if "submit_s" not in frame.columns:
            return np.zeros(len(seen))
        early = (frame["submit_s"] < self.since_s).fill_null(value=False).to_numpy()
        return np.asarray(self.before * early)


@dataclass(frozen=True)
class MachineDate:
    """Rows (n,) since the date, submission, cell, and ``given`` (n, g)."""

    late: Mask
    submit_s: Array
    cell: Ints
    given: Array

    @property
    def since(self) -> int:
        """The first row of them."""
        return int(np.argmax(self.late))

    def size(self, y: Array) -> float:
        """Of log outcomes (n,), since over before."""
        slope = within_slope(self.late.astype(float), y, self.cell, self.cell, self.given)
        return 0.0 if slope is None else slope.value

    def ended(self, y: Array, seen: Ints) -> tuple[Array, Stepped]:
        """``y`` (n,) as if all had run since, and the same for jobs of other times."""
        size = self.size(y)
        step = Stepped(float(self.submit_s[self.since]), -size)
        return np.asarray(y + size * ~self.late), step

    def words(self, y: Array) -> str:
        """What a log says of it."""
        return (
            f"run times at equal requests are {np.exp(self.size(y)):.2f} times as long since run "
            f"{self.since:,} of {len(y):,}, in order of time, as before, whoever ran what, as on "
            "another machine: runs before count as if they had run since"
        )


def date_of_machine(rows: Rows, y: Array, submit_s: Array) -> MachineDate | None:
    """The step of log run times ``y`` (n,) that most users' applications show at one date."""
    asked = rows.log_asked[:, 0]
    turned = rows.log_run[:, 0] - asked
    given = np.column_stack([asked, asked**2, turned, turned**2, rows.size])
    basis, _ = np.linalg.qr(centred(given, rows.cell))

    def rest(values: Array) -> Array:
        flat = centred(values, rows.cell)
        return np.asarray(flat - basis @ (basis.T @ flat))

    n, left = len(y), rest(y)
    tried = np.unique(np.linspace(0, n, DATES + 2)[1:-1].astype(int))
    steps = [rest((np.arange(n) >= at).astype(float)) for at in tried]
    at = _best(steps, left)
    gone = left - steps[at] * _slope(steps[at], left)
    drifted = rest(np.arange(n) / n)
    step = MachineDate(np.arange(n) >= tried[at], submit_s, rows.cell, given)
    slope = within_slope(step.late.astype(float), y, rows.cell, rows.cell, given)
    cells = np.unique(rows.cell[step.late])
    if slope is None or np.isin(cells, rows.cell[~step.late]).sum() < FEWEST_CELLS:
        return None
    sure = abs(slope.value) > max(SURE * slope.error, MOST_NOISE)
    second = abs(_slope(steps[_best(steps, gone)], gone)) > SECOND * abs(slope.value)
    return step if sure and not second and _gain(steps[at], left) > _gain(drifted, left) else None


def _slope(x: Array, y: Array) -> float:
    return float(x @ y) / max(float(x @ x), 1e-12)


def _gain(x: Array, y: Array) -> float:
    """How much of the square of ``y`` a column explains."""
    return _slope(x, y) * float(x @ y)


def _best(columns: list[Array], y: Array) -> int:
    return int(np.argmax([_gain(x, y) for x in columns]))
