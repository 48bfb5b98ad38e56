"""What every setting of every node costs and is worth: the table that a budget is spent on.

Worth is a choice: speed gained over the present caps, weighted or not; speed as a share of the
highest; or energy saved per unit of work while nobody slows down by more than a bound.  With a risk
level, worth is what is reached with that probability, so a noisy surface must promise more to get a
watt.  Nodes that run the same application from the same caps are one class and are computed once.

Notation
--------
N  nodes      C  classes      s  settings      K  options left after the dominated ones are gone
d  draws      gain : (d, s) speed over the present one, less 1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rheostat.core.outcome import Array
from rheostat.decision.budget.hull import Ints
from rheostat.decision.budget.nodes import NodeFleet
from rheostat.errors import DataError
from rheostat.prediction.surface import CAPS, Surface

OBJECTIVES = ("mean", "max-min", "max-min-speed", "energy")


@dataclass(frozen=True)
class BudgetObjective:
    """What is wanted.

    ``risk`` is the probability with which the worth must be reached (None: the mean); ``slowdown``
    the most that any node's runtime may grow over its present caps (0.05: by 5 %), at the same
    risk; ``change`` what a change of caps must be worth before it is made (hysteresis).

    Parameters
    ----------
    objective : str
        "mean" (gain in speed over the present caps), "max-min" (the least of these gains),
        "max-min-speed" (the least speed, as a share of that at an application's best caps) or
        "energy".
    risk : float, optional
        Probability with which the value must be reached, from 0.5; None: the mean.
    slowdown : float, optional
        Most that a node's runtime may grow, as a share: 0.05 is 5 %.
    change : float
        Least gain for which a node's caps are changed.

    Raises
    ------
    DataError
        A number out of range, or "energy" without a bound on the slowdown.
    """

    objective: str = "mean"
    risk: float | None = None
    slowdown: float | None = None
    change: float = 0.0

    def __post_init__(self) -> None:
        problems = []
        if self.objective not in OBJECTIVES:
            problems.append(f"objective: expected {', '.join(OBJECTIVES)}, got {self.objective!r}")
        if self.risk is not None and not 0.5 <= self.risk < 1:
            problems.append(f"risk: expected from 0.5 to below 1, got {self.risk}")
        if self.slowdown is not None and self.slowdown < 0:
            problems.append(f"slowdown: expected 0 or more, got {self.slowdown}")
        if self.objective == "energy" and self.slowdown is None:
            problems.append("slowdown: expected a bound, since saving energy alone stops the work")
        if problems:
            raise DataError("objective", problems)


@dataclass(frozen=True)
class NodeOptions:
    """Options of N nodes: ``watts``, ``value`` and the surface's ``row`` of each, all (N, K).

    ``kind`` (N,) is the class of each node; the tables of the C classes are kept for prices.
    """

    kind: Ints
    class_watts: Array
    class_value: Array
    class_row: Ints
    representative: Ints

    @property
    def watts(self) -> Array:
        """(N, K), +inf where a node has no such option."""
        return self.class_watts[self.kind]

    @property
    def value(self) -> Array:
        """(N, K), -inf where a node has no such option."""
        return self.class_value[self.kind]

    def rows(self, choice: Ints) -> Ints:
        """Settings of the chosen options, (N,)."""
        return self.class_row[self.kind, choice]


def bounded(draws: Array, risk: float | None) -> Array:
    """The mean of draws (d, s), or the value reached with probability ``risk``."""
    if risk is None:
        return np.asarray(draws.mean(axis=0))
    return np.asarray(np.quantile(draws, 1.0 - risk, axis=0))


def setting_value(surface: Surface, now: int, objective: BudgetObjective) -> Array:
    """Value of each setting, (s,); -inf where the slowdown bound is broken."""
    return bounded(value_draws(surface, now, objective), objective.risk) + forbidden(
        surface, now, objective
    )


def value_draws(surface: Surface, now: int, objective: BudgetObjective) -> Array:
    """Value of each setting, draw by draw, (d, s)."""
    if objective.objective == "max-min-speed":
        return np.asarray(surface.rate / surface.rate.max(axis=1, keepdims=True))
    if objective.objective != "energy":
        return surface.gain(now)
    if "energy_j" not in surface.outcome and surface.app[:1] != "(":
        raise DataError(f"surface of {surface.app}", ["has no power, so energy cannot be saved"])
    if surface.app[:1] == "(":
        return np.zeros((1, len(surface.values)))
    energy = surface.outcome["energy_j"]
    return 1.0 - energy / energy[:, [now]]


def forbidden(surface: Surface, now: int, objective: BudgetObjective) -> Array:
    """0 where the slowdown bound holds, else -inf, (s,); the present setting always holds."""
    if objective.slowdown is None:
        return np.zeros(len(surface.values))
    slower = surface.outcome["runtime_s"] / surface.outcome["runtime_s"][:, [now]]
    high = (
        slower.mean(axis=0)
        if objective.risk is None
        else np.quantile(slower, objective.risk, axis=0)
    )
    return np.where(high <= 1.0 + objective.slowdown + 1e-12, 0.0, -np.inf)


def node_options(
    fleet: NodeFleet, objective: BudgetObjective, allowed: Callable[[int], Array] | None = None
) -> NodeOptions:
    """The options of every node.

    ``allowed(node)`` gives 0 or -inf for each setting of a node that may not take all; nodes for
    which it differs are different classes.
    """
    fixed = np.zeros(len(fleet), dtype=bool)
    fixed[fleet.fixed] = True
    masks = [b"" if allowed is None else allowed(i).tobytes() for i in range(len(fleet))]
    codes = {m: c for c, m in enumerate(dict.fromkeys(masks))}
    keys = np.column_stack(
        [fleet.app, fleet.now, fleet.weight, fleet.now_w, fixed, [codes[m] for m in masks]]
    )
    _, representative, kind = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    tables = [_class(fleet, int(i), objective, fixed[i], allowed) for i in representative]
    most = max(len(t[0]) for t in tables)
    watts = np.full((len(tables), most), np.inf)
    value = np.full((len(tables), most), -np.inf)
    row = np.zeros((len(tables), most), dtype=np.int64)
    for c, (w, v, r) in enumerate(tables):
        watts[c, : len(w)], value[c, : len(w)], row[c, : len(w)] = w, v, r
    return NodeOptions(kind, watts, value, row, representative)


def _class(
    fleet: NodeFleet,
    node: int,
    objective: BudgetObjective,
    fixed: bool,
    allowed: Callable[[int], Array] | None,
) -> tuple[Array, Array, Ints]:
    """Watts, value and setting of the options of one class, by watts, each better than the last."""
    now = int(fleet.now[node])
    if fixed:
        return fleet.now_w[[node]], np.zeros(1), np.array([now])
    surface = fleet.surfaces[fleet.app[node]]
    value = fleet.weight[node] * setting_value(surface, now, objective)
    if allowed is not None:
        value = value + allowed(node)
    value[now] += objective.change
    watts = surface.total_w.copy()
    order = np.lexsort((-value, watts))
    best = np.concatenate([[True], value[order][1:] > np.maximum.accumulate(value[order])[:-1]])
    keep = order[best & np.isfinite(value[order])]
    return watts[keep], value[keep], keep


def not_below(fleet: NodeFleet, node: int, caps: Array) -> Array:
    """0 for settings of a node with no cap below ``caps`` (k,), else -inf."""
    surface = fleet.surfaces[fleet.app[node]]
    grid = surface.values[:, [surface.knobs.index(c) for c in surface.knobs if c in CAPS]]
    return np.where((grid >= caps - 1e-9).all(axis=1), 0.0, -np.inf)
