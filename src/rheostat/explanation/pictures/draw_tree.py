"""A decision tree from left to right: questions with their thresholds, answers at the ends."""

from __future__ import annotations

import textwrap

from rheostat.core.report import Chart
from rheostat.explanation.pictures.drawing import Axis, Boxes, Drawing, LineMark

LETTER, ROW, PAGE = 6.8, 15, 1050
"""Pixels: a letter's width, a line's height, a page's width."""
LEAST, MOST = 22, 40
"""Letters in a line of a box."""


def tree(chart: Chart) -> Drawing:
    """Boxes at (level, place); a parent is joined to each child by an elbow."""
    (s,) = chart.series
    levels, places = max(s["x"]) + 1, max(s["y"]) + 1
    letters = min(MOST, max(LEAST, int(PAGE / levels / LETTER) - 3))
    text = ["\n".join(line for part in t for line in _wrapped(part, letters)) for t in s["text"]]
    tallest = max(t.count("\n") + 1 for t in text)
    x, y = [float(v) for v in s["x"]], [float(v) for v in s["y"]]
    bends_x: list[float | None] = []
    bends_y: list[float | None] = []
    for child, parent in enumerate(s["parent"]):
        if parent >= 0:
            bends_x += [x[parent], x[child] - 0.06, x[child] - 0.06, x[child], None]
            bends_y += [y[parent], y[parent], y[child], y[child], None]
    colours = tuple("wash" if leaf else "card" for leaf in s["leaf"])
    return Drawing(
        Axis("", -0.05, levels, shown=False),
        Axis("", places - 0.5, -0.5, shown=False),
        (
            LineMark(tuple(bends_x), tuple(bends_y), colour="mute", width=1.2),
            Boxes(tuple(x), tuple(y), tuple(text), colours, tuple(s["hover"])),
        ),
        height=max(160, int(40 + places * (tallest * ROW + 18))),
        least_width=int((letters + 3) * LETTER * levels),
    )


def _wrapped(text: str, letters: int) -> list[str]:
    """Lines of a box; a number keeps its percent sign."""
    return textwrap.wrap(text.replace(" %", "\N{NO-BREAK SPACE}%"), letters)
