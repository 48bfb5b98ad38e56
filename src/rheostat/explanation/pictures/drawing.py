"""One description of a picture, drawn by a page's script and by matplotlib alike.

Everything that a reader sees is decided before it is drawn: what an axis is called, its unit, its
ticks and how far it reaches, which points have a label and where.  `templates/charts.js` and
`explanation.figure` only put elements on paper, in the order given.

Notation
--------
Places are numbers in base units; names (of users, nodes) are places 0, 1, 2, ... with words at
them.
Colours are names of the page's style sheet: one to six, ink, soft, mute, line, wash, card.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Numbers = tuple[float | None, ...]
Words = tuple[str, ...]
PALETTE = ("one", "two", "three", "four", "five", "six", "ink", "mute")


@dataclass(frozen=True)
class Axis:
    """``title`` has the unit; ``words`` stand at ``ticks``; it runs from ``low`` to ``high``."""

    title: str
    low: float
    high: float
    ticks: tuple[float, ...] = ()
    words: Words = ()
    log: bool = False
    shown: bool = True
    names: bool = False


@dataclass(frozen=True)
class ColourScale:
    """What a shade stands for: 0 is the lightest, 1 the darkest."""

    title: str
    ticks: tuple[float, ...]
    words: Words


@dataclass(frozen=True)
class LineMark:
    """A line through points, or with ``steps`` a value that holds until the next."""

    x: Numbers
    y: Numbers
    name: str = ""
    colour: str = "one"
    dash: str = "solid"
    width: float = 1.5
    steps: bool = False
    markers: bool = False
    hover: Words = ()
    kind: str = "line"


@dataclass(frozen=True)
class Points:
    """Symbols with intervals; a label stands where ``at`` says, or nowhere.

    ``at`` is a side of each point as in `labels.SIDES`, or empty; ``at_narrow`` is that on half the
    width.
    """

    x: Numbers
    y: Numbers
    name: str = ""
    colour: str = "one"
    symbol: str = "circle"
    filled: bool = True
    size: float = 10.0
    x_low: Numbers = ()
    x_high: Numbers = ()
    y_low: Numbers = ()
    y_high: Numbers = ()
    labels: Words = ()
    at: Words = ()
    at_narrow: Words = ()
    hover: Words = ()
    kind: str = "points"


@dataclass(frozen=True)
class Bars:
    """Bars from ``base`` of some ``length``, centred at ``at`` and ``width`` wide.

    They lie unless ``upright``.  ``shade`` (0 to 1) takes the place of the one colour.
    """

    at: Numbers
    length: Numbers
    width: tuple[float, ...]
    base: Numbers = ()
    name: str = ""
    colour: str = "one"
    shade: Numbers = ()
    scale: ColourScale | None = None
    upright: bool = False
    low: Numbers = ()
    high: Numbers = ()
    labels: Words = ()
    hover: Words = ()
    kind: str = "bars"


@dataclass(frozen=True)
class HeatCells:
    """A shaded grid: ``shade`` is (rows, columns) of 0 to 1; ``said`` is what a cell's value is."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    shade: tuple[Numbers, ...]
    scale: ColourScale
    x_words: Words = ()
    y_words: Words = ()
    said: tuple[Words, ...] = ()
    kind: str = "cells"


@dataclass(frozen=True)
class Boxes:
    """Words in boxes; lines of one text are divided by a line end."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    text: Words
    colours: Words
    hover: Words = ()
    kind: str = "boxes"


Element = LineMark | Points | Bars | HeatCells | Boxes


@dataclass(frozen=True)
class Drawing:
    """Elements over two axes; ``height`` in pixels of a page, where a column is some 900 wide."""

    x: Axis
    y: Axis
    elements: tuple[Element, ...]
    height: int = 380
    least_width: int = 0
    kind: str = field(default="")
