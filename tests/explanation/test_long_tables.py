"""Twenty rows are shown; a page has the others behind a fold, a pipe all of them."""

from __future__ import annotations

import io

from rich.console import Console

from rheostat.core.report import Grid, Report, Section
from rheostat.explanation.formats.html import page
from rheostat.explanation.formats.long_tables import MOST, shortened
from rheostat.explanation.formats.text import render, show


def report(rows: int, marked: int | None = None) -> Report:
    grid = Grid(("job",), tuple((f"j{k:02d}",) for k in range(rows)), (), marked)
    return Report("", [Section("jobs", ("Which.",), grid)])


def shown(said: Report) -> str:
    out = io.StringIO()
    show(said, Console(file=out, width=80))
    return out.getvalue()


def test_a_short_table_stays_as_it_is() -> None:
    said = report(MOST, 19)
    assert shortened(said.sections) == said.sections
    assert "j19" in shown(said)


def test_a_long_one_shows_its_beginning_and_says_so() -> None:
    said = report(MOST + 1, 20)
    assert "j19" in shown(said)
    assert "j20" not in shown(said)
    assert "The first 20 of 21 rows." in shown(said)
    assert "All rows: jobs: a pipe, --json and --html." in shown(said)
    assert "--html" not in render(said)
    assert "j20" in render(said)
    short, whole = shortened(said.sections)
    assert (short.grid.marked, whole.grid.marked) == (None, 20)


def test_a_page_has_the_others_behind_a_fold() -> None:
    text = page(report(30))
    before, _, behind = text.partition("<details>")
    assert "j19" in before
    assert "j20" not in before
    assert "j29" in behind
    assert "--html" not in text.replace("<!--", "")  # it is the page


def test_what_is_folded_already_is_left_alone() -> None:
    folded = Section("all", grid=report(30).sections[0].grid, folded=True)
    assert shortened([folded]) == [folded]


def test_headings_of_a_wide_table_break_between_words_alone() -> None:
    heads = ("application", "jobs", "node-hours", "share", "core-hours", "jobs not completed",
             "node-hours not completed", "mean wait")  # fmt: skip
    grid = Grid(heads, (("lammps", 1, 24.0, 0.8, 754.0, 0.0, 0.0, 0.0),))
    lines = shown(Report("", [Section("", (), grid)])).splitlines()
    words = {word for line in lines for word in line.split()}
    assert {word for head in heads for word in head.split()} <= words
