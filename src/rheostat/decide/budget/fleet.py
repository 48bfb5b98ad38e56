"""The nodes that share a budget: what runs on each, how its caps stand, to which groups it belongs.

A fleet is a table with a row per node (or per device): ``node``, ``app`` and, where known, the caps
now, ``weight``, the draw of each device and the names of the groups it is in (``rack``, ``row``).
Nodes that run nothing keep the lowest caps there are; nodes whose application no surface describes
keep what they have.

Notation
--------
N  nodes      A  surfaces      s  settings of a surface
app : (N,) surface, IDLE or UNKNOWN      now : (N,) setting      caps_w : (N, k) caps as they stand
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.core.outcome import Array, Outcome
from rheostat.decide.budget.hull import Ints
from rheostat.errors import DataError
from rheostat.predict.surface import CAPS, Surface

IDLE = "(idle)"
UNKNOWN = "(unknown)"


@dataclass(frozen=True)
class Fleet:
    """N nodes over surfaces; ``now`` is the setting of the surface that the node's caps allow.

    ``now_w`` are the watts that the caps allow as they stand, which a cap off the grid makes more
    than the setting's; ``draw_w`` the measured watts under each cap, NaN where not known.
    """

    names: tuple[str, ...]
    surfaces: tuple[Surface, ...]
    app: Ints
    now: Ints
    now_w: Array
    weight: Array
    draw_w: Array
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fixed: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    notes: tuple[Note, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    @property
    def caps(self) -> tuple[str, ...]:
        """The cap knobs, common to all surfaces."""
        return tuple(k for k in self.surfaces[0].knobs if k in CAPS)

    def setting(self, node: int, row: int) -> dict[str, float]:
        """The caps of a setting of a node's surface."""
        whole = self.surfaces[self.app[node]].setting(row)
        return {k: whole[k] for k in self.caps}

    def at(self, choice: Ints) -> Fleet:
        """The same nodes with their caps set as chosen."""
        each = [s.total_w for s in self.surfaces]
        total = np.array([each[a][c] for a, c in zip(self.app, choice, strict=True)])
        return replace(self, now=choice, now_w=total)


def idle_surface(surfaces: Sequence[Surface]) -> Surface:
    """What a node that runs nothing may be set to: all settings, none better than another."""
    values = np.unique(np.concatenate([s.values for s in surfaces]), axis=0)
    return Surface(
        IDLE, surfaces[0].knobs, values, Outcome({"runtime_s": np.ones((1, len(values)))})
    )


def fleet(
    nodes: JobTable | pl.DataFrame,
    surfaces: Mapping[str, Surface],
    *,
    start: Mapping[str, float] | None = None,
) -> Fleet:
    """A fleet from a table of nodes; ``start`` are the caps of nodes whose table has none.

    An empty ``app`` or "idle" is an idle node.  Without caps and ``start`` nodes stand at the
    lowest setting of their surface.  Columns ``cpu_draw_w``, ``gpu_draw_w`` or ``draw_w`` tell what
    each device draws.
    """
    frame = nodes.frame if isinstance(nodes, JobTable) else nodes
    if "node" not in frame.columns:
        frame = frame.with_columns(node=pl.int_range(frame.height).cast(pl.String))
    _checked(frame, surfaces)
    known = (*surfaces.values(), idle_surface(tuple(surfaces.values())))
    place = {s.app: i for i, s in enumerate(known)}
    names = frame["app"].cast(pl.String).fill_null("")
    idle = [n.lower() in ("", "idle", "none") for n in names]
    missing = [not i and n not in place for n, i in zip(names, idle, strict=True)]
    app = np.array(
        [place[IDLE] if i or m else place[n] for n, i, m in zip(names, idle, missing, strict=True)],
        dtype=np.int64,
    )
    caps = tuple(k for k in known[0].knobs if k in CAPS)
    stand = _stand(frame, caps, start)
    now, now_w, off = _placed(known, app, caps, stand)
    notes = [
        Note(text, tuple(np.flatnonzero(rows)[:20].tolist()), count=int(np.sum(rows)))
        for text, rows in (
            ("caps off the surface's grid: taken as the setting below", off),
            ("no surface for the application: caps are left as they are", np.array(missing)),
        )
        if np.any(rows)
    ]
    draws = [frame[c] if c in frame.columns else None for c in map(_draw_column, caps)]
    return Fleet(
        tuple(frame["node"].cast(pl.String)),
        known,
        app,
        now,
        now_w,
        _column(frame, "weight", 1.0),
        np.stack([_numbers(d, len(app), np.nan) for d in draws], axis=1),
        {c: tuple(frame[c].cast(pl.String).fill_null("")) for c in _levels(frame)},
        np.flatnonzero(missing),
        tuple(notes),
    )


