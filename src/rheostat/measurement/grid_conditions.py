"""Price, carbon intensity and available power over time, as grids and their services give them.

Read are CSV tables with a column of time and columns named by quantity and unit, and the JSON of
services: rows of ``datetime`` and ``carbonIntensity`` (as Electricity Maps answers), ``point_time``
and ``value`` with ``meta.units`` (as WattTime), and market documents of ENTSO-E turned into JSON.
Times of the clock alone (``17:00``) are a pattern of every day.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl

from rheostat.core.series import Series
from rheostat.core.storage.files import read_json
from rheostat.errors import DataError
from rheostat.measurement.tables import read_table

DAY_S = 86_400.0
LB_PER_MWH = 0.45359237
"""Grams per kWh in one pound per MWh: exact by definition of the pound."""
_HUNDREDTH = "(cts?|cents?|c|p|pence|rp|rappen|gr|grosz|[oø]re|öre)"
_WHOLE = "(eur|euros?|usd|dollars?|gbp|chf|sek|nok|dkk|pln|czk|huf|jpy|cny|inr|aud|cad|€|\\$|£)"
COLUMNS: tuple[tuple[str, str, float], ...] = (
    (rf"(\w*(price|tariff|preis|prix)_)?{_HUNDREDTH}_per_kwh", "price_per_kwh", 1e-2),
    (rf"(price|tariff)(_[a-z]{{3}})?_per_kwh|(\w+_)?{_WHOLE}_per_kwh", "price_per_kwh", 1.0),
    (rf"(price|tariff)(_[a-z]{{3}})?_per_mwh|(\w+_)?{_WHOLE}_per_mwh", "price_per_kwh", 1e-3),
    (r"carbon_(intensity_)?g(_?co2_?(eq?)?)?_per_kwh|carbonintensity", "carbon_g_per_kwh", 1.0),
    (r"(\w+_)?g_?co2_?(eq?)?_per_kwh", "carbon_g_per_kwh", 1.0),
    (r"carbon_(intensity_)?kg_per_mwh", "carbon_g_per_kwh", 1.0),
    (r"(carbon_)?lbs?(_co2)?_per_mwh", "carbon_g_per_kwh", LB_PER_MWH),
    (r"available_w", "available_w", 1.0),
    (r"available_kw", "available_w", 1e3),
    (r"available_mw", "available_w", 1e6),
    (r"available_share", "available_share", 1.0),
    (r"available_percent", "available_share", 1e-2),
)
"""Names of columns, what they are, and what one of their unit is in ours."""
DEAR, DEAREST = re.compile(r"(\w+_)?(eur|euros?|usd|dollars?|gbp|chf|€|\$|£)_per_kwh"), 5.0
"""Prices of a kWh that no market's middle hour has had."""
GRAMS, LEAST_G = re.compile(r"carbon_(intensity_)?g\w*_per_kwh|carbonintensity"), 1.0
"""Grams of CO2 of a kWh, of which every grid has more."""
TIMES = ("time", "datetime", "timestamp", "point_time", "start", "from", "from_s")
CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)|24:00")
DURATION = re.compile(r"PT(?:(\d+)H)?(?:(\d+)M)?")


@dataclass(frozen=True)
class GridConditions:
    """What a site's grid offers over time; None is not told.

    Parameters
    ----------
    available_w : Series or None
        Watts that the site may draw.
    available_share : Series or None
        The same as a part of what it may or would draw at most.
    price_per_kwh : Series or None
        In the currency of the file.
    carbon_g_per_kwh : Series or None
        Grams of CO2 of a kilowatt-hour.
    """

    available_w: Series | None = None
    available_share: Series | None = None
    price_per_kwh: Series | None = None
    carbon_g_per_kwh: Series | None = None

    def span_s(self) -> tuple[float, float] | None:
        """First and last moment of what does not repeat; None where all of it does."""
        stated = [s for s in (getattr(self, f.name) for f in fields(self)) if s and not s.repeat_s]
        if not stated:
            return None
        return min(s.from_s[0] for s in stated), max(s.from_s[-1] for s in stated)

    def since(self, zero_s: float) -> GridConditions:
        """The same in seconds since ``zero_s``, which a log may count its times from."""
        stated = {f.name: getattr(self, f.name) for f in fields(self)}
        return GridConditions(**{k: s and _since(s, zero_s) for k, s in stated.items()})


def _since(series: Series, zero_s: float) -> Series:
    """``series`` in seconds since ``zero_s``.

    >>> _since(Series((0.0, 61200.0), (1.0, 0.8), DAY_S), 3600.0).from_s
    (0.0, 57600.0, 82800.0)
    """
    moments = [m - zero_s for m in series.from_s]
    if not series.repeat_s:
        return Series(tuple(moments), series.values)
    return _repeating([m % series.repeat_s for m in moments], series.values, series.repeat_s)


