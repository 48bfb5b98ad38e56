"""How good is a set of measured settings, compared with the best there is?

A hypervolume means nothing without its reference point and the box it was normalised in, so here
the three travel together.  With few evaluations not even a perfect search can reach the whole
front: `attainable` says what the best subset of that size reaches, so that a method is not blamed
for the budget.  And since nobody runs a front, `decision_regret` asks what the missing part would
have cost someone with a deadline or a cap.

Notation
--------
y : (n, m) values found, minimised     t : (N, m) all values there are ("truth")
z = (log y - low) / (high - low): normalised, 0 the truth's ideal, 1 its front's nadir
r  reference in normalised units, 1.1 by default

References
----------
Zitzler and Thiele (1998): hypervolume.  Ishibuchi et al. (2015): IGD+.  Zitzler et al. (2003):
additive epsilon.  Deb et al. (2002): spread Delta.  Kuhn et al.: Hypervolume subset selection in
two dimensions (2016), of which `attainable` is the plain dynamic programme.
moocore computes hypervolume, IGD+ and epsilon.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import moocore
import numpy as np

from rheostat.core.dominance import hypervolume_2d, non_dominated
from rheostat.core.front import Constraint, Front, Rule
from rheostat.core.outcome import Array
from rheostat.errors import DataError, Infeasible

REFERENCE = 1.1


@dataclass(frozen=True)
class Box:
    """The normalisation: ``low`` and ``high`` per objective, on log axes if ``log``."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    log: bool = True

    @classmethod
    def of(cls, truth: Array, *, log: bool = True) -> Box:
        """From the ideal to the nadir of the true front.

        >>> Box.of(np.array([[1.0, 100.0], [10.0, 10.0], [50.0, 500.0]])).high
        (10.0, 100.0)

        An objective that does not vary along the front gets a width of 1 (of e on log axes).
        """
        truth = _finite(truth)
        if not len(truth) or (log and (truth <= 0).any()):
            raise DataError("Box", ["expected finite values, above 0 on log axes: pass log=False"])
        front = truth[non_dominated(truth)]
        low, high = front.min(axis=0), front.max(axis=0)
        high = np.where(high > low, high, low * np.e if log else low + 1.0)
        return cls(tuple(low.tolist()), tuple(high.tolist()), log)

    def scale(self, y: Array) -> Array:
        """Values (n, m) in the box's units; rows with NaN are left out."""
        y = _finite(y)
        low, high = np.array(self.low), np.array(self.high)
        if not self.log:
            return np.asarray((y - low) / (high - low))
        return np.asarray(np.log(y / low) / np.log(high / low))


@dataclass(frozen=True)
class Hypervolume:
    """A hypervolume and what it was measured against.

    >>> str(Hypervolume(0.5, (1.1, 1.1), Box((1.0, 2.0), (10.0, 20.0))))
    'hypervolume 0.5000 (reference 1.1, 1.1 of log box [1, 2]..[10, 20])'
    """

    value: float
    reference: tuple[float, ...]
    box: Box | None = None

    @property
    def low(self) -> tuple[float, ...] | None:
        """Where the box begins; None: not normalised."""
        return self.box.low if self.box else None

    @property
    def high(self) -> tuple[float, ...] | None:
        """Where the box ends; None: not normalised."""
        return self.box.high if self.box else None

    @property
    def log(self) -> bool:
        """Whether it was measured on log axes."""
        return self.box is not None and self.box.log

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        at = f"reference {_list(self.reference)}"
        if self.box:
            kind = "log box" if self.box.log else "box"
            at += f" of {kind} [{_list(self.box.low)}]..[{_list(self.box.high)}]"
        return f"hypervolume {self.value:.4f} ({at})"


def hypervolume(
    y: Array, *, box: Box | None = None, reference: Sequence[float] | float = REFERENCE
) -> Hypervolume:
    """Volume that ``y`` (n, m; minimised) dominates up to ``reference``.

    With a ``box`` the values are normalised first and the reference is in the box's units; without,
    both are as they are.  Rows with NaN add nothing.

    >>> float(hypervolume(np.array([[1.0, 2.0], [2.0, 1.0]]), reference=3.0))
    3.0
    """
    z = _finite(y) if box is None else box.scale(y)
    r = np.broadcast_to(np.asarray(reference, dtype=float), z.shape[1:])
    value = float(moocore.hypervolume(z, ref=r)) if len(z) else 0.0
    return Hypervolume(value, tuple(r.tolist()), box)


def fraction(y: Array, truth: Array) -> float:
    """Share of the truth's hypervolume that ``y`` reaches, in the truth's own box."""
    box = Box.of(truth, log=True)
    return hypervolume(y, box=box).value / hypervolume(truth, box=box).value


def attainable(
    truth: Array, counts: Sequence[int], *, box: Box | None = None, reference: float = REFERENCE
) -> list[float]:
    """Largest hypervolume that any ``k`` of the truth's settings reach, for each k; two objectives.

    Exact: along the front sorted by the first objective, the best k points ending at point j extend
    the best k - 1 ending at some i before it by one rectangle.

    >>> t = np.array([[0.0, 2.0], [1.0, 1.0], [2.0, 0.0]])
    >>> attainable(t, [1, 2, 3, 9], box=Box((0.0, 0.0), (1.0, 1.0), log=False), reference=3.0)
    [4.0, 5.0, 6.0, 6.0]
    """
    z = (box or Box.of(truth)).scale(truth)
    if z.shape[1] != 2:
        raise DataError("attainable", [f"expected two objectives, got {z.shape[1]}"])
    z = np.unique(z[non_dominated(z)], axis=0)
    z = z[(z < reference).all(axis=1)]
    best = [0.0]
    value = (reference - z[:, 0]) * (reference - z[:, 1])  # ending at j, one point
    step = (reference - z[None, :, 0]) * (z[:, None, 1] - z[None, :, 1])  # from i to j
    step[np.tril_indices(len(z))] = -np.inf
    for _ in range(len(z)):
        best.append(float(value.max()))
        value = np.max(value[:, None] + step, axis=0)
    return [best[min(k, len(best) - 1)] for k in counts]


