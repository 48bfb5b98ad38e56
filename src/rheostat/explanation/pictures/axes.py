"""Axes that say what they show: a name, a unit, ticks at 1, 2 and 5, room for every interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from rheostat.core.units import plain_name, unit_of
from rheostat.explanation.number_words import MINUS
from rheostat.explanation.pictures.drawing import Axis

MOST = 8
"""Labels on an axis."""
PREFIXED = ("W", "J", "J s", "B", "Hz")
SCALES = {
    "s": ((86_400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms")),
    "share": ((0.01, "%"),),
    "%": ((1.0, "%"),),
    "node_h": ((1.0, "node-hours"),),
    "proc_s": ((3600.0, "processor-hours"),),
}


def axis_of(
    name: str,
    values: Iterable[object],
    unit: str | None = None,
    *,
    log: bool = False,
    zero: bool = False,
) -> Axis:
    """The axis of a quantity that reaches over all ``values``, in the unit that reads best.

    Parameters
    ----------
    name : str
        A column such as ``energy_j``, or words.
    values : iterable
        In base units; what is no finite number is left out.
    unit : str, optional
        The base unit, where the name does not carry it; "share" is drawn as percent, "date" as
        the date of seconds since 1970, where the calendar has such a year.
    log : bool
        Logarithmic, where all values are above 0.
    zero : bool
        Begin at 0.

    Examples
    --------
    >>> energy = axis_of("energy_j", [2e5, 8e6], log=True)
    >>> energy.title, energy.words
    ('energy (MJ)', ('0.2', '0.5', '1', '2', '5'))
    >>> axis_of("runtime_s", [600.0, 50_000.0], log=True).title
    'runtime (h)'
    >>> axis_of("change", [-0.07, 0.05], "share").words
    ('−6', '−4', '−2', '0', '2', '4')
    >>> axis_of("submit_s", [0.0, 1e15], "date").title  # 31 million years
    'submit (d)'
    """
    if unit == "date":
        if _in_the_calendar(values):
            return date_axis(name, values)
        unit = "s"
    seen = [float(v) for v in values if isinstance(v, (int, float)) and math.isfinite(v)]
    base = unit_of(name) if unit is None else unit
    log = log and bool(seen) and min(seen) > 0
    if not log and zero:
        seen.append(0.0)
    low, high = reach(seen or [0.0, 1.0], log)
    if not log and zero:
        low = 0.0 if min(seen) >= 0 else low
    size, label = scale_of(1.5 * math.sqrt(low * high) if log else max(abs(low), abs(high)), base)
    ticks = (log_ticks if log else even_ticks)(low / size, high / size)
    title = f"{plain_name(name)} ({label})" if label else plain_name(name)
    words = _thinned(ticks) if log else tuple(map(number, ticks))
    return Axis(title, low, high, tuple(t * size for t in ticks), words, log)


def _in_the_calendar(values: Iterable[object]) -> bool:
    """Whether all moments are of the years 1 to 9999, which alone have dates."""
    seen = [v for v in values if isinstance(v, (int, float)) and math.isfinite(v)]
    return all(FIRST_S <= v < LAST_S for v in seen)


FIRST_S = datetime.min.replace(tzinfo=UTC).timestamp()
LAST_S = datetime.max.replace(tzinfo=UTC).timestamp()


def date_axis(title: str, values: Iterable[object]) -> Axis:
    """The axis of moments of the calendar, seconds since 1970: ticks at midnights, UTC.

    >>> axis = date_axis("date", [1_767_225_600.0, 1_769_904_000.0])
    >>> axis.words[:2], axis.title
    (('2026-01-01', '01-08'), 'date (UTC)')
    >>> date_axis("date", [1_767_225_600.0, 1_767_240_000.0]).words[:2]
    ('2026-01-01 00:00', '00:30')
    """
    seen = [float(v) for v in values if isinstance(v, (int, float)) and math.isfinite(v)]
    low, high = (min(seen), max(seen)) if seen else (0.0, 1.0)
    high = max(high, low + 60.0)
    months = high - low > MONTHS_S
    if months:
        ticks = _months(low, high)
    else:
        step = next(s for s in STEPS_S if (high - low) / s <= MOST)
        first = math.ceil(low / step) * step
        ticks = [first + i * step for i in range(int((high - first) // step) + 1)]
    words = _dates(ticks, clock=not months and ticks[1:] and ticks[1] - ticks[0] < DAY_S)
    return Axis(f"{title} (UTC)", low, high, tuple(ticks), words)


DAY_S = 86_400.0
MONTHS_S = 60 * DAY_S
STEPS_S = (60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0, 10_800.0, 21_600.0, 43_200.0,
           DAY_S, 2 * DAY_S, 7 * DAY_S, 14 * DAY_S)  # fmt: skip


def _months(low: float, high: float) -> list[float]:
    """Firsts of months, or of every third, sixth or twelfth, ..."""
    begin, end = (datetime.fromtimestamp(s, UTC) for s in (low, high))
    months = range(12 * begin.year + begin.month, 12 * end.year + end.month)
    every = next(n for n in (1, 2, 3, 6, 12, 24, 60, 120, 1200, 24_000) if len(months) / n <= MOST)
    at = [m for m in months if m % every == 0]
    return [datetime(m // 12, m % 12 + 1, 1, tzinfo=UTC).timestamp() for m in at]


def _dates(ticks: Sequence[float], *, clock: object) -> tuple[str, ...]:
    """Words of ticks; what the tick before said already, the year or the day, is left out."""
    words, before = [], ""
    for tick in ticks:
        when = datetime.fromtimestamp(tick, UTC)
        day = f"{when:%Y-%m-%d}"
        short = day if day[:4] != before[:4] else day[5:]
        hour = f"{when:%H:%M}" if day == before else f"{short} {when:%H:%M}"
        words.append(hour if clock else short)
        before = day
    return tuple(words)


def names_axis(title: str, names: Sequence[str], *, downward: bool = False) -> Axis:
    """Places 0, 1, 2, ... with these names; ``downward`` puts the first on top."""
    low, high = -0.5, len(names) - 0.5
    ends = (high, low) if downward else (low, high)
    return Axis(title, *ends, tuple(map(float, range(len(names)))), tuple(names), names=True)


def reach(values: Sequence[float], log: bool) -> tuple[float, float]:
    """The ends of an axis: a little beyond the values; some room about a single one.

    >>> reach([10.0, 1000.0], log=True)[0] < 10.0 < 1000.0 < reach([10.0, 1000.0], log=True)[1]
    True
    >>> reach([5.0], log=False)
    (4.5, 5.5)
    """
    low, high = min(values), max(values)
    if log:
        margin = max((high / low) ** 0.05, 1.25 if high / low < 1.05 else 1.0)
        return low / margin, high * margin
    margin = 0.05 * (high - low) or 0.1 * abs(high) or 1.0
    return low - margin, high + margin


def scale_of(value: float, unit: str) -> tuple[float, str]:
    """(base units in one drawn, what it is called) for an axis about ``value``.

    >>> scale_of(7200.0, "s"), scale_of(3e5, "W"), scale_of(0.5, "share"), scale_of(3.0, "")
    ((3600.0, 'h'), (1000.0, 'kW'), (0.01, '%'), (1.0, ''))
    """
    if unit in PREFIXED:
        steps = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
        size, prefix = next((s for s in steps if value >= s[0]), steps[-1])
        return size, f"{prefix}{unit}"
    scales = SCALES.get(unit, ((1.0, "" if unit == "1" else unit),))
    return next((s for s in scales if value >= 1.5 * s[0]), scales[-1])


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, ...; evenly spaced ones where the ends lie close together.

    >>> log_ticks(0.9, 60), log_ticks(210, 290)
    ([1.0, 2.0, 5.0, 10.0, 20.0, 50.0], [220.0, 240.0, 260.0, 280.0])
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [m * 10.0**e for e in powers for m in (1, 2, 5) if low <= m * 10.0**e <= high]
    return fine if len(fine) > 2 else even_ticks(low, high)


def _thinned(ticks: Sequence[float]) -> tuple[str, ...]:
    """Words of logarithmic ticks: all, or where that is too many every power of ten, or some.

    >>> _thinned([1.0, 2.0, 5.0, 10.0]), _thinned(log_ticks(1, 2000))[:5]
    (('1', '2', '5', '10'), ('1', '', '', '10', ''))
    """
    if len(ticks) <= MOST + 1:
        return tuple(map(number, ticks))
    powers = [t for t in ticks if math.isclose(10 ** round(math.log10(t)), t)]
    shown = powers[:: math.ceil(len(powers) / MOST)]
    return tuple(number(t) if t in shown else "" for t in ticks)


def even_ticks(low: float, high: float) -> list[float]:
    """At most eight multiples of 1, 2 or 5 times a power of ten.

    >>> even_ticks(0, 36), even_ticks(-0.07, 0.05)
    ([0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0], [-0.06, -0.04, -0.02, 0.0, 0.02, 0.04])
    """
    span = high - low
    steps = (
        m * 10.0 ** (math.floor(math.log10(span)) + e) for e in (-2, -1, 0, 1) for m in (1, 2, 5)
    )
    step = next(s for s in steps if math.floor(high / s) - math.ceil(low / s) < MOST)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{i * step:.12g}") for i in range(first, last + 1)]


def number(value: float) -> str:
    """A tick's word.

    >>> number(1500.0), number(0.25), number(-3.0), number(2e7)
    ('1,500', '0.25', '−3', '2e7')
    """
    size = abs(value)
    if size and not 1e-4 <= size < 1e6:
        return f"{value:.3g}".replace("e+0", "e").replace("e-0", "e-").replace("-", MINUS)
    text = f"{size:,.6f}".rstrip("0").rstrip(".")
    return f"{MINUS}{text}" if value < 0 else text
