"""A `Drawing` as a figure for papers: SVG, PDF or PNG, the same bytes every time.

A figure is the page's picture at another size: one pixel of the page is `PT` points, so that 880
pixels are the 7.2 inches of a text column, words are 6.5 points and labels stay where they were
placed.  Text stays text in SVG and PDF, so that it can be searched, edited and set in another font.

Notation
--------
px  pixels of a page      pt  points, 1/72 inch
"""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rheostat._optional import require
from rheostat.core.report import Chart, Report
from rheostat.errors import DataError
from rheostat.explanation.drawing import (
    Bars,
    Boxes,
    ColourScale,
    Drawing,
    Element,
    HeatCells,
    LineMark,
    Numbers,
    Points,
)
from rheostat.explanation.labels import LETTER

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

ENDINGS = ("svg", "pdf", "png")
PAGE, WIDTH_IN = 880, 7.2
PT = 72 * WIDTH_IN / PAGE
SMALL, PLAIN = 11 * PT, 13 * PT
"""Points: words at ticks and points, titles of axes."""
ROOM = 780
"""Pixels for the words along the lower axis."""
TITLE_LETTER = 7.8
"""Pixels of a letter in an axis's title."""
SYMBOLS = {"circle": "o", "square": "s", "diamond": "D", "cross": "x"}
DASHES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
ACROSS = {"left": (-1, "right"), "right": (1, "left")}
UP = {"top": (1, "bottom"), "bottom": (-1, "top")}
STYLE = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "svg.hashsalt": "rheostat",
    "pdf.fonttype": 42,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial", "Helvetica"],
    "font.size": SMALL,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.5,
    "ytick.major.width": 0.5,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
}
UNDATED: Mapping[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": "rheostat"},
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": "rheostat", "Producer": None},
    "png": {"Software": "rheostat"},
}


def ending_of(path: Path) -> str:
    """The format that a file's name asks for.

    Raises
    ------
    DataError
        If it is none of SVG, PDF and PNG.

    >>> ending_of(Path("front.PDF"))
    'pdf'
    """
    ending = path.suffix.lower().removeprefix(".")
    if ending not in ENDINGS:
        raise DataError(str(path), ["expected a name ending in .svg, .pdf or .png"])
    return ending


def figure_charts(report: Report, path: Path) -> dict[Path, Chart]:
    """The report's pictures by the files they go to.

    The first goes to ``path``, each other one beside it, with the heading of its section.

    Parameters
    ----------
    report : Report
        What has pictures.
    path : Path
        Ends in .svg, .pdf or .png.

    Returns
    -------
    dict of Path to Chart
        In reading order.

    Raises
    ------
    DataError
        If the report has no picture.

    >>> from rheostat.core.report import Section
    >>> chart = Chart("line", ({"x": [1, 2], "y": [3, 4]},), ("runs", "energy_j"))
    >>> report = Report("", [Section(t, (), None, chart) for t in ("Waits", "By user: sjf")])
    >>> [p.name for p in figure_charts(report, Path("out.svg"))]
    ['out.svg', 'out-by-user-sjf.svg']
    """
    drawn = [(s.title, s.chart) for s in report.sections if s.chart is not None]
    if not drawn:
        raise DataError(str(path), ["expected a result with a picture, this one has none"])
    charts = {path: drawn[0][1]}
    for title, chart in drawn[1:]:
        stem = f"{path.stem}-{re.sub('[^a-z0-9]+', '-', title.lower()).strip('-')}"
        again = sum(p.stem == stem or p.stem.startswith(f"{stem}-") for p in charts)
        charts[path.with_stem(f"{stem}-{again + 1}" if again else stem)] = chart
    return charts


