"""Options of devices and nodes that several commands of a budget share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from rheostat.cli.asks import Values
from rheostat.cli.options import By, Where
from rheostat.cli.options.declared import argument, option

PlanFile = Annotated[Path, argument("A plan.", "PLAN.json")]
CapJournal = Annotated[Path, option("What stood before, a line before every change.")]
Node = Annotated[str, option("This node's name in the plan.  [default: the host's name]")]
Tree = Annotated[
    str, option("A folder with NODE/powercap and NODE/drm for each node, to rehearse.")
]
Rapl = Annotated[str, option("The powercap folder.")]
Gpu = Annotated[Literal["nvml", "amd", "none"], option("How GPU caps are set.")]
Settle = Annotated[float, option("Seconds until a lowered cap holds.", min=0.0, max=3600.0)]
RAPL = "/sys/class/powercap"


def set_at(tree: Tree = "", rapl: Rapl = RAPL, gpu: Gpu = "nvml") -> Values:
    """The devices whose caps are set."""
    from rheostat.questions.budget import devices

    return {"where": devices(tree, rapl, gpu)}


def held(where: Where = None, by: By = "") -> None:
    """Which runs are meant, and what makes them one application."""


def begun(
    count: Annotated[
        int,
        option("Without --nodes: how many; they run the applications in turn.", min=0, max=100_000),
    ] = 0,
    start: Annotated[
        str,
        option(
            "Caps now, where --nodes has none: cpu_cap_w=140,gpu_cap_w=150, or device (read "
            "here, see --tree, --rapl, --gpu), or lowest (assumed).  [default: lowest "
            "without --nodes]",
            "--from",
        ),
    ] = "",
    tree: Tree = "",
    rapl: Rapl = RAPL,
    gpu: Gpu = "nvml",
    hysteresis: Annotated[float, option("Gain below which caps are left alone.", min=0.0)] = 0.0,
) -> Values:
    """What a plan begins from: nodes, and caps as --from says or as the devices have them."""
    from rheostat.questions.budget import devices

    read = start == "device" or (tree and not start)
    return {"start": devices(tree, rapl, gpu) if read else start}
