"""Nodes that share a budget, their caps now, and what they may have together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from rheostat.core.jobs import JobTable, concat
from rheostat.core.storage.file_kinds import describe_file
from rheostat.core.units import parse_duration, parse_quantity
from rheostat.decision.actuate.actuators import DeviceAddress
from rheostat.decision.budget.allocate_power import PowerLimits
from rheostat.decision.budget.nodes import NodeFleet
from rheostat.errors import DataError, QuestionError
from rheostat.measurement.tables import read_table
from rheostat.prediction.surface import CAPS
from rheostat.questions import inputs, listener
from rheostat.questions.parse import parse_names
from rheostat.recipes.ecoshift import limits_file, node_fleet

LOWEST = "lowest"
MOST_W = 1e6
RAPL = "/sys/class/powercap"
Start = str | Mapping[str, float] | DeviceAddress | None
"""Caps now: watts by knob, as a text or a mapping; "lowest"; or devices, to be read."""


def devices(tree: str = "", rapl: str = RAPL, gpu: str = "nvml") -> DeviceAddress:
    """The devices whose caps are read and set.

    Parameters
    ----------
    tree : str
        A folder with NODE/powercap and NODE/drm for each node, to rehearse.
    rapl : str
        The powercap folder.
    gpu : str
        How GPU caps are set: nvml, amd or none.

    Returns
    -------
    DeviceAddress

    Raises
    ------
    QuestionError
        A folder is a file.
    """
    for flag, path in (("--tree", tree), ("--rapl", rapl)):
        if Path(path).is_file():
            raise QuestionError(
                flag, [f"expected a folder, got {describe_file(Path(path))}: {path}"]
            )
    return DeviceAddress(tree=tree, rapl=rapl, gpu=gpu)


def start_of(start: Start, nodes: object) -> Mapping[str, float] | str | DeviceAddress | None:
    """Caps now; noted where they are assumed."""
    if start == LOWEST or (not start and nodes is None):
        listener.note("caps now are assumed to be the lowest: --from says what they are")
        return LOWEST
    return _caps(start) if start and isinstance(start, str) else start or None


def _caps(text: str) -> dict[str, float]:
    caps, problems = {}, []
    for part in parse_names(text):
        name, _, value = part.partition("=")
        try:
            caps[name.strip()] = float(value)
        except ValueError:
            caps[name.strip()] = -1.0
        if not 0 < caps[name.strip()] <= MOST_W:
            problems.append(f"expected like cpu_cap_w=140,gpu_cap_w=150, got {part!r}")
    if problems:
        raise DataError("--from", problems)
    return caps


MOST_NODES = 100_000
"""That are dealt out to applications: for so many a plan ends in half a minute."""


def fleet_of(
    runs: JobTable, nodes: pl.DataFrame | Path | str | None, count: int,
    start: Mapping[str, float] | str | DeviceAddress | None, seed: int,
) -> NodeFleet:  # fmt: skip
    """The nodes of a table, or so many that run the applications in turn; oddities are noted."""
    if not 0 <= count <= MOST_NODES:
        problem = (
            f"expected 0 to {MOST_NODES:,} nodes, got {count:,}; --nodes takes a table of more"
        )
        raise QuestionError("--count", [problem])
    table = read_table(Path(nodes)) if isinstance(nodes, (str, Path)) else nodes
    fleet = node_fleet(runs, table, count=count, start=start, seed=seed)
    listener.notes(fleet.notes)
    return fleet


def beside_served(runs: JobTable, served: Sequence[inputs.Jobs]) -> JobTable:
    """Runs under caps with those of served models, which are capped as a whole."""
    others = [c for c in CAPS if c in runs.columns and c != "cap_w"]
    if others or "cap_w" not in runs.columns:
        problem = (
            f"served models have cap_w alone: expected runs under cap_w, got {', '.join(others)}"
        )
        raise QuestionError("--served", [problem])
    return concat([runs, *(inputs.as_logged(table) for table in served)])


def limits_of(
    fleet: NodeFleet, total: str | float, extra_w: float | None,
    limits: PowerLimits | Path | str | None, at: str,
) -> PowerLimits:  # fmt: skip
    """What the nodes may have together."""
    given = [total != "", extra_w is not None, limits is not None]
    if sum(given) != 1:
        raise QuestionError("budget plan", ["expected one of --budget, --extra and --limits"])
    if isinstance(limits, PowerLimits):
        return limits
    if limits is not None:
        return limits_file(Path(limits), parse_duration(at))
    if extra_w is not None:
        return PowerLimits(float(fleet.now_w.sum()) + extra_w * len(fleet))
    return PowerLimits(parse_quantity(total, "W") if isinstance(total, str) else total)
