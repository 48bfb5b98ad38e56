"""EcoShift: share a cluster's power budget by what a watt buys on each node.

The published system predicts performance online and gives reclaimed power to the nodes that gain
most, by a dynamic programme.  Only its abstract is public, so this is a reading and not a
reproduction: surfaces from a table of runs, donors down to their draw plus a margin, receivers by
the exact programme; and beside it the same budget planned without donors and receivers.

References
----------
Zheng, Papka, Lan: arXiv 2604.17635 (2026).
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.core.series import Series
from rheostat.core.storage.files import read_toml
from rheostat.core.units import parse_quantity
from rheostat.decision.actuate.actuators import DeviceAddress
from rheostat.decision.budget.allocate_power import PowerLimits
from rheostat.decision.budget.nodes import NodeFleet, fleet
from rheostat.errors import DataError
from rheostat.prediction.surface import CAPS, COUNTS, Surface, surfaces

SPELT = "names that differ in capitals or blanks alone count as several applications"
ONE_SETTING = (
    "ran at one setting of caps, so nothing tells what caps do to it, and no node of it is planned"
)
MOST_NAMED = 6


def capped_surfaces(runs: JobTable, *, seed: int = 0) -> dict[str, Surface]:
    """Surfaces over the caps of a table of runs; GPU count and nodes must not vary within it.

    A cap of a GPU counts for each of the GPUs that the runs had (column ``gpus``).
    """
    varies = [c for c in COUNTS if c in runs.columns and runs.frame[c].n_unique() > 1]
    if varies:
        problems = [f"{c} varies: keep one value, as with --where {c}=4" for c in varies]
        raise DataError("runs under caps", problems)
    each = {"gpu_cap_w", "gpus"} <= set(runs.columns)
    knobs = (*(c for c in CAPS if c in runs.columns), *(("gpus",) if each else ()))
    return surfaces(runs, knobs or None, seed=seed)


def dealt(surfaces: Mapping[str, Surface], count: int = 0) -> pl.DataFrame:
    """``count`` nodes that run the applications in turn; one each by default.

    >>> dealt({"a": None, "b": None}, 3)["app"].to_list()
    ['a', 'b', 'a']
    """
    names = list(surfaces)
    count = count or len(names)
    return pl.DataFrame(
        {
            "node": [f"n{i:0{len(str(count))}d}" for i in range(1, count + 1)],
            "app": [names[i % len(names)] for i in range(count)],
        }
    )


def drawn(nodes: NodeFleet) -> NodeFleet:
    """The same fleet with draws from the surfaces, where they know power and nobody measured.

    A surface knows the draw of a node, not of its devices: what is not drawn is taken from the GPU,
    since processors under a cap sit at it.
    """
    draw = nodes.draw_w.copy()
    caps = nodes.caps
    for i, (a, now) in enumerate(zip(nodes.app, nodes.now, strict=True)):
        surface = nodes.surfaces[a]
        if "power_w" not in surface.outcome or np.isfinite(draw[i]).any():
            continue
        spare = float(surface.total_w[now] - surface.outcome.mean("power_w")[now])
        column = len(caps) - 1
        cap = surface.values[now, surface.knobs.index(caps[column])]
        draw[i, column] = cap - max(spare, 0.0) / nodes.devices(i)[column]
    return replace(nodes, draw_w=draw)


def limits_file(path: Path, at_s: float = 0.0) -> PowerLimits:
    """Power limits from TOML: ``[site] total = "12 kW"`` and a table per level, such as ``[rack]``.

    The total may change with time: ``total = {from_s = [0, 3600], value = [12000, 9000]}``.
    """
    given = read_toml(path)
    site = given.pop("site", None)
    problems: list[str] = []
    total = None
    if not isinstance(site, dict) or "total" not in site:
        problems.append('expected [site] with a line like total = "12 kW"')
    else:
        total = _total(site["total"], at_s, problems)
    groups = {k: _watts(k, v, problems) for k, v in given.items()}
    if problems or total is None:
        raise DataError(str(path), problems)
    return PowerLimits(total, groups)


def budget_series(path: Path) -> Series:
    """The total of a limits file over time."""
    limits_file(path)  # tells what is wrong with it
    given = read_toml(path)["site"]["total"]
    return Series.of(given if isinstance(given, dict) else parse_quantity(given, "W"))


def _total(given: Any, at_s: float, problems: list[str]) -> float | None:
    try:
        if isinstance(given, dict):
            return float(Series.of(given).at(np.array([at_s]))[0])
        return parse_quantity(given, "W")
    except DataError as error:
        problems += [f"site: total: {p}" for p in error.problems]
        return None


def _watts(level: str, given: Any, problems: list[str]) -> dict[str, float]:
    if not isinstance(given, dict) or not given:
        problems.append(f'{level}: expected a table with lines like name = "3 kW"')
        return {}
    watts = {}
    for name, text in given.items():
        try:
            watts[name] = parse_quantity(text, "W")
        except DataError as error:
            problems += [f"{level}: {name}: {p}" for p in error.problems]
    return watts


def node_fleet(
    runs: JobTable,
    nodes: pl.DataFrame | None = None,
    *,
    count: int = 0,
    start: Mapping[str, float] | str | DeviceAddress | None = None,
    seed: int = 0,
) -> NodeFleet:
    """A fleet over the surfaces of a table of runs; without nodes, one per application.

    ``start`` are the caps of nodes whose table has none: watts by knob, "lowest", or devices to
    read them from.

    Parameters
    ----------
    runs : JobTable
        Runs under caps: app, runtime_s, cpu_cap_w, gpu_cap_w or cap_w.
    nodes : polars.DataFrame, optional
        A row per node: node, app, caps now, weight, groups.
    count : int
        Without ``nodes``: how many, which run the applications in turn; 0: one per application.
    start : mapping, str or DeviceAddress, optional
        Caps of nodes whose table has none: watts by knob, "lowest", or devices to read.
    seed : int
        Of the surfaces' draws.

    Returns
    -------
    NodeFleet
        For `allocate_power`.
    """
    known = capped_surfaces(runs, seed=seed)
    frame = dealt(known, count) if nodes is None else nodes
    if isinstance(start, DeviceAddress):
        caps = [k for k in next(iter(known.values())).knobs if k in CAPS]
        frame, start = read_caps(frame, caps, start), None
    nodes_ = drawn(fleet(frame, known, start=start))
    without = _without_surface(runs, known) if nodes is None else []
    return replace(nodes_, notes=(*nodes_.notes, *_each_gpu(known), *without))


def _without_surface(runs: JobTable, known: Mapping[str, Surface]) -> list[Note]:
    """Notes on applications of which no node is planned, and on names that may be of one.

    >>> from rheostat.core.vocabulary import table
    >>> runs = table({"app": ["LBM", "lbm", "md"], "runtime_s": [9.0, 8.0, 7.0]})
    >>> [note.message.partition(":")[0] for note in _without_surface(runs, {})]
    ['names that differ in capitals or blanks alone count as several applications', \
'ran at one setting of caps, so nothing tells what caps do to it, and no node of it is planned']
    """
    names = runs.frame["app"].cast(pl.String).drop_nulls().unique(maintain_order=True).to_list()
    plain = ["".join(n.lower().split()) for n in names]
    alike = [n for n, p in zip(names, plain, strict=True) if plain.count(p) > 1]
    alone = [n for n in names if n not in known]
    notes = [Note(f"{SPELT}: {_few(alike)}")] if alike else []
    return [*notes, *([Note(f"{ONE_SETTING}: {_few(alone)}")] if alone else [])]


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_NAMED]) + ", ..." * (len(names) > MOST_NAMED)


def _each_gpu(known: Mapping[str, Surface]) -> list[Note]:
    """A note that a cap counts for each of several GPUs."""
    first = next(iter(known.values()))
    gpus = float(first.values[0, first.knobs.index("gpus")]) if "gpus" in first.knobs else 1.0
    return [Note(f"gpu_cap_w counts for each of {gpus:g} GPUs of a node")] if gpus > 1 else []


def read_caps(nodes: pl.DataFrame, caps: Sequence[str], where: DeviceAddress) -> pl.DataFrame:
    """The table of nodes with the caps that it lacks, as they stand on the nodes' devices.

    Without a tree, ``where`` is this machine: caps of other nodes are a `DataError`.
    """
    if "node" not in nodes.columns:
        raise DataError("nodes", ["column node is missing: whose caps are to be read?"])
    absent = [pl.lit(None, pl.Float64).alias(c) for c in caps if c not in nodes.columns]
    nodes = nodes.with_columns(absent)
    lacking = nodes.select(pl.any_horizontal(pl.col(c).is_null() for c in caps)).to_series()
    names = nodes["node"].cast(pl.String).filter(lacking).to_list()
    host = socket.gethostname()
    here = {host, host.split(".", maxsplit=1)[0]}
    far = [] if where.tree else [n for n in names if n not in here]
    if far:
        message = f"caps of node {', '.join(far[:5])} cannot be read on {host}"
        raise DataError("--from device", [message, "give them in the table, or read there"])
    panel = where.panel(names, caps)
    caps_by_node = {name: panel.caps(name) for name in names}
    read = [[caps_by_node.get(str(n), {}).get(c) for n in nodes["node"]] for c in caps]
    return nodes.with_columns(
        pl.coalesce(pl.col(c), pl.Series(c, values, pl.Float64))
        for c, values in zip(caps, read, strict=True)
    )
