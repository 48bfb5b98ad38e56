"""Where the labels of points stand, so that none covers another label or a point.

Greedy: labels take a place in order of their weight, the first of above, below, right, left and the
corners that is free; where none is, the point goes without, and a table or a hover text has its
name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rheostat.explanation.pictures.drawing import Axis

Box = tuple[float, float, float, float]
LETTER, LINE, MARK = 6.4, 14.0, 7.0
"""Pixels: a letter's width, a line's height, half a symbol."""
SPARE = 30.0
"""Pixels by which a label may stand out beside the axes."""
FORCED = 3.0
"""A label of this weight is placed even where no place is free."""
SIDES = ("top", "bottom", "right", "left", "top right", "bottom right", "top left", "bottom left")
WIDE, NARROW = (800.0, 300.0), (330.0, 300.0)
"""The plotting area on a desk and on a telephone, pixels."""


@dataclass(frozen=True)
class Label:
    """The text of point ``point``; the greatest ``weight`` is placed first."""

    point: int
    text: str
    weight: float


def placed(
    x: Sequence[float],
    y: Sequence[float],
    labels: Sequence[Label],
    axes: tuple[Axis, Axis],
    area: tuple[float, float],
) -> list[str]:
    """For each point one of `SIDES`, or "" for no label.

    Parameters
    ----------
    x, y : sequence of float, shape (n,)
        The places of all points, which no label may cover, in base units.
    labels : sequence of Label
        At most one per point.
    axes : tuple of two Axis
        What the places are on.
    area : tuple of two float
        Width and height of the plotting area, pixels.

    Returns
    -------
    list of str, length n

    >>> axes = Axis("", 0.0, 1.0), Axis("", 0.0, 1.0)
    >>> both = [Label(0, "first", 1.0), Label(1, "second", 2.0)]
    >>> placed([0.5, 0.5], [0.5, 0.53], both, axes, WIDE)
    ['bottom', 'top']
    >>> crowd = [Label(i, "same", 0.0) for i in range(9)]
    >>> placed([0.5] * 9, [0.5] * 9, crowd, axes, WIDE).count("")
    5
    """
    spots = [
        (_at(a, axes[0]) * area[0], _at(b, axes[1]) * area[1]) for a, b in zip(x, y, strict=True)
    ]
    sides = [""] * len(spots)
    taken: list[Box] = [(a - MARK, b - MARK, a + MARK, b + MARK) for a, b in spots]
    for label in sorted(labels, key=lambda one: -one.weight):
        boxes = {s: _box(spots[label.point], len(label.text) * LETTER, s) for s in SIDES}
        inside = [s for s, box in boxes.items() if _inside(box, area)]
        free = [s for s in inside if not any(_meet(boxes[s], other) for other in taken)]
        if not free and label.weight >= FORCED:
            free = sorted(inside, key=lambda s: sum(_meet(boxes[s], other) for other in taken))
        if free:
            sides[label.point] = free[0]
            taken.append(boxes[free[0]])
    return sides


def _at(value: float, axis: Axis) -> float:
    """Part of the way along the axis, 0 to 1."""
    if axis.log:
        value, low, high = math.log(value), math.log(axis.low), math.log(axis.high)
    else:
        low, high = axis.low, axis.high
    return (value - low) / (high - low)


def _box(spot: tuple[float, float], width: float, side: str) -> Box:
    x, y = spot
    left, bottom = x - width / 2, y - LINE / 2
    if "right" in side or "left" in side:
        left = x + MARK + 2 if "right" in side else x - MARK - 2 - width
    if "top" in side or "bottom" in side:
        bottom = y + MARK if "top" in side else y - MARK - LINE
    return (left, bottom, left + width, bottom + LINE)


def _inside(box: Box, area: tuple[float, float]) -> bool:
    across = box[0] >= -SPARE and box[2] <= area[0] + SPARE
    return across and box[1] >= -MARK and box[3] <= area[1] + LINE


def _meet(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
