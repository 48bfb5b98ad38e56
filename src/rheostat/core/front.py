"""`Front`: the alternatives of a job, what each costs, and which are worth considering.

A setting is dominated when another is at least as good in every objective and better in one; what
remains is the Pareto front.  The knee is the setting after which paying more of one
objective buys little of the other.

Notation
--------
n  alternatives      m  objectives      y : (n, m) objective values, all to be minimised
r : (m,) reference point, worse than everything of interest

References
----------
Das, I.: On characterizing the "knee" of the Pareto curve (1999): the point farthest from the chord.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rheostat.core.decision import Assignment, Because
from rheostat.core.dominance import Mask, hypervolume_2d, knee_index, non_dominated
from rheostat.core.jobs import JobTable
from rheostat.core.outcome import GRADES, Array, Outcome
from rheostat.core.units import unit_of
from rheostat.errors import DataError, Infeasible

NEXT_ROWS = 4
"""Rows next in a rule's order that a choice names."""
SURE = 0.9
"""Share of draws in which a forecast must be better to be taken before what was measured."""


@dataclass(frozen=True)
class Objective:
    """What is wanted: a quantity, "min" or "max", its unit, and what a table means by it.

    Parameters
    ----------
    name : str
        A quantity of the outcome, or a column of the alternatives.
    sense : str
        "min" or "max".
    unit : str
        SI unit; empty for numbers.
    meaning : str
        What it is, for reports.

    Raises
    ------
    DataError
        ``sense`` is neither.
    """

    name: str
    sense: str = "min"
    unit: str = ""
    meaning: str = ""

    def __post_init__(self) -> None:
        if self.sense not in ("min", "max"):
            raise DataError(
                f"Objective {self.name}", [f"sense: expected 'min' or 'max', got {self.sense!r}"]
            )

    @classmethod
    def of(cls, name: str | Objective) -> Objective:
        """An objective from its name, unit looked up, minimised."""
        return name if isinstance(name, Objective) else cls(name, "min", unit_of(name))

    @property
    def sign(self) -> float:
        """What a value is multiplied by, so that less is better."""
        return 1.0 if self.sense == "min" else -1.0


class Rule(Protocol):
    """Chooses a row of a front among those ``allowed``; lower ``score`` is better."""

    def score(self, front: Front) -> Array:
        """Value of each row that the rule minimises.

        Parameters
        ----------
        front : Front
            n rows.

        Returns
        -------
        array
            (n,) scores; NaN or inf for rows that the rule cannot judge.
        """
        ...


@runtime_checkable
class Constraint(Protocol):
    """Says by how much each row misses a limit."""

    def excess(self, front: Front) -> Array:
        """How much each row misses the limit.

        Parameters
        ----------
        front : Front
            n rows.

        Returns
        -------
        array
            (n,) relative miss, <= 0 where the limit holds, NaN where unknown.
        """
        ...