def igd_plus(y: Array, truth: Array, *, box: Box | None = None) -> float:
    """Mean distance by which the true front is missed (IGD+), normalised; 0 is perfect."""
    z, t = _pair(y, truth, box)
    return float(moocore.igd_plus(z, ref=t)) if len(z) else float("inf")


def epsilon(y: Array, truth: Array, *, box: Box | None = None) -> float:
    """By how much ``y`` must improve in every objective to cover the true front, normalised."""
    z, t = _pair(y, truth, box)
    return float(moocore.epsilon_additive(z, ref=t)) if len(z) else float("inf")


def spread(y: Array, truth: Array, *, box: Box | None = None) -> float:
    """Deb's Delta of two objectives: 0 is even and from end to end, 1 is all in one place.

    Report it beside the hypervolume: points crowded together have a small "spread" in the everyday
    sense, and that is a fault.

    >>> t = np.array([[0.0, 4.0], [1.0, 3.0], [2.0, 2.0], [3.0, 1.0], [4.0, 0.0]])
    >>> box = Box((0.0, 0.0), (4.0, 4.0), log=False)
    >>> spread(t, t, box=box), spread(t[2:3], t, box=box)
    (0.0, 1.0)
    """
    z, t = _pair(y, truth, box)
    if not len(z):
        return float("nan")
    z = np.unique(z[non_dominated(z)], axis=0)
    ends = t[np.argmin(t[:, 0])], t[np.argmin(t[:, 1])]
    missed = float(np.linalg.norm(z[0] - ends[0]) + np.linalg.norm(z[-1] - ends[1]))
    gaps = np.linalg.norm(np.diff(z, axis=0), axis=1)
    mean = float(gaps.mean()) if len(gaps) else 0.0
    total = missed + len(gaps) * mean
    return (missed + float(np.abs(gaps - mean).sum())) / total if total > 0 else 0.0


def trace(y: Array, *, box: Box, reference: float = REFERENCE) -> Array:
    """Hypervolume after each evaluation of ``y`` (n, 2) in order, (n,); never falls."""
    z = np.full(np.shape(y), np.inf)
    good = np.isfinite(y).all(axis=1)
    z[good] = box.scale(np.asarray(y)[good])
    r = (reference, reference)
    return np.array([hypervolume_2d(z[: i + 1], r) for i in range(len(z))])


def evaluations_to(share: float, y: Array, truth: Array) -> float:
    """Evaluations until ``share`` of the truth's hypervolume is reached; inf if it never is.

    >>> t = np.array([[1.0, 4.0], [2.0, 2.0], [4.0, 1.0]])
    >>> evaluations_to(0.99, t, t), evaluations_to(0.99, t[:1], t)
    (3.0, inf)
    """
    box = Box.of(truth)
    whole = hypervolume(truth, box=box).value
    there = np.flatnonzero(trace(y, box=box) >= share * whole - 1e-12)
    return float(there[0] + 1) if len(there) else float("inf")


@dataclass(frozen=True)
class Regret:
    """What a decision cost beyond the best possible one.

    ``regret`` is relative (0.1: a tenth more), and may be negative where ``violated``: the setting
    chosen breaks a limit in truth.  A belief without any value gives NaN.
    """

    regret: float
    violated: bool


def decision_regret(
    believed: Front,
    truth: Front,
    rule: Rule,
    limits: Sequence[Constraint],
    cost: Callable[[Front], Array],
) -> Regret:
    """Choose on what is believed, pay what is true.

    Parameters
    ----------
    believed, truth : Front
        The same alternatives in the same order: as measured or forecast, and as they are.
    rule, limits
        The question, say ``Weighted({"energy_j": 1})`` within ``Deadline("2h")``.  Where nothing is
        believed to fit, the setting believed to miss least is taken.
    cost : callable
        What is paid, from the truth, (n,): ``lambda f: f.mean("energy_j")``.

    Raises
    ------
    Infeasible
        No setting meets the constraints in truth: the question has no answer.
    """
    if believed.alternatives.frame.to_dicts() != truth.alternatives.frame.to_dicts():
        raise DataError("decision_regret", ["believed and truth must hold the same alternatives"])
    paid = np.asarray(cost(truth), dtype=float)
    best = paid[truth.choose(rule, limits).index]
    try:
        chosen = believed.choose(rule, limits).index
    except Infeasible as none:
        if none.nearest < 0:
            return Regret(float("nan"), violated=False)
        chosen = none.nearest
    limits = [*limits, rule] if isinstance(rule, Constraint) else limits
    broken = any(bool(c.excess(truth)[chosen] > 0) for c in limits)
    return Regret(float(paid[chosen] / best - 1.0), violated=broken)


def _pair(y: Array, truth: Array, box: Box | None) -> tuple[Array, Array]:
    """Both in the truth's box, the truth reduced to its front."""
    box = box or Box.of(truth)
    t = box.scale(truth)
    return box.scale(y), t[non_dominated(t)]


def _finite(y: Array) -> Array:
    y = np.atleast_2d(np.asarray(y, dtype=float))
    return np.asarray(y[np.isfinite(y).all(axis=1)])


def _list(values: Sequence[float]) -> str:
    return ", ".join(f"{v:.4g}" for v in values)
