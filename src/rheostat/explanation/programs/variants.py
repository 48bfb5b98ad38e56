"""A search of code variants as a report: the front, the evidence, the diff, and what it cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rheostat.core.dominance import non_dominated
from rheostat.core.report import Chart, Grid, Report, Section
from rheostat.explanation.programs.flags_apart import (
    apart_facts,
    apart_section,
    kind_of_energy,
    ratio,
    said_of,
)
from rheostat.measurement.code.toolchain import family_of
from rheostat.measurement.code.verdict import NO_GAIN

Row = Mapping[str, Any]
NO_FIGURE = math.nan
RATIOS = ("runtime_s", "energy_j", "memory_byte")
LASSI_NAMES = {"sim_t": "Sim-T", "sim_l": "Sim-L", "self_corr": "Self-corr", "ratio": "Ratio"}
AT_K_HEADS = ("k", "higher energy counts as negative", "the original is kept instead")
AT_K_WORDS = (
    "Expected share of the original's energy that the best of k trials saves; a trial without a "
    "verified program saves nothing."
)
FRONT_WORDS = (
    "Time, energy and memory are shares of the original's. On the front is what no other variant "
    "beats in these and in lines changed at once; each may be preferred."
)


def on_front(rows: Sequence[Row]) -> list[bool]:
    """Which accepted variants no other beats in time, energy, memory and lines changed at once.

    Variants whose energies are of two kinds, as measured and modelled, are not ranked together; a
    figure that not every variant of a kind has is left out.

    Parameters
    ----------
    rows : sequence of mapping
        Of a code search.

    Returns
    -------
    list of bool
        One per row.
    """
    mask = np.zeros(len(rows), dtype=bool)
    kinds = [r["figures"]["energy_kind"] if r["verdict"] == "accepted" else "" for r in rows]
    for kind in {k for k in kinds if k}:
        some = np.array([i for i, k in enumerate(kinds) if k == kind])
        y = np.array([[*(ratio(rows[i], o) for o in RATIOS), rows[i]["diff_lines"]] for i in some])
        mask[some] = non_dominated(y[:, np.isfinite(y).all(axis=0)])
    return mask.tolist()


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
    heads = ("variant", "proposer", "change", "flags", "verdict", "time", "energy", "kind",
             "memory", "lines changed", "front")  # fmt: skip
    lines = tuple(
        (
            r["variant"], r["proposer"], r["change"], _built_with(r, "cc"), said_of(r),
            *(ratio(r, o) for o in RATIOS[:2]), kind_of_energy(r), ratio(r, RATIOS[2]),
            int(r["diff_lines"]), "yes" if front else "",
        )
        for r, front in zip(rows, on_front(rows), strict=True)
    )  # fmt: skip
    place = next((i for i, r in enumerate(rows) if r["variant"] == chosen), None)
    return Grid(heads, lines, marked=place)


def _built_with(row: Row, compiler: str = "") -> str:
    """Flags of the compiler, with the one that OpenMP needs; its name where only one knows them."""
    openmp = ("-fopenmp",) if row.get("language") in ("openmp", "target") else ()
    name = family_of(row["flags"].split(" ")) or compiler
    return " ".join(filter(None, (name, row["flags"], *openmp))) or "no flags"


def search_report(
    rows: Sequence[Row],
    best: Row | None,
    cost: Mapping[str, Any],
    diffs: Mapping[str, str],
    verdict: Mapping[str, Any] | None = None,
    name: str = "",
    chains: Mapping[str, Any] | None = None,
    objective: str = "runtime_s",
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
    diffs : mapping of str to str
        Of variants to the original, by identity.
    verdict : mapping, optional
        On the best variant, as `Verdict.facts` gives it.
    name : str
        Of the program.
    chains : mapping, optional
        What a model's chains came to: chains, and lassi or energy_reduction_at_k.
    objective : str
        What the best has least of.

    Returns
    -------
    Report
        For a person to sign.
    """
    accepted = sum(r["verdict"] == "accepted" for r in rows)
    answer = _best_words(best) if best else f"{why_none(rows, objective)}."
    said = [answer, f"{len(rows)} variants were run, {accepted} are accepted."]
    chosen = str(best["variant"]) if best else ""
    front = Section("variants", (FRONT_WORDS,) if accepted else (), variant_grid(rows, chosen),
                    _chart(rows))  # fmt: skip
    sections = [
        Section("result", tuple(said)),
        *([_difference(chosen, diffs[chosen], "taken")] if diffs.get(chosen) else []),
        *([_evidence(verdict)] if verdict else []),
        apart_section(rows, best, objective),
        front,
        *(_difference(name, diff, "on the front") for name, diff in diffs.items()
          if diff and name != chosen),
        *_chain_sections(chains or {}),
        Section("cost of the search", tuple(_cost_words(best, cost))),
        *([_signature(chosen)] if best else []),
    ]  # fmt: skip
    listed = [dict(r) | {"on_front": f} for r, f in zip(rows, on_front(rows), strict=True)]
    facts = {
        "variants": listed,
        "best": None if best is None else dict(best),
        "cost": dict(cost),
        "apart": apart_facts(rows, best, objective),
    }
    return Report(f"Variants of {name}" if name else "", sections, facts)


