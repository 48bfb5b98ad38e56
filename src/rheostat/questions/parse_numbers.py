"""Numbers and bounds that people type; apart, as a proxy reads them that loads no tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rheostat.core.units import parse_duration
from rheostat.errors import DataError


def parse_numbers(given: str | Sequence[float], count: int, flag: str) -> list[float]:
    """So many numbers, as a text with commas between.

    >>> parse_numbers("100,600", 2, "--power")
    [100.0, 600.0]
    """
    try:
        values = [float(v) for v in (given.split(",") if isinstance(given, str) else given)]
    except ValueError:
        values = []
    if len(values) != count:
        raise DataError(flag, [f"expected {count} numbers with commas between, got {given!r}"])
    return values


def parse_bound(within: str | float, flag: str = "--within") -> tuple[float, float]:
    """Seconds, and times first come, first served (0 where seconds are meant).

    >>> parse_bound("90s"), parse_bound("1.2x"), parse_bound("")
    ((90.0, 0.0), (inf, 1.2), (inf, 0.0))
    """
    if within == "":
        return math.inf, 0.0
    text = str(within)
    try:
        number = float(text[:-1]) if text.endswith("x") else parse_duration(text)
    except (ValueError, DataError) as error:
        raise DataError(flag, [f"expected as 90s or 1.2x, got {text!r}"]) from error
    if not 0 < number < math.inf:
        raise DataError(flag, [f"expected above 0, as 90s or 1.2x, got {text!r}"])
    return (math.inf, number) if text.endswith("x") else (number, 0.0)
