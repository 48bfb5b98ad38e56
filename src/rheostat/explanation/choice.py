"""Words for one job: what its settings cost, which one was taken, and why.

Notation
--------
n  alternatives of the front        base  the row of the setting that was asked for, if it is there
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rheostat.core.decision import Assignment, Decision
from rheostat.core.front import Front
from rheostat.core.jobs import JobTable
from rheostat.core.outcome import GRADES, Array
from rheostat.core.report import Chart, Grid, Section
from rheostat.explanation.number_words import (
    listed,
    plain_name,
    setting_words,
    share,
    spanned,
    unit_of,
)
from rheostat.explanation.scatter import GLYPHS

Explained = tuple[list[Section], dict[str, Any]]
FLAT = 0.03
"""Two runtimes nearer than this are the same to anyone who waits for them."""


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


def explain_front(front: Front, chosen: int | None, request: Mapping[str, Any] | None) -> Explained:
    """The table of settings, the picture, and how many are worth considering."""
    base = row_of(front, request)
    judged = np.isfinite(front.values).all(axis=1)
    said = [f"{int(front.mask.sum())} of {len(front)} settings are worth considering."]
    said += _grounds(front)
    said += [f"Here {plain_name(o.name)} is: {o.meaning}." for o in front.objectives if o.meaning]
    if not judged.all():
        blind = [setting_words(front.setting(int(i))) for i in np.flatnonzero(~judged)]
        said.append(f"No forecast for {listed(blind)}: too few similar past runs.")
    section = Section("front", tuple(said), _grid(front, chosen, base), _chart(front, chosen, base))
    return [section], front_facts(front)


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
    heads = ["", *front.knobs, *map(plain_name, names), *(f"Δ {_cost(q)}" for q in deltas)]
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
    knee = bool(front.mask.any()) and row == front.knee()
    words = ["knee"] if knee else ["chosen"] if row == chosen else []
    return ", ".join([*words, *(["asked"] if row == base else [])])


def _chart(front: Front, chosen: int | None, base: int | None) -> Chart | None:
    if len(front.objectives) != 2 or not front.mask.any():
        return None
    x, y = (o.name for o in front.objectives)
    kinds = [_kind(front, i, chosen, base) for i in range(len(front))]
    series = {
        "name": "settings",
        "x": front.mean(x).tolist(),
        "y": front.mean(y).tolist(),
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
    support = front.outcome.support
    entries = []
    for i in range(len(front)):
        entry = dict(front.setting(i)) | {q: float(means[q][i]) for q in held}
        entry["intervals"] = {q: [float(spans[q][0][i]), float(spans[q][1][i])] for q in held}
        entry |= {"on_front": bool(front.mask[i]), "probability": float(front.probability[i])}
        entry["support"] = None if support is None else float(support[i])
        if front.outcome.grade is not None:
            entry["evidence"] = GRADES[front.outcome.grade[i]]
        entries.append(entry)
    return {
        "objectives": [o.name for o in front.objectives],
        "level": 0.9,
        "statistic": STATISTIC,
        "front": entries,
    }


BESIDE = ("runtime_s", "energy_j", "power_w", "ttft_s", "memory_share")
"""Quantities that are shown where they are known, though they are no objectives."""
STATISTIC = "means over draws; energy_j is power_w times runtime_s"


def agreeing(
    front: Front, names: Sequence[str]
) -> tuple[dict[str, Array], dict[str, tuple[Array, Array]]]:
    """Means and intervals of ``names`` in which energy is power times runtime.

    The mean of a product is not the product of means: power is mean energy over mean runtime, or
    energy the product of the means where power and not energy is what was chosen by.
    """
    means = {q: front.mean(q) for q in names}
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


def explain_choice(
    choice: Assignment,
    front: Front | None,
    job: JobTable | None = None,
    requested: Mapping[str, Any] | None = None,
) -> Explained:
    """One sentence that says what to do and what it buys, then the reasons."""
    request = None if front is None else asked(front, job, requested)
    base = None if front is None else row_of(front, request)
    decide = Section("decide", (_sentence(choice, front, base),))
    reasons = _reasons(choice, front)
    facts = {"choice": choice_facts(choice), "because": because_facts(choice)}
    if request is not None:
        facts["requested"] = dict(request)
    if front is not None and base is not None:
        facts["choice"]["change"] = changes(front, choice.index, base)
    return [decide, Section("why", tuple(reasons))], facts


def changes(front: Front, row: int, base: int) -> dict[str, list[float]]:
    """Relative change of each objective against ``base``: mean, low, high, draw by draw."""
    ratios = {}
    for name in (o.name for o in front.objectives):
        draws, mean = front.draws(name), front.mean(name)
        ratio = draws[:, row] / draws[:, base] - 1.0
        low, high = np.quantile(ratio, [0.05, 0.95])
        ratios[name] = [float(mean[row] / mean[base] - 1.0), float(low), float(high)]
    return ratios


def _sentence(choice: Assignment, front: Front | None, base: int | None) -> str:
    what = setting_words(choice.setting)
    if front is None or base is None or not np.isfinite(front.values[base]).all():
        numbers = choice.because.numbers
        costs = [f"{spanned(*v, unit_of(q))} {plain_name(q)}" for q, v in numbers.items()]
        return f"{what}: {listed(costs)}."
    if choice.index == base:
        return f"{what}, as asked for: no other setting is better by this rule."
    return f"{what} instead of the {setting_words(front.setting(base))} asked for: " + bargain(
        {q: v[0] for q, v in changes(front, choice.index, base).items()}
    )


def bargain(change: Mapping[str, float]) -> str:
    """What is gained for what, in words.

    >>> bargain({"runtime_s": 0.27, "energy_j": -0.29})
    '29 % less energy for 27 % more time.'
    >>> bargain({"runtime_s": -0.87, "energy_j": 0.001})
    '87 % less time at the same energy.'
    """
    said = {q: bought(v, _cost(q)) for q, v in change.items()}
    less = [said[q] for q, v in change.items() if v < 0 and not said[q].startswith("the same")]
    more = [said[q] for q, v in change.items() if v > 0 and not said[q].startswith("the same")]
    same = [w for w in said.values() if w.startswith("the same")]
    if less and more:
        return f"{listed(less)} for {listed(more)}."
    return " at ".join(listed(part) for part in (less or more, same) if part) + "."


def _cost(name: str) -> str:
    return "time" if name == "runtime_s" else plain_name(name)


def bought(ratio: float, what: str) -> str:
    """A change in words, as a factor when it is large.

    >>> bought(-0.29, "energy"), bought(0.27, "time"), bought(1.6, "time"), bought(0.0, "time")
    ('29 % less energy', '27 % more time', '2.6 times the time', 'the same time')
    """
    if abs(ratio) < 0.005:
        return f"the same {what}"
    if ratio > 1:
        return f"{1 + ratio:.2g} times the {what}"
    return f"{100 * abs(ratio):.0f} % {'less' if ratio < 0 else 'more'} {what}"


def _reasons(choice: Assignment, front: Front | None) -> list[str]:
    because = choice.because
    rule = f"It is the {because.rule}" if because.rule.startswith("knee") else because.rule
    limits = f", among settings with {listed(because.limits)}" if because.limits else ""
    said = [f"{rule[:1].upper()}{rule[1:]}{limits}."]
    if front is not None:
        said += [s for s in (_flattens(front), _sureness(front, choice.index)) if s]
    if because.runner_up:
        compared = [bought(r - 1, _cost(q)) for q, r in because.compared.items()]
        runner = setting_words(because.runner_up)
        said.append(f"Next best: {runner}; against it the choice takes {listed(compared)}.")
    if because.support is not None:
        kind = f"{because.evidence}, " if because.evidence else ""
        runs = round(because.support)
        plural = "s" * (runs != 1)
        here = because.evidence == "measured"
        counted = f"run{plural} at this setting" if here else f"similar past run{plural}"
        said.append(f"Evidence: {kind}{runs} {counted}.")
    return said


def _flattens(front: Front) -> str | None:
    """Where runtime stops improving along a single numeric knob."""
    name = front.knobs[0]
    values = front.alternatives.frame[name]
    if len(front.knobs) != 1 or not values.dtype.is_numeric() or "runtime_s" not in front.outcome:
        return None
    order = np.argsort(values.to_numpy())
    runtime = front.mean("runtime_s")[order]
    seen = np.isfinite(runtime)
    if seen.sum() < 3:
        return None
    best = float(np.nanmin(runtime))
    first = int(np.flatnonzero(seen & (runtime <= best * (1 + FLAT)))[0])
    last = int(np.flatnonzero(seen)[-1])
    if first == last:
        return None
    return f"Runtime stops improving after {setting_words({name: values[int(order[first])]})}."


def _sureness(front: Front, row: int) -> str | None:
    p = float(front.probability[row])
    if len(front.outcome[front.outcome.names[0]]) < 10 or math.isnan(p):
        return None
    return f"It is on the front in {share(p)} of the model's draws."


def choice_facts(choice: Assignment) -> dict[str, Any]:
    """The choice as data."""
    numbers = choice.because.numbers
    return {
        "job": choice.job,
        "setting": dict(choice.setting),
        "index": choice.index,
        **{q: v[0] for q, v in numbers.items()},
        "intervals": {q: [v[1], v[2]] for q, v in numbers.items()},
    }


def because_facts(choice: Assignment) -> dict[str, Any]:
    """The reasons as data."""
    b = choice.because
    return {
        "rule": b.rule,
        "constraints": list(b.limits),
        "runner_up": None if b.runner_up is None else dict(b.runner_up),
        "compared": dict(b.compared),
        "support": b.support,
        "evidence": b.evidence,
    }


def explain_decision(decision: Decision, most: int = 20) -> Explained:
    """A list of assignments, the first ``most`` of them in a table."""
    some: Sequence[Assignment] = decision.assignments[:most]
    names = list(dict.fromkeys(q for a in some for q in a.because.numbers))
    rows = tuple(
        (a.job, setting_words(a.setting), *(a.because.numbers.get(q) for q in names)) for a in some
    )
    heads = ("job", "setting", *map(plain_name, names))
    grid = Grid(heads, rows, ("", "", *map(unit_of, names))) if rows else None
    said = f"{len(decision)} jobs get a setting" + (
        f"; the first {len(some)} are shown." if len(some) < len(decision) else "."
    )
    facts = {
        "assignments": [
            choice_facts(a) | {"because": because_facts(a)} for a in decision.assignments
        ]
    }
    return [Section("decide", (said,), grid)], facts