@dataclass(frozen=True)
class Front:
    """Alternatives (n rows), their outcome, and the objectives; see `choose`.

    Parameters
    ----------
    alternatives : JobTable
        n rows, one per setting.
    outcome : Outcome
        Draws of n rows.
    objectives : sequence of str or Objective
        At least one; names are minimised.
    repeats : array of int, optional
        (n,) runs behind each row where rows are measurements, 0 for a forecast; see `choose`.
    turned : sequence of str
        The knobs; by default the columns that differ.
    statistic : str
        "mean", or "median" where draws are of a factor, whose mean the largest few decide.

    Raises
    ------
    DataError
        The two have different numbers of rows.

    Examples
    --------
    >>> from rheostat.core.vocabulary import table
    >>> draws = {"runtime_s": np.array([[9.0, 4.0, 5.0]]), "power_w": np.array([[1.0, 2.0, 3.0]])}
    >>> f = Front(table({"nodes": [1, 2, 3]}), Outcome(draws), ("runtime_s", "power_w"))
    >>> f.mask, f.knee()
    (array([ True,  True, False]), 1)
    """

    alternatives: JobTable
    outcome: Outcome
    objectives: tuple[Objective, ...]
    repeats: NDArray[np.int64] | None = None
    turned: tuple[str, ...] = ()
    statistic: Literal["mean", "median"] = "mean"

    def __post_init__(self) -> None:
        object.__setattr__(self, "objectives", tuple(Objective.of(o) for o in self.objectives))
        if len(self.alternatives) != len(self.outcome):
            raise DataError(
                "Front",
                [f"{len(self.alternatives)} alternatives but outcomes for {len(self.outcome)}"],
            )

    def __len__(self) -> int:
        return len(self.alternatives)

    def draws(self, name: str) -> Array:
        """Draws (d, n) of a quantity: given, derived, or a column of the alternatives."""
        if name in self.outcome:
            return self.outcome[name]
        if name == "node_hours" and "nodes" in self.alternatives.columns:
            node_seconds = self.outcome["runtime_s"] * self.alternatives.numpy("nodes")
            return np.asarray(node_seconds / 3600.0)
        return self.alternatives.numpy(name)[None, :]

    def mean(self, name: str) -> Array:
        """Mean over draws, (n,)."""
        return Outcome({name: self.draws(name)}).mean(name)

    def middle(self, name: str) -> Array:
        """What stands for each row's draws: their `statistic`, (n,)."""
        if self.statistic == "mean":
            return self.mean(name)
        return Outcome({name: self.draws(name)}).quantile(name, 0.5)

    def interval(self, name: str, level: float = 0.9) -> tuple[Array, Array]:
        """(low, high) over draws, each (n,); of too few repeats (see `ranged`) their range."""
        drawn = Outcome({name: self.draws(name)})
        low, high = drawn.interval(name, level)
        least, most = drawn.interval(name, 1.0)
        few = self.ranged(level) & self._are_runs(drawn[name])
        return np.where(few, least, low), np.where(few, most, high)

    def _are_runs(self, draws: Array) -> Mask:
        """Rows (n,) of which no more values were drawn than runs were measured, and their mean."""
        runs = np.zeros(len(self)) if self.repeats is None else self.repeats
        return np.asarray((np.diff(np.sort(draws, axis=0), axis=0) > 0).sum(axis=0) <= runs)

    def ranged(self, level: float = 0.9) -> Mask:
        """Measured rows whose runs are too few for an interval of this ``level``, (n,).

        The next of k + 1 equal runs lies between the least and the most of k with probability
        (k - 1) / (k + 1), whatever their distribution: 90 % take 19 runs.
        """
        k = np.zeros(len(self)) if self.repeats is None else self.repeats
        return np.asarray((k > 0) & ((k - 1) / (k + 1) < level))

    @cached_property
    def values(self) -> Array:
        """Objective values to be minimised, (n, m), as `middle`; a maximised one is negated."""
        return np.column_stack([o.sign * self.middle(o.name) for o in self.objectives])

    @cached_property
    def mask(self) -> Mask:
        """Which alternatives are on the front of these values, (n,)."""
        return non_dominated(self.values)

    @cached_property
    def probability(self) -> Array:
        """Share of draws in which each alternative is on the front, (n,)."""
        y = np.stack([o.sign * self.draws(o.name) for o in self.objectives], axis=-1)
        return np.asarray(np.mean([non_dominated(draw) for draw in y], axis=0))

    def hypervolume(self, reference: Sequence[float]) -> float:
        """Area of two minimised objectives dominated up to ``reference``."""
        if len(self.objectives) != 2:
            raise DataError(
                "Front.hypervolume", ["needs two objectives; see tradeoff.metrics for more"]
            )
        return hypervolume_2d(self.values, reference)

    def knee(self) -> int:
        """Row of the knee."""
        return knee_index(self.values)

    def setting(self, index: int, knobs: Iterable[str] = ()) -> dict[str, Any]:
        """The knob values of a row; all columns when no knob is named."""
        row = self.alternatives.frame.row(index, named=True)
        names = tuple(knobs) or self.knobs
        return {n: row[n] for n in names}

    @property
    def knobs(self) -> tuple[str, ...]:
        """``turned``, or columns that differ between alternatives; the first if none does."""
        if self.turned:
            return self.turned
        frame = self.alternatives.frame
        varied = tuple(c for c in frame.columns if frame[c].n_unique() > 1)
        return varied or tuple(frame.columns[:1])

    def choose(self, rule: Rule, limits: Constraint | Iterable[Constraint] = ()) -> Assignment:
        """The row with the least score among rows that meet every constraint.

        Where some rows were ``measured``, one that was not is taken only if it lies between them
        and is better than the best of them in a share `SURE` of draws, or if none of them meets
        the limits; otherwise it is named as ``because.try_next``.

        Raises `Infeasible` with the row that misses least where none fits.
        """
        limits = tuple(limits) if isinstance(limits, Iterable) else (limits,)
        if isinstance(rule, Constraint) and rule not in limits:
            limits = (*limits, rule)  # a deadline used as a rule limits too
        order = self._ranked(rule, limits)
        first, ran = int(order[0]), self.measured
        if ran[first] or not ran[order].any():
            return self._assigned(rule, limits, order)
        best = int(order[ran[order]][0])
        if self._between(first) and self._surely(first, rule, limits):
            return self._assigned(rule, limits, order)
        order = np.concatenate([[best], order[order != best]])
        made = self._assigned(rule, limits, order)
        return replace(made, because=replace(made.because, try_next=self.setting(first)))

    @property
    def measured(self) -> Mask:
        """Which rows are measurements, as far as ``repeats`` tells, (n,)."""
        return np.zeros(len(self), dtype=bool) if self.repeats is None else self.repeats > 0

    def _ranked(self, rule: Rule, limits: Sequence[Constraint]) -> NDArray[np.int64]:
        """Rows that meet the limits, best first."""
        score = np.asarray(rule.score(self), dtype=float)
        excess = [np.asarray(c.excess(self), dtype=float) for c in limits]
        worst = np.max(excess, axis=0) if excess else np.full(len(self), -np.inf)
        usable = np.isfinite(self.values).all(axis=1) & ~np.isnan(worst)
        allowed = usable & (worst <= 0) & np.isfinite(score)
        if not allowed.any():
            raise infeasible(self, limits, np.where(usable, np.maximum(worst, 0.0), np.inf))
        # of equal scores first one that no equal one beats in every objective
        ranks = [np.unique(v, return_inverse=True)[1] for v in self.values[allowed].T]
        return np.flatnonzero(allowed)[np.lexsort((np.sum(ranks, axis=0), score[allowed]))]

    def _assigned(
        self, rule: Rule, limits: Sequence[Constraint], order: NDArray[np.int64]
    ) -> Assignment:
        first = int(order[0])
        because = because_of(self, rule, limits, order)
        return Assignment(_job_id(self), self.setting(first), because, first)

    def _between(self, row: int) -> bool:
        """Whether a forecast lies between settings that were run, as far as its grade tells."""
        grade = self.outcome.grade
        return grade is None or bool(grade[row] >= GRADES.index("interpolated"))

    def _surely(self, row: int, rule: Rule, limits: Sequence[Constraint]) -> bool:
        """Whether the rule takes ``row`` before all measured rows in a share `SURE` of draws."""
        measured_rows = np.flatnonzero(self.measured)
        depth = max(len(self.draws(o.name)) for o in self.objectives)
        wins = 0
        for d in range(depth):
            draw = {q: v[[d % len(v)]] for q, v in self.outcome.draws.items()}
            try:
                order = replace(self, outcome=Outcome(draw))._ranked(rule, limits)
            except Infeasible:
                continue
            wins += order[np.isin(order, [*measured_rows, row])][:1].tolist() == [row]
        return wins >= SURE * depth


