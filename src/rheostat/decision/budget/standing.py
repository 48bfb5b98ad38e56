"""Caps as they stand: where nobody measured them, what they are worth all the same.

A plan begins with the caps that are in force.  They need not be settings that anybody measured, so
they become a setting of their own, in a surface of their own: between measured settings the speed
may be any between theirs, in the mean that of a line; above the highest it is that of the highest.
Below the lowest nothing is known; a node that stands there is kept as it is.

Notation
--------
N  nodes      k  caps      caps_w : (N, k) watts as they stand      s  settings of a surface
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import beta

from rheostat.core.outcome import Array, Outcome
from rheostat.decision.budget.hull import Ints
from rheostat.errors import DataError
from rheostat.prediction.surface import CAPS, Surface

Bools = NDArray[np.bool_]
LOWEST = "lowest"
MOST_W = 1e6
_EVEN_W = 1e-9


@dataclass(frozen=True)
class Standing:
    """Surfaces, with one more for each unmeasured setting; surface and setting of each node, (N,).

    ``below``, ``between`` and ``above`` (N,) tell where the caps stand outside measured settings.
    """

    surfaces: tuple[Surface, ...]
    app: Ints
    now: Ints
    below: Bools
    between: Bools
    above: Bools


def stated(
    frame: pl.DataFrame, caps: Sequence[str], start: Mapping[str, float] | str | None
) -> Array:
    """Caps as they stand, (N, k): from the table, else from ``start``; NaN for `LOWEST`.

    A cap that nobody states is a `DataError`: to assume one would lower or raise it unasked.
    """
    given = dict.fromkeys(caps, np.nan) if start == LOWEST else dict(start or {})  # type: ignore[arg-type]
    problems, caps_w, unknown = [], [], []
    for name in caps:
        column = frame[name] if name in frame.columns else pl.Series([None] * frame.height)
        watts = column.cast(pl.Float64, strict=False).to_numpy()
        missing = column.is_null().to_numpy()
        bad = ~missing & ~((watts > 0) & (watts <= MOST_W))
        if bad.any():
            said = ", ".join(str(v) for v in column.filter(pl.Series(bad))[:3])
            problems.append(f"{name}: expected watts above 0, got {said} at {_named(frame, bad)}")
        if missing.any() and name not in given:
            problems.append(f"{name} as it stands is not known of {_named(frame, missing)}")
            unknown.append(f"{name}=WATTS")
        caps_w.append(np.where(missing, given.get(name, np.nan), watts))
    if unknown:
        said = f"as --from {','.join(unknown)}"
        problems.append(f"give it in the table, {said}, or --from device reads it")
    if problems:
        raise DataError("nodes", problems)
    return np.stack(caps_w, axis=1)


def _named(frame: pl.DataFrame, rows: Bools, most: int = 5) -> str:
    names = frame["node"].cast(pl.String).filter(pl.Series(rows)).to_list()
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"node {', '.join(map(str, names[:most]))}{more}"


def placed(known: Sequence[Surface], app: Ints, caps_w: Array) -> Standing:
    """The setting at which each node stands; NaN in ``caps_w`` is that of the lowest setting."""
    surfaces, n = list(known), len(app)
    where, now = app.copy(), np.zeros(n, dtype=np.int64)
    odd = {kind: np.zeros(n, dtype=bool) for kind in ("below", "between", "above")}
    keys, back = np.unique(np.column_stack([app, np.nan_to_num(caps_w, nan=-1.0)]), axis=0,
                           return_inverse=True)  # fmt: skip
    for i, key in enumerate(keys):
        surface, nodes = known[int(key[0])], back == i
        grid = _grid(surface)
        watts = np.where(key[1:] < 0, grid[surface.total_w.argmin()], key[1:])
        same = np.isclose(grid, watts).all(axis=1)
        if same.any():
            now[nodes] = int(same.argmax())
            continue
        extended, kind = with_setting(surface, watts)
        where[nodes], now[nodes] = len(surfaces), len(surface.values)
        odd[kind][nodes] = True
        surfaces.append(extended)
    return Standing(tuple(surfaces), where, now, **odd)


def _grid(surface: Surface) -> Array:
    """The caps of each setting, (s, k)."""
    return surface.values[:, [i for i, k in enumerate(surface.knobs) if k in CAPS]]


def with_setting(surface: Surface, watts: Array) -> tuple[Surface, str]:
    """The surface with one setting more, and whether that is below, between or above the others.

    >>> seen = Surface("lbm", ("cap_w",), np.array([[100.0], [200.0]]),
    ...                Outcome({"runtime_s": np.array([[20.0, 10.0]])}))
    >>> more, where = with_setting(seen, np.array([150.0]))
    >>> where, more.rate[0].round(4).tolist()
    ('between', [0.05, 0.1, 0.075])
    """
    grid = _grid(surface)
    inside = np.minimum(watts, grid.max(axis=0))
    under = (grid <= inside + _EVEN_W).all(axis=1)
    over = (grid >= inside - _EVEN_W).all(axis=1)
    if not under.any() or not over.any():
        low = high = int(surface.total_w.argmin())
        kind, share = "below", 0.0
    else:
        low = int(np.where(under, surface.total_w, -np.inf).argmax())
        high = int(np.where(over, surface.total_w, np.inf).argmin())
        kind = "above" if low == high else "between"
        wide = grid[high].sum() - grid[low].sum()
        share = (inside.sum() - grid[low].sum()) / wide if wide > 0 else 0.0
    return _extended(surface, watts, low, high, share), kind


def shares(mean: float, draws: int) -> Array:
    """Where between two measured settings the speed may lie, (B,): anywhere, in the mean on a line.

    >>> shares(0.5, 4).round(2).tolist(), shares(0.25, 1).tolist(), shares(0.0, 2).tolist()
    ([0.62, 0.12, 0.38, 0.88], [0.25], [0.0, 0.0])
    """
    if draws == 1 or mean in (0.0, 1.0):
        return np.full(draws, mean)
    even = (np.arange(draws) + 0.5) / draws
    spread = beta.ppf(even, 2 * mean, 2 * (1 - mean))
    drawn = np.random.default_rng(0).permutation(spread - spread.mean() + mean)
    return np.asarray(np.clip(drawn, 0.0, 1.0))


def _extended(surface: Surface, watts: Array, low: int, high: int, share: float) -> Surface:
    row = surface.values[low].copy()
    row[[i for i, k in enumerate(surface.knobs) if k in CAPS]] = watts
    draws = {}
    for name in surface.outcome.names:
        seen = surface.outcome[name]
        ends = (1.0 / seen if name == "runtime_s" else seen)[:, [low, high]]
        part = shares(share, len(seen))
        mixed = (1 - part) * ends[:, 0] + part * ends[:, 1]
        draws[name] = np.column_stack([seen, 1.0 / mixed if name == "runtime_s" else mixed])
    support = surface.outcome.support
    if support is not None:
        support = np.append(support, 0.0)
    values = np.vstack([surface.values, row])
    return replace(surface, values=values, outcome=Outcome(draws, support))
