"""A plan of caps, told: what it gains, what the last watt buys, which nodes give and which get."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rheostat.core.report import Chart, Grid, Report, Section
from rheostat.core.units import format_quantity
from rheostat.explanation.number_words import MINUS

_SHOWN = 20


def budget_report(facts: Mapping[str, Any], *, full: bool = False) -> Report:
    """The plan's facts as a report; at most 20 nodes, those that change most, unless ``full``."""
    nodes = sorted(
        facts["nodes"], key=lambda n: -abs(n["watts_after"] - n["watts_before"])
    )[: None if full else _SHOWN]  # fmt: skip
    grid = Grid(
        ("node", "application", "caps before (W)", "caps after (W)", "gain in speed"),
        tuple(_row(n) for n in nodes),
    )
    sections = [
        Section("The plan", _sentences(facts), None, _chart(facts)),
        Section("Nodes", grid=grid),
    ]
    if facts.get("baselines"):
        rows = [("this plan", _percent(facts["mean_gain"]["value"]))]
        rows += [(k, _percent(v)) for k, v in facts["baselines"].items()]
        sections.insert(1, Section("The same watts, shared otherwise", grid=Grid(
            ("rule", "mean gain in speed"), tuple(rows), marked=0)))  # fmt: skip
    return Report("A plan of a power budget", sections, facts)


def _chart(facts: Mapping[str, Any]) -> Chart:
    """Watts of caps before and after, by the innermost level with limits, else by application."""
    levels = facts["limits"]["groups"]
    level = next(iter(levels), "app")
    nodes = facts["nodes"]
    names = list(dict.fromkeys(str(n[level]) for n in nodes))

    def sums(key: str) -> dict[str, Any]:
        watts = dict.fromkeys(names, 0.0)
        for n in nodes:
            watts[str(n[level])] += n[key]
        return {"x": names, "y": list(watts.values())}

    colours = {"before": "mute", "after": "one"}
    series = [{"name": k, "colour": c, **sums(f"watts_{k}")} for k, c in colours.items()]
    if levels:
        most = [levels[level].get(name) for name in names]
        series.append({"name": "limit", "colour": "two", "x": names, "y": most})
    what = "application" if level == "app" else level
    return Chart("bar", tuple(series), (what, "sum of caps"), units=("", "W"))


def budget_grid(facts: Mapping[str, Any]) -> Grid:
    """One row per node, base units, for a pipe."""
    knobs = list(facts["nodes"][0]["after"])
    heads = (
        "node",
        "app",
        *(f"{k}_before" for k in knobs),
        *knobs,
        "gain",
        "gain_low",
        "gain_high",
    )
    rows = []
    for n in facts["nodes"]:
        gain = n["gain"] or {"value": None, "low": None, "high": None}
        rows.append(
            (n["node"], n["app"], *(n["before"][k] for k in knobs),
             *(n["after"][k] for k in knobs), gain["value"], gain["low"], gain["high"])
        )  # fmt: skip
    return Grid(heads, tuple(rows))


def _sentences(facts: Mapping[str, Any]) -> tuple[str, ...]:
    total = facts["limits"]["total_w"]
    gain, watt = facts["mean_gain"], facts["watt"]["gain_per_w"]
    sentences = [
        f"{facts['changed']} of {len(facts['nodes'])} nodes get other caps within "
        f"{format_quantity(total, 'W')}: mean gain in speed {_percent(gain['value'])} (90 % "
        f"interval {_percent(gain['low'])} to {_percent(gain['high'])}, over nodes by weight).",
        f"Its price: caps of {_w(facts['caps_w']['after'])} together, now "
        f"{_w(facts['caps_w']['before'])}; the node worst off: {_percent(facts['least_gain'])}.",
        f"One more watt buys {100 * watt['value']:.3g} % of one node's worth"
        + _between(watt) + ".",
        _certified(facts["certificate"]),
    ]  # fmt: skip
    if facts["donors"]:
        sentences.append(f"Donors: {len(facts['donors'])} nodes that draw less than their caps.")
    return tuple(sentences)


def _between(watt: Mapping[str, Any]) -> str:
    low, high = watt["low"], watt["high"]
    if low is None or high is None:
        return " (no interval: single noiseless runs)"
    return f" (90 % interval {100 * low:.3g} to {100 * high:.3g} %)"


def _certified(certificate: Mapping[str, Any]) -> str:
    if certificate["exact"]:
        return "No other plan on these surfaces is worth more: proven."
    return f"No plan on these surfaces is worth {100 * certificate['gap']:.2g} % more: certified."


def _row(node: Mapping[str, Any]) -> tuple[Any, ...]:
    gain = node["gain"]
    words = "-" if gain is None else _percent(gain["value"])
    if gain is not None and gain["high"] > gain["low"]:
        words += f" ({_percent(gain['low'])} to {_percent(gain['high'])})"
    before, after = (" + ".join(f"{w:g}" for w in node[x].values()) for x in ("before", "after"))
    return node["node"], node["app"], before, after, words


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:+.1f} %".replace("-", MINUS)


def _w(watts: float) -> str:
    return format_quantity(watts, "W")