def _draw_column(cap: str) -> str:
    return cap.replace("cap_w", "draw_w")


def _levels(frame: pl.DataFrame) -> list[str]:
    taken = {"node", "app", "weight", *CAPS, *map(_draw_column, CAPS)}
    return [c for c in frame.columns if c not in taken and not frame[c].dtype.is_float()]


def _column(frame: pl.DataFrame, name: str, default: float) -> Array:
    return _numbers(frame[name] if name in frame.columns else None, frame.height, default)


def _numbers(values: pl.Series | None, n: int, default: float) -> Array:
    if values is None:
        return np.full(n, default)
    return values.cast(pl.Float64).fill_null(default).to_numpy()


def _checked(frame: pl.DataFrame, surfaces: Mapping[str, Surface]) -> None:
    problems = [] if "app" in frame.columns else ["column app is missing"]
    if not frame.height:
        problems.append("has no rows")
    twice = frame["node"].is_duplicated() if frame.height else pl.Series([False])
    if twice.any():
        problems.append(f"node {frame['node'].filter(twice)[0]} is there twice")
    if len({s.knobs for s in surfaces.values()}) > 1:
        problems.append("expected surfaces over the same knobs")
    if "weight" in frame.columns and not (_column(frame, "weight", 1.0) > 0).all():
        problems.append("weight: expected numbers above 0")
    if problems:
        raise DataError("nodes", problems)


def _stand(frame: pl.DataFrame, caps: Sequence[str], start: Mapping[str, float] | None) -> Array:
    """Caps as they stand, (N, k); NaN: nobody says."""
    given = dict(start or {})
    columns = [
        _numbers(frame[c] if c in frame.columns else None, frame.height, given.get(c, np.nan))
        for c in caps
    ]
    return np.stack(columns, axis=1)


def _placed(
    known: Sequence[Surface], app: Ints, caps: Sequence[str], stand: Array
) -> tuple[Ints, Array, Array]:
    """The setting each node's caps allow: the most watts not above any of them."""
    now, now_w = np.zeros(len(app), dtype=np.int64), np.zeros(len(app))
    off = np.zeros(len(app), dtype=bool)
    keys, where = np.unique(np.column_stack([app, np.nan_to_num(stand, nan=-1.0)]), axis=0,
                            return_inverse=True)  # fmt: skip
    for i, key in enumerate(keys):
        surface, want = known[int(key[0])], key[1:]
        grid = surface.values[:, [surface.knobs.index(c) for c in caps]]
        fits = ((grid <= want + 1e-9) | (want < 0)).all(axis=1)
        nodes = where == i
        if (want < 0).all() or not fits.any():
            row = int(surface.total_w.argmin())
        else:
            row = int(np.where(fits, surface.total_w, -np.inf).argmax())
        on = np.isclose(grid[row], want) | (want < 0)
        now[nodes], off[nodes] = row, not on.all()
        factor = surface.total_w[row] / grid[row].sum()
        now_w[nodes] = surface.total_w[row] if on.all() else want.clip(0).sum() * factor
    return now, now_w, off
