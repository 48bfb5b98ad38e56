"""Where the labels of points stand, so that none covers another label or a point.

Greedy: labels take a place in order of their weight, the first of above, below, right and left that
is free; where none is, the point goes without, and a table or a hover text has its name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rheostat.explanation.drawing import Axis

Box = tuple[float, float, float, float]
LETTER, LINE, MARK = 6.4, 14.0, 7.0
"""Pixels: a letter's width, a line's height, half a symbol."""
SPARE = 30.0
"""Pixels by which a label may stand out beside the axes."""
FORCED = 3.0
"""A label of this weight is placed even where it covers others."""
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
    """For each point "top", "bottom", "right", "left", or "" for no label.

    ``x`` and ``y`` are the places of all points, which no label may cover.

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
    found = [""] * len(spots)
    taken: list[Box] = [(a - MARK, b - MARK, a + MARK, b + MARK) for a, b in spots]
    for label in sorted(labels, key=lambda one: -one.weight):
        own = spots[label.point]
        for side in ("top", "bottom", "right", "left"):
            box = _box(own, len(label.text) * LETTER, side)
            inside = box[0] >= -SPARE and box[2] <= area[0] + SPARE and box[3] <= area[1] + LINE
            free = label.weight >= FORCED or not any(_meet(box, other) for other in taken)
            if inside and free:
                found[label.point] = side
                taken.append(box)
                break
    return found


def _at(value: float, axis: Axis) -> float:
    """Part of the way along the axis, 0 to 1."""
    if axis.log:
        value, low, high = math.log(value), math.log(axis.low), math.log(axis.high)
    else:
        low, high = axis.low, axis.high
    return (value - low) / (high - low)


def _box(spot: tuple[float, float], width: float, side: str) -> Box:
    x, y = spot
    if side in ("top", "bottom"):
        bottom = y + MARK if side == "top" else y - MARK - LINE
        return (x - width / 2, bottom, x + width / 2, bottom + LINE)
    left = x + MARK + 2 if side == "right" else x - MARK - 2 - width
    return (left, y - LINE / 2, left + width, y + LINE / 2)


def _meet(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
