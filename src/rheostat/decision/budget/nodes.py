"""The nodes that share a budget: what runs on each, how its caps stand, to which groups it belongs.

A fleet is a table with a row per node (or per device): ``node``, ``app`` and, where known, the caps
now, ``weight``, the draw of each device and the names of the groups it is in (``rack``, ``row``).
Nodes that run nothing keep the lowest caps there are; nodes whose application no surface describes
keep what they have.

Notation
--------
N  nodes      A  surfaces      s  settings of a surface
app : (N,) surface      now : (N,) setting at which a node stands
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.core.outcome import Array, Outcome
from rheostat.decision.budget.hull import Ints
from rheostat.decision.budget.standing import MOST_W, Bools, Standing, placed, stated
from rheostat.errors import DataError
from rheostat.prediction.surface import CAPS, Surface

IDLE = "(idle)"


@dataclass(frozen=True)
class NodeFleet:
    """N nodes over surfaces; ``now`` is the setting of the surface at which the node stands.

    ``now_w`` are the watts that the caps allow as they stand, ``draw_w`` the measured watts under
    each cap, NaN where not known.  ``fixed`` are nodes that keep their caps: nobody knows what
    another cap would do to them.

    Parameters
    ----------
    names : tuple of str
        N nodes.
    surfaces : tuple of Surface
        Runtime over caps, one per application.
    app : array of int
        (N,) the surface of each node.
    now : array of int
        (N,) the setting of the surface at which each node stands.
    now_w : array
        (N,) watts that the caps allow as they stand.
    weight : array
        (N,) share of each node in the objective.
    draw_w : array
        (N, caps) watts measured under each cap, NaN unknown.
    groups : mapping
        Names of the group of each node, by level.
    fixed : array of int
        Nodes that keep their caps.
    notes : tuple of Note
        What was assumed.
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

    def devices(self, node: int) -> Array:
        """How many devices of a node each cap counts for, (k,)."""
        surface = self.surfaces[self.app[node]]
        gpus = surface.values[0, surface.knobs.index("gpus")] if "gpus" in surface.knobs else 1.0
        return np.array([gpus if k == "gpu_cap_w" else 1.0 for k in self.caps])

    def at(self, choice: Ints) -> NodeFleet:
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
    start: Mapping[str, float] | str | None = None,
) -> NodeFleet:
    """A fleet from a table of nodes; ``start`` are the caps of nodes whose table has none.

    An empty ``app`` or "idle" is an idle node.  A cap that neither the table nor ``start`` states
    is a `DataError`; for studies, ``start="lowest"`` assumes the lowest setting of each surface.
    Columns ``cpu_draw_w``, ``gpu_draw_w`` or ``draw_w`` tell what each device draws.
    """
    frame = nodes.frame if isinstance(nodes, JobTable) else nodes
    if "node" not in frame.columns:
        frame = frame.with_columns(node=pl.int_range(frame.height).cast(pl.String))
    _checked(frame, surfaces)
    known = (*surfaces.values(), idle_surface(tuple(surfaces.values())))
    place = {s.app: i for i, s in enumerate(known)}
    names = frame["app"].cast(pl.String).fill_null("")
    idle = np.array([n.lower() in ("", "idle", "none") for n in names])
    missing = ~idle & np.array([n not in place for n in names])
    kind = np.array([place.get(n, place[IDLE]) for n in names], dtype=np.int64)
    kind[idle] = place[IDLE]
    caps = tuple(k for k in known[0].knobs if k in CAPS)
    stand = placed(known, kind, stated(frame, caps, start))
    fixed = missing | (stand.below & ~idle)
    draws = [frame[c] if c in frame.columns else None for c in map(_draw_column, caps)]
    total = [s.total_w for s in stand.surfaces]
    return NodeFleet(
        tuple(frame["node"].cast(pl.String)),
        stand.surfaces,
        stand.app,
        stand.now,
        np.array([total[a][row] for a, row in zip(stand.app, stand.now, strict=True)]),
        _column(frame, "weight", 1.0),
        np.stack([_numbers(d, len(frame), np.nan) for d in draws], axis=1),
        {c: tuple(frame[c].cast(pl.String).fill_null("")) for c in _levels(frame)},
        np.flatnonzero(fixed),
        _notes(stand, idle, missing),
    )


def _notes(stand: Standing, idle: Bools, missing: Bools) -> tuple[Note, ...]:
    known = ~idle & ~missing
    said = (
        ("no surface for the application: caps are left as they are", missing),
        ("caps below the lowest that were measured: left as they are", stand.below & known),
        ("caps between those that were measured: speed interpolated", stand.between & known),
        ("caps above the highest that were measured: taken to be as fast", stand.above & known),
    )
    return tuple(
        Note(text, tuple(np.flatnonzero(rows)[:20].tolist()), count=int(rows.sum()))
        for text, rows in said
        if rows.any()
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


def _amounts(column: pl.Series, *, above_0: bool) -> list[str]:
    values = column.cast(pl.Float64, strict=False).to_numpy()
    good = (values > 0) if above_0 else (values >= 0)
    bad = column.is_not_null().to_numpy() & ~(good & (values <= MOST_W))
    if not bad.any():
        return []
    got = ", ".join(str(v) for v in column.filter(pl.Series(bad))[:3])
    return [f"{column.name}: expected numbers {'above 0' if above_0 else 'from 0 on'}, got {got}"]


def _checked(frame: pl.DataFrame, surfaces: Mapping[str, Surface]) -> None:
    problems = [] if "app" in frame.columns else ["column app is missing"]
    if not frame.height:
        problems.append("has no rows")
    twice = frame["node"].is_duplicated() if frame.height else pl.Series([False])
    if twice.any():
        problems.append(f"node {frame['node'].filter(twice)[0]} is there twice")
    if len({s.knobs for s in surfaces.values()}) > 1:
        problems.append("expected surfaces over the same knobs")
    for name in ("weight", *map(_draw_column, CAPS)):
        if name in frame.columns:
            problems += _amounts(frame[name], above_0=name == "weight")
    if problems:
        raise DataError("nodes", problems)
