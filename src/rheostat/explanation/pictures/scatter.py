"""Draw a chart with characters, for a terminal: points, a line, bars.

Each point has a glyph of its own kind (on the front, dominated, chosen, asked for), so that the
picture reads the same without colour.  Where two points share a cell, the weightier glyph wins.

Notation
--------
w, h  columns and rows of the drawing area      x, y : (n,) positions, log-scaled where all positive
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rheostat.core.report import Chart
from rheostat.core.units import plain_name
from rheostat.explanation.number_words import chart_unit, quantity, share

GLYPHS = {"chosen": "\N{BLACK DIAMOND}", "requested": "\N{WHITE SQUARE}", "front": "o"}
GLYPHS |= {"true": "x", "dominated": "\N{MIDDLE DOT}"}
WEIGHT = (" ", "\N{MIDDLE DOT}", "x", "o", "\N{WHITE SQUARE}", "\N{BLACK DIAMOND}")
BLOCKS = " ▏▎▍▌▋▊▉█"


def draw(chart: Chart, width: int = 72, height: int = 10) -> list[str]:
    """Lines of at most ``width`` columns that show ``chart``; an empty chart is no lines."""
    if chart.kind == "bar":
        return bars(chart, width)
    points = [p for s in chart.series for p in _points(s)]
    if len(points) < 2:
        return []
    return scatter(points, chart, width=width, height=height)


def _points(series: object) -> list[tuple[float, float, str]]:
    """(x, y, glyph) of the finite points of a series."""
    s = dict(series)  # type: ignore[call-overload]
    kinds = s.get("kinds") or [s.get("kind", "front")] * len(s["x"])
    glyphs = (s.get("glyph") or GLYPHS.get(k, "o") for k in kinds)
    every = zip(s["x"], s["y"], glyphs, strict=False)
    return [(x, y, g) for x, y, g in every if _finite(x) and _finite(y)]


def _finite(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def place(values: Sequence[float], cells: int, log: bool) -> list[int]:
    """Cell of each value, 0 to ``cells`` - 1; equal values all go to cell 0.

    >>> place([1, 10, 100], 5, log=True), place([3, 3], 5, log=False)
    ([0, 2, 4], [0, 0])
    """
    z = [math.log(v) for v in values] if log else [float(v) for v in values]
    low, high = min(z), max(z)
    return [round((v - low) / (high - low) * (cells - 1)) if high > low else 0 for v in z]


def scatter(
    points: Sequence[tuple[float, float, str]], chart: Chart, *, width: int, height: int
) -> list[str]:
    """Points as text; the y axis is labelled at its ends, the x axis below."""
    x, y = [p[0] for p in points], [p[1] for p in points]
    units = [chart_unit(chart, i) for i in range(2)]
    ends = [_label(v, units[1]) for v in (max(y), min(y))]
    margin = max(len(e) for e in (*ends, plain_name(chart.axes[1]))) + 1
    w = max(20, width - margin - 2)
    columns = place(x, w, chart.log and min(x) > 0)
    rows = place(y, height, chart.log and min(y) > 0)
    cells = [[" "] * w for _ in range(height)]
    for c, r, (_, _, glyph) in zip(columns, rows, points, strict=True):
        line = cells[height - 1 - r]
        line[c] = max(line[c], glyph, key=lambda g: WEIGHT.index(g) if g in WEIGHT else 3)
    heads = {0: ends[0], height // 2: plain_name(chart.axes[1]), height - 1: ends[1]}
    lines = [
        f"{heads.get(i, ''):>{margin}} │{''.join(line).rstrip()}" for i, line in enumerate(cells)
    ]
    left, right = _label(min(x), units[0]), _label(max(x), units[0])
    middle = plain_name(chart.axes[0]).center(max(1, w - len(left) - len(right)))
    return [*lines, f"{'':>{margin}} └{'─' * w}", f"{'':>{margin}}  {left}{middle}{right}"]


def _label(value: float, unit: str) -> str:
    if unit == "share":
        return share(value, 1)
    return quantity(value, unit) if unit else f"{value:.3g}"


def bars(chart: Chart, width: int) -> list[str]:
    """Horizontal bars with their signed values, one per name, the longest of full width.

    Of several series the bars of one name stand together, each with the name of its series.
    """
    rows = [
        (f"{name} {s['name']}" if len(chart.series) > 1 else str(name), s["y"][i])
        for i, name in enumerate(chart.series[0]["x"])
        for s in chart.series
    ]
    names = [name for name, _ in rows]
    values = [math.nan if v is None else float(v) for _, v in rows]
    top = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
    margin = max((len(n) for n in names), default=0)
    room = max(10, width - margin - 12)
    lines = []
    for name, value in zip(names, values, strict=True):
        eighths = round(8 * room * abs(value) / top) if top > 0 and math.isfinite(value) else 0
        bar = BLOCKS[8] * (eighths // 8) + BLOCKS[eighths % 8].strip()
        lines.append(f"{name:>{margin}} {bar} {_label(value, chart_unit(chart, 1))}")
    return lines
