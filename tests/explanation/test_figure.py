"""Figures for papers: every kind of picture fits its paper, has units, is the same twice."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.path import Path as Path2D
from matplotlib.transforms import Bbox

import rheostat as rh
from rheostat.cli import run
from rheostat.core.report import Chart, Report, Section
from rheostat.errors import DataError, MissingExtra
from rheostat.explanation.pictures.draw import DRAWN, drawing
from rheostat.explanation.pictures.drawing import HeatCells
from rheostat.explanation.pictures.figure import (
    draw_on,
    ending_of,
    figure,
    figure_bytes,
    figure_charts,
)
from rheostat.explanation.pictures.figure_marks import WIDTH_IN

LONG = "molecular-dynamics-with-a-long-name"
FRONT = {
    "name": "settings", "x": [600.0, 620.0, 4000.0], "y": [9e6, 8.9e6, 2e7],
    "x_low": [30.0, 600.0, 3000.0], "x_high": [900.0, 900.0, 9e4],
    "low": [4e6, 8e6, 1e7], "high": [1e7, 9e6, 3e8],
    "text": ["batch size 512, power cap 225 W", "batch size 512, power cap 250 W", "4 nodes"],
    "kinds": ["front", "chosen", "dominated"], "on_front": [True, True, False],
}  # fmt: skip
GRID = [[0.1, 0.9], [None, 0.4]]
GANTT = {"begin": [0.0, 300.0], "length": [300.0, 20.0], "row": [0, 1], "width": [0.9, 0.9],
         "value": [100.0, 400.0], "limits": [100.0, 400.0], "quantity": "power per GPU",
         "unit": "W", "labels": ["lbm", LONG], "hover": ["", ""],
         "rows": ["GPU 0", "GPU 1"]}  # fmt: skip
TREE = {
    "x": [0, 1, 1], "y": [0.5, 0, 1], "parent": [-1, 0, 0], "leaf": [False, True, True],
    "text": [["wait time / requested walltime \N{LESS-THAN OR EQUAL TO} 0.3?"],
             ["yes: 60 % of jobs", f"by {LONG}"], ["no: 40 % of jobs"]],
    "hover": ["", "", ""],
}  # fmt: skip
CHARTS = {
    "front": Chart("front", (FRONT,), ("runtime_s", "energy_j"), log=True),
    "scatter": Chart("scatter", ({"name": "a", "x": [1.0, 2.0], "y": [3.0, 4.0],
                                  "text": ["p", "q"]},
                                 {"name": "bound", "x": [1.0, 2.0], "y": [3.5, 3.5], "line": True}),
                     ("cap_w", "loss of speed"), units=("", "share")),
    "line": Chart("line", ({"name": "a", "x": [1, 2], "y": [3e3, 5e3]},), ("runs", "energy_j")),
    "calibration": Chart("calibration", ({"name": "runtime", "x": [0.1, 0.9], "y": [0.2, 0.8]},),
                         ("nominal coverage", "observed coverage")),
    "bar": Chart("bar", tuple({"name": n, "x": [LONG, "b"], "y": [0.05, -0.07],
                               "low": [0.04, -0.09], "high": [0.06, -0.05]}
                              for n in ("before", "after")),
                 ("counter", "change of power"), units=("", "share")),
    "time": Chart("time", tuple({"name": f"{LONG}+{i}", "x": [0.0, 86_400.0, 2e5],
                                 "y": [1, 3, None]}
                                for i in range(6)),
                  ("time", "power"), units=("s", "W")),
    "columns": Chart("columns", ({"name": "easy", "x": [f"{LONG}{i}" for i in range(9)],
                                  "y": [60.0] * 9},), ("user", "mean wait"), units=("", "s")),
    "occupancy": Chart("occupancy", ({"x": [0.0, 3600.0], "y": ["u1", LONG], "z": GRID},),
                       ("time", "user"), units=("s", "")),
    "pairs": Chart("pairs", ({"x": [0.25, 0.75], "y": [0.25, 0.75],
                               "z": [[5.0, 90.0], [0.0, 2.0]]},),
                   ("wait under easy", "wait under sjf")),
    "gantt": Chart("gantt", (GANTT,), ("time", ""), units=("s", "")),
    "tree": Chart("tree", (TREE,), ("", "")),
}  # fmt: skip


def words(made):
    """(text, left, bottom, right, top) in pixels of everything written."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    FigureCanvasAgg(made).draw()
    seen = []
    for text in made.findobj(Text):
        hidden = text.axes is not None and not text.axes.axison and text not in text.axes.texts
        if text.get_text() and text.get_visible() and not hidden:
            box = text.get_window_extent()
            seen.append((text.get_text(), box.x0, box.y0, box.x1, box.y1))
    return seen