def figure_bytes(drawing: Drawing, ending: str) -> bytes:
    """The drawing as a file of this format.

    Parameters
    ----------
    drawing : Drawing
        What is drawn.
    ending : str
        "svg", "pdf" or "png" (300 dots per inch).

    Returns
    -------
    bytes
        The same for the same drawing and the same version of matplotlib.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    matplotlib = require("matplotlib", extra="figures")
    out = io.BytesIO()
    with own_style(matplotlib):
        figure(drawing).savefig(out, format=ending, dpi=300, metadata=UNDATED[ending])
    return _rounded(out.getvalue()) if ending == "svg" else out.getvalue()


def _rounded(svg: bytes) -> bytes:
    """Places to a hundredth of a point, which halves the file; words are left alone.

    >>> _rounded(b'<path d="M 1.234567 2"/><text>1.234567</text>')
    b'<path d="M 1.23 2"/><text>1.234567</text>'
    """
    return re.sub(rb"<[^>]*>", lambda tag: re.sub(rb"(\d\.\d\d)\d+", rb"\1", tag[0]), svg)


@contextmanager
def own_style(matplotlib: Any) -> Iterator[None]:
    """`STYLE` on matplotlib's own settings: a ``matplotlibrc`` of the folder says nothing."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield


def figure(drawing: Drawing) -> Figure:
    """The drawing as a matplotlib figure, for whoever wants to change it.

    Parameters
    ----------
    drawing : Drawing
        What is drawn.

    Returns
    -------
    matplotlib.figure.Figure
        7.2 inches wide.  Save it under `own_style`.
    """
    matplotlib = require("matplotlib", extra="figures")
    from matplotlib.figure import Figure

    with own_style(matplotlib):
        wide = max(PAGE, drawing.least_width)
        size = (wide * PT / 72, drawing.height * PT / 72)
        made = Figure(figsize=size, layout="constrained")
        axes = made.add_subplot()
        _set_axes(axes, drawing)
        colours = page_colours()
        for place, mark in enumerate(drawing.elements):
            DRAW[type(mark)](axes, mark, colours, place + 2)
        _legend(made, axes)
    return made


def page_colours() -> dict[str, str]:
    """Colours by the names of the page's style sheet, as on white paper.

    >>> page_colours()["one"], len(page_colours())
    ('#0f766e', 13)
    """
    style = (files("rheostat.explanation") / "templates" / "report.css").read_text(encoding="utf-8")
    return dict(re.findall(r"--(\w+): (#\w+)", style.split("@media")[0]))


def _set_axes(axes: Axes, drawing: Drawing) -> None:
    soft = page_colours()
    for which, axis in (("x", drawing.x), ("y", drawing.y)):
        if axis.log:
            axes.set(**{f"{which}scale": "log"})
        axes.set(**{f"{which}lim": (axis.low, axis.high)})
        own = axes.xaxis if which == "x" else axes.yaxis
        own.set_ticks(list(axis.ticks), labels=list(axis.words), fontsize=SMALL)
        own.set_ticks([], minor=True)
        room = (ROOM if which == "x" else drawing.height - 60) / TITLE_LETTER
        own.set_label_text("\n".join(textwrap.wrap(axis.title, int(room))), fontsize=PLAIN)
        if not axis.names:
            own.grid(visible=True, color=soft["line"], linewidth=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if drawing.x.names and sum(len(w) + 2 for w in drawing.x.words) * LETTER > ROOM:
        axes.tick_params(axis="x", rotation=90)
    if not (drawing.x.shown or drawing.y.shown):
        axes.set_axis_off()
    for axis, line in ((drawing.x, axes.axvline), (drawing.y, axes.axhline)):
        if axis.shown and axis.low < 0 < axis.high and not axis.names:
            line(0.0, color=soft["mute"], linewidth=0.6, zorder=1)


def _legend(made: Figure, axes: Axes) -> None:
    """Above the axes, each name once; none for a single name."""
    named = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    if len(named) < 2:
        return
    widest = max(map(len, named)) * LETTER + 45
    made.legend(
        list(named.values()), list(named), loc="outside upper left", fontsize=SMALL, frameon=False,
        ncols=max(1, min(len(named), int(ROOM / widest))), handlelength=1.8, columnspacing=1.2,
    )  # fmt: skip


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
