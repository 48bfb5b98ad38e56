"""Pictures of schedules: over time, by group, who holds the machine, wait against wait, Gantt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rheostat.core.report import Chart
from rheostat.core.units import plain_name
from rheostat.explanation.number_words import chart_unit, duration, number_words
from rheostat.explanation.pictures.axes import axis_of, even_ticks, names_axis, number, scale_of
from rheostat.explanation.pictures.drawing import (
    Axis,
    Bars,
    ColourScale,
    Drawing,
    HeatCells,
    LineMark,
    Numbers,
)

COLOURS = ("one", "two", "three", "four", "five", "six")
DASHES = ("solid", "dash", "dot", "dashdot")
PIXELS, LETTER = 760.0, 6.8
"""Width of the drawing area of a Gantt chart, and of a letter in it."""
LOG_TICKS_S = (1.0, 10.0, 60.0, 600.0, 3600.0, 36_000.0, 86_400.0, 864_000.0, 8_640_000.0)
COUNTS = (1.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0)


def style(place: int) -> tuple[str, str]:
    """(colour, dash) of the policy at this place: the same in every picture of a report.

    >>> style(1), style(7)
    (('two', 'solid'), ('two', 'dash'))
    """
    return COLOURS[place % len(COLOURS)], DASHES[place // len(COLOURS) % len(DASHES)]


def over_time(chart: Chart) -> Drawing:
    """Values that hold until the next, a line per policy; a limit is dashed and black."""
    elements = []
    for k, s in enumerate(chart.series):
        colour, dash = ("ink", "dash") if s.get("limit") else style(k)
        x, y = tuple(s["x"]), tuple(s["y"])
        elements.append(LineMark(x, y, s["name"], colour, dash, 1.4, steps=True))
    x_axis = axis_of(chart.axes[0], _all(chart, "x"), chart_unit(chart, 0), zero=True)
    y_axis = axis_of(chart.axes[1], _all(chart, "y"), chart_unit(chart, 1), zero=True)
    return Drawing(x_axis, y_axis, tuple(elements))


def columns(chart: Chart) -> Drawing:
    """Upright bars in groups, a bar per policy."""
    names = [str(n) for n in chart.series[0]["x"]]
    unit = chart_unit(chart, 1)
    width = 0.84 / len(chart.series)
    elements = []
    for k, s in enumerate(chart.series):
        shift = (k - (len(chart.series) - 1) / 2) * width
        at = tuple(i + shift for i in range(len(names)))
        hover = tuple(
            f"<b>{s['name']}</b><br>{n}: {number_words(v, unit)}"
            for n, v in zip(names, s["y"], strict=True)
        )
        colour, _ = style(s.get("place", k))
        elements.append(
            Bars(at, tuple(s["y"]), (width,) * len(at), name=s["name"], colour=colour,
                 shade=(), upright=True, hover=hover)
        )  # fmt: skip
    y_axis = axis_of(chart.axes[1], _all(chart, "y"), unit, zero=True)
    return Drawing(names_axis(chart.axes[0], names), y_axis, tuple(elements))


def occupancy(chart: Chart) -> Drawing:
    """Share of the machine held (darker: more) by each row over time."""
    (s,) = chart.series
    top = max((v for row in s["z"] for v in row if v is not None), default=0.0) or 1.0
    ticks = even_ticks(0.0, 100 * top)
    scale = ColourScale(
        "share of the machine (%)", tuple(t / 100 / top for t in ticks), _words(ticks)
    )
    shade = tuple(tuple(None if v is None else v / top for v in row) for row in s["z"])
    rows = [str(n) for n in s["y"]]
    cells = HeatCells(
        tuple(s["x"]), tuple(map(float, range(len(rows)))), shade, scale, y_words=tuple(rows)
    )
    x = axis_of(chart.axes[0], s["x"], chart_unit(chart, 0), zero=True)
    height = max(230, 120 + 26 * len(rows))
    return Drawing(x, names_axis(chart.axes[1], rows, downward=True), (cells,), height)


def pairs(chart: Chart) -> Drawing:
    """Jobs counted by two waits, both in powers of ten of a second (``x`` and ``y``)."""
    (s,) = chart.series
    most = max((v for row in s["z"] for v in row if v), default=1.0)
    top = math.log10(most) or 1.0
    ticks = [c for c in COUNTS if c <= most]
    scale = ColourScale(
        "jobs", tuple(_seen(math.log10(c) / top) for c in ticks), tuple(f"{c:,.0f}" for c in ticks)
    )
    shade = tuple(tuple(_seen(math.log10(v) / top) if v else None for v in row) for row in s["z"])
    said = tuple(tuple(f"{v:,.0f} jobs" if v else "" for v in row) for row in s["z"])
    words = tuple(duration(10.0**v) for v in s["x"])
    cells = HeatCells(tuple(s["x"]), tuple(s["y"]), shade, scale, words, words, said)
    half = (s["x"][1] - s["x"][0]) / 2
    low, high = s["x"][0] - half, s["x"][-1] + half
    diagonal = LineMark((low, high), (low, high), colour="mute", dash="dot")
    axes = [_log_seconds(a, low, high) for a in chart.axes]
    return Drawing(axes[0], axes[1], (cells, diagonal), height=440)


def _log_seconds(title: str, low: float, high: float) -> Axis:
    ticks = [t for t in LOG_TICKS_S if low <= math.log10(t) <= high]
    places, words = tuple(math.log10(t) for t in ticks), tuple(duration(t) for t in ticks)
    return Axis(title, low, high, places, words)


def gantt(chart: Chart) -> Drawing:
    """A bar per job from start to end; the darker, the greater its ``value``."""
    (s,) = chart.series
    ends = [b + n for b, n in zip(s["begin"], s["length"], strict=True)]
    x = axis_of(chart.axes[0], ends, chart_unit(chart, 0), zero=True)
    if "rows" in s:
        y = names_axis(chart.axes[1], s["rows"], downward=True)
    else:
        y = axis_of(chart.axes[1], [0.0, s["top"]], "")
        y = Axis(y.title, 0.0, float(s["top"]), y.ticks, y.words)
    shade, scale = _shades(s["value"], s["limits"], s["quantity"], s["unit"])
    bars = Bars(
        tuple(s["row"]), tuple(s["length"]), tuple(s["width"]), tuple(s["begin"]), shade=shade,
        scale=scale, hover=tuple(s["hover"]),
        labels=tuple(_cut(t, PIXELS * n / x.high - 6)
                     for t, n in zip(s.get("labels") or (), s["length"], strict=False)),
    )  # fmt: skip
    height = max(200, 110 + 46 * len(s["rows"])) if "rows" in s else 460
    return Drawing(x, y, (bars,), height)


def _cut(text: str, room: float) -> str:
    """As much of a name as ``room`` pixels hold; nothing where that is too little.

    >>> _cut("resnet50", 100), _cut("conjugateGradient", 60), _cut("gpt2", 8)
    ('resnet50', 'conjuga…', '')
    """
    letters = int(room / LETTER)
    if len(text) <= letters:
        return text
    return f"{text[: letters - 1]}…" if letters > 2 else ""


def _shades(
    values: Sequence[float], limits: Sequence[float], name: str, unit: str
) -> tuple[Numbers, ColourScale]:
    """Shades of bars; times on a logarithmic scale."""
    if unit == "s":
        low, high = (math.log10(max(v, 1.0)) for v in limits)
        ticks = [t for t in LOG_TICKS_S if low - 1e-9 <= math.log10(t) <= high + 1e-9]
        places, words = [math.log10(t) for t in ticks], tuple(duration(t) for t in ticks)
        title = name
        values = [math.log10(max(v, 1.0)) for v in values]
    else:
        low, high = limits
        size, label = scale_of(high, unit)
        drawn = even_ticks(low / size, high / size) if high > low else [low / size]
        places, words = [t * size for t in drawn], _words(drawn)
        title = f"{plain_name(name)} ({label})"
    span = (high - low) or 1.0
    return (
        tuple(round(_seen((v - low) / span), 3) for v in values),
        ColourScale(title, tuple(_seen((p - low) / span) for p in places), words),
    )


def _seen(share: float) -> float:
    """A shade from 0.1 up, so that the lightest is not the paper's.

    >>> _seen(0.0), _seen(1.0)
    (0.1, 1.0)
    """
    return 0.1 + 0.9 * share


def _words(ticks: Sequence[float]) -> tuple[str, ...]:
    return tuple(map(number, ticks))


def _all(chart: Chart, key: str) -> list[Any]:
    return [v for s in chart.series for v in s[key]]