def _repeating(moments: Iterable[float], values: Iterable[float], repeat_s: float) -> Series:
    """What the round before ended with holds until the first moment."""
    pairs = dict(sorted(zip(moments, values, strict=True)))
    if 0.0 not in pairs:
        pairs = {0.0: list(pairs.values())[-1], **pairs}
    return Series(tuple(pairs), tuple(pairs.values()), repeat_s)


def read_grid(path: str | Path, zone: str = "UTC", at_s: float = 0.0) -> GridConditions:
    r"""Series of price, carbon intensity and available power from a file.

    Parameters
    ----------
    path : path
        CSV, parquet, or JSON of a service.
    zone : str
        Of times without one, and of a clock's.
    at_s : float
        A moment, s since 1970; a clock's times are those of the zone's offset then.

    Returns
    -------
    GridConditions
        A value holds until the next moment.

    Raises
    ------
    DataError
        No times, or no column whose name says quantity and unit.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> file = Path(mkdtemp()) / "evening.csv"
    >>> _ = file.write_text("time,available_share\n00:00,1\n17:00,.8\n20:00,1\n")
    >>> read_grid(file).available_share.from_s
    (0.0, 61200.0, 72000.0)
    """
    json = Path(path).suffix.lower() == ".json"
    frame = pl.DataFrame(_rows(read_json(path), str(path))) if json else read_table(path)
    named = {c: _plain(c) for c in frame.columns}
    when = next((c for t in TIMES for c, n in named.items() if n == t), None)
    known = {c: _known(n) for c, n in named.items()}
    matched = [(c, *of) for c, of in known.items() if of is not None]
    problems = []
    if when is None:
        problems.append(f"expected a column of time ({', '.join(TIMES)}), got {_list(named)}")
    if not matched:
        problems.append(
            "expected a column that says quantity and unit (price_per_kwh, price_ct_per_kwh, "
            f"carbon_g_per_kwh, available_kw, available_share, ...), got {_list(named)}"
        )
    twice = sorted({q for _, q, _ in matched if [f[1] for f in matched].count(q) > 1})
    problems += [f"{q}: expected one column, got several" for q in twice]
    if problems or when is None:
        raise DataError(str(path), problems)
    moments, repeat_s = _moments(frame[when].to_list(), zone, at_s, str(path))
    return GridConditions(
        **{
            q: _series(
                moments, _of_that_unit(frame[c], f"{path}: {c}"), s, repeat_s, f"{path}: {c}"
            )
            for c, q, s in matched
        }
    )


def _of_that_unit(column: pl.Series, where: str) -> pl.Series:
    """Prices and grams of a kWh; a `DataError` where most are of another unit than the heading's.

    >>> _of_that_unit(pl.Series("EUR/kWh", [85.0, 120.0]), "evening.csv")
    Traceback (most recent call last):
    rheostat.errors.DataError: evening.csv: EUR/kWh is mostly above 5 for a kWh: are these of a \
MWh (write price_eur_per_mwh) or hundredths (price_ct_per_kwh)?
    """
    heading = _plain(column.name)
    middle = column.cast(pl.Float64, strict=False).median()
    if not isinstance(middle, float):
        return column
    if DEAR.fullmatch(heading) and middle > DEAREST:
        raise DataError(where, [
            f"{column.name} is mostly above {DEAREST:g} for a kWh: are these of a MWh (write "
            "price_eur_per_mwh) or hundredths (price_ct_per_kwh)?"])  # fmt: skip
    if GRAMS.fullmatch(heading) and 0 < middle < LEAST_G:
        raise DataError(where, [
            f"{column.name} is mostly below {LEAST_G:g} g of a kWh: are these kilograms (write "
            "carbon_kg_per_mwh, a thousand times as much)?"])  # fmt: skip
    return column


def _known(name: str) -> tuple[str, float] | None:
    """What a column is, and one of its unit in ours, by the first pattern that fits.

    >>> _known("price_ore_per_kwh"), _known("price_eur_per_kwh"), _known("price")
    (('price_per_kwh', 0.01), ('price_per_kwh', 1.0), None)
    """
    fits = ((q, scale) for pattern, q, scale in COLUMNS if re.fullmatch(pattern, name))
    return next(fits, None)


def _plain(heading: str) -> str:
    """A heading in small letters, its words joined as ours are.

    >>> _plain("Price [EUR/MWh]"), _plain("ct/kWh")
    ('price_eur_per_mwh', 'ct_per_kwh')
    """
    words = heading.lower().replace("/", " per ")
    return re.sub(r"[\s_()\[\],:]+", "_", words).strip("_")


