"""Words for one job: which of its settings was taken, and why.

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
from rheostat.core.dominance import FLAT
from rheostat.core.front import Front
from rheostat.core.jobs import JobTable
from rheostat.core.report import Grid, Section
from rheostat.core.units import plain_name, unit_of
from rheostat.explanation.choices.front import Explained, asked, row_of
from rheostat.explanation.choices.indistinct import indistinct
from rheostat.explanation.number_words import cost_name, listed, setting_words, share, spanned

SAME = 0.005
"""A relative change that nobody notices."""


def explain_choice(
    choice: Assignment,
    front: Front | None,
    job: JobTable | None = None,
    requested: Mapping[str, Any] | None = None,
) -> Explained:
    """What to do in a sentence, its price and how sure it is, then the reasons."""
    request = None if front is None else asked(front, job, requested)
    base = None if front is None else row_of(front, request)
    first = _sentence(choice, front, base)
    bought_there = base not in (None, choice.index) and "instead of" in first
    price = () if front is None or bought_there else price_words(front, choice.index)
    decide = Section("decide", (first, *price, *_sure(choice, front)))
    reasons = _reasons(choice, front)
    facts = {"choice": choice_facts(choice), "because": because_facts(choice)}
    if request is not None:
        facts["requested"] = dict(request)
    if front is not None and base is not None:
        facts["choice"]["change"] = changes(front, choice.index, base)
    return [decide, Section("why", tuple(reasons))], facts


def changes(front: Front, row: int, base: int) -> dict[str, list[float]]:
    """Relative change of each objective against ``base``: middle, low, high, draw by draw."""
    ratios = {}
    for name in (o.name for o in front.objectives):
        draws, mean = front.draws(name), front.middle(name)
        ratio = draws[:, row] / draws[:, base] - 1.0
        low, high = np.quantile(ratio, [0.05, 0.95])
        ratios[name] = [float(mean[row] / mean[base] - 1.0), float(low), float(high)]
    return ratios


def _sentence(choice: Assignment, front: Front | None, base: int | None) -> str:
    what = setting_words(choice.setting)
    if front is not None and front.measured.any() and not front.measured[choice.index]:
        what += ", not measured"
    if front is None or base is None or not np.isfinite(front.values[base]).all():
        return f"{what}: {cost_words(choice_facts(choice))}."
    if choice.index == base:
        return f"{what}, as asked for: no other setting is better by this rule."
    return f"{what} instead of the {setting_words(front.setting(base))} asked for: " + bargain(
        {q: v[0] for q, v in changes(front, choice.index, base).items()}
    )


def price_words(front: Front, row: int) -> tuple[str, ...]:
    """What a setting takes more than the setting that takes least, of each objective to minimise.

    Nothing where there is no other setting to compare it with.
    """
    more, least = [], []
    for name in (o.name for o in front.objectives if o.sign > 0):
        value = np.where(np.isfinite(front.values).all(axis=1), front.middle(name), np.nan)
        if not np.isfinite(value[row]) or not value[row] > 0 or np.isfinite(value).sum() < 2:
            return ()
        best = int(np.nanargmin(value))
        ratio = float(value[row] / value[best] - 1.0) if value[best] > 0 else math.inf
        what = cost_name(name)
        if ratio < SAME:
            least.append(what)
        elif math.isfinite(ratio):
            price = bought(ratio, what)
            than = "of" if " times the " in price else "than"
            more.append(f"{price} {than} {setting_words(front.setting(best))}")
    said = [*more, *([f"no setting takes less {' or '.join(least)}"] if least else [])]
    return (f"Its price: {'; '.join(said)}.",) if said else ()


def nearest_section(front: Front, setting: Mapping[str, Any]) -> Section:
    """The answer where no setting holds the limits: which misses them least, and its cost."""
    row, said = row_of(front, setting), f"the nearest is {setting_words(setting)}"
    names = [o.name for o in front.objectives] if row is not None else []
    each = {q: [float(end[row]) for end in front.interval(q)] for q in names}
    costs = cost_words({"intervals": each} | {q: float(front.middle(q)[row]) for q in names})
    return Section("answer", (f"No setting holds the limits; {said}{costs and f': {costs}'}.",))


def bargain(change: Mapping[str, float]) -> str:
    """What is gained for what, in words.

    >>> bargain({"runtime_s": 0.27, "energy_j": -0.29})
    '29 % less energy for 27 % more time.'
    >>> bargain({"runtime_s": -0.87, "energy_j": 0.001})
    '87 % less time at the same energy.'
    """
    said = {q: bought(v, cost_name(q)) for q, v in change.items()}
    less = [said[q] for q, v in change.items() if v < 0 and not said[q].startswith("the same")]
    more = [said[q] for q, v in change.items() if v > 0 and not said[q].startswith("the same")]
    same = [w for w in said.values() if w.startswith("the same")]
    if less and more:
        return f"{listed(less)} for {listed(more)}."
    return " at ".join(listed(part) for part in (less or more, same) if part) + "."


def bought(ratio: float, what: str) -> str:
    """A change in words, as a factor when it is large.

    >>> bought(-0.29, "energy"), bought(0.27, "time"), bought(1.6, "time"), bought(0.0, "time")
    ('29 % less energy', '27 % more time', '2.6 times the time', 'the same time')
    """
    if abs(ratio) < SAME:
        return f"the same {what}"
    if ratio > 1:
        return f"{1 + ratio:.2g} times the {what}"
    return f"{100 * abs(ratio):.0f} % {'less' if ratio < 0 else 'more'} {what}"


def _reasons(choice: Assignment, front: Front | None) -> list[str]:
    because = choice.because
    rule = f"It is the {because.rule}" if because.rule.startswith("knee") else because.rule
    limits = f", among settings with {listed(because.limits)}" if because.limits else ""
    ran = " of the settings that were measured" if because.try_next else ""
    said = [f"{rule[:1].upper()}{rule[1:]}{ran}{limits}."]
    if front is not None and because.try_next:
        said.append(_try_next(front, choice))
    if front is not None:
        said += [s for s in (_flattens(front),) if s]
    if because.runner_up:
        compared = [bought(r - 1, cost_name(q)) for q, r in because.compared.items()]
        runner = setting_words(because.runner_up)
        said.append(f"Next best: {runner}; against it the choice takes {listed(compared)}.")
    return said


def _sure(choice: Assignment, front: Front | None) -> list[str]:
    """How sure the choice is: what it rests on, and how often it is on the front."""
    because = choice.because
    said = []
    if because.support is None and front is not None and front.repeats is not None:
        runs = int(front.repeats[choice.index])
        said += [f"Evidence: measured, {runs} run{'s' * (runs != 1)} at this setting."] * (runs > 0)
    if because.support is not None:
        kind = f"{because.evidence}, " if because.evidence else ""
        runs = round(because.support)
        plural = "s" * (runs != 1)
        here = because.evidence == "measured"
        counted = f"run{plural} at this setting" if here else f"similar past run{plural}"
        said.append(f"Evidence: {kind}{runs} {counted}.")
    if (alike := indistinct(front, choice)) is not None:
        said.append(alike.words(choice.setting))
    often = None if front is None else _sureness(front, choice.index)
    return [*said, *([often] if often else [])]


def _try_next(front: Front, choice: Assignment) -> str:
    """The setting that is expected to be better than what was measured, and by how much."""
    row = row_of(front, choice.because.try_next)
    what = setting_words(choice.because.try_next or {})
    change = {} if row is None else changes(front, row, choice.index)
    expected = bargain({q: v[0] for q, v in change.items()}).rstrip(".")
    return f"To try next: {what}, not measured; {expected} is expected, but not surely."


def _flattens(front: Front) -> str | None:
    """Where runtime stops improving along a single numeric knob."""
    name = front.knobs[0]
    values = front.alternatives.frame[name]
    if len(front.knobs) != 1 or not values.dtype.is_numeric() or "runtime_s" not in front.outcome:
        return None
    order = np.argsort(values.to_numpy())
    runtime = front.middle("runtime_s")[order]
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


def cost_words(facts: Mapping[str, Any]) -> str:
    """What a choice (`choice_facts`) costs, with intervals.

    >>> cost_words({"runtime_s": 1680.0, "intervals": {"runtime_s": [1620.0, 1800.0]}})
    '28 min [27 30] runtime'
    """
    each = facts["intervals"].items()
    costs = [f"{spanned(facts[q], v[0], v[1], unit_of(q))} {plain_name(q)}" for q, v in each]
    return listed(costs)


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
        "try_next": None if b.try_next is None else dict(b.try_next),
    }


def explain_decision(decision: Decision) -> Explained:
    """A list of assignments, the first twenty of them in a table."""
    some: Sequence[Assignment] = decision.assignments[:20]
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
