"""Marks of a `Drawing` on matplotlib's axes: lines, points, bars, cells and boxes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rheostat.explanation.pictures.drawing import (
    Bars,
    Boxes,
    ColourScale,
    Element,
    HeatCells,
    LineMark,
    Numbers,
    Points,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

PAGE, WIDTH_IN = 880, 7.2
PT = 72 * WIDTH_IN / PAGE
SMALL = 11 * PT
"""Points: words at ticks and points."""
SYMBOLS = {"circle": "o", "square": "s", "diamond": "D", "cross": "x"}
DASHES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
ACROSS = {"left": (-1, "right"), "right": (1, "left")}
UP = {"top": (1, "bottom"), "bottom": (-1, "top")}


def draw_mark(axes: Axes, mark: Element, colours: Mapping[str, str], order: int) -> None:
    """One mark on ``axes``; of two that overlap the one of the higher ``order`` is seen."""
    DRAW[type(mark)](axes, mark, colours, order)


def _line(axes: Axes, mark: LineMark, colours: Mapping[str, str], order: int) -> None:
    axes.plot(
        _floats(mark.x), _floats(mark.y), color=colours[mark.colour], linewidth=mark.width * PT,
        linestyle=DASHES[mark.dash], drawstyle="steps-mid" if mark.steps else "default",
        marker="o" if mark.markers else "", markersize=6 * PT, zorder=order, label=_name(mark.name),
    )  # fmt: skip


def _points(axes: Axes, mark: Points, colours: Mapping[str, str], order: int) -> None:
    colour, x, y = colours[mark.colour], _floats(mark.x), _floats(mark.y)
    if mark.x_low or mark.y_low:
        axes.errorbar(
            x, y, xerr=_ends(x, mark.x_low, mark.x_high), yerr=_ends(y, mark.y_low, mark.y_high),
            fmt="none", ecolor=colours["mute"], elinewidth=PT, capsize=1.5 * PT, zorder=order,
        )  # fmt: skip
    axes.plot(
        x, y, linestyle="", marker=SYMBOLS[mark.symbol], markersize=mark.size * PT, zorder=order,
        markeredgecolor=colour, markeredgewidth=1.6 * PT, label=_name(mark.name), clip_on=False,
        markerfacecolor=colour if mark.filled else "none",
    )  # fmt: skip
    for a, b, side, text in zip(x, y, mark.at, mark.labels, strict=False):
        if side:
            _label(axes, (a, b), side, text, colours)


def _label(
    axes: Axes, at: tuple[float, float], side: str, text: str, colours: Mapping[str, str]
) -> None:
    """A point's name at one of its sides, on a ground that lines do not strike through."""
    words = side.split()
    across, left = next((ACROSS[w] for w in words if w in ACROSS), (0, "center"))
    up, base = next((UP[w] for w in words if w in UP), (0, "center"))
    axes.annotate(
        text, at, xytext=(9 * PT * across, 7 * PT * up), textcoords="offset points",
        ha=left, va=base, fontsize=SMALL, color=colours["ink"], zorder=30, annotation_clip=False,
        bbox={"facecolor": colours["card"], "alpha": 0.8, "linewidth": 0, "pad": 0.4},
    )  # fmt: skip


def _bars(axes: Axes, mark: Bars, colours: Mapping[str, str], order: int) -> None:
    at, length = _floats(mark.at), _floats(mark.length)
    base = _floats(mark.base) or [0.0] * len(at)
    if mark.scale is not None:
        _shaded_bars(axes, mark, colours, order)
        _colour_scale(axes, mark.scale, colours)
        return
    look: dict[str, Any] = {
        "color": colours[mark.colour], "edgecolor": colours["card"], "linewidth": 0.3,
        "label": _name(mark.name), "zorder": order,
        "error_kw": {"ecolor": colours["ink"], "elinewidth": PT, "capsize": 1.5 * PT},
        "yerr" if mark.upright else "xerr": _ends(length, mark.low, mark.high),
    }  # fmt: skip
    draw = axes.bar if mark.upright else axes.barh
    draw(at, length, mark.width, base, **look)