def test_every_kind_of_picture_is_tried_here():
    assert set(CHARTS) == set(DRAWN)


@pytest.mark.parametrize("kind", CHARTS)
def test_nothing_stands_outside_the_paper_and_no_two_words_meet(kind):
    made = figure(drawing(CHARTS[kind]))
    seen = words(made)
    assert seen
    wide, high = made.bbox.size
    assert wide == pytest.approx(WIDTH_IN * made.dpi)
    for text, left, bottom, right, top in seen:
        assert left >= -1, text
        assert bottom >= -1, text
        assert right <= wide + 1, text
        assert top <= high + 1, text
    for i, (text, left, bottom, right, top) in enumerate(seen):
        for other, a, b, c, d in seen[:i]:
            apart = right <= a + 1 or c <= left + 1 or top <= b + 1 or d <= bottom + 1
            assert apart, (text, other)


@pytest.mark.parametrize("kind", CHARTS)
@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_the_same_picture_is_the_same_bytes(kind, ending):
    drawn = drawing(CHARTS[kind])
    made = figure_bytes(drawn, ending)
    assert made == figure_bytes(drawn, ending)
    assert made.startswith({"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}[ending])
    assert not re.search(rb"20\d\d-\d\d-\d\d|CreationDate", made)


@pytest.mark.parametrize("kind", CHARTS)
def test_words_of_an_svg_are_text_and_name_axes_with_units(kind):
    drawn = drawing(CHARTS[kind])
    svg = ET.fromstring(figure_bytes(drawn, "svg"))
    said = " ".join(
        "".join(t.itertext()).strip() for t in svg.iter("{http://www.w3.org/2000/svg}text")
    )
    for axis in (drawn.x, drawn.y):
        assert all(part in said for part in axis.title.split())
        assert all(w in said for w in axis.words)
    scales = [m.scale for m in drawn.elements if getattr(m, "scale", None)]
    assert all(w in said for s in scales for w in s.words)
    unit = {"front": "(MJ)", "bar": "(%)", "time": "(d)", "gantt": "(W)", "scatter": "(W)"}
    assert unit.get(kind, "") in said


@settings(deadline=None, max_examples=12)
@given(st.lists(st.tuples(st.floats(1, 1e5), st.floats(1, 1e9)), min_size=1, max_size=9))
def test_labels_of_any_front_stay_apart_and_on_the_paper(spots):
    n = len(spots)
    x, y = (list(v) for v in zip(*spots, strict=True))
    series = {"name": "s", "x": x, "y": y, "text": [f"batch size {i}, cap 225 W" for i in range(n)],
              "kinds": ["chosen", *["front"] * (n - 1)], "on_front": [True] * n}  # fmt: skip
    made = figure(drawing(Chart("front", (series,), ("runtime_s", "energy_j"), log=True)))
    wide, high = made.bbox.size
    labels = [w for w in words(made) if w[0].startswith("batch")]
    for i, (_, left, bottom, right, top) in enumerate(labels):
        assert left >= -1
        assert right <= wide + 1
        assert top <= high + 1
        for _, a, b, c, d in labels[:i]:
            assert right <= a + 1 or c <= left + 1 or top <= b + 1 or d <= bottom + 1


def strokes(made):
    """Ends in pixels of every line of a figure's axes: intervals, joined fronts, bounds."""
    axes = made.axes[0]
    paths = [
        path.vertices for drawn in axes.collections if isinstance(drawn, LineCollection)
        for path in drawn.get_paths()
    ]  # fmt: skip
    paths += [line.get_xydata() for line in axes.lines if line.get_linestyle() != "None"]
    for path in paths:
        yield from pairwise(axes.transData.transform(path))


def points(made):
    """Places in pixels of every symbol."""
    axes = made.axes[0]
    for line in axes.lines:
        if line.get_marker() not in ("None", ""):
            yield from axes.transData.transform(line.get_xydata())


def struck(label, made):
    """How many points and lines a label's box covers."""
    _, left, bottom, right, top = label
    box = Bbox([(left, bottom), (right, top)])
    lines = sum(Path2D([a, b]).intersects_bbox(box, filled=False) for a, b in strokes(made))
    return lines + sum(box.contains(*spot) for spot in points(made))


@settings(deadline=None, max_examples=12)
@given(
    st.lists(
        st.tuples(st.floats(10, 1e5), st.floats(1, 1e9), st.floats(0.2, 1), st.floats(1, 5)),
        min_size=1, max_size=9,
    )
)  # fmt: skip
def test_labels_of_any_front_are_on_no_point_no_interval_and_no_line(spots):
    """Only that of the chosen setting, the first, stands wherever it covers least."""
    n = len(spots)
    x, y, less, more = (list(v) for v in zip(*spots, strict=True))
    series = {"name": "s", "x": x, "y": y, "text": [f"batch size {i}, cap 225 W" for i in range(n)],
              "x_low": [a * b for a, b in zip(x, less, strict=True)],
              "x_high": [a * b for a, b in zip(x, more, strict=True)],
              "low": [a * b for a, b in zip(y, less, strict=True)],
              "high": [a * b for a, b in zip(y, more, strict=True)],
              "kinds": ["chosen", *["front"] * (n - 1)], "on_front": [True] * n}  # fmt: skip
    made = figure(drawing(Chart("front", (series,), ("runtime_s", "energy_j"), log=True)))
    for label in (w for w in words(made) if re.match("batch size [1-9]", w[0])):
        assert struck(label, made) == 0, label


def test_the_front_of_the_demo_has_labels_on_nothing():
    made = rh.demo(0, jobs=400, method="forest").figure()
    named = [w for w in words(made) if w[0].endswith(" nodes")]
    assert named
    assert [label for label in named if struck(label, made)] == []


@pytest.mark.parametrize(("inches", "labels"), [((11, 6), 3), ((6, 4), 2), ((2, 2), 0)])
def test_a_picture_is_drawn_on_axes_that_are_given_with_the_labels_they_have_room_for(
    inches, labels
):
    (axes, other) = Figure(inches).subplots(2, gridspec_kw={"height_ratios": [1, 1e-3]})
    drawn = drawing(CHARTS["front"])
    assert draw_on(axes, drawn) is axes
    assert axes.get_xlabel() == drawn.x.title
    assert not other.lines
    assert sum(text in FRONT["text"] for text, *_ in words(axes.figure)) == labels


def test_an_answer_is_plotted_as_displays_of_others_are():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    runs = rh.table({"nodes": [1, 2, 4], "runtime_s": [9.0, 5.0, 3.0], "power_w": [1.0, 2.0, 4.0]})
    answer = rh.front(runs, knobs="nodes=1,2,4")
    axes = Figure().add_subplot()
    assert answer.plot(ax=axes) is axes
    new = answer.plot()
    assert (new.get_xlabel(), new.get_ylabel()) == (axes.get_xlabel(), axes.get_ylabel())
    pyplot.close(new.figure)


def test_cells_lie_where_the_axes_say():
    """The darkest cell of a grid is under its own centre."""
    drawn = drawing(CHARTS["occupancy"])
    (cells,) = (m for m in drawn.elements if isinstance(m, HeatCells))
    made = figure(drawn)
    (image,) = made.axes[0].images
    left, right, low, high = image.get_extent()
    step = cells.x[1] - cells.x[0]
    assert (left, right) == (cells.x[0] - step / 2, cells.x[1] + step / 2)
    assert (low, high) == (-0.5, 1.5)
    assert image.get_array()[0, 1] == cells.shade[0][1]


def test_further_pictures_stand_beside_the_first():
    chart = CHARTS["line"]
    report = Report("", [Section(t, (), None, chart) for t in ("Waits", "By user", "By user")])
    names = [p.name for p in figure_charts(report, Path("out.pdf"))]
    assert names == ["out.pdf", "out-by-user.pdf", "out-by-user-2.pdf"]
    with pytest.raises(DataError, match="has none"):
        figure_charts(Report("", [Section("no picture")]), Path("out.pdf"))


def test_an_ending_that_is_none_is_refused_before_any_work(tmp_path, capsys):
    with pytest.raises(DataError, match=r"\.svg, \.pdf or \.png"):
        ending_of(Path("a.jpg"))
    assert run(["demo", "--figure", str(tmp_path / "a.jpg")]) == 1
    assert capsys.readouterr().out == ""


def test_without_matplotlib_the_message_says_how_to_get_it(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"matplotlib is not installed: pip install .*figures"):
        figure_bytes(drawing(CHARTS["line"]), "svg")
    assert run(["demo", "--figure", str(tmp_path / "a.svg")]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "figures" in said.err
