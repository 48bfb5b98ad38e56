"""From a `Chart`, which says what is shown, to a `Drawing`, which says how."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any

from rheostat.core.report import Chart
from rheostat.core.units import plain_name
from rheostat.explanation.number_words import chart_unit, number_words
from rheostat.explanation.pictures import draw_schedule, draw_tree
from rheostat.explanation.pictures.axes import axis_of, names_axis
from rheostat.explanation.pictures.drawing import (
    PALETTE,
    Axis,
    Bars,
    Drawing,
    Element,
    LineMark,
    Numbers,
    Points,
)
from rheostat.explanation.pictures.labels import ALWAYS, NARROW, WIDE, Label, Stroke, placed

Series = Mapping[str, Any]
KINDS = (
    ("dominated", "dominated", "mute", "circle", False),
    ("front", "on the front", "one", "circle", True),
    ("requested", "asked for", "two", "square", False),
    ("chosen", "chosen", "three", "diamond", True),
)
WEIGHTS = {"chosen": ALWAYS, "requested": 2.0, "front": 1.0}
FEW = 12
"""Up to so many settings, those not on the front are named in the picture too."""


def drawing(chart: Chart) -> Drawing:
    """How ``chart`` is drawn.

    >>> chart = Chart("line", ({"name": "a", "x": [1, 2], "y": [3.0, 5.0]},), ("runs", "energy_j"))
    >>> found = drawing(chart)
    >>> found.x.title, found.y.title, found.elements[0].hover[1]
    ('runs', 'energy (J)', '<b>a</b><br>runs 2<br>energy 5 J')
    """
    return DRAWN[chart.kind](chart)


def both_axes(chart: Chart, *, zero: bool = False) -> tuple[Axis, Axis]:
    """Axes that reach over every value and every end of an interval."""
    made = []
    for i, (key, ends) in enumerate((("x", ("x_low", "x_high")), ("y", ("low", "high")))):
        values = [v for s in chart.series for k in (key, *ends) for v in s.get(k) or ()]
        unit = chart_unit(chart, i)
        made.append(axis_of(chart.axes[i], values, unit, log=chart.log, zero=zero and i == 1))
    return made[0], made[1]


def front(chart: Chart) -> Drawing:
    """Settings by what they are, with intervals; the front is joined; truths are crosses."""
    axes = both_axes(chart)
    elements: list[Element] = []
    for s in chart.series:
        elements += _settings(chart, s, axes) if "kinds" in s else [_truth(chart, s)]
    return Drawing(*axes, tuple(elements), height=420)


def _settings(chart: Chart, s: Series, axes: tuple[Axis, Axis]) -> list[Element]:
    known = [i for i, kind in enumerate(s["kinds"]) if kind]
    order = sorted((i for i in known if s["on_front"][i]), key=lambda i: s["x"][i])
    joined = LineMark(_pick(s["x"], order), _pick(s["y"], order), dash="dot", width=1.0)
    elements: list[Element] = [joined]
    hover, text = hover_words(chart, s), s["text"]
    named = [i for i in known if len(known) <= FEW or s["kinds"][i] in WEIGHTS]
    wanted = [Label(known.index(i), text[i], WEIGHTS.get(s["kinds"][i], 0.0)) for i in named]
    spots = [_pick(s[k], known) for k in "xy"]
    spots = [(*own, *other) for own, other in zip(spots, _truths(chart), strict=True)]
    strokes = [*_joined(joined.x, joined.y), *_whiskers(s, known)]
    wide, narrow = (
        dict(zip(known, placed(spots[0], spots[1], wanted, axes, area, strokes), strict=False))
        for area in (WIDE, NARROW)
    )
    for kind, name, colour, symbol, filled in KINDS:
        rows = [i for i in known if s["kinds"][i] == kind]
        if rows:
            x_low, x_high = _interval(s, "x_low", "x_high", rows)
            y_low, y_high = _interval(s, "low", "high", rows)
            elements.append(
                Points(
                    _pick(s["x"], rows), _pick(s["y"], rows), name, colour, symbol, filled,
                    13.0 if kind == "chosen" else 9.0, x_low, x_high, y_low, y_high,
                    tuple(text[i] for i in rows), tuple(wide[i] for i in rows),
                    tuple(narrow[i] for i in rows), tuple(hover[i] for i in rows),
                )
            )  # fmt: skip
    return elements


def _joined(x: Sequence[float | None], y: Sequence[float | None]) -> list[Stroke]:
    """Straight lines between points that follow each other; none to one that is not known."""
    spots = list(zip(x, y, strict=True))
    return [((a, b), (c, d)) for (a, b), (c, d) in pairwise(spots)
            if a is not None and b is not None and c is not None and d is not None]  # fmt: skip


def _whiskers(s: Series, rows: Iterable[int]) -> list[Stroke]:
    """Both intervals of each point, as lines."""
    strokes: list[Stroke] = []
    for i in rows:
        x, y = s["x"][i], s["y"][i]
        left, right, low, high = (
            end[i] if (end := s.get(k)) and end[i] is not None else own
            for k, own in (("x_low", x), ("x_high", x), ("low", y), ("high", y))
        )
        strokes += [((left, y), (right, y)), ((x, low), (x, high))]
    return strokes


def _truths(chart: Chart) -> tuple[list[float], list[float]]:
    """Where crosses lie, which labels may not cover."""
    pairs = [p for s in chart.series if "kinds" not in s for p in zip(s["x"], s["y"], strict=True)]
    known = [p for p in pairs if all(isinstance(v, (int, float)) and math.isfinite(v) for v in p)]
    return [p[0] for p in known], [p[1] for p in known]


def _truth(chart: Chart, s: Series) -> Points:
    hover = tuple(hover_words(chart, s))
    return Points(tuple(s["x"]), tuple(s["y"]), s["name"], "ink", "cross", size=9.0, hover=hover)


def scatter(chart: Chart) -> Drawing:
    """Points of several kinds, each with its name; lines at values are series with ``line``.

    The labels of later series are placed first, and none covers a point of any series.
    """
    axes = both_axes(chart)
    dots = [(k, s) for k, s in enumerate(chart.series) if not s.get("line")]
    x, y = ([v for _, s in dots for v in s[key]] for key in "xy")
    every = [(k, t) for k, s in dots for t in s.get("text") or [""] * len(s["x"])]
    labels = [Label(i, t, float(k)) for i, (k, t) in enumerate(every) if t]
    strokes: list[Stroke] = []
    for s in chart.series:
        strokes += _joined(s["x"], s["y"]) if s.get("line") else _whiskers(s, range(len(s["x"])))
    wide, narrow = (iter(placed(x, y, labels, axes, area, strokes)) for area in (WIDE, NARROW))
    elements: list[Element] = []
    for k, s in enumerate(chart.series):
        if s.get("line"):
            elements.append(LineMark(tuple(s["x"]), tuple(s["y"]), s["name"], "soft", "dash", 1.2))
            continue
        n = len(s["x"])
        elements.append(
            Points(
                tuple(s["x"]), tuple(s["y"]), s["name"], s.get("colour", PALETTE[k]),
                s.get("symbol", "circle"), s.get("filled", True), s.get("size", 8.0),
                y_low=tuple(s.get("low") or ()), y_high=tuple(s.get("high") or ()),
                labels=tuple(s.get("text") or ()), at=tuple(islice(wide, n)),
                at_narrow=tuple(islice(narrow, n)),
                hover=tuple(s.get("hover") or hover_words(chart, s)),
            )
        )  # fmt: skip
    return Drawing(*axes, tuple(elements), height=400)


def lines(chart: Chart) -> Drawing:
    """A line with markers per series."""
    elements = tuple(
        LineMark(tuple(s["x"]), tuple(s["y"]), s.get("name", ""), PALETTE[k % 8], width=2.0,
             markers=True, hover=tuple(hover_words(chart, s)))
        for k, s in enumerate(chart.series)
    )  # fmt: skip
    return Drawing(*both_axes(chart, zero=not chart.log), elements, height=340)


def calibration(chart: Chart) -> Drawing:
    """Nominal against observed coverage, both as shares; on the dotted line they are the same."""
    drawn = lines(Chart("line", chart.series, chart.axes, units=("share", "share")))
    x, y = (axis_of(a, [0.0, 1.0], "share") for a in chart.axes)
    diagonal = LineMark((0.0, 1.0), (0.0, 1.0), "nominal", "mute", "dot")
    return Drawing(x, y, (diagonal, *drawn.elements), height=420)


def bars(chart: Chart) -> Drawing:
    """Lying bars with their sign, a group per name, intervals where there are any."""
    names = [str(n) for n in chart.series[0]["x"]]
    ends = [v for s in chart.series for k in ("y", "low", "high") for v in s.get(k) or ()]
    value = axis_of(chart.axes[1], ends, chart_unit(chart, 1), zero=True)
    width = 0.8 / len(chart.series)
    elements = []
    for k, s in enumerate(chart.series):
        shift = (k - (len(chart.series) - 1) / 2) * width
        elements.append(
            Bars(
                tuple(i + shift for i in range(len(names))), tuple(s["y"]), (width,) * len(names),
                name=s.get("name", ""), colour=s.get("colour", PALETTE[k % 8]),
                low=tuple(s.get("low") or ()), high=tuple(s.get("high") or ()),
                hover=tuple(_bar_words(chart, s, n, i) for i, n in enumerate(names)),
            )
        )  # fmt: skip
    height = max(160, 90 + 26 * len(names) * max(1, len(chart.series) // 2))
    title = plain_name(chart.axes[0])
    return Drawing(value, names_axis(title, names, downward=True), tuple(elements), height)


def _bar_words(chart: Chart, s: Series, name: str, row: int) -> str:
    unit = chart_unit(chart, 1)
    said = f"<b>{name}</b><br>{number_words(s['y'][row], unit)}"
    if s.get("low"):
        low, high = (number_words(s[k][row], unit) for k in ("low", "high"))
        said += f" [{low} to {high}]"
    return said


def hover_words(chart: Chart, s: Series) -> list[str]:
    """One line per point: the setting, both values, the interval."""
    units = [chart_unit(chart, i) for i in range(2)]
    names = s.get("text") or [str(s.get("name", ""))] * len(s["x"])
    said = []
    for i, name in enumerate(names):
        parts = [f"{plain_name(chart.axes[0])} {number_words(s['x'][i], units[0])}"]
        parts.append(f"{plain_name(chart.axes[1])} {number_words(s['y'][i], units[1])}")
        if s.get("low"):
            low, high = (number_words(s[k][i], units[1]) for k in ("low", "high"))
            parts[-1] += f" [{low} to {high}]"
        said.append(f"<b>{name}</b><br>{'<br>'.join(parts)}")
    return said


def _interval(s: Series, low: str, high: str, rows: Sequence[int]) -> tuple[Numbers, Numbers]:
    """Both ends of these rows' intervals; nothing where none has a length."""
    if not s.get(low):
        return (), ()
    ends = _pick(s[low], rows), _pick(s[high], rows)
    return ends if ends[0] != ends[1] else ((), ())


def _pick(values: Sequence[Any], rows: Sequence[int]) -> tuple[Any, ...]:
    return tuple(values[i] for i in rows)


DRAWN: Mapping[str, Callable[[Chart], Drawing]] = {
    "front": front,
    "scatter": scatter,
    "line": lines,
    "calibration": calibration,
    "bar": bars,
    "time": draw_schedule.over_time,
    "columns": draw_schedule.columns,
    "occupancy": draw_schedule.occupancy,
    "pairs": draw_schedule.pairs,
    "gantt": draw_schedule.gantt,
    "tree": draw_tree.tree,
}