def why_none(rows: Sequence[Row], objective: str) -> str:
    """Why the original stays, with the variant that came nearest of those not found wrong.

    Parameters
    ----------
    rows : sequence of mapping
        Of a code search; none gains on the original.
    objective : str
        runtime_s or energy_j.

    Returns
    -------
    str
        For an error, and for reports.
    """
    right = [r for r in rows if r["verdict"] in ("accepted", NO_GAIN)]
    if not right:
        return "no variant is accepted: the original stays"
    known = [r for r in right if math.isfinite(ratio(r, objective))]
    what = "faster" if objective == "runtime_s" else "thriftier"
    why = f"no accepted variant is {what} by more than the noise: the original stays"
    if not known:
        return f"{why}; none was measured"
    nearest = min(known, key=lambda r: ratio(r, objective))
    share, quantity = ratio(nearest, objective), "time" if what == "faster" else "energy"
    change = f" ({nearest['figures'].get('time_change', '')})" if what == "faster" else ""
    return f"{why}; nearest is {nearest['variant']}, {share:.3g} of its {quantity}{change}"


def _best_words(best: Row) -> str:
    time, energy, figures = ratio(best, "runtime_s"), ratio(best, "energy_j"), best["figures"]
    parts = [f"Taken: {best['variant']} ({best['change'] or 'no change'}), built with "
             f"{_built_with(best)}"]  # fmt: skip
    if not best["diff_lines"]:
        parts.append("no line changed")
    if math.isfinite(time):
        low, high = (figures.get(f"runtime_ratio_{x}", NO_FIGURE) for x in ("low", "high"))
        interval = f" [{low:.3g}, {high:.3g}]" if math.isfinite(low) else ""
        said = f" ({figures['time_change']})" if interval else ""
        parts.append(f"{time:.3g} of the original's time{interval}{said}")
    if math.isfinite(energy):
        parts.append(f"{energy:.3g} of its energy ({kind_of_energy(best)})")
    return ", ".join(parts) + "."


def _difference(name: str, diff: str, why: str) -> Section:
    return Section(f"difference of {name}, {why}", listing=diff)


def _evidence(verdict: Mapping[str, Any]) -> Section:
    """The rungs that passed and those that say nothing, which is not the same."""
    states = Counter(r["state"] for r in verdict["rungs"])
    silent: dict[str, list[str]] = {}
    for r in verdict["rungs"]:
        if r["state"] != "passed":
            silent.setdefault(f"{r['state']}, {r['reason']}", []).append(r["rung"])
    said = [
        f"{states['passed']} of {len(verdict['rungs'])} rungs passed.",
        *(f"Nothing is known of {', '.join(rungs)}: {why}." for why, rungs in silent.items()),
        *(f"To be looked at: {flag}." for flag in verdict["flags"]),
        f"Sandbox: {verdict['sandbox']}. Seed of the hidden inputs: {verdict['seed']}.",
        *verdict["notes"],
    ]  # fmt: skip
    rows = tuple((r["rung"], r["state"], r["reason"]) for r in verdict["rungs"])
    return Section("evidence", tuple(said), Grid(("rung", "state", "reason"), rows))


def _chain_sections(facts: Mapping[str, Any]) -> list[Section]:
    """A model's chains, and the figures of the published systems."""
    sections = []
    if facts.get("chains"):
        heads = ("chain", "model", "answers", "corrections", "verified", "variant")
        rows = tuple(tuple(c[h] for h in heads) for c in facts["chains"])
        figures = {n: facts.get("lassi", {}).get(k) for k, n in LASSI_NAMES.items()}
        said = [f"{n} {v:.3g}." for n, v in figures.items() if v is not None and math.isfinite(v)]
        sections.append(Section("chains of the model", tuple(said), Grid(heads, rows)))
    if facts.get("energy_reduction_at_k"):
        kept = facts["energy_reduction_at_k"]
        rows = tuple((int(k), v["negative_counts"], v["original_kept"]) for k, v in kept.items())
        sections.append(Section("energy-reduction@k", (AT_K_WORDS,), Grid(AT_K_HEADS, rows)))
    return sections


def _signature(chosen: str) -> Section:
    said = f"I have read the difference and the evidence of {chosen}, and it may be used."
    return Section("signature", (said, "Name:", "Date:"))


def _chart(rows: Sequence[Row]) -> Chart | None:
    """Time over energy of what is accepted; the front also weighs memory and lines changed."""
    points, front = [], []
    for r, on in zip(rows, on_front(rows), strict=True):
        point = ratio(r, "runtime_s"), ratio(r, "energy_j"), f"{r['variant']}: {r['change']}"
        if r["verdict"] == "accepted" and math.isfinite(point[0] + point[1]):
            points.append(point)
            front.append(on)
    if len(points) < 2:
        return None
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
    said += [
        f"{m['tokens']} tokens and {m['seconds']:.0f} s of {m['model']}, {m['answers']} answers."
        for m in cost.get("models", ())
    ]
    if cost.get("unanswered"):
        said.append(f"{cost['unanswered']} questions were sent and not answered; a service may "
                    "count them.")  # fmt: skip
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