def _job_id(front: Front) -> int | str | None:
    return front.alternatives.frame["job_id"][0] if "job_id" in front.alternatives.columns else None


def rule_words(rule: Rule, objectives: Sequence[Objective]) -> str:
    """What a rule takes of these objectives: its ``words`` of them where it has any, else its text.

    Parameters
    ----------
    rule : Rule
        A front of one objective has no knee, for example.
    objectives : sequence of Objective
        Of the front.

    Returns
    -------
    str
        For reports.
    """
    words = getattr(rule, "words", None)
    return str(rule) if words is None else str(words(objectives))


def infeasible(front: Front, limits: Sequence[Constraint], miss: Array) -> Infeasible:
    """That no row meets the limits, with the one that misses least; ``miss`` (n,) is a share."""
    asked = " and ".join(str(c) for c in limits) or "finite objectives"
    if not np.isfinite(miss).any():
        if front.repeats is not None and not front.measured.any():
            return Infeasible(f"none of {len(front)} settings gave a result: see why above", -1)
        return Infeasible(
            f"no alternative can be judged against {asked}: the model abstains on all", -1
        )
    nearest = int(np.argmin(miss))
    text = ", ".join(f"{k}={v}" for k, v in front.setting(nearest).items())
    return Infeasible(
        f"no setting meets {asked}; nearest is {text}, {100 * miss[nearest]:.1f} % over", nearest
    )


def because_of(
    front: Front, rule: Rule, limits: Sequence[Constraint], order: NDArray[np.int64]
) -> Because:
    """The rule, the numbers and the runner-up of the first row in ``order``."""
    best = int(order[0])
    means = {o.name: front.middle(o.name) for o in front.objectives}
    spans = {o.name: front.interval(o.name) for o in front.objectives}
    numbers = {
        k: (float(means[k][best]), float(spans[k][0][best]), float(spans[k][1][best]))
        for k in means
    }
    second = int(order[1]) if len(order) > 1 else None
    compared = {} if second is None else {k: float(v[best] / v[second]) for k, v in means.items()}
    return Because(
        rule=rule_words(rule, front.objectives),
        numbers=numbers,
        limits=tuple(str(c) for c in limits),
        runner_up=None if second is None else front.setting(second),
        compared=compared,
        support=None if front.outcome.support is None else float(front.outcome.support[best]),
        evidence=None if front.outcome.grade is None else GRADES[front.outcome.grade[best]],
        judged=_judged(rule, [o.name for o in front.objectives]),
        next_rows=tuple(map(int, order[1 : 1 + NEXT_ROWS])),
    )


def _judged(rule: Rule, names: Sequence[str]) -> tuple[str, ...]:
    """The quantities a rule compares: those it weighs, or the one that its limit is not of."""
    if weights := getattr(rule, "weights", None):
        return tuple(q for q, weight in weights.items() if weight)
    limited = getattr(rule, "quantity", None)
    return tuple(names) if limited is None else tuple(n for n in names if n != limited)[:1]
