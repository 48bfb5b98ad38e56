"""Which setting should each of these jobs take, and what would that change?

Every setting of every job is predicted at once; a rule picks one per job among those that hold the
limits; the change against what the job asked for is computed draw by draw, so that errors common to
both settings cancel and the interval of a saving is narrower than those of the two energies.

A job whose settings the model has no support for is left alone and says so, and so is one for which
no setting holds the limits.

Notation
--------
J  jobs      S  settings per job, the request included      d  draws
cluster : the jobs of one user with one application
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from rheostat.core.decision import Assignment, Decision
from rheostat.core.front import Constraint, Objective, Rule
from rheostat.core.jobs import JobTable, Note
from rheostat.core.outcome import Predictor
from rheostat.core.space import Knob, Space
from rheostat.decision.admissible import graded, only, told_by_users, too_good
from rheostat.decision.batch_choice import BatchChoice, assignments, choose
from rheostat.decision.batch_fronts import BatchFronts, stack
from rheostat.decision.tabulate import advice_table
from rheostat.decision.totals import Change, Codes, Span, Summed, clusters
from rheostat.errors import DataError
from rheostat.prediction.effects.plausible import IMPOSSIBLE, REASONS
from rheostat.prediction.out_of_core.dask_cluster import Spread, here

RUNTIME_ENERGY = ("runtime_s", "energy_j")
OWN = ("measured", "interpolated")
SLOWDOWN, CONFIDENCE = 1.1, 0.8
"""The default: least energy at no more than this times the runtime asked for in this share of the
draws, and no more energy in as many; what is saved in a draw that is slower counts nothing
(`benchmarks/confounding.py`)."""
MORE = "that more nodes take less is what a log tells least surely"
WIDER, LISTED, FEW = (1.1, 1.15, 1.2, 1.25, 1.5), 3, 0.01
"""Limits of slowdown that are tried beyond the one asked for, how many of those that advise are
told, and the share of the jobs below which what is advised is little."""
ROWS_AT_ONCE = 50_000
"""Alternatives predicted in one call: enough to be fast, few enough for 64 draws in 100 MB."""


@dataclass(frozen=True)
class WiderLimit:
    """What jobs could be advised at ``factor`` times the runtime as requested, all else as asked.

    ``over_limit`` and ``more_energy`` are those of an `Advice` at that limit.
    """

    factor: float
    advised: int
    totals: Mapping[str, Change]
    over_limit: Span | None
    more_energy: Span | None


@dataclass(frozen=True)
class Advice:
    """What each job should take.  ``table`` has one row per job, in the order asked.

    ``table`` holds each knob as advised and as ``KNOB_requested``, the predictions
    ``runtime_s_advised`` with ``_low`` and ``_high``, ``runtime_s_requested``, the relative change
    ``runtime_s_change`` (-0.29 is 29 % less) with its interval, the number of similar past runs
    (``support``) and a ``status``: advised, kept (the request is best), infeasible or abstained.
    ``power_w`` is mean energy over mean runtime.  ``evidence`` says what the change rests on, where
    the model grades its forecasts; a setting that only runs of other applications speak for is in
    ``KNOB_hint`` and never counts.  ``totals`` sums over the jobs that can be compared, runtime and
    energy alone: jobs do not run together; ``decision`` has the reasons.

    Parameters
    ----------
    table : JobTable
        One row per job.
    decision : Decision
        The choice for each job, with its reasons.
    totals : mapping
        Sums by quantity before and after, with the relative change.
    rule : str
        The rule that chose.
    limits : tuple of str
        Limits that held.
    knobs : tuple of str
        Columns that were turned.
    objectives : tuple of str
        Quantities of the fronts.
    impossible : int
        Forecasts left out because they contradict physics.
    doubted : mapping of str to int
        Forecasts left out for other reasons, by the reason.
    over_limit : (mean, low, high) or None
        Share of the advised jobs that are forecast to run longer than the limit of slowdown allows,
        with its interval; None without such a limit, or without an advised job.
    more_energy : (mean, low, high) or None
        The same of a limit of energy against what was asked for.
    wider : tuple of WiderLimit
        Where few jobs are advised, the first wider limits of slowdown at which some are, or the
        widest tried.
    """

    table: JobTable
    decision: Decision
    totals: Mapping[str, Change]
    rule: str
    limits: tuple[str, ...]
    knobs: tuple[str, ...]
    objectives: tuple[str, ...]
    impossible: int = 0
    doubted: Mapping[str, int] = field(default_factory=dict)
    over_limit: Span | None = None
    more_energy: Span | None = None
    wider: tuple[WiderLimit, ...] = ()

    def __len__(self) -> int:
        return len(self.table)

    def counts(self) -> dict[str, int]:
        """Jobs by status, in a fixed order."""
        status = self.table.frame["status"]
        return {s: int((status == s).sum()) for s in STATUSES}

    def hints(self) -> int:
        """Jobs for which only runs of other applications speak for another setting."""
        name = f"{self.knobs[0]}_hint"
        return int(self.table.frame[name].count()) if name in self.table.columns else 0

    def evidence(self) -> dict[str, int]:
        """Advised jobs by what their forecast rests on; empty where the model does not say."""
        frame = self.table.frame
        if "evidence" not in frame.columns:
            return {}
        held = frame.filter(pl.col("status") == "advised")["evidence"]
        return {g: int((held == g).sum()) for g in OWN}


STATUSES = ("advised", "kept", "infeasible", "abstained")


def decide(  # noqa: PLR0913 - what is wanted, all but five by keyword
    jobs: JobTable,
    model: Predictor,
    knobs: Space | Knob | Iterable[Knob],
    rule: Rule | None = None,
    limits: Constraint | Iterable[Constraint] = (),
    *,
    objectives: Sequence[str | Objective] = RUNTIME_ENERGY,
    level: float = 0.9,
    grades: Sequence[str] = OWN,
    spread: Spread = here,
) -> Advice:
    """A setting for each job, with what it saves against the requested one.

    Parameters
    ----------
    jobs : JobTable
        One row per job; only columns known at submission are shown to the model.
    model : Predictor
        Fitted.
    knobs : Space, Knob or several Knobs
        What may be turned; the setting each job asked for is always allowed as well.
    rule : Rule, optional
        How to choose from a front.  Default: least energy at no more than 10 % slowdown against
        what the job asked for with 80 % confidence, where slower draws save nothing, and as
        surely no more energy; the knee where energy is no objective.
    limits : Constraint or several
        Limits that the chosen setting must hold.
    objectives : names or Objectives
        What the front is made of.
    level : float
        Level of the intervals.
    grades : sequence of str
        Words of `core.outcome.GRADES`: forecasts that count, where the model grades them; settings
        that others speak for are hints.
    spread : callable
        Where blocks of jobs are judged: `here`, or on workers.

    Returns
    -------
    Advice
        A row per job, totals, and the reasons.

    Raises
    ------
    DataError
        No jobs, a knob column is missing or a knob is a range.

    Examples
    --------
    >>> from rheostat import Outcome, table
    >>> class Amdahl:
    ...     def fit(self, jobs): return self
    ...     def predict(self, jobs):
    ...         n = jobs.numpy("nodes")[None, :]
    ...         return Outcome({"runtime_s": 10 + 90 / n, "power_w": 50 + 100.0 * n})
    >>> queue = table({"job_id": [1, 2], "nodes": [64, 8]})
    >>> advice = decide(queue, Amdahl(), Knob("nodes", [1, 2, 4, 8, 16, 32, 64]))
    >>> advice.table.frame["nodes"].to_list(), advice.counts()["kept"]
    ([64, 8], 2)
    >>> from rheostat import Knee
    >>> advice = decide(queue, Amdahl(), Knob("nodes", [1, 2, 4, 8, 16, 32, 64]), Knee())
    >>> advice.table.frame["nodes"].to_list(), advice.counts()["kept"]
    ([8, 8], 1)
    >>> advice.table.frame["energy_j_change"].round(2).to_list()
    [-0.75, 0.0]
    """
    if not len(jobs):
        raise DataError("decide", ["the table has no rows: nothing to advise"])
    space, limits = Space.of(knobs), _several(limits)
    if rule is None:
        rule, limits = _default(limits, [Objective.of(o).name for o in objectives])
    owners, cluster = clusters(jobs)
    by_users = told_by_users(model, jobs)
    block = max(1, ROWS_AT_ONCE // (len(space.settings()) + 1))
    places = np.split(np.arange(len(jobs)), range(block, len(jobs), block))
    asked = _Asked(rule, limits, level)
    question = _Question(model, space, asked, tuple(objectives), grades)
    judged = list(spread(_judged, ((jobs.rows(p), cluster[p]) for p in places), question))
    chosen = BatchChoice.joined([j.chosen for j in judged])
    borrowed = [j.hints for j in judged if j.hints is not None]
    hints = BatchChoice.joined(borrowed) if borrowed else None
    left_out = sum((j.left_out for j in judged), start=Counter[str]())
    table = advice_table(jobs, chosen, space.names, hints)
    summed = Summed(owners, level, by_users)
    return Advice(
        table.noted(*_notes(chosen, limits)),
        Decision(tuple(chain.from_iterable(j.made for j in judged))),
        summed.totals(chosen),
        str(rule),
        tuple(str(c) for c in limits),
        space.names,
        tuple(Objective.of(o).name for o in objectives),
        left_out[IMPOSSIBLE],
        {r: left_out[r] for r in (*REASONS, MORE) if r != IMPOSSIBLE and left_out[r]},
        **summed.missed(chosen, limits),
        wider=_wider(judged, asked, summed),
    )


def _wider(judged: Sequence[_Judged], asked: _Asked, summed: Summed) -> tuple[WiderLimit, ...]:
    """The first limits beyond the one asked for at which jobs are advised, else the widest.

    Nothing where more than few jobs are advised as asked.
    """
    if not all(j.wider for j in judged):
        return ()
    wider = []
    for i, wide in enumerate(asked.wider()):
        chosen = BatchChoice.joined([j.wider[i] for j in judged])
        advised = int((chosen.status == "advised").sum())
        shares = summed.missed(chosen, wide.limits)
        wider.append(WiderLimit(wide.factor, advised, summed.totals(chosen), **shares))
    return tuple([w for w in wider if w.advised][:LISTED] or wider[-1:])


@dataclass(frozen=True)
class _Asked:
    """Rule, limits and level of intervals."""

    rule: Rule
    limits: tuple[Any, ...]
    level: float

    @property
    def factor(self) -> float:
        """The limit of slowdown against the request; NaN without one."""
        return float(max((c.factor for c in self.limits if _is_slowdown(c)), default=math.nan))

    def chosen(self, many: BatchFronts, cluster: Codes) -> BatchChoice:
        """The setting of each job."""
        return choose(many, self.rule, self.limits, self.level, cluster)

    def wider(self) -> tuple[_Asked, ...]:
        """The same with each wider limit."""
        return tuple(self._at(f) for f in WIDER if f > self.factor + 1e-9)

    def _at(self, factor: float) -> _Asked:
        limits = tuple(replace(c, factor=factor) if _is_slowdown(c) else c for c in self.limits)
        rule: Any = self.rule
        if _is_slowdown(getattr(rule, "counted", None)):
            rule = replace(rule, counted=replace(rule.counted, factor=factor))
        return replace(self, rule=rule, limits=limits)


def _is_slowdown(limit: Any) -> bool:
    """Whether it says how much longer than requested a job may run."""
    relative = hasattr(limit, "factor") and limit.quantity == "runtime_s"
    return bool(relative and limit.against == "requested")


@dataclass(frozen=True)
class _Question:
    """What is asked of every block of jobs."""

    model: Predictor
    space: Space
    asked: _Asked
    objectives: tuple[str | Objective, ...]
    grades: Sequence[str]


@dataclass(frozen=True)
class _Judged:
    """What came of a block; ``hints`` where forecasts are graded, ``wider`` where few jobs move."""

    chosen: BatchChoice
    hints: BatchChoice | None
    made: Sequence[Assignment]
    left_out: Counter[str]
    wider: tuple[BatchChoice, ...]


def _judged(block: tuple[JobTable, Codes], question: _Question) -> _Judged:
    """A setting for each job of a block; the second of ``block`` is their clusters."""
    jobs, cluster = block
    asked, names = question.asked, question.space.names
    many = stack(jobs, question.model, question.space, question.objectives)
    good = too_good(many, question.model, names)
    left_out = Counter({MORE: int(good.sum())})
    many, hints = only(many, ~good), None
    for note in many.flat.outcome.notes:
        left_out[note.message] += note.count
    if (own := graded(many, question.grades)) is not None:
        hints = asked.chosen(many, cluster)
        many = only(many, own)
    chosen = asked.chosen(many, cluster)
    made = assignments(many, chosen, asked.rule, asked.limits, names)
    few = (chosen.status == "advised").mean() < FEW
    wider = tuple(w.chosen(many, cluster) for w in asked.wider()) if few else ()
    return _Judged(chosen, hints, made, left_out, wider)


def _several(limits: Constraint | Iterable[Constraint]) -> tuple[Constraint, ...]:
    return tuple(limits) if isinstance(limits, Iterable) else (limits,)


def _default(
    limits: tuple[Constraint, ...], objectives: Sequence[str]
) -> tuple[Rule, tuple[Constraint, ...]]:
    """The default rule, found by name: a neighbour on this floor that is not imported."""
    from rheostat import Knee, MaxSlowdown, Weighted

    if "energy_j" not in objectives:
        return Knee(), limits
    slowdown = MaxSlowdown(SLOWDOWN, "requested", CONFIDENCE)
    saving = MaxSlowdown(1, "requested", CONFIDENCE, "energy_j")
    return Weighted({"energy_j": 1}, slowdown), (*limits, slowdown, saving)


def _notes(chosen: BatchChoice, limits: Sequence[Any]) -> tuple[Note, ...]:
    said = {
        "infeasible": f"no setting meets {' and '.join(map(str, limits))}: request left as it is",
        "abstained": "no similar past runs at any setting: request left as it is",
    }
    notes = []
    for status, message in said.items():
        rows = np.flatnonzero(chosen.status == status)
        if rows.size:
            notes.append(Note(message, tuple(rows[:20].tolist()), int(rows.size)))
    blind = np.flatnonzero((chosen.status == "advised") & ~chosen.compared)
    if blind.size:
        message = "the requested setting itself has no prediction: saving unknown"
        notes.append(Note(message, tuple(blind[:20].tolist()), int(blind.size)))
    return tuple(notes)
