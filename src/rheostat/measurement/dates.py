"""Instants as sites write them: ISO 8601, or dates with points or strokes, names of months, a zone.

``09/01/2026`` is a day of September in one country and of January in another.  One order holds for
all columns of a table: the one in which more cells are dates, else the one in which the table spans
less time, else the day comes first; which it is gets noted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

ISO = r"^\s*(\d{4}-\d\d-\d\d([T ]|$))"
NUMBER = r"^\s*[-+]?\d+(\.\d*)?\s*$"
WITH_ZONE = r"\d\d:\d\d(:\d\d(\.\d+)?)?\s*(Z|[-+]\d\d:?\d\d)\s*$"
DAY_FIRST = ("%d/%m/%Y", "%d-%m-%Y", "%d/%m/%y")
MONTH_FIRST = ("%m/%d/%Y", "%m-%d-%Y", "%m/%d/%y")
EITHER = (
    "%d.%m.%Y",
    "%d.%m.%y",
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%d-%b-%Y",
    "%d %b %Y",
    "%b %d %Y",
    "%b %d, %Y",
)
TIMES = (
    " %H:%M:%S%.f",
    " @ %H:%M:%S%.f",
    " %H:%M",
    " %I:%M:%S %p",
    " %I:%M %p",
    "T%H:%M:%S%.f",
    "",
)
WHOLE = (
    "%a %b %d %H:%M:%S %Y",
    "%b %d %H:%M:%S %Y",
    "%b %d %H:%M %Y",
    "%Y%m%dT%H%M%S",
    "%Y%m%d %H:%M:%S",
)
MARKED = r"(\d\d:\d\d(?::\d\d)? \d{4}) [A-Z]$"
"""``Oct  1 00:35 2026 L`` of LSF: a letter says that the end was estimated or is by a limit."""
AS_ISO = "%Y-%m-%d %H:%M:%S%.f"
READ = "times as {} read {}"
GUESSED = ", as the log is shorter so: write them as 2026-09-13 00:00:49 if that is wrong"

SERIAL, SERIAL_SPAN, SERIAL_1970 = (30_000.0, 60_000.0), 2_000.0, 25_569.0
"""Days of spreadsheets from 1982 to 2064, the longest log in them, and the first of 1970."""
EPOCHS = ((1e17, 1e-9, "ns"), (1e14, 1e-6, "us"), (1e11, 1e-3, "ms"))
"""Moments larger than this are nanoseconds, microseconds or milliseconds since 1970."""


def since_1970(numbers: pl.Series) -> tuple[float, str]:
    """Seconds in one unit of moments, and that unit: as seconds some were of the year 5138.

    >>> since_1970(pl.Series([1_788_003_334_000])), since_1970(pl.Series([1_788_003_334.0, None]))
    ((0.001, 'ms'), (1.0, 's'))
    """
    known = numbers.cast(pl.Float64, strict=False).abs()
    middle = known.filter(known.is_finite()).median()
    if not isinstance(middle, float):
        return 1.0, "s"
    return next(((scale, unit) for above, scale, unit in EPOCHS if middle > above), (1.0, "s"))


def serial_days(columns: Mapping[str, pl.Series]) -> bool:
    """Whether numbers are days since 1899-12-30, as spreadsheets write moments.

    All are of 1982 to 2064, within some years, and some lie between two midnights.

    >>> serial_days({"start": pl.Series([46296.0, 46297.0]), "end": pl.Series([46296.5, 46297.25])})
    True
    >>> serial_days({"start": pl.Series([0.0, 46297.5])})
    False
    """
    known = [v.cast(pl.Float64, strict=False).drop_nulls() for v in columns.values()]
    every = pl.concat(known) if known else pl.Series([], dtype=pl.Float64)
    if not every.len():
        return False
    low, high = every.to_numpy().min(), every.to_numpy().max()
    within = SERIAL[0] <= low <= high <= SERIAL[1] and high - low < SERIAL_SPAN
    return bool(within and (every % 1 != 0).any())


def from_serial(days: pl.Expr) -> pl.Expr:
    """Moments of days since 1899-12-30, to the second.

    >>> pl.select(from_serial(pl.lit(46296.5))).item().isoformat()
    '2026-10-01T12:00:00'
    """
    seconds = ((days.cast(pl.Float64) - SERIAL_1970) * 86_400.0).round()
    return pl.from_epoch(seconds.cast(pl.Int64), time_unit="s")


def iso_seconds(texts: pl.Expr) -> pl.Expr:
    """Seconds since 1970 of ISO 8601, in UTC where it has no zone; null where it is none.

    >>> texts = pl.Series(["2023-11-16 18:15:46.6805900", "2025-11-01T00:00:00.5+01:00", "soon"])
    >>> pl.select(iso_seconds(pl.lit(texts))).to_series().to_list()
    [1700158546.68059, 1761951600.5, None]
    """
    one = texts.str.strip_chars().str.replace(" ", "T", literal=True)
    one = one.str.replace_all("/", "-", literal=True)
    zoned = one.str.to_datetime("%+", time_unit="us", time_zone="UTC", strict=False)
    local = [one.str.to_datetime(f"%Y-%m-%dT%H:%M{rest}", time_unit="us", strict=False)
             for rest in (":%S%.f", "")]  # fmt: skip
    return pl.coalesce(when.dt.timestamp("us") for when in (zoned, *local)) / 1e6


def instants_of(columns: Mapping[str, pl.Series]) -> tuple[dict[str, pl.Series], list[str]]:
    """Columns of texts that are instants in a form that Python and polars read, and what to note.

    A column whose times have a zone becomes instants in UTC; other dates become ISO 8601 without
    one.  Cells that are no date stay as they are, and columns that are ISO 8601 are not returned.

    >>> made, said = instants_of({"end": pl.Series(["09/01/2026 00:14:59", "09/13/2026 01:00:00"])})
    >>> made["end"][0], said
    ('2026-09-01 00:14:59', ["times as '09/01/2026 00:14:59' read month first"])
    >>> instants_of({"end": pl.Series(["2026-09-01T00:06:25Z"])})[0]["end"].dt.epoch("s").to_list()
    [1788221185]
    """
    zoned = {n: v for n, v in columns.items() if v.str.contains(WITH_ZONE).mean() == 1.0}
    made = {n: v.str.to_datetime(strict=False, time_unit="us") for n, v in zoned.items()}
    rest = {n: v for n, v in columns.items() if n not in made}
    odd = {n: v for n, v in rest.items() if _unread(v).len() > v.count() / 2}
    if not odd:
        return made, []
    by_order = {
        words: {n: _dates(v, (*first, *EITHER)) for n, v in odd.items()}
        for words, first in (("day first", DAY_FIRST), ("month first", MONTH_FIRST))
    }
    order = min(by_order, key=lambda words: _misfit(by_order[words].values()))
    read = {n: v for n, v in by_order[order].items() if v.count()}
    made |= {n: v.dt.strftime(AS_ISO).fill_null(odd[n]) for n, v in read.items()}
    return made, _words(order, by_order, odd) if read else []


def _unread(values: pl.Series) -> pl.Series:
    """Cells that are neither ISO 8601 nor a number."""
    known = values.str.contains(ISO) | values.str.contains(NUMBER)
    return values.filter(~known.fill_null(value=True))


def _dates(values: pl.Series, days: Iterable[str]) -> pl.Series:
    """The instants, in the one form that reads most cells; null where it reads none."""
    text = values.str.strip_chars().str.replace_all(r"\s+", " ").str.replace(MARKED, "$1")
    some = text.drop_nulls().head(200)
    forms = [*(day + time for day in days for time in TIMES), *WHOLE]
    likely = [f for f in forms if _parsed(some, f).count()]
    return max(
        (_parsed(text, f) for f in likely), key=pl.Series.count, default=_parsed(text, AS_ISO)
    )


def _parsed(text: pl.Series, form: str) -> pl.Series:
    return text.str.to_datetime(form, strict=False, time_unit="us")


def _misfit(columns: Iterable[pl.Series]) -> tuple[int, float]:
    """How many cells are no date, and the time from the first to the last, s."""
    every = pl.concat(list(columns))
    dates = every.dt.epoch("s").drop_nulls()
    numbers = dates.to_numpy()
    return every.null_count(), float(numbers.max() - numbers.min()) if len(numbers) else 0.0


def _words(
    order: str, by_order: Mapping[str, Mapping[str, pl.Series]], odd: Mapping[str, pl.Series]
) -> list[str]:
    """What is noted of the order, and whether it is a guess."""
    readings = [list(columns.values()) for columns in by_order.values()]
    example = next(repr(_unread(v)[0]) for v in odd.values())
    if all(a.equals(b, null_equal=True) for a, b in zip(*readings, strict=True)):
        return []
    unsure = len({_misfit(columns)[0] for columns in readings}) == 1
    return [READ.format(example, order) + GUESSED * unsure]
