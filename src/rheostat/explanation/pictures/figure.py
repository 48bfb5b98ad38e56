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
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rheostat._optional import require
from rheostat.core.report import Chart, Report
from rheostat.errors import DataError
from rheostat.explanation.pictures.drawing import Drawing, Element, Points
from rheostat.explanation.pictures.figure_marks import PAGE, PT, SMALL, draw_mark
from rheostat.explanation.pictures.labels import LETTER, NARROW, WIDE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDINGS = ("svg", "pdf", "png")
PLAIN = 13 * PT
"""Points: titles of axes."""
ROOM = 780
"""Pixels for the words along the lower axis."""
TITLE_LETTER = 7.8
"""Pixels of a letter in an axis's title."""
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
        _put(drawing, axes, drawing.elements)
        _legend(made, axes)
    return made


def draw_on(axes: Axes, drawing: Drawing) -> Axes:
    """The drawing on axes of somebody's own figure, whose size and title stay.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Limits, scales, ticks and titles of both axes are set.
    drawing : Drawing
        What is drawn.

    Returns
    -------
    matplotlib.axes.Axes
        The same axes.  Labels that have no room on them are left out.
    """
    matplotlib = require("matplotlib", extra="figures")
    with own_style(matplotlib):
        box = axes.get_window_extent()
        pixels = [side / axes.figure.dpi * 72 / PT for side in (box.width, box.height)]
        _put(drawing, axes, [_labels_for(mark, pixels) for mark in drawing.elements])
        if len(axes.get_legend_handles_labels()[1]) > 1:
            axes.legend(fontsize=SMALL, frameon=False, handlelength=1.8)
    return axes


def _labels_for(mark: Element, pixels: Sequence[float]) -> Element:
    """The mark with those labels that a plotting area of this width and height has room for."""
    if not isinstance(mark, Points) or all(a >= b for a, b in zip(pixels, WIDE, strict=True)):
        return mark
    room = all(a >= b for a, b in zip(pixels, NARROW, strict=True))
    return replace(mark, at=mark.at_narrow if room else ())


def _put(drawing: Drawing, axes: Axes, elements: Sequence[Element]) -> None:
    _set_axes(axes, drawing)
    colours = page_colours()
    for place, mark in enumerate(elements):
        draw_mark(axes, mark, colours, place + 2)


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
