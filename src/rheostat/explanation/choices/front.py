"""Words for one front: its table, its picture, how many settings are worth considering.

Notation
--------
n  alternatives of the front        base  the row of the setting that was asked for, if it is there
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rheostat.core.front import Front
from rheostat.core.jobs import JobTable
from rheostat.core.outcome import GRADES, Array
from rheostat.core.report import Chart, Grid, Section
from rheostat.core.units import plain_name, unit_of
from rheostat.explanation.formats.long_tables import MOST
from rheostat.explanation.number_words import cost_name, listed, setting_words
from rheostat.explanation.pictures.scatter import GLYPHS
from rheostat.prediction.effects.plausible import REASONS

Explained = tuple[list[Section], dict[str, Any]]
FEW = "too few similar past runs"
RANGED = "Of measured settings the brackets are the range of their runs: 90 % take 19 repeats."
ONE = "A setting that ran once has no interval."
BESIDE = ("runtime_s", "energy_j", "power_w", "ttft_s", "memory_share")
"""Quantities that are shown where they are known, though they are no objectives."""


def asked(
    front: Front, job: JobTable | None, requested: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """The setting asked for: as given, or from the job's own row."""
    if requested is not None:
        return dict(requested)
    if job is None or not set(front.knobs) <= set(job.columns):
        return None
    return {k: job.frame[k][0] for k in front.knobs}


def row_of(front: Front, setting: Mapping[str, Any] | None) -> int | None:
    """The row of a setting on the front, None where it is not an alternative."""
    if setting is None or not set(setting) <= set(front.alternatives.columns):
        return None
    rows = front.alternatives.select(list(setting)).frame.rows(named=True)
    return next((i for i, row in enumerate(rows) if row == dict(setting)), None)


def explain_front(
    front: Front,
    chosen: int | None,
    request: Mapping[str, Any] | None,
    kept: Iterable[int] = (),
    by: str = "",
) -> Explained:
    """The picture, how many settings are worth considering, and the table.

    Of many settings the table shows the chosen one, that asked for, those of ``kept``, then the
    front and the others, the least of ``by`` first (the first objective).
    """
    base = row_of(front, request)
    judged = np.isfinite(front.values).all(axis=1)
    said = [f"{int(front.mask.sum())} of {len(front)} settings are worth considering."]
    said += _grounds(front)
    said += (
        [RANGED] if front.repeats is not None and (front.repeats[front.ranged()] > 1).any() else []
    )
    said += ran_once(front)
    said += [f"Here {plain_name(o.name)} is: {o.meaning}." for o in front.objectives if o.meaning]
    if not judged.all():
        blind = [setting_words(front.setting(int(i))) for i in np.flatnonzero(~judged)]
        doubts = [n.message for n in front.outcome.notes if n.message in REASONS]
        why = [d.removesuffix(": no prediction") for d in doubts]
        said.append(f"No forecast for {listed(blind)}: {'; '.join(why or [FEW])}.")
    section = Section("front", tuple(said), _grid(front, chosen, base), _chart(front, chosen, base))
    rank = np.lexsort((front.middle(by or front.objectives[0].name), ~front.mask))
    first = [i for i in (chosen, base, *kept) if i is not None]
    return shortened(section, first, rank.tolist()), front_facts(front)


def ran_once(front: Front) -> tuple[str, ...]:
    """A sentence on measured settings without an interval, where there are any."""
    return (ONE,) if front.repeats is not None and (front.repeats == 1).any() else ()


def shortened(section: Section, first: Iterable[int], rank: Sequence[int]) -> list[Section]:
    """A section with `MOST` rows of its table in their order, and one folded with all of them.

    Parameters
    ----------
    section : Section
        With a table of a row per setting.
    first : iterable of int
        Rows that stay in any case.
    rank : sequence of int
        All rows, those that tell most first.
    """
    grid = section.grid
    if grid is None or len(grid.rows) <= MOST:
        return [section]
    kept = sorted(list(dict.fromkeys([*first, *rank]))[:MOST])
    marked = kept.index(grid.marked) if grid.marked in kept else None
    short = Grid(grid.heads, tuple(grid.rows[i] for i in kept), grid.units, marked)
    said = f"The table shows {MOST} of {len(grid.rows)} settings."
    return [replace(section, sentences=(*section.sentences, said), grid=short),
            Section("All settings", grid=grid, folded=True)]  # fmt: skip


def _grounds(front: Front) -> list[str]:
    """What the figures rest on: measurements, or similar past runs."""
    grade = front.outcome.grade
    if grade is None:
        counted = front.outcome.support is not None
        return ["The column runs counts similar past runs behind each forecast."] if counted else []
    counts = {name: int((grade == k).sum()) for k, name in enumerate(GRADES)}
    ran = f"This application ran at {counts['measured']} of {len(front)} settings"
    between = f"{counts['interpolated']} between settings it ran at"
    others = f"{counts['borrowed']} judged by other applications"
    parts = [ran, *([between] if counts["interpolated"] else [])]
    parts += [others] if counts["borrowed"] else []
    return [f"{', '.join(parts)}; the column runs counts the runs behind each."]


