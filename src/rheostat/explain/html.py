"""A `Report` as one HTML file that works offline: styles, data and plotly.js are inside.

Nothing is fetched: a content security policy in the page forbids it, so the file may be mailed,
archived or opened on a machine without a network.  Figures keep numbers as data; the page's own
script draws them in the reader's colours, light or dark.  plotly.js is packed, which makes a page
two megabytes instead of five; browsers unpack it since 2023.
"""

from __future__ import annotations

import base64
import gzip
import re
from importlib.resources import files
from typing import Any

from rheostat.core.report import Chart, Grid, Report
from rheostat.explain.cells import cell
from rheostat.explain.json import plain
from rheostat.explain.words import plain_name, quantity, unit_of

# drawn by schedule.js, words are made there
AS_THEY_ARE = ("time", "heat", "columns", "gantt", "tree")


def page(report: Report) -> str:
    """The whole page as text.

    >>> from rheostat.core.report import Section
    >>> text = page(Report("Nodes < 4 & more", [Section("why", ("because",))]))
    >>> "Nodes &lt; 4 &amp; more" in text, text.count("<script")
    (True, 0)

    plotly.js is inlined once, and only where there is something to draw.
    """
    from jinja2 import Environment, PackageLoader

    env = Environment(loader=PackageLoader("rheostat.explain"), autoescape=True)
    env.policies["json.dumps_kwargs"] = {"sort_keys": False, "allow_nan": False}
    charts = [figure(s.chart) for s in report.sections if s.chart]
    return env.get_template("report.html").render(
        report=report,
        sections=[_section(s.title, s.sentences, s.grid, s.chart) for s in report.sections],
        charts=charts,
        plotly=packed(plotly_js()) if charts else "",
        script=_scripts(charts),
        style=_template("report.css"),
    )


def _scripts(charts: list[dict[str, Any]]) -> str:
    more = any(c["kind"] in AS_THEY_ARE for c in charts)
    return (_template("schedule.js") if more else "") + _template("charts.js")


def _template(name: str) -> str:
    return (files("rheostat.explain") / "templates" / name).read_text(encoding="utf-8")


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


def _section(
    title: str, sentences: tuple[str, ...], grid: Grid | None, chart: Chart | None
) -> dict[str, Any]:
    return {
        "title": title[:1].upper() + title[1:],
        "sentences": sentences,
        "table": None if grid is None else _table(grid),
        "chart": chart is not None,
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
    return {"heads": grid.heads, "numeric": numeric, "rows": rows}


def figure(chart: Chart) -> dict[str, Any]:
    """What the page's script needs to draw one chart: numbers and words, no colours."""
    if chart.kind in AS_THEY_ARE:
        named = [{"title": a} for a in chart.axes]
        return plain({"kind": chart.kind, "axes": named, "log": chart.log, "series": chart.series})
    axes = [
        {"title": plain_name(a), "unit": unit_of(a), **_ticks(chart, i)}
        for i, a in enumerate(chart.axes)
    ]
    series = [dict(s) | {"hover": _hover(chart, s)} for s in chart.series]
    return plain({"kind": chart.kind, "axes": axes, "log": chart.log, "series": series})


def _ticks(chart: Chart, axis: int) -> dict[str, Any]:
    """Tick places and words in friendly units (1 h, 2 MJ) for a quantity with a unit."""
    unit = unit_of(chart.axes[axis])
    key = "xy"[axis]
    values = [v for s in chart.series for v in s[key] if isinstance(v, (int, float)) and v > 0]
    if not unit or not values:
        return {}
    low, high = min(values), max(values)
    steps = _times() if unit == "s" else [m * 10.0**e for e in range(-3, 16) for m in (1, 2, 5)]
    inside = [t for t in steps if 0.8 * low <= t <= 1.25 * high]
    if len(inside) > 9:
        inside = inside[:: len(inside) // 6]
    return (
        {"ticks": inside, "words": [quantity(t, unit) for t in inside]} if len(inside) > 1 else {}
    )


def _times() -> list[float]:
    small = [m * 10.0**e for e in range(-3, 1) for m in (1, 2, 5)]
    minutes = [10, 20, 30, *(60 * m for m in (1, 2, 5, 10, 20, 30))]
    return [
        *small,
        *minutes,
        *(3600 * h for h in (1, 2, 4, 8, 16)),
        *(86400 * d for d in (1, 2, 4, 8)),
    ]


def _hover(chart: Chart, series: Any) -> list[str]:
    """One line per point: the setting, both values, the interval."""
    x, y = (unit_of(a) for a in chart.axes)
    names = series.get("text") or [str(series.get("name", ""))] * len(series["x"])
    said = []
    for i, name in enumerate(names):
        parts = [f"{plain_name(chart.axes[0])} {_number(series['x'][i], x)}"]
        parts.append(f"{plain_name(chart.axes[1])} {_number(series['y'][i], y)}")
        if "low" in series:
            parts[-1] += f" [{_number(series['low'][i], y)} to {_number(series['high'][i], y)}]"
        said.append(f"<b>{name}</b><br>{'<br>'.join(parts)}")
    return said


def _number(value: Any, unit: str) -> str:
    if not isinstance(value, (int, float)):
        return str(value)
    return quantity(float(value), unit) if unit else f"{value:.3g}"
