"""`Front`: the alternatives of a job, what each costs, and which are worth considering.

A setting is dominated when another is at least as good in every objective and better in one; what
remains is the Pareto front.  The knee is the setting after which paying more of one
objective buys little of the other.

Notation
--------
n  alternatives      m  objectives      y : (n, m) mean objective values, all to be minimised
r : (m,) reference point, worse than everything of interest

References
----------
Das, I.: On characterizing the "knee" of the Pareto curve (1999): the point farthest from the chord.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rheostat.core.decision import Assignment, Because
from rheostat.core.jobs import JobTable
from rheostat.core.outcome import GRADES, Array, Outcome
from rheostat.errors import DataError, Infeasible

Mask = NDArray[np.bool_]

_UNITS = {
    "runtime_s": "s",
    "power_w": "W",
    "energy_j": "J",
    "edp_js": "J s",
    "node_hours": "node_h",
}


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
        return name if isinstance(name, Objective) else cls(name, "min", _UNITS.get(name, ""))


def non_dominated(y: Array) -> Mask:
    """Rows of ``y`` (n, m; minimised) that no other row dominates.

    >>> non_dominated(np.array([[1.0, 3.0], [2.0, 2.0], [2.0, 4.0], [2.0, 2.0], [np.nan, 0.0]]))
    array([ True,  True, False,  True, False])

    Equal rows do not dominate each other: all copies stay.  A row with NaN is never on the front
    and dominates nobody.  Empty input gives an empty mask.
    """
    y = np.asarray(y, dtype=float)
    mask: Mask = np.asarray(np.isfinite(y).all(axis=1))
    if y.shape[1] == 2:
        mask[mask] = _non_dominated_2d(y[mask])
        return mask
    for i in np.flatnonzero(mask):
        others = y[mask]
        mask[i] = not np.any((others <= y[i]).all(axis=1) & (others < y[i]).any(axis=1))
    return mask


def _non_dominated_2d(y: Array) -> Mask:
    """The same for finite rows of two objectives, by sorting: large spaces have many rows."""
    order = np.lexsort((y[:, 1], y[:, 0]))
    first, second = y[order].T
    start = np.searchsorted(first, first)  # the least second objective of those with equal first
    least = np.concatenate([[np.inf], np.minimum.accumulate(second)])[start]  # of a smaller first
    mask = np.empty(len(y), dtype=bool)
    mask[order] = (second < least) & (second == second[start])
    return mask


def hypervolume_2d(y: Array, reference: Sequence[float]) -> float:
    """Area dominated by ``y`` (n, 2; minimised) up to ``reference``; rows beyond it add nothing.

    >>> hypervolume_2d(np.array([[1.0, 2.0], [2.0, 1.0]]), (3.0, 3.0))
    3.0
    >>> hypervolume_2d(np.empty((0, 2)), (1.0, 1.0))
    0.0
    """
    r = np.asarray(reference, dtype=float)
    y = np.asarray(y, dtype=float).reshape(-1, 2)
    y = y[(y < r).all(axis=1)]
    y = y[np.lexsort((y[:, 1], y[:, 0]))]
    ceiling = np.minimum.accumulate(np.concatenate(([r[1]], y[:, 1])))
    return float(np.sum((r[0] - y[:, 0]) * (ceiling[:-1] - ceiling[1:])))


def knee_index(y: Array) -> int:
    """Row of the front farthest below the chord between its ends, on log axes where possible.

    >>> knee_index(np.array([[1.0, 100.0], [2.0, 10.0], [50.0, 9.0], [100.0, 8.0]]))
    1

    Ratios are what people weigh, hence log axes when all values are positive.  Fewer than three
    distinct front points have no bend and lie equally deep: ties go to the best first objective.
    """
    front = np.flatnonzero(non_dominated(y))
    if not front.size:
        raise DataError("knee", ["no alternative has finite objectives"])
    z = y[front]
    z = np.log(z) if (z > 0).all() else z
    span = z.max(axis=0) - z.min(axis=0)
    depth = 1.0 - ((z - z.min(axis=0)) / np.where(span > 0, span, 1.0)).sum(axis=1) / max(
        1, int((span > 0).sum())
    )
    order = np.lexsort((z[:, 0], -np.round(depth, 12)))
    return int(front[order[0]])


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

    def interval(self, name: str, level: float = 0.9) -> tuple[Array, Array]:
        """(low, high) over draws, each (n,)."""
        return Outcome({name: self.draws(name)}).interval(name, level)

    @cached_property
    def values(self) -> Array:
        """Mean objective values to be minimised, (n, m); a maximised objective is negated."""
        return np.column_stack([_signed(o) * self.mean(o.name) for o in self.objectives])

    @cached_property
    def mask(self) -> Mask:
        """Which alternatives are on the front of the means, (n,)."""
        return non_dominated(self.values)

    @cached_property
    def probability(self) -> Array:
        """Share of draws in which each alternative is on the front, (n,)."""
        y = np.stack([_signed(o) * self.draws(o.name) for o in self.objectives], axis=-1)
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
        """Columns that differ between alternatives; the first column if none does."""
        frame = self.alternatives.frame
        varied = tuple(c for c in frame.columns if frame[c].n_unique() > 1)
        return varied or tuple(frame.columns[:1])

    def choose(self, rule: Rule, limits: Constraint | Iterable[Constraint] = ()) -> Assignment:
        """The row with the least score among rows that meet every constraint.

        Raises `Infeasible` with the row that misses least where none fits.
        """
        limits = tuple(limits) if isinstance(limits, Iterable) else (limits,)
        if isinstance(rule, Constraint) and rule not in limits:
            limits = (*limits, rule)  # a deadline used as a rule limits too
        score = np.asarray(rule.score(self), dtype=float)
        excess = [np.asarray(c.excess(self), dtype=float) for c in limits]
        worst = np.max(excess, axis=0) if excess else np.full(len(self), -np.inf)
        usable = np.isfinite(self.values).all(axis=1) & ~np.isnan(worst)
        allowed = usable & (worst <= 0) & np.isfinite(score)
        if not allowed.any():
            raise _infeasible(self, limits, np.where(usable, np.maximum(worst, 0.0), np.inf))
        order = np.flatnonzero(allowed)[np.argsort(score[allowed], kind="stable")]
        return Assignment(
            _job_id(self),
            self.setting(int(order[0])),
            _because(self, rule, limits, order),
            int(order[0]),
        )


def _signed(objective: Objective) -> float:
    return 1.0 if objective.sense == "min" else -1.0


def _job_id(front: Front) -> int | str | None:
    return front.alternatives.frame["job_id"][0] if "job_id" in front.alternatives.columns else None


def _infeasible(front: Front, limits: Sequence[Constraint], miss: Array) -> Infeasible:
    asked = " and ".join(str(c) for c in limits) or "finite objectives"
    if not np.isfinite(miss).any():
        return Infeasible(
            f"no alternative can be judged against {asked}: the model abstains on all", -1
        )
    nearest = int(np.argmin(miss))
    text = ", ".join(f"{k}={v}" for k, v in front.setting(nearest).items())
    return Infeasible(
        f"no setting meets {asked}; nearest is {text}, {100 * miss[nearest]:.1f} % over", nearest
    )


def _because(
    front: Front, rule: Rule, limits: Sequence[Constraint], order: NDArray[np.int64]
) -> Because:
    best = int(order[0])
    means = {o.name: front.mean(o.name) for o in front.objectives}
    spans = {o.name: front.interval(o.name) for o in front.objectives}
    numbers = {
        k: (float(means[k][best]), float(spans[k][0][best]), float(spans[k][1][best]))
        for k in means
    }
    second = int(order[1]) if len(order) > 1 else None
    compared = {} if second is None else {k: float(v[best] / v[second]) for k, v in means.items()}
    return Because(
        rule=str(rule),
        numbers=numbers,
        limits=tuple(str(c) for c in limits),
        runner_up=None if second is None else front.setting(second),
        compared=compared,
        support=None if front.outcome.support is None else float(front.outcome.support[best]),
        evidence=None if front.outcome.grade is None else GRADES[front.outcome.grade[best]],
    )
