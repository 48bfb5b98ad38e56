"""A search of code variants as a report: the front, the evidence, the diff, and what it cost."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from rheostat.core.report import Chart, Grid, Report, Section

Row = Mapping[str, Any]
NO_FIGURE = math.nan


def unified_diff(original: str, text: str, name: str) -> str:
    """The change as ``patch`` takes it.

    Parameters
    ----------
    original, text : str
        Sources.
    name : str
        Of the file.

    Returns
    -------
    str
        A unified diff; empty where nothing changed.
    """
    lines = difflib.unified_diff(
        original.splitlines(keepends=True), text.splitlines(keepends=True), f"a/{name}", f"b/{name}"
    )
    return "".join(x if x.endswith("\n") else x + "\n\\ No newline at end of file\n" for x in lines)


def ratio(row: Row, objective: str) -> float:
    """A figure of a variant over the original's.

    Parameters
    ----------
    row : mapping
        A row of a code search.
    objective : str
        As runtime_s.

    Returns
    -------
    float
        NaN where either was not measured.
    """
    figures = row["figures"]
    before = figures[f"original_{objective}"]
    return float(figures[objective] / before) if before else NO_FIGURE


def variant_grid(rows: Sequence[Row], chosen: str = "") -> Grid:
    """Every variant with what came of it.

    Parameters
    ----------
    rows : sequence of mapping
        Of a code search.
    chosen : str
        Identity of the variant that was taken.

    Returns
    -------
    Grid
        A line per variant, in the order they were run.
    """
    heads = ("variant", "proposer", "change", "flags", "verdict", "time", "energy", "kind", "diff")
    lines = tuple(
        (
            r["variant"], r["proposer"], r["change"], r["flags"], _said(r),
            ratio(r, "runtime_s"), ratio(r, "energy_j"), r["figures"]["energy_kind"],
            int(r["diff_lines"]),
        )
        for r in rows
    )  # fmt: skip
    place = next((i for i, r in enumerate(rows) if r["variant"] == chosen), None)
    return Grid(heads, lines, marked=place)


def _said(row: Row) -> str:
    return f"rejected by {row['rejected_by']}" if row["rejected_by"] else str(row["verdict"])


def search_report(
    rows: Sequence[Row],
    best: Row | None,
    cost: Mapping[str, Any],
    diff: str,
    evidence: Sequence[Mapping[str, Any]] = (),
) -> Report:
    """What was tried, what is right, what it gains, and what the search itself took.

    Parameters
    ----------
    rows : sequence of mapping
        Of a code search.
    best : mapping or None
        The row that is taken.
    cost : mapping
        seconds, cpu_s, and tokens and joules where known.
    diff : str
        Of the best variant to the original.
    evidence : sequence of mapping
        Rungs of the best variant.

    Returns
    -------
    Report
        For a person to sign.
    """
    accepted = [r for r in rows if r["verdict"] == "accepted"]
    said = [f"{len(rows)} variants were run, {len(accepted)} are accepted."]
    said.append(_best_words(best) if best else "None may be used: the original stays.")
    sections = [
        Section("result", tuple(said)),
        Section("variants", (), variant_grid(rows, best["variant"] if best else ""),
                _chart(accepted)),
        *([_evidence(evidence)] if evidence else []),
        *([Section("diff", listing=diff)] if diff else []),
        Section("cost of the search", tuple(_cost_words(best, cost))),
        *([Section("signature", ("Read by:", "Date:"))] if best else []),
    ]  # fmt: skip
    facts = {"variants": [dict(r) for r in rows], "best": None if best is None else dict(best),
             "cost": dict(cost), "diff": diff}  # fmt: skip
    return Report("", sections, facts)


def _best_words(best: Row) -> str:
    time, energy = ratio(best, "runtime_s"), ratio(best, "energy_j")
    parts = [f"Taken: {best['variant']} ({best['change'] or 'no change'})"]
    if math.isfinite(time):
        parts.append(f"{time:.3g} of the original's time")
    if math.isfinite(energy):
        parts.append(f"{energy:.3g} of its energy ({best['figures']['energy_kind']})")
    return ", ".join(parts) + "."


def _evidence(rungs: Sequence[Mapping[str, Any]]) -> Section:
    rows = tuple((r["rung"], r["state"], r["reason"]) for r in rungs)
    return Section("evidence", (), Grid(("rung", "state", "reason"), rows))


def _chart(accepted: Sequence[Row]) -> Chart | None:
    """Time over energy of what is accepted."""
    points = [
        (ratio(r, "runtime_s"), ratio(r, "energy_j"), f"{r['variant']}: {r['change']}")
        for r in accepted
    ]
    points = [p for p in points if math.isfinite(p[0]) and math.isfinite(p[1])]
    if len(points) < 2:
        return None
    front = [not any(q[0] <= p[0] and q[1] <= p[1] and q[:2] != p[:2] for q in points)
             for p in points]  # fmt: skip
    series = [
        {"name": name, "kind": name, "x": x, "y": y, "text": text}
        for name, on in (("front", True), ("dominated", False))
        for x, y, text in [_columns(points, front, on=on)]
        if x
    ]
    return Chart("scatter", tuple(series), ("time of the original", "energy of the original"))


def _columns(
    points: Sequence[tuple[float, float, str]], front: Sequence[bool], *, on: bool
) -> tuple[list[float], list[float], list[str]]:
    """Coordinates and texts of the points that are, or are not, on the front."""
    some = [p for p, f in zip(points, front, strict=True) if f is on]
    return [p[0] for p in some], [p[1] for p in some], [p[2] for p in some]


def _cost_words(best: Row | None, cost: Mapping[str, Any]) -> list[str]:
    said = [f"{cost['seconds']:.0f} s, {cost['cpu_s']:.0f} CPU-seconds of this machine."]
    if cost.get("tokens"):
        said.append(f"{cost['tokens']} tokens of {cost.get('model', 'a model')}.")
    joules = cost.get("energy_j", math.nan)
    if math.isfinite(joules):
        said.append(f"{joules:.0f} J, {cost['energy_kind']}.")
    same = best is not None and best["figures"]["energy_kind"] == cost.get("energy_kind")
    runs = payback_runs(best, joules) if best is not None and same else math.nan
    if math.isfinite(runs):
        said.append(f"Paid back after {runs:.0f} runs of the size whose energy is given.")
    elif math.isinf(runs):
        said.append("Never paid back: the variant taken saves no energy.")
    elif best:
        said.append("When it pays back is not known: search and runs have no energy of one kind.")
    return said


def payback_runs(best: Row, search_j: float) -> float:
    """Runs of the program until the search's own energy is recovered.

    Parameters
    ----------
    best : mapping
        The row that is taken.
    search_j : float
        Energy of the search.

    Returns
    -------
    float
        NaN where an energy is unknown, infinite where nothing is saved.

    Examples
    --------
    >>> row = {"figures": {"energy_j": 6.0, "original_energy_j": 10.0}}
    >>> payback_runs(row, 100.0)
    25.0
    """
    saved = best["figures"]["original_energy_j"] - best["figures"]["energy_j"]
    if math.isnan(saved) or math.isnan(search_j):
        return NO_FIGURE
    return math.inf if saved <= 0 else float(math.ceil(search_j / saved))
