"""`BatchFronts`: the alternatives of many jobs side by side, judged together.

One job's front is a table of settings; a queue's is a stack of such tables.  All alternatives of
all jobs are predicted in one call and rules are applied to whole arrays, with the same result as
`Front.choose` job by job.  The last setting of each job is what it asked for, so that "leave it" is
always an option; where the knob's values contain the request already, that place is left empty.

Notation
--------
J  jobs      S  settings per job, the request included      d  draws      m  objectives
row of job j at setting s in the flat table: j S + s
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.front import Constraint, Front, Objective, Rule
from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Array, Outcome, Predictor
from rheostat.core.space import Space
from rheostat.errors import DataError, Infeasible
from rheostat.prediction.features.requested_settings import as_requested

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class BatchFronts:
    """J jobs by S settings: a flat `Front` of J S rows, and where each job's request is, (J,)."""

    flat: Front
    requested: Ints
    size: int

    def __len__(self) -> int:
        return len(self.requested)

    def draws(self, name: str) -> Array:
        """Draws of a quantity, (d, J, S)."""
        flat = self.flat.draws(name)
        return flat.reshape(len(flat), len(self), self.size)

    @cached_property
    def values(self) -> Array:
        """Mean objective values to be minimised, (J, S, m)."""
        return self.flat.values.reshape(len(self), self.size, -1)

    def front(self, job: int) -> Front:
        """The front of one job, S rows."""
        rows = np.arange(job * self.size, (job + 1) * self.size)
        return Front(
            self.flat.alternatives.rows(rows), self.flat.outcome.rows(rows), self.flat.objectives
        )

    def score(self, rule: Rule) -> Array:
        """(J, S): what the rule minimises.

        A rule that looks at rows one by one (``rowwise``), or offers ``score_many(values)``,
        ``score_from(front, base)`` or ``score_given(front, excess)``, is asked once; any other is
        asked job by job.
        """
        if getattr(rule, "rowwise", False):
            return self._folded(rule.score(self.flat))
        if hasattr(rule, "score_from"):
            base = self.base(getattr(rule, "against", None))
            return self._folded(rule.score_from(self.flat, base))
        if hasattr(rule, "score_many"):
            return np.asarray(rule.score_many(self.values), dtype=float)
        if hasattr(rule, "score_given") and hasattr(rule, "excess_many"):
            return self._folded(rule.score_given(self.flat, self.excess(rule).reshape(-1)))
        return np.stack([np.asarray(rule.score(self.front(j))) for j in range(len(self))])

    def excess(self, constraint: Constraint | Any) -> Array:
        """(J, S): by how much each setting misses the limit, at most 0 where it is held.

        A limit relative to another setting offers ``excess_many(draws, base)`` of its ``quantity``.
        """
        if getattr(constraint, "rowwise", False):
            return self._folded(constraint.excess(self.flat))
        if hasattr(constraint, "excess_many"):
            quantity = getattr(constraint, "quantity", "runtime_s")
            base = self.base(getattr(constraint, "against", None), quantity)
            return np.asarray(constraint.excess_many(self.draws(quantity), base), dtype=float)
        return np.stack([np.asarray(constraint.excess(self.front(j))) for j in range(len(self))])

    def base(self, against: Mapping[str, Any] | str | None, quantity: str = "runtime_s") -> Ints:
        """(J,): what a slowdown refers to: a named setting, the requested one, or the fastest."""
        if against is None:
            mean = self._folded(self.flat.mean(quantity))
            return np.asarray(np.argmin(np.where(np.isfinite(mean), mean, np.inf), axis=1))
        if isinstance(against, str):
            return self.requested
        first = self.flat.alternatives.select(list(against)).frame[: self.size - 1]
        for i, row in enumerate(first.rows(named=True)):
            if row == dict(against):
                return np.full(len(self), i)
        raise DataError("decide", [f"no alternative has {dict(against)}: add it to the values"])

    def _folded(self, flat: Array) -> Array:
        return np.asarray(flat, dtype=float).reshape(len(self), self.size)


def stack(
    jobs: JobTable, model: Predictor, space: Space, objectives: Sequence[str | Objective]
) -> BatchFronts:
    """Predict every setting of every job, the requested one last, in one call."""
    settings = space.settings()
    if not settings:
        raise Infeasible("the constraints leave no setting of the knobs: loosen one", -1)
    jobs.require(*space.names)
    asked = as_requested(jobs.known_at(Moment.SUBMIT), space.names)
    alternatives = _interleaved(asked, settings, space.names)
    size = len(settings) + 1
    requested = _places(asked.frame, settings, space.names)
    outcome = model.predict(alternatives)
    twice = np.flatnonzero(requested < len(settings)) * size + len(settings)
    wanted = tuple(Objective.of(o) for o in objectives)
    return BatchFronts(Front(alternatives, _emptied(outcome, twice), wanted), requested, size)


def _interleaved(
    asked: JobTable, settings: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> JobTable:
    """Each job at every setting and then as it is: J (S + 1) rows in the order of the jobs."""
    turned = pl.DataFrame({n: [s[n] for s in settings] for n in names})
    own = asked.frame.with_columns(_job=pl.int_range(pl.len()))
    grid = own.drop(names).join(turned.with_columns(_place=pl.int_range(pl.len())), how="cross")
    last = own.with_columns(_place=pl.lit(len(settings), dtype=pl.Int64))
    both = pl.concat([grid.select(last.columns), last], how="vertical_relaxed")
    return JobTable(both.sort("_job", "_place").drop("_job", "_place"), asked.schema)


def _places(
    frame: pl.DataFrame, settings: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> Ints:
    """Place of each job's own setting among ``settings``, their number where it is not there."""
    place = {tuple(s[n] for n in names): i for i, s in enumerate(settings)}
    return np.array([place.get(row, len(settings)) for row in frame.select(names).rows()])


def _emptied(outcome: Outcome, rows: Ints) -> Outcome:
    """The outcome with no value in ``rows``: the request that is among the settings already."""
    draws = {k: np.array(v, dtype=float) for k, v in outcome.draws.items()}
    for values in draws.values():
        values[:, rows] = np.nan
    return Outcome(draws, outcome.support, outcome.notes, outcome.grade)