def _shaded_bars(axes: Axes, mark: Bars, colours: Mapping[str, str], order: int) -> None:
    """Lying bars in one collection, a third of the file that as many single bars make."""
    from matplotlib.collections import PolyCollection

    ends = list(zip(_floats(mark.base), _floats(mark.length), strict=True))
    sides = [(a - w / 2, a + w / 2) for a, w in zip(_floats(mark.at), mark.width, strict=True)]
    corners = [
        [(b, low), (b, high), (b + n, high), (b + n, low)]
        for (b, n), (low, high) in zip(ends, sides, strict=True)
    ]
    shades = [shade_map(colours)(v) for v in _floats(mark.shade)]
    look: dict[str, Any] = {"facecolors": shades, "edgecolors": colours["card"], "linewidths": 0.3}
    axes.add_collection(PolyCollection(corners, zorder=order, **look))
    for (b, n), (low, high), text, shade in zip(ends, sides, mark.labels, mark.shade, strict=False):
        ink = colours["card" if (shade or 0.0) > 0.55 else "ink"]
        axes.text(b + n / 2, (low + high) / 2, text, ha="center", va="center", color=ink,
                  zorder=order + 20, fontsize=SMALL)  # fmt: skip


def _cells(axes: Axes, mark: HeatCells, colours: Mapping[str, str], order: int) -> None:
    """One picture of all cells, which are evenly spaced."""
    rows = [_floats(row) for row in mark.shade]
    ends = [e for side in (mark.x, mark.y) for e in _edges(side)]
    low_x, high_x = axes.get_xlim()
    low_y, high_y = axes.get_ylim()
    axes.imshow(
        rows, extent=(ends[0], ends[1], ends[2], ends[3]), origin="lower", aspect="auto",
        interpolation="nearest", cmap=shade_map(colours), vmin=0.0, vmax=1.0, zorder=order,
    )  # fmt: skip
    axes.set(xlim=(low_x, high_x), ylim=(low_y, high_y))
    _colour_scale(axes, mark.scale, colours)


def _boxes(axes: Axes, mark: Boxes, colours: Mapping[str, str], order: int) -> None:
    for x, y, text, colour in zip(mark.x, mark.y, mark.text, mark.colours, strict=True):
        frame = {"facecolor": colours[colour], "edgecolor": colours["one"], "linewidth": 0.5,
                 "boxstyle": "square,pad=0.35"}  # fmt: skip
        axes.text(x, y, text, va="center", fontsize=SMALL, bbox=frame, zorder=order,
                  color=colours["ink"], linespacing=1.25)  # fmt: skip


def shade_map(colours: Mapping[str, str]) -> Colormap:
    """From the lightest shade, 0, to the darkest, 1; no value is no colour."""
    from matplotlib.colors import LinearSegmentedColormap

    steps = [(0.0, colours["card"]), (0.15, colours["wash"]), (1.0, colours["one"])]
    return LinearSegmentedColormap.from_list("rheostat", steps)


def _colour_scale(axes: Axes, scale: ColourScale, colours: Mapping[str, str]) -> None:
    from matplotlib.cm import ScalarMappable

    bar = axes.figure.colorbar(
        ScalarMappable(cmap=shade_map(colours)), ax=axes, aspect=30, pad=0.01
    )
    bar.set_ticks(list(scale.ticks), labels=list(scale.words), fontsize=SMALL)
    bar.set_label(scale.title, fontsize=SMALL)
    bar.outline.set_visible(False)


def _floats(values: Sequence[float | None]) -> list[float]:
    return [math.nan if v is None else float(v) for v in values]


def _ends(values: Sequence[float], low: Numbers, high: Numbers) -> list[list[float]] | None:
    """How far an interval reaches to both sides of each value."""
    if not low:
        return None
    below = [max(v - e, 0.0) for v, e in zip(values, _floats(low), strict=True)]
    return [below, [max(e - v, 0.0) for v, e in zip(values, _floats(high), strict=True)]]


def _edges(centres: Sequence[float]) -> tuple[float, float]:
    """The outer edges of evenly spaced cells.

    >>> _edges([0.0, 1.0, 2.0]), _edges([3.0])
    ((-0.5, 2.5), (2.5, 3.5))
    """
    half = (centres[1] - centres[0]) / 2 if len(centres) > 1 else 0.5
    return centres[0] - half, centres[-1] + half


def _name(name: str) -> str:
    return name or "_nolegend_"


DRAW: Mapping[type[Element], Any] = {
    LineMark: _line,
    Points: _points,
    Bars: _bars,
    HeatCells: _cells,
    Boxes: _boxes,
}
