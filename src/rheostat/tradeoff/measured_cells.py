"""What was measured is believed: cells of a table keep their measurement, a model fills the others.

A *cell* is a setting of one application.  Its repeated runs are its draws, so that their spread is
its interval and their mean its value; all quantities of a draw come from the same run.

Notation
--------
n  alternatives      d  draws      k  repeats of a cell
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rheostat.core.decision import Assignment
from rheostat.core.front import Constraint, Front, Rule
from rheostat.core.jobs import JobTable, Note
from rheostat.core.outcome import DERIVED, GRADES, Array, Outcome
from rheostat.core.space import Setting, Space
from rheostat.tradeoff.propose.base import Searcher

Cells = Mapping[int, NDArray[np.int64]]
ROW = "_row"
FAILED = "did not finish"
QUANTITIES = ("runtime_s", "power_w", "energy_j")


@dataclass(frozen=True)
class MeasuredSettings:
    """Runs of one application, and which of them belong to each of its alternatives.

    Parameters
    ----------
    runs
        Rows of the application that hold a value for every quantity asked for.
    values
        Quantity to its values, (rows of ``runs``,).
    cells
        Row of the alternatives to the rows of ``runs`` at its setting; without runs it is absent.
    partly
        Likewise for other settings: quantity to its mean over finished runs that lack another.
    """

    runs: JobTable
    values: Mapping[str, Array]
    cells: Cells
    partly: Mapping[int, Mapping[str, float]] = field(default_factory=dict)

    def missing(self, n: int) -> NDArray[np.int64]:
        """Alternatives out of ``n`` without a measurement."""
        return np.array([i for i in range(n) if i not in self.cells], np.int64)


def measured(
    alternatives: JobTable, runs: JobTable, knobs: Sequence[str], wanted: Sequence[str]
) -> MeasuredSettings:
    """Find the finished runs at each alternative's setting that hold every ``wanted`` quantity.

    >>> from rheostat import table
    >>> runs = table({"nodes": [1, 1, 4], "runtime_s": [9.0, 11.0, 4.0]})
    >>> cells = measured(table({"nodes": [1, 2, 4]}), runs, ["nodes"], ["runtime_s"]).cells
    >>> {row: runs.tolist() for row, runs in cells.items()}
    {0: [0, 1], 2: [2]}

    A run that was cut off measured nothing: its runtime is only a lower bound.
    """
    there = [q for q in dict.fromkeys((*QUANTITIES, *wanted)) if q in runs.columns]
    given = Outcome.measured(runs, *there)
    names = [q for q in dict.fromkeys((*QUANTITIES, *wanted)) if q in given]
    values = {q: given[q][0] for q in names}
    needed = [q for q in wanted if q in values or q in DERIVED or q == "runtime_s"]
    if not len(runs) or not set(needed) <= set(values) or not set(knobs) <= set(runs.columns):
        return MeasuredSettings(runs, values, {})
    needed = needed or [q for q in ("runtime_s",) if q in values]
    if not needed:
        return MeasuredSettings(runs, values, {})
    whole = np.all([np.isfinite(values[q]) for q in needed], axis=0)
    ended = ~runs.cut_off
    whole &= ended
    at: dict[tuple[object, ...], list[int]] = {}
    lacking: dict[tuple[object, ...], list[int]] = {}
    for row, setting in enumerate(_settings(runs, knobs)):
        if ended[row]:
            (at if whole[row] else lacking).setdefault(setting, []).append(row)
    asked = list(enumerate(_settings(alternatives, knobs)))
    cells = {i: np.array(at[s]) for i, s in asked if s in at}
    some = {i: np.array(lacking[s]) for i, s in asked if s in lacking and i not in cells}
    means = {i: _known_means(values, rows) for i, rows in some.items()}
    return MeasuredSettings(runs, values, cells, {i: m for i, m in means.items() if m})


def _known_means(values: Mapping[str, Array], rows: NDArray[np.int64]) -> dict[str, float]:
    """The mean of each quantity that some of the rows hold."""
    known = {q: v[rows][np.isfinite(v[rows])] for q, v in values.items()}
    return {q: float(v.mean()) for q, v in known.items() if len(v)}


def measured_all(
    job: JobTable,
    runs: JobTable | None,
    space: Space,
    settings: Sequence[Setting],
    wanted: Sequence[str],
) -> bool:
    """Whether ``runs`` hold every one of ``settings``, so that no model is needed."""
    if runs is None:
        return False
    alternatives = space.alternatives(job, settings)
    return len(measured(alternatives, runs, space.names, wanted).cells) == len(settings)


def filled(
    alternatives: JobTable, own: MeasuredSettings, predicted: Outcome | None, knobs: Sequence[str]
) -> Outcome:
    """Measurements where there are any, else ``predicted``, one row per alternative without one.

    Parameters
    ----------
    alternatives
        One row per setting, n in all.
    own
        As `measured` found them for these alternatives.
    predicted
        Outcome of ``own.missing(n)`` in that order; None where nothing is missing.
    knobs
        Columns that tell settings apart.

    Returns
    -------
    Outcome
        ``support`` of a measured row is its number of repeats; ``grade`` says which rows were
        measured, and whether the others lie within the settings the application ran at.
    """
    n, blank = len(alternatives), own.missing(len(alternatives))
    names = [q for q in own.values if predicted is None or q in predicted]
    longest = max((len(rows) for rows in own.cells.values()), default=1)
    d = longest if predicted is None else max(longest, len(predicted[names[0]]))
    draws = {q: np.full((d, n), np.nan) for q in names}
    support, grade = np.zeros(n), np.zeros(n, np.int64)
    for i, rows in own.cells.items():
        support[i], grade[i] = len(rows), GRADES.index("measured")
        for q in names:
            draws[q][:, i] = repeated(own.values[q][rows], d)
    if predicted is not None:
        predicted = _with_known(predicted, [own.partly.get(int(i), {}) for i in blank])
        for q in names:
            draws[q][:, blank] = lengthened(predicted[q], d)
        support[blank] = 0.0 if predicted.support is None else predicted.support
        grade[blank] = _grades(alternatives.rows(blank), own, predicted, knobs)
    return Outcome(draws, support, () if predicted is None else predicted.notes, grade)


def _with_known(predicted: Outcome, known: Sequence[Mapping[str, float]]) -> Outcome:
    """The forecast, with what was measured of a setting in its place."""
    if not any(known):
        return predicted
    draws = {q: np.array(values, float) for q, values in predicted.draws.items()}
    for row, means in enumerate(known):
        for q in draws.keys() & means.keys():
            draws[q][:, row] = means[q]
        if "power_w" in draws and "energy_j" in means and "power_w" not in means:
            draws["power_w"][:, row] = means["energy_j"] / draws["runtime_s"][:, row]
    said = f"settings of which runs tell a part ({sum(map(bool, known))}): that stands as measured"
    notes = (*predicted.notes, Note(f"{said}, the rest is forecast"))
    return replace(predicted, draws=draws, notes=notes)


def _settings(jobs: JobTable, knobs: Sequence[str]) -> list[tuple[object, ...]]:
    """Knob values of each row; equal numbers are equal whatever their type."""
    columns = [jobs.frame[k] for k in knobs]
    return list(zip(*(c.to_list() for c in columns), strict=True))


def repeated(values: Array, d: int) -> Array:
    """``values`` over and over, (d,), filled up with their mean, so that the mean stays exact."""
    k = len(values)
    return np.concatenate([np.tile(values, d // k), np.full(d % k, values.mean())])


def lengthened(draws: Array, d: int) -> Array:
    """Predicted draws, cycled to (d, rows) where a cell has more repeats than they are."""
    return draws[np.arange(d) % len(draws)]


def _grades(
    rows: JobTable, own: MeasuredSettings, predicted: Outcome, knobs: Sequence[str]
) -> NDArray[np.int64]:
    """Interpolated between the application's own settings, borrowed beyond them.

    Between is within the range of each knob, and of the product and quotient of each two: ranks and
    threads that together fill the cores lie in a band, and 2048 of them are beyond 256.
    """
    inside = np.full(len(rows), bool(own.cells))
    logs = []
    for k in knobs:
        values, ran = rows.frame[k], own.runs.frame[k].drop_nulls()
        if not (values.dtype.is_numeric() and len(ran)):
            inside &= values.is_in(ran.implode()).to_numpy()
            continue
        x, y = values.to_numpy().astype(float), own.runs.numpy(k)
        inside &= _within(x, y)
        logs += [(np.log(x), np.log(y))] if min(np.min(x), np.nanmin(y)) > 0 else []
    for (a, ran_a), (b, ran_b) in combinations(logs, 2):
        inside &= _within(a + b, ran_a + ran_b) & _within(a - b, ran_a - ran_b)
    grade = np.where(inside, GRADES.index("interpolated"), GRADES.index("borrowed"))
    return np.where(predicted.abstained, GRADES.index("none"), grade)


def _within(values: Array, ran: Array) -> NDArray[np.bool_]:
    slack = 1e-9
    return (values >= np.nanmin(ran) - slack) & (values <= np.nanmax(ran) + slack)


def tell_runs(searcher: Searcher, runs: JobTable) -> int:
    """Tell a proposer every setting of its space that ``runs`` hold, repeats together.

    How many were measured; those of which every run failed count as failed, and as none measured.

    >>> from rheostat import Knob, table
    >>> from rheostat.tradeoff.propose import Sobol
    >>> nodes = Sobol(Knob("nodes", [1, 2, 4]), ("runtime_s",))
    >>> tell_runs(nodes, table({"nodes": [1, 1, 4], "runtime_s": [9.0, 11.0, 4.0]}))
    2
    >>> nodes.front.mean("runtime_s")
    array([10.,  4.])
    """
    names = searcher.space.names
    runs.require(*names)
    held = runs.frame.select(names).drop_nulls().unique(maintain_order=True).rows(named=True)
    settings = [s for s in held if _listed(searcher.space, s)]
    rows = searcher.space.alternatives(searcher.job, settings)
    own = measured(rows, runs, names, [o.name for o in searcher.objectives])
    for i, at in own.cells.items():
        draws = {q: values[at][:, None] for q, values in own.values.items()}
        searcher.tell(rows.rows([i]), Outcome(draws))
    if failed := [s for s, why in uncounted(searcher, runs) if why == FAILED]:
        nothing = {o.name: np.full((1, len(failed)), np.nan) for o in searcher.objectives}
        searcher.tell(searcher.space.alternatives(searcher.job, failed), Outcome(nothing))
    return len(own.cells)


def uncounted(searcher: Searcher, runs: JobTable) -> list[tuple[Setting, str]]:
    """Settings of ``runs`` that tell a proposer no value, each with the reason.

    >>> from rheostat import Knob, table
    >>> from rheostat.tradeoff.propose import Sobol
    >>> runs = {"nodes": [1, 2, 3], "runtime_s": [9.0, 4.0, 5.0], "censored": [False, True, False]}
    >>> uncounted(Sobol(Knob("nodes", [1, 2, 4]), ("runtime_s",)), table(runs))
    [({'nodes': 2}, 'did not finish'), ({'nodes': 3}, 'is outside the knobs')]
    """
    names, wanted = searcher.space.names, [o.name for o in searcher.objectives]
    place = runs.frame.select(names).with_row_index(ROW).drop_nulls()
    held = runs.rows(place.unique(names, keep="first", maintain_order=True)[ROW].to_numpy())
    cells = measured(held, runs, names, wanted).cells
    ended = set(_settings(runs.finished(), names))

    def why(setting: Setting) -> str:
        if not _listed(searcher.space, setting):
            return "is outside the knobs"
        return f"lacks {' or '.join(wanted)}" if tuple(setting.values()) in ended else FAILED

    settings = held.frame.select(names).rows(named=True)
    there = [i in cells and _listed(searcher.space, s) for i, s in enumerate(settings)]
    return [(s, why(s)) for s, counts in zip(settings, there, strict=True) if not counts]


def _listed(space: Space, setting: Setting) -> bool:
    """Whether every value is one that its knob can take, and the space allows the setting."""
    inside = (
        setting[k.name] in k.values if k.finite else k.low <= setting[k.name] <= k.high
        for k in space.knobs
    )
    return all(inside) and space.allows(setting)


def expected_front(searcher: Searcher) -> Front | None:
    """Every listed setting, measured ones as measured, others as the method expects them.

    None where the space is not listed, nothing was measured, or the method has no model yet.
    """
    settings = searcher.considered() if len(searcher.history) else None
    if not settings:
        return None
    place = {searcher.key(s): i for i, s in enumerate(settings)}
    observed = searcher.front
    values = {o.name: observed.mean(o.name) for o in searcher.objectives}
    values |= {q: observed.mean(q) for q in QUANTITIES if q in observed.outcome}
    at: dict[int, list[int]] = {}
    for row, setting in enumerate(_settings(observed.alternatives, searcher.space.names)):
        at.setdefault(place.get(setting, -1), []).append(row)
    cells = {i: np.array(rows) for i, rows in at.items() if i >= 0}
    own = MeasuredSettings(observed.alternatives, values, cells)
    blank = own.missing(len(settings))
    predicted = searcher.forecast([settings[i] for i in blank]) if len(blank) else None
    if len(blank) and predicted is None:
        return None
    rows = searcher.space.alternatives(searcher.job, settings)
    outcome = filled(rows, own, predicted, searcher.space.names)
    return Front(rows, outcome, searcher.objectives, turned=searcher.space.names)


def better_unmeasured(
    searcher: Searcher, rule: Rule, limits: Sequence[Constraint] = ()
) -> Assignment | None:
    """The setting that ``rule`` takes of all, if it is expected rather than measured; else None.

    Raises
    ------
    Infeasible
        Nothing measured or expected meets the limits.
    """
    front = expected_front(searcher)
    if front is None:
        return None
    choice = front.choose(rule, limits)
    grade = front.outcome.grade
    return None if grade is not None and GRADES[grade[choice.index]] == "measured" else choice
