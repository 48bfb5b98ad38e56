"""Options of devices and nodes that several commands of a budget share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from rheostat.questions.budget import DeviceAddress

PlanFile = Annotated[Path, typer.Argument(help="A plan.", metavar="PLAN.json")]
CapJournal = Annotated[Path, typer.Option(help="What stood before, a line before every change.")]
Node = Annotated[
    str, typer.Option(help="This node's name in the plan.  [default: the host's name]")
]
Tree = Annotated[
    str, typer.Option(help="A folder with NODE/powercap and NODE/drm for each node, to rehearse.")
]
Rapl = Annotated[str, typer.Option(help="The powercap folder.")]
Gpu = Annotated[Literal["nvml", "amd", "none"], typer.Option(help="How GPU caps are set.")]
Settle = Annotated[
    float, typer.Option(min=0.0, max=3600.0, help="Seconds until a lowered cap holds.")
]
RAPL = "/sys/class/powercap"
Count = Annotated[
    int,
    typer.Option(
        min=0, max=100_000, help="Without --nodes: how many; they run the applications in turn."
    ),
]
Hysteresis = Annotated[float, typer.Option(min=0.0, help="Gain below which caps are left alone.")]
Start = Annotated[
    str,
    typer.Option(
        "--from",
        help="Caps now, where --nodes has none: cpu_cap_w=140,gpu_cap_w=150, or device (read here, "
        "see --tree, --rapl, --gpu), or lowest (assumed).  [default: lowest without --nodes]",
    ),
]


def caps_now(start: str, tree: str, rapl: str, gpu: str) -> str | DeviceAddress:
    """Caps now as --from says, or the devices where they are read."""
    from rheostat.questions.budget import devices

    return devices(tree, rapl, gpu) if start == "device" or (tree and not start) else start