def _grid(front: Front, chosen: int | None, base: int | None) -> Grid:
    names = [o.name for o in front.objectives]
    means, spans = agreeing(front, names)
    deltas = names if base is not None and np.isfinite(front.values[base]).all() else []
    support = front.outcome.support
    grade = front.outcome.grade if _grades_differ(front) else None
    rows = []
    for i in range(len(front)):
        cells = [_glyph(front, i, chosen, base), *front.setting(i).values()]
        cells += [(float(means[q][i]), float(spans[q][0][i]), float(spans[q][1][i])) for q in names]
        cells += [float(means[q][i] / means[q][base] - 1) for q in deltas]
        cells += [] if support is None else [int(support[i])]
        cells += [] if grade is None else [GRADES[grade[i]]]
        rows.append((*cells, _mark(front, i, chosen, base)))
    heads = ["", *front.knobs, *map(plain_name, names), *(f"Δ {cost_name(q)}" for q in deltas)]
    units = [
        "",
        *(u if (u := unit_of(k)) in ("Hz", "B") else "" for k in front.knobs),
        *map(unit_of, names),
        *("%" for _ in deltas),
    ]
    heads += [] if support is None else ["runs"]
    heads += ([] if grade is None else ["evidence"]) + ["choice"]
    return Grid(tuple(heads), tuple(rows), (*units, *[""] * (len(heads) - len(units))), chosen)


def _grades_differ(front: Front) -> bool:
    """Whether the evidence tells the settings with a forecast apart; else a sentence says it."""
    grade = front.outcome.grade
    judged = np.isfinite(front.values).all(axis=1)
    return grade is not None and len(np.unique(grade[judged])) > 1


def _kind(front: Front, row: int, chosen: int | None, base: int | None) -> str:
    """What a setting is on the picture and in the table; no forecast is no kind."""
    if row in (chosen, base):
        return "chosen" if row == chosen else "requested"
    if not np.isfinite(front.values[row]).all():
        return ""
    return "front" if front.mask[row] else "dominated"


def _glyph(front: Front, row: int, chosen: int | None, base: int | None) -> str:
    return GLYPHS.get(_kind(front, row, chosen, base), "")


def _mark(front: Front, row: int, chosen: int | None, base: int | None) -> str:
    knee = len(front.objectives) > 1 and bool(front.mask.any()) and row == front.knee()
    words = ["knee"] if knee else ["chosen"] if row == chosen else []
    return ", ".join([*words, *(["asked"] if row == base else [])])


def _chart(front: Front, chosen: int | None, base: int | None) -> Chart | None:
    if len(front.objectives) != 2 or not front.mask.any():
        return None
    x, y = (o.name for o in front.objectives)
    kinds = [_kind(front, i, chosen, base) for i in range(len(front))]
    series = {
        "name": "settings",
        "x": front.middle(x).tolist(),
        "y": front.middle(y).tolist(),
        "x_low": front.interval(x)[0].tolist(),
        "x_high": front.interval(x)[1].tolist(),
        "low": front.interval(y)[0].tolist(),
        "high": front.interval(y)[1].tolist(),
        "text": [setting_words(front.setting(i)) for i in range(len(front))],
        "kinds": kinds,
        "on_front": front.mask.tolist(),
    }
    return Chart("front", (series,), (x, y), log=True)


def front_facts(front: Front) -> dict[str, Any]:
    """The front as data: one entry per setting, with intervals."""
    names = dict.fromkeys([*BESIDE, *(o.name for o in front.objectives)])
    held = [q for q in names if q in front.outcome or any(q == o.name for o in front.objectives)]
    means, spans = agreeing(front, held)
    support = front.outcome.support if front.outcome.support is not None else front.repeats
    ranged, entries = front.ranged(), []
    for i in range(len(front)):
        entry = dict(front.setting(i)) | {q: float(means[q][i]) for q in held}
        one = ranged[i] and front.repeats is not None and front.repeats[i] == 1
        ends = {q: [float(spans[q][0][i]), float(spans[q][1][i])] for q in held}
        entry["intervals"] = {q: [math.nan, math.nan] for q in held} if one else ends
        entry |= {"on_front": bool(front.mask[i]), "probability": float(front.probability[i])}
        if ranged[i]:
            entry["interval_is"] = "unknown: one run" if one else "range of runs"
        entry["support"] = None if support is None else float(support[i])
        if front.outcome.grade is not None:
            entry["evidence"] = GRADES[front.outcome.grade[i]]
        entries.append(entry)
    return {
        "objectives": [o.name for o in front.objectives],
        "level": 0.9,
        "statistic": f"{front.statistic}s over draws; energy_j is power_w times runtime_s",
        "front": entries,
    }


def agreeing(
    front: Front, names: Sequence[str]
) -> tuple[dict[str, Array], dict[str, tuple[Array, Array]]]:
    """Means and intervals of ``names`` in which energy is power times runtime.

    The mean of a product is not the product of means: power is mean energy over mean runtime, or
    energy the product of the means where power and not energy is what was chosen by.
    """
    means = {q: front.middle(q) for q in names}
    spans = {q: front.interval(q) for q in names}
    if {"runtime_s", "power_w", "energy_j"} <= set(means):
        chosen_by = {o.name for o in front.objectives}
        if "power_w" in chosen_by and "energy_j" not in chosen_by:
            derived, value = "energy_j", means["power_w"] * means["runtime_s"]
        else:
            derived, value = "power_w", means["energy_j"] / means["runtime_s"]
        low, high = spans[derived]
        means[derived], spans[derived] = value, (np.fmin(low, value), np.fmax(high, value))
    return means, spans


def front_table(front: Front, chosen: int | None, base: int | None) -> Grid:
    """The front for a pipe: columns by name in base units, yes or no as true and false."""
    facts = front_facts(front)["front"]
    held = [q for q in facts[0] if q in facts[0]["intervals"]]
    graded = ("evidence",) if "evidence" in facts[0] else ()
    heads = (*front.knobs, *held, "on_front", "support", *graded, "chosen", "requested")
    rows = []
    for i, entry in enumerate(facts):
        values = [entry[k] for k in front.knobs]
        values += [(entry[q], *entry["intervals"][q]) for q in held]
        roles = (i == chosen, i == base)
        values += [entry[k] for k in ("on_front", "support", *graded)]
        rows.append((*values, *roles))
    return Grid(heads, tuple(rows), (), chosen)