def _list(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _series(
    moments: list[float], column: pl.Series, scale: float, repeat_s: float, where: str
) -> Series:
    """One column as a series, the earliest first."""
    values = column.cast(pl.Float64, strict=False).to_list()
    pairs = {m: v * scale for m, v in sorted(zip(moments, values, strict=True)) if v is not None}
    if len(pairs) < len(moments):
        problem = f"expected one number for each moment, got {len(pairs)} for {len(moments)} rows"
        raise DataError(where, [problem])
    if repeat_s:
        return _repeating(pairs, pairs.values(), repeat_s)
    return Series(tuple(pairs), tuple(pairs.values()))


def _moments(given: list[Any], zone: str, at_s: float, where: str) -> tuple[list[float], float]:
    """Seconds since 1970 of each time, and how often they come again: a day, or 0 for never."""
    try:
        clock = ZoneInfo(zone)
    except (KeyError, ValueError) as error:
        raise DataError(where, [f"expected the name of a time zone, got {zone!r}"]) from error
    if given and all(isinstance(t, str) and CLOCK.fullmatch(t.strip()) for t in given):
        east = datetime.fromtimestamp(at_s, clock).utcoffset() or timedelta()
        hours = [t.strip().split(":") for t in given]
        seconds = [int(h) * 3600.0 + int(m) * 60.0 - east.total_seconds() for h, m in hours]
        return [s % DAY_S for s in seconds], DAY_S
    try:
        return [_moment(t, clock) for t in given], 0.0
    except (TypeError, ValueError, OverflowError) as error:
        problem = f"expected times like 2026-01-31T17:00Z, or 17:00 for each day, got {error}"
        raise DataError(where, [problem]) from error


def _moment(given: Any, clock: ZoneInfo) -> float:
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return float(given)
    when = given if isinstance(given, datetime) else datetime.fromisoformat(str(given).strip())
    return (when if when.tzinfo else when.replace(tzinfo=clock)).timestamp()


def _rows(document: Any, where: str) -> list[dict[str, Any]]:
    """Rows of a service's answer, their columns named by quantity and unit."""
    if isinstance(document, Mapping) and "Publication_MarketDocument" in document:
        return _market_rows(document["Publication_MarketDocument"], where)
    rows = document
    if isinstance(document, Mapping):
        rows = next((document[k] for k in ("history", "forecast", "data") if k in document), None)
    if not isinstance(rows, list) or not rows or not all(isinstance(r, Mapping) for r in rows):
        raise DataError(where, ["expected rows under history, forecast or data"])
    meta = document.get("meta") if isinstance(document, Mapping) else None
    units = str(meta.get("units", "")) if isinstance(meta, Mapping) else ""
    return [
        {
            units if k == "value" and units else k: v
            for k, v in r.items()
            if isinstance(v, (str, int, float))
        }
        for r in rows
    ]


def _market_rows(document: Any, where: str) -> list[dict[str, Any]]:
    """Prices of a day-ahead document; positions that are left out have the price before them."""
    try:
        rows = []
        for series in _several(document["TimeSeries"]):
            unit = str(series.get("price_Measure_Unit.name", "MWH")).lower()
            for period in _several(series["Period"]):
                begin = datetime.fromisoformat(period["timeInterval"]["start"]).astimezone(UTC)
                hours, minutes = DURATION.fullmatch(period["resolution"]).groups("0")  # type: ignore[union-attr]
                step = timedelta(hours=int(hours), minutes=int(minutes))
                rows += [
                    {
                        "time": (begin + (int(p["position"]) - 1) * step).isoformat(),
                        f"price_per_{unit}": float(p["price.amount"]),
                    }
                    for p in _several(period["Point"])
                ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = (
            "expected TimeSeries, Period, timeInterval, resolution and Point with price.amount"
        )
        raise DataError(where, [f"{problem}, got no such {error}"]) from error
    return rows


def _several(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [given]


def daily_share(share: float, from_hour: float, to_hour: float) -> GridConditions:
    """A part of the power between two hours of every day, all of it in the others.

    Parameters
    ----------
    share : float
        Part of what the site may or would draw at most.
    from_hour, to_hour : float
        0 to 24, of the clock that times are counted by; from 22 to 6 is a night.

    Returns
    -------
    GridConditions
        With ``available_share``.

    Raises
    ------
    DataError
        Both hours are the same.

    Examples
    --------
    >>> evening = daily_share(0.8, 17, 20).available_share
    >>> evening.from_s, evening.values
    ((0.0, 61200.0, 72000.0), (1.0, 0.8, 1.0))
    >>> daily_share(0.8, 22, 6).available_share.values
    (0.8, 1.0, 0.8)
    """
    begin, end = (h * 3600 % DAY_S for h in (from_hour, to_hour))
    if begin == end:
        problem = f"expected two different hours, got {from_hour:g} and {to_hour:g}"
        raise DataError("daily cap", [problem])
    return GridConditions(available_share=_repeating((begin, end), (share, 1.0), DAY_S))
