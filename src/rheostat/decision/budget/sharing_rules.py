"""The rules that a budget is usually shared by: what every gain must be read against.

Fair share gives every node the same watts; utilisation gives watts to those that draw near their
caps; GEOPM's rule fits a quadratic to each application's slowdown and gives everybody the same
predicted one.  All three must round down to caps that exist.  Fair share comes three
times: *even* and *proportional* split a node's watts over its devices in equal parts or by their
highest caps and know no surface; *best* lets each node use its equal share as well as its surface
allows, which no published heuristic can.

Notation
--------
N  nodes      k  caps of a node      P  watts of a node's caps      x = P / P_max
slowdown(P) = a (1 - x)^2 + b (1 - x) + 1

References
----------
GEOPM, geopmpy power-limit model for PBS hooks (BSD-3): S(P) quadratic in the share of full power.
NVIDIA DPS, power reservation steering: limits follow utilisation.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rheostat.core.outcome import Array
from rheostat.decision.budget.hull import Ints
from rheostat.decision.budget.nodes import NodeFleet
from rheostat.prediction.surface import Surface


def fair_even(fleet: NodeFleet, total_w: float) -> Ints:
    """Equal watts more (or less) for every node, in equal parts on its devices, rounded down."""
    each = (total_w - fleet.now_w.sum()) / len(fleet)
    return _each(fleet, lambda i, s: _lift(s, int(fleet.now[i]), each))


def fair_proportional(fleet: NodeFleet, total_w: float) -> Ints:
    """Equal watts more for every node, on its devices in proportion to their highest caps."""
    each = (total_w - fleet.now_w.sum()) / len(fleet)
    return _each(fleet, lambda i, s: _lift(s, int(fleet.now[i]), each, s.values.max(axis=0)))


def fair_best(fleet: NodeFleet, total_w: float) -> Ints:
    """Equal watts more for every node, used by each as well as its surface allows."""
    each = (total_w - fleet.now_w.sum()) / len(fleet)

    def best(i: int, s: Surface) -> int:
        fits = s.total_w <= fleet.now_w[i] + each + 1e-9
        rate = np.where(fits, s.rate.mean(axis=0), -np.inf)
        return int(rate.argmax()) if fits.any() else int(s.total_w.argmin())

    return _each(fleet, best)


def utilisation(fleet: NodeFleet, total_w: float) -> Ints:
    """Watts more in proportion to the share of its caps that each node draws, rounded down."""
    keys = np.column_stack([fleet.app, fleet.now, fleet.now_w, np.nan_to_num(fleet.draw_w)])
    _, first, back = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    used = np.array([_draw(fleet, int(i)) for i in first])[back]
    share = used / used.sum() * (total_w - fleet.now_w.sum())
    return _each(fleet, lambda i, s: _lift(s, int(fleet.now[i]), float(share[i])), share)


def equal_slowdown(fleet: NodeFleet, total_w: float) -> Ints:
    """GEOPM's rule: fit the quadratic, find the one slowdown that all nodes can have."""
    low_w = np.array([s.total_w.min() for s in fleet.surfaces])[fleet.app]
    high_w = np.array([s.total_w.max() for s in fleet.surfaces])[fleet.app]
    fits = [_quadratic(s) for s in fleet.surfaces]
    slow, fast = 1.0, 1.0 + max(float(a + b) for a, b in fits)  # there nobody needs a watt
    for _ in range(60):
        middle = (slow + fast) / 2
        want = np.array([_watts(fit, middle) for fit in fits])[fleet.app] * high_w
        if np.clip(want, low_w, high_w).sum() <= total_w:
            fast = middle
        else:
            slow = middle
    want = np.array([_watts(fit, fast) for fit in fits])[fleet.app] * high_w
    want = np.clip(want, low_w, high_w)
    return _each(fleet, lambda i, s: _lift(s, int(s.total_w.argmin()), float(want[i] - low_w[i])))


BASELINES: dict[str, Callable[[NodeFleet, float], Ints]] = {
    "fair share, even": fair_even,
    "fair share, proportional": fair_proportional,
    "fair share, best": fair_best,
    "utilisation": utilisation,
    "equal slowdown (GEOPM)": equal_slowdown,
}


def _each(fleet: NodeFleet, rule: Callable[[int, Surface], int], by: Array | None = None) -> Ints:
    """The rule's setting for each node, asked once for nodes that are alike.

    ``by`` (N,) is what the rule looks at besides application and caps.  Nodes without a surface
    stay as they are.
    """
    more = np.zeros(len(fleet)) if by is None else by
    keys = np.column_stack([fleet.app, fleet.now, fleet.now_w, more])
    _, first, back = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    asked = [rule(int(i), fleet.surfaces[fleet.app[i]]) for i in first]
    rows = np.array(asked, dtype=np.int64)[back]
    rows[fleet.fixed] = fleet.now[fleet.fixed]
    return rows


def _lift(surface: Surface, now: int, more_w: float, parts: Array | None = None) -> int:
    """The setting after ``more_w`` watts on the devices, by ``parts`` or equally, rounded down.

    What one device cannot take (it is at its highest) goes to the others.
    """
    grid = surface.values
    by = np.ones(grid.shape[1]) if parts is None else parts
    target = grid[now] + more_w * by / by.sum()
    spare = np.maximum(target - grid.max(axis=0), 0.0).sum()
    open_ = target < grid.max(axis=0)
    if spare > 0 and open_.any():
        target[open_] += spare / open_.sum()
    fits = (grid <= target + 1e-9).all(axis=1)
    if not fits.any():
        return int(surface.total_w.argmin())
    return int(np.where(fits, surface.total_w, -np.inf).argmax())


def _draw(fleet: NodeFleet, node: int) -> float:
    """Share of the caps that is drawn: measured, else what the surface says, else all of it."""
    measured = np.nansum(fleet.draw_w[node] * fleet.devices(node))
    if measured > 0:
        return float(measured / fleet.now_w[node])
    surface = fleet.surfaces[fleet.app[node]]
    if "power_w" in surface.outcome:
        power = float(surface.outcome.mean("power_w")[fleet.now[node]])
        return min(1.0, power / float(fleet.now_w[node]))
    return 1.0


def _quadratic(surface: Surface) -> tuple[float, float]:
    """Least squares of slowdown over the share of full power, both coefficients at least 0."""
    x = 1.0 - surface.total_w / surface.total_w.max()
    time = surface.outcome["runtime_s"].mean(axis=0)
    y = time / time.min() - 1.0
    from scipy.optimize import nnls

    coefficients: Array = nnls(np.column_stack([x**2, x]), y)[0]
    return float(coefficients[0]), float(coefficients[1])


def _watts(fit: tuple[float, float], slowdown: float) -> float:
    """Share of full power at which the quadratic says ``slowdown``."""
    a, b = fit
    more = slowdown - 1.0
    if a < 1e-12:
        return 1.0 - more / b if b > 1e-12 else 0.0
    return 1.0 - float(-b + np.sqrt(b * b + 4 * a * more)) / (2 * a)
