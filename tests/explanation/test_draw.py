"""Pictures: axes name their unit and cover what is drawn, labels do not meet, pages are whole."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.cli import run
from rheostat.core.report import Chart, Grid, Report, Section
from rheostat.explanation.formats.html import page
from rheostat.explanation.pictures.axes import MOST, axis_of
from rheostat.explanation.pictures.draw import drawing
from rheostat.explanation.pictures.drawing import Axis, Bars, Points
from rheostat.explanation.pictures.labels import LETTER, NARROW, WIDE, Label, _box, placed

amounts = st.lists(st.floats(1e-3, 1e12), min_size=1, max_size=30)


@settings(deadline=None)
@given(amounts, st.sampled_from(["runtime_s", "energy_j", "power_w", "nodes"]), st.booleans())
def test_an_axis_covers_every_value_with_at_most_about_eight_labels(values, name, log):
    axis = axis_of(name, values, log=log)
    assert axis.low <= min(values)
    assert max(values) <= axis.high
    assert len(axis.ticks) >= 2
    assert 1 <= sum(map(bool, axis.words)) <= MOST + 1
    assert all(axis.low * (1 - 1e-9) <= t <= axis.high * (1 + 1e-9) for t in axis.ticks)
    words = [w for w in axis.words if w]
    assert len(set(words)) == len(words)


@pytest.mark.parametrize(
    ("name", "values", "title"),
    [
        ("energy_j", [2e5, 8e6], "energy (MJ)"),
        ("energy_j", [250.0, 8000.0], "energy (kJ)"),
        ("runtime_s", [700.0, 50_000.0], "runtime (h)"),
        ("runtime_s", [2.5], "runtime (s)"),
        ("cap_w", [100.0, 300.0], "power cap (W)"),
        ("node_hours", [1.0, 30.0], "node-hours (node-hours)"),
        ("edp_js", [1e9, 4e9], "energy-delay product (GJ s)"),
    ],
)
def test_an_axis_says_its_unit_and_ticks_at_1_2_5(name, values, title):
    axis = axis_of(name, values, log=True)
    assert axis.title == title
    if max(values) / min(values) > 10:
        assert {w.strip("0.,")[:1] for w in axis.words if w} <= {"1", "2", "5"}


SERIES = {
    "name": "settings",
    "x": [600.0, 1200.0, 4000.0],
    "y": [9e6, 8e6, 2e7],
    "x_low": [30.0, 900.0, 3000.0],
    "x_high": [900.0, 2000.0, 90_000.0],
    "low": [4e6, 7e6, 1e7],
    "high": [1e7, 9e6, 3e8],
    "text": ["16 nodes", "8 nodes", "4 nodes"],
    "kinds": ["front", "chosen", "dominated"],
    "on_front": [True, True, False],
}


def test_the_axes_of_a_front_reach_to_the_ends_of_its_intervals():
    drawn = drawing(Chart("front", (SERIES,), ("runtime_s", "energy_j"), log=True))
    assert drawn.x.low <= 30.0
    assert drawn.x.high >= 90_000.0
    assert drawn.y.low <= 4e6
    assert drawn.y.high >= 3e8
    assert (drawn.x.title, drawn.y.title) == ("runtime (min)", "energy (MJ)")
    chosen = next(m for m in drawn.elements if isinstance(m, Points) and m.name == "chosen")
    assert chosen.labels == ("8 nodes",)
    assert chosen.at[0]
    assert chosen.hover == ("<b>8 nodes</b><br>runtime 20m<br>energy 8 MJ [7 MJ to 9 MJ]",)


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=40))
def test_no_two_labels_meet_and_none_covers_a_point(spots):
    x, y = (list(v) for v in zip(*spots, strict=True))
    axes = (Axis("", 0.0, 1.0), Axis("", 0.0, 1.0))
    text = "power cap 175 W, batch size 512"
    for area in (WIDE, NARROW):
        at = placed(x, y, [Label(i, text, 1.0) for i in range(len(x))], axes, area)
        pixels = [(a * area[0], b * area[1]) for a, b in spots]
        boxes = [_box(p, len(text) * LETTER, s) for p, s in zip(pixels, at, strict=True) if s]
        for i, (left, bottom, right, top) in enumerate(boxes):
            for a, b, c, d in boxes[:i]:
                assert not (left < c and a < right and bottom < d and b < top)
            assert not any(left < p < right and bottom < q < top for p, q in pixels)


def test_bars_keep_their_sign_and_interval():
    bars = {"name": "power_w", "x": ["ipc", "hz"], "y": [0.05, -0.07], "low": [0.04, -0.09],
            "high": [0.06, -0.05]}  # fmt: skip
    drawn = drawing(Chart("bar", (bars,), ("counter", "change of power"), units=("", "share")))
    (mark,) = drawn.elements
    assert isinstance(mark, Bars)
    assert mark.length == (0.05, -0.07)
    assert drawn.x.title == "change of power (%)"
    assert drawn.x.low <= -0.09
    assert drawn.y.words == ("ipc", "hz")
    assert mark.hover[1] == "<b>hz</b><br>-7 % [-9 % to -5 %]"


def test_jobs_on_gpus_carry_their_names_or_as_much_as_fits():
    gantt = {"begin": [0.0, 300.0], "length": [300.0, 20.0], "row": [0, 1], "width": [0.9, 0.9],
             "value": [100.0, 400.0], "limits": [100.0, 400.0], "quantity": "power per GPU",
             "unit": "W", "labels": ["lbm", "MonteCarloMultiGPU"], "hover": ["", ""],
             "rows": ["GPU 0", "GPU 1"]}  # fmt: skip
    drawn = drawing(Chart("gantt", (gantt,), ("time", ""), units=("s", "")))
    (bars,) = drawn.elements
    assert bars.labels == ("lbm", "Mont…")
    assert bars.scale.title == "power per GPU (W)"
    assert drawn.x.title == "time (min)"
    assert drawn.x.low == 0.0
    assert (drawn.y.low, drawn.y.high) == (1.5, -0.5)


def test_a_page_has_a_title_a_heading_and_says_how_it_was_made():
    said = Report("", [Section("why", ("because",))])
    text = page(said, "Settings <of> a job", "rheostat front x.csv, 2026-11-22 08:00 UTC")
    assert "<title>Settings &lt;of&gt; a job</title>" in text
    assert "<h1>Settings &lt;of&gt; a job</h1>" in text
    assert re.search(r"Made by rheostat \d[\d.]*: rheostat front x.csv, 2026-11-22 08:00 UTC", text)
    assert "<title>Own</title>" in page(Report("Own"), "other")


def test_every_cell_of_a_wide_table_names_its_column_for_narrow_screens():
    grid = Grid(("app", "cap_w", "makespan_s", "energy_j", "note"), (("lbm", 200, 60.0, 5e3, ""),),
                ("", "", "s", "J", ""))  # fmt: skip
    text = page(Report("t", [Section("s", (), grid)]))
    assert '<table class="wide">' in text
    assert re.findall(r'<td data-head="([^"]*)"', text) == [
        "app", "power cap (W)", "makespan", "energy", "note",
    ]  # fmt: skip


def test_the_date_of_a_page_can_be_fixed_and_then_the_bytes_are(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    space = tmp_path / "space.toml"
    space.write_text("[knobs]\nnodes = [1, 2]\n")
    prints = 'printf \'{{"runtime_s": 1, "power_w": %s}}\' {nodes}'
    ask = ["search", str(space), "--measure", prints, "--budget", "2"]
    ask += ["--html", str(tmp_path / "a.html")]
    pages = []
    for _ in range(2):
        assert run(ask) == 0
        pages.append((tmp_path / "a.html").read_text())
    assert pages[0] == pages[1]
    assert "--budget 2" in pages[0]
    assert "1970-01-01 00:00 UTC" in pages[0]
    charts = json.loads(pages[0].split("const CHARTS = ")[1].split(";\n")[0])
    assert charts[0]["y"]["title"] == "energy (J)"
    assert charts[0]["y"]["ticks"]
