"""``--within``: a bound for 99 of 100 answers, in seconds or as times first come, first served."""

from __future__ import annotations


def bound(text: str) -> tuple[float, float]:
    """Seconds, and times first come, first served (0 where seconds are meant).

    Examples
    --------
    >>> bound("90s"), bound("1.2x"), bound("")
    ((90.0, 0.0), (inf, 1.2), (inf, 0.0))
    """
    from rheostat.core.units import parse_duration
    from rheostat.errors import DataError

    if not text:
        return float("inf"), 0.0
    try:
        number = float(text[:-1]) if text.endswith("x") else parse_duration(text)
    except (ValueError, DataError) as error:
        raise DataError("--within", [f"expected as 90s or 1.2x, got {text!r}"]) from error
    if not 0 < number < float("inf"):
        raise DataError("--within", [f"expected above 0, as 90s or 1.2x, got {text!r}"])
    return (float("inf"), number) if text.endswith("x") else (number, 0.0)
