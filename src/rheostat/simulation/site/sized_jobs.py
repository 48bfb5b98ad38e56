"""`Advise`: a model and a rule choose, at submission, which of its alternatives a job takes.

A moldable job says in which ways it could run.  Without advice the site takes the first that fits;
with advice the model predicts run time and power of every way from what is known at submission,
the rule picks one, and the job waits for that one.  The simulation then runs it with its true run
time and power, so that a wrong prediction costs what it would cost at a site.

A job of which the model says nothing, or that has no way within the limits, keeps all its ways.

    Symbol  Shape   Meaning
    a               rows of the table of alternatives
    J, S            jobs with alternatives; most alternatives of one job
    place   (a,)    row of the job in the trace, -1 for none
    grid    (J, S)  row of each job's alternatives, filled up with its first
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rheostat.core.front import Constraint, Front, Objective, Rule
from rheostat.core.jobs import JobTable, Moment, Note, Schema
from rheostat.core.outcome import Outcome, Predictor
from rheostat.decision.batch_choice import choose
from rheostat.decision.batch_fronts import BatchFronts
from rheostat.decision.decide import RUNTIME_ENERGY
from rheostat.simulation.site.moldable import index_of
from rheostat.simulation.workload import Array


@dataclass(frozen=True)
class Advise:
    """A fitted ``model``, a ``rule`` (the knee of the front if none), limits it must hold."""

    model: Predictor
    rule: Rule | None = None
    limits: Constraint | Iterable[Constraint] = ()
    objectives: Sequence[str | Objective] = RUNTIME_ENERGY


@dataclass(frozen=True)
class Sized:
    """Which alternatives stay, (a,); predicted seconds and watts of each, (a,), NaN unknown."""

    keep: Array
    runtime_s: Array
    power_w: Array
    notes: tuple[Note, ...] = ()


def sized(jobs: JobTable, alternatives: JobTable, by: Advise) -> Sized:
    """Choose for every job; its first alternative counts as what it asked for."""
    place = index_of(jobs.frame["job_id"], alternatives.frame["job_id"])
    predicted = by.model.predict(_asked(jobs, alternatives, place))
    runtime, power = (_mean(predicted, q) for q in ("runtime_s", "power_w"))
    grid, filler = _grid(place)
    keep = place >= 0
    if not grid.size:
        return Sized(keep, runtime, power)
    flat = predicted.rows(grid.ravel())
    for draws in flat.draws.values():
        draws[:, filler.ravel()] = np.nan
    wanted = tuple(Objective.of(o) for o in by.objectives)
    front = Front(alternatives.rows(grid.ravel()), flat, wanted)
    many = BatchFronts(front, np.zeros(len(grid), np.int64), grid.shape[1])
    limits = tuple(by.limits) if isinstance(by.limits, Iterable) else (by.limits,)
    chosen = choose(many, by.rule if by.rule is not None else _knee(), limits, 0.9)
    judged = np.isin(chosen.status, ("advised", "kept"))
    drop = np.ones(grid.shape, bool)
    drop[np.arange(len(grid)), chosen.pick] = False
    keep[grid[drop & judged[:, None] & ~filler]] = False
    left = int((~judged).sum())
    why = "no advice (no prediction, or no alternative within the limits): all alternatives kept"
    return Sized(keep, runtime, power, (Note(why, (), left),) if left else ())


def _asked(jobs: JobTable, alternatives: JobTable, place: Array) -> JobTable:
    """What is known at submission, of each alternative: the job's columns, the turned ones its own.

    Rows of no job are asked about the first job, and not used.
    """
    turned = alternatives.known_at(Moment.SUBMIT)
    base = jobs.known_at(Moment.SUBMIT).rows(np.maximum(place, 0))
    own = [c for c in base.columns if c not in turned.columns]
    frame = base.frame.select(own).hstack(turned.frame.get_columns())
    known = {**base.schema, **turned.schema}
    return JobTable(frame, Schema(known[c] for c in frame.columns))


def _mean(predicted: Outcome, name: str) -> Array:
    return predicted.mean(name) if name in predicted else np.full(len(predicted), np.nan)


def _grid(place: Array) -> tuple[Array, Array]:
    """(grid (J, S), which of its places only fill up)."""
    rows = np.argsort(place, kind="stable")
    rows = rows[place[rows] >= 0]
    _, first, count = np.unique(place[rows], return_index=True, return_counts=True)
    step = np.arange(count.max(initial=0))[None, :]
    filler = step >= count[:, None]
    return rows[first[:, None] + np.where(filler, 0, step)], filler


def _knee() -> Rule:
    from rheostat.tradeoff.rules import Knee

    return Knee()
