"""A `Report` as one HTML file that works offline: styles, data and plotly.js are inside.

Nothing is fetched: a content security policy in the page forbids it, so the file may be mailed,
archived or opened on a machine without a network.  Figures keep numbers as data (`explain.draw`);
the page's own script draws them in the reader's colours, light or dark.  plotly.js is packed, which
makes a page two megabytes instead of five; browsers unpack it since 2023.
"""

from __future__ import annotations

import base64
import gzip
import re
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from rheostat import __version__
from rheostat.core.report import Chart, Grid, Report, Section
from rheostat.explanation.formats.grid_cells import cell
from rheostat.explanation.formats.json import plain
from rheostat.explanation.formats.long_tables import shortened
from rheostat.explanation.number_words import head_words
from rheostat.explanation.pictures.draw import drawing

FEW = 3
"""Columns that a narrow screen has room for; a row of more becomes a block of lines there."""


def page(report: Report, title: str = "", made: str = "") -> str:
    """The whole page as text.

    Parameters
    ----------
    report : Report
        What it says.
    title : str, optional
        The heading, where the report has none.
    made : str, optional
        How and when it was made: the command and the date, for the last line.

    >>> from rheostat.core.report import Section
    >>> text = page(Report("Nodes < 4 & more", [Section("why", ("because",))]))
    >>> "<title>Nodes &lt; 4 &amp; more</title>" in text, text.count("<script")
    (True, 0)

    plotly.js is inlined once, and only where there is something to draw.
    """
    from jinja2 import Environment, PackageLoader

    env = Environment(loader=PackageLoader("rheostat.explanation"), autoescape=True)
    env.policies["json.dumps_kwargs"] = {"sort_keys": False, "allow_nan": False}
    charts = [figure(s.chart) for s in report.sections if s.chart]
    return env.get_template("report.html").render(
        report=report,
        title=report.title or title or "Report",
        sections=[_section(s) for s in shortened(report.sections)],
        charts=charts,
        plotly=packed(plotly_js()) if charts else "",
        script=_template("charts.js"),
        style=_template("report.css"),
        made=f"rheostat {__version__}" + (f": {made}" if made else ""),
    )


def _template(name: str) -> str:
    return (files("rheostat.explanation") / "templates" / name).read_text(encoding="utf-8")


def plotly_js() -> str:
    """plotly.js with the addresses of map services taken out: this page never asks for them."""
    text = (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    text = re.sub(r"((?:src|href)\s*=\s*[\"'`])https?://", r"\1#", text)
    return text.replace("</script", "<\\/script")


def packed(text: str) -> str:
    """Text as base64 of gzip, the same bytes every time.

    >>> gzip.decompress(base64.b64decode(packed("text"))).decode()
    'text'
    """
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _section(section: Section) -> dict[str, Any]:
    return {
        "title": section.title[:1].upper() + section.title[1:],
        "sentences": section.sentences,
        "table": None if section.grid is None else _table(section.grid),
        "chart": section.chart is not None,
        "listing": section.listing,
        "folded": section.folded,
    }


def _table(grid: Grid) -> dict[str, Any]:
    units = (*grid.units, *[""] * (len(grid.heads) - len(grid.units)))
    numeric = [
        any(isinstance(r[i], (int, float, tuple)) for r in grid.rows) for i in range(len(units))
    ]
    rows = [
        {
            "marked": i == grid.marked,
            "cells": [cell(v, u) for v, u in zip(row, units, strict=True)],
        }
        for i, row in enumerate(grid.rows)
    ]
    wide = len(grid.heads) > FEW
    heads = [head_words(h, u) for h, u in zip(grid.heads, units, strict=True)]
    return {"heads": heads, "numeric": numeric, "rows": rows, "wide": wide}


def figure(chart: Chart) -> dict[str, Any]:
    """What the page's script needs to draw one chart: its `Drawing` as plain values."""
    values: dict[str, Any] = plain(asdict(drawing(chart)))
    return values
