"""`Series`: a value that changes at known moments, such as a power cap, a tariff, grid carbon."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat.errors import DataError

MOST_CHANGES = 1_000_000
"""Moments at which a value begins, of all that is simulated or planned."""


@dataclass(frozen=True)
class Series:
    """``values[k]`` from ``from_s[k]`` until ``from_s[k + 1]``; before the first, the first.

    With ``repeat_s`` the pattern comes again and again, in both directions.

    Parameters
    ----------
    from_s : tuple of float
        Moments from which the values hold, s, ascending.
    values : tuple of float
        As many values.
    repeat_s : float
        Length of the pattern, s; 0 does not repeat.

    Raises
    ------
    DataError
        Different lengths, moments not in order, or numbers that are none.

    Examples
    --------
    >>> night = Series((0.0, 21600.0, 79200.0), (0.1, 0.3, 0.1), repeat_s=86400.0)
    >>> night.at(np.array([3600.0, 43200.0, 86400.0 + 82800.0])).tolist()
    [0.1, 0.3, 0.1]
    """

    from_s: tuple[float, ...]
    values: tuple[float, ...]
    repeat_s: float = 0.0

    def __post_init__(self) -> None:
        problems = []
        given = (*self.from_s, *self.values, self.repeat_s)
        if not all(isinstance(v, (int, float)) and np.isfinite(v) for v in given):
            problems.append("expected numbers")
        elif len(self.from_s) != len(self.values) or not self.from_s:
            problems.append(
                f"expected as many from_s as values, got {len(self.from_s)} and {len(self.values)}"
            )
        elif not (np.diff(self.from_s) > 0).all():
            problems.append("expected from_s in ascending order")
        elif self.repeat_s < 0 or (
            self.repeat_s and (self.from_s[0] != 0 or self.from_s[-1] >= self.repeat_s)
        ):
            problems.append("expected from_s from 0 on and below repeat_s")
        if problems:
            raise DataError("series", problems)

    @classmethod
    def of(cls, given: Any) -> Series:
        """From a number, or a mapping with from_s, value and perhaps repeat_s.

        >>> Series.of(5).values, Series.of({"from_s": [0, 60], "value": [1, 2]}).from_s
        ((5.0,), (0.0, 60.0))
        """
        if isinstance(given, Series):
            return given
        if isinstance(given, (int, float)) and not isinstance(given, bool):
            return cls((0.0,), (float(given),))
        if not isinstance(given, Mapping) or not {"from_s", "value"} <= set(given):
            raise DataError("series", [f"expected a number or from_s and value, got {given!r}"])
        odd = sorted(set(given) - {"from_s", "value", "repeat_s"})
        if odd:
            raise DataError("series", [f"{k} is not known" for k in odd])
        try:
            moments, values = (tuple(map(float, given[k])) for k in ("from_s", "value"))
            return cls(moments, values, float(given.get("repeat_s", 0.0)))
        except (TypeError, ValueError) as error:
            raise DataError("series", [f"expected lists of numbers: {error}"]) from error

    def at(self, moments: np.ndarray) -> np.ndarray:
        """The value at each of ``moments``."""
        when = np.asarray(moments, float)
        if self.repeat_s:
            when = np.mod(when, self.repeat_s)
        place = np.searchsorted(self.from_s, when, side="right") - 1
        return np.asarray(self.values)[np.maximum(place, 0)]

    def changes(self, begin: float, end: float) -> np.ndarray:
        """Moments in (begin, end] at which a new value begins."""
        one = np.asarray(self.from_s)
        if self.repeat_s:
            changes = (end - begin) / self.repeat_s * len(one)
            if changes > MOST_CHANGES:
                problem = (
                    f"repeat_s: {self.repeat_s:g} s gives {changes:.2g} changes of a value in "
                )
                limit = f"{end - begin:g} s; expected at most {MOST_CHANGES:,}"
                raise DataError("series", [problem + limit])
            rounds = np.arange(begin // self.repeat_s, end // self.repeat_s + 1) * self.repeat_s
            one = (rounds[:, None] + one).ravel()
        return one[(one > begin) & (one <= end)]
