"""Where the labels of points stand, so that none covers a label, a point, an interval or a line.

Greedy: labels take a place in order of their weight, the first of above, below, right, left and the
corners that is free; where none is, the point goes without, and a table or a hover text has its
name.  One of weight `ALWAYS` then stands where it covers fewest of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rheostat.explanation.pictures.drawing import Axis

Box = tuple[float, float, float, float]
Spot = tuple[float, float]
Stroke = tuple[Spot, Spot]
"""Both ends of a straight line."""
LETTER, LINE, MARK = 6.4, 14.0, 7.0
"""Pixels: a letter's width, a line's height, half a symbol."""
SPARE = 30.0
"""Pixels by which a label may stand out beside the axes."""
BESIDE = 2.0
"""Pixels between a label and a line."""
SIDES = ("top", "bottom", "right", "left", "top right", "bottom right", "top left", "bottom left")
ALWAYS = math.inf
"""Weight of a label that no picture goes without."""
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
    strokes: Sequence[Stroke] = (),
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
    strokes : sequence of two places
        Lines and intervals, which no label may cover either, by their ends in base units.

    Returns
    -------
    list of str, length n

    >>> axes = Axis("", 0.0, 1.0), Axis("", 0.0, 1.0)
    >>> both = [Label(0, "first", 1.0), Label(1, "second", 2.0)]
    >>> placed([0.5, 0.5], [0.5, 0.53], both, axes, WIDE)
    ['bottom', 'top']
    >>> placed([0.5], [0.5], both[:1], axes, WIDE, [((0.5, 0.1), (0.5, 0.9))])
    ['right']
    >>> star = [((0.0, 0.0), (1.0, 1.0)), ((0.0, 1.0), (1.0, 0.0)), ((0.5, 0.0), (0.5, 1.0)),
    ...         ((0.0, 0.5), (1.0, 0.5))]
    >>> [placed([0.5], [0.5], [Label(0, "one", w)], axes, WIDE, star)[0] for w in (3.0, ALWAYS)]
    ['', 'top']
    >>> crowd = [Label(i, "same", 0.0) for i in range(9)]
    >>> placed([0.5] * 9, [0.5] * 9, crowd, axes, WIDE).count("")
    5
    """

    def pixels(spot: Spot) -> Spot:
        return _at(spot[0], axes[0]) * area[0], _at(spot[1], axes[1]) * area[1]

    spots = [pixels(spot) for spot in zip(x, y, strict=True)]
    lines = [(pixels(a), pixels(b)) for a, b in strokes]
    sides = [""] * len(spots)
    taken: list[Box] = [(a - MARK, b - MARK, a + MARK, b + MARK) for a, b in spots]
    for label in sorted(labels, key=lambda one: -one.weight):
        boxes = {s: _box(spots[label.point], len(label.text) * LETTER, s) for s in SIDES}
        inside = [s for s, box in boxes.items() if _inside(box, area)]
        covered = {s: sum(_meet(boxes[s], other) for other in taken) for s in inside}
        crossed = {s: sum(_crosses(line, boxes[s]) for line in lines) for s in inside}
        side = min(inside, key=lambda s: (covered[s], crossed[s]), default="")
        if side and (label.weight == ALWAYS or not covered[side] + crossed[side]):
            sides[label.point] = side
            taken.append(boxes[side])
    return sides


def _at(value: float, axis: Axis) -> float:
    """Part of the way along the axis, 0 to 1; what lies beyond is at its end."""
    value = min(max(value, axis.low), axis.high)
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


def _crosses(stroke: Stroke, box: Box) -> bool:
    """Whether a line comes nearer to a box than it may (Liang and Barsky's clipping).

    >>> _crosses(((0.0, 0.0), (9.0, 9.0)), (4.0, 5.0, 8.0, 6.0))
    True
    >>> _crosses(((0.0, 0.0), (9.0, 0.0)), (4.0, 5.0, 8.0, 6.0))
    False
    """
    first, last = 0.0, 1.0
    for k in range(2):
        begin, end = stroke[0][k], stroke[1][k]
        low, high = box[k] - BESIDE - begin, box[k + 2] + BESIDE - begin
        if begin == end:
            if low > 0 or high < 0:
                return False
            continue
        one, other = sorted((low / (end - begin), high / (end - begin)))
        first, last = max(first, one), min(last, other)
    return first <= last
