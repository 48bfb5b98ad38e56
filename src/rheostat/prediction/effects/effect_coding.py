"""Rows of jobs as numbers: whose they are, what they ran at and asked for, how large they were.

Notation
--------
n  rows      p  effect columns      s  request columns      k  size columns      g  guess columns
A column KNOB_requested tells what was asked for where a job ran at something else, as the jobs of a
trial do; without it a job ran as it asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.outcome import Array
from rheostat.prediction.effects.shapes import Shape, logs, shape_of
from rheostat.prediction.features.encode import codes, joined
from rheostat.prediction.features.requested_settings import requested

Ints = NDArray[np.int64]

SIZES = ("memory_b",)
"""Columns that tell the size of a problem whatever the setting, unless others are named."""
GUESSES = ("time_limit_s",)
"""Columns that guess the outcome at the setting asked for: they tell how long, not how large."""
PROBLEM = "script"
"""The column that is the same whenever the problem is."""


@dataclass(frozen=True)
class Rows:
    """n rows as arrays: codes (n,), -1 where never seen, and columns (n, ...).

    ``effect`` has columns (n, p) for each quantity; ``turned`` is true for rows that ran at another
    setting than was asked for.  ``seen`` is the place among the problems of the log.
    """

    app: Ints
    cell: Ints
    user: Ints
    problem: Ints
    effect: Mapping[str, Array]
    turned: NDArray[np.bool_]
    request: Array
    size: Array
    guess: Array
    log_run: Array
    log_asked: Array
    seen: Ints


@dataclass(frozen=True)
class EffectCoding:
    """How the columns of a log become `Rows`; ``apps`` and ``cells`` are the groups seen."""

    by: tuple[str, ...]
    within: tuple[str, ...]
    knobs: tuple[str, ...]
    quantities: tuple[str, ...]
    shapes: tuple[Shape, ...]
    sizes: tuple[str, ...]
    guesses: tuple[str, ...]
    problem: str | None
    apps: tuple[str, ...]
    cells: tuple[str, ...]
    users: tuple[str, ...]
    typical: Array
    problems: tuple[str, ...] = ()

    def rows(self, frame: pl.DataFrame) -> Rows:
        """The rows of ``frame``; a size or guess that is missing counts as the typical one."""
        ran = [frame[k] for k in self.knobs]
        asked = [_asked_for(frame, k) for k in self.knobs]
        known = [logs(frame[c]) for c in (*self.sizes, *self.guesses)]
        filled = [np.where(np.isfinite(v), v, t) for v, t in zip(known, self.typical, strict=True)]
        wide = np.stack(filled, -1) if filled else np.empty((frame.height, 0))
        pairs = list(zip(self.shapes, ran, asked, strict=True))
        return Rows(
            self._code(frame, self.by, self.apps),
            self._code(frame, self.within, self.cells),
            self._code(frame, ("user",) if "user" in frame.columns else (), self.users),
            self._problems(frame),
            {
                q: np.concatenate([s.curve(q).columns(v) for s, v, _ in pairs], axis=1)
                for q in self.quantities
            },
            np.any([(a != b).fill_null(value=False).to_numpy() for _, a, b in pairs], axis=0),
            np.concatenate([s.request(v) for s, _, v in pairs], axis=1),
            wide[:, : len(self.sizes)],
            wide[:, len(self.sizes) :],
            np.stack([_log(s, v) for s, v, _ in pairs], -1),
            np.stack([_log(s, v) for s, _, v in pairs], -1),
            self._code(frame, (*self.within, self.problem or ""), self.problems),
        )

    def as_asked(self, frame: pl.DataFrame) -> Rows:
        """The rows as they were asked for, or ran where no amount was asked for."""
        return self.rows(
            frame.with_columns(
                pl.when(pl.col(requested(k)) > 0).then(requested(k)).otherwise(k).alias(k)
                for k in self.knobs
                if requested(k) in frame.columns
            )
        )

    def unsized(self, frame: pl.DataFrame) -> NDArray[np.bool_]:
        """(n,): rows that miss a size which the log records."""
        missing = [~np.isfinite(logs(frame[c])) for c in self.sizes]
        return np.asarray(np.any([np.zeros(frame.height, dtype=bool), *missing], axis=0))

    def at_run(self, frame: pl.DataFrame) -> Array:
        """Request columns (n, s) as if each row had asked for what it runs at."""
        pairs = zip(self.shapes, self.knobs, strict=True)
        return np.concatenate([s.request(frame[k]) for s, k in pairs], axis=1)

    def exponents(self, quantity: str) -> Array:
        """Exponent of each knob in a quantity if nothing departs from perfect scaling, (knobs,)."""
        return np.array([s.exponent(quantity) for s in self.shapes])

    @property
    def first_requests(self) -> Ints:
        """Places of the first request column of each knob: its slope."""
        widths = [s.request(pl.Series(s.name, [1])).shape[1] for s in self.shapes]
        return np.cumsum([0, *widths[:-1]])

    def _code(self, frame: pl.DataFrame, columns: Sequence[str], known: Sequence[str]) -> Ints:
        if not columns:
            return np.zeros(frame.height, dtype=np.int64)
        if not set(columns) <= set(frame.columns):
            return np.full(frame.height, -1, dtype=np.int64)
        return codes(joined(frame, columns).fill_null(""), known)

    def named(self, frame: pl.DataFrame, believed: Ints) -> tuple[str, ...]:
        """Problems of each user among rows of which ``believed`` (n,) says which are the same."""
        if self.problem is None:
            return ()
        key = joined(frame, [*self.within, self.problem]).filter(believed >= frame.height)
        return tuple(key.drop_nulls().unique().sort().to_list())

    def _problems(self, frame: pl.DataFrame) -> Ints:
        """A number per problem; rows whose problem is not named are problems of their own."""
        alone = np.arange(frame.height, dtype=np.int64)
        if self.problem is None or self.problem not in frame.columns:
            return alone
        key = joined(frame, [*self.by, self.problem])
        code = key.rank("dense").cast(pl.Int64).fill_null(-1).to_numpy()
        return np.where(code >= 0, frame.height + code, alone)


def fit_coding(
    frame: pl.DataFrame,
    knobs: Sequence[str],
    quantities: Sequence[str],
    *,
    by: Sequence[str] | None,
    sizes: Sequence[str],
    problem: str | None,
    without: Sequence[str] = (),
) -> EffectCoding:
    """Learn groups, curve columns and typical values from a log.

    ``by`` names what makes jobs the same application: the application, else the user, unless said.
    Sizes and guesses in ``without`` are left out.
    """
    have = [c for c in ("app", "user") if c in frame.columns]
    of = tuple(by) if by is not None else tuple(have[:1])
    within = tuple(dict.fromkeys([*of, *have]))
    recorded = [
        c for c in dict.fromkeys((*sizes, *GUESSES)) if c in frame.columns and c not in without
    ]
    measured = [c for c in recorded if _varies(frame[c], knobs)]
    guesses = tuple(c for c in measured if c in GUESSES and c not in sizes)
    sized = tuple(c for c in measured if c in sizes)
    return EffectCoding(
        of,
        within,
        tuple(knobs),
        tuple(quantities),
        tuple(shape_of(frame[k]) for k in knobs),
        sized,
        guesses,
        problem if problem in frame.columns else None,
        _groups(frame, of),
        _groups(frame, within),
        _groups(frame, ("user",) if "user" in frame.columns else ()),
        np.array([float(np.nanmedian(logs(frame[c]))) for c in (*sized, *guesses)]),
    )


def _varies(series: pl.Series, knobs: Sequence[str]) -> bool:
    """Whether a column has positive numbers that differ, and is no knob."""
    if series.name in knobs or not series.dtype.is_numeric():
        return False
    there = logs(series)
    there = there[np.isfinite(there)]
    return bool(there.size and np.ptp(there) > 0)


def _groups(frame: pl.DataFrame, columns: Sequence[str]) -> tuple[str, ...]:
    if not columns:
        return ("",)
    return tuple(joined(frame, columns).fill_null("").unique().sort().to_list())


def _asked_for(frame: pl.DataFrame, knob: str) -> pl.Series:
    """What was asked for; what ran where that is not told, or is 0 or less of an amount."""
    if (asked := requested(knob)) not in frame.columns:
        return frame[knob]
    values, ran = frame[asked], frame[knob]
    if values.dtype.is_numeric() and ran.dtype.is_numeric() and float(ran.min() or 0) > 0:  # type: ignore[arg-type]
        values = frame.select(pl.when(pl.col(asked) > 0).then(pl.col(asked))).to_series()
    return values.fill_null(ran)


def _log(shape: Shape, values: pl.Series) -> Array:
    return logs(values) if shape.logarithmic else np.zeros(len(values))
