"""Options of devices and nodes that several commands of a budget share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from rheostat.cli.options.declared import argument, option

if TYPE_CHECKING:
    from rheostat.questions.budget import DeviceAddress

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
Count = Annotated[
    int, option("Without --nodes: how many; they run the applications in turn.", min=0, max=100_000)
]
Hysteresis = Annotated[float, option("Gain below which caps are left alone.", min=0.0)]
Start = Annotated[
    str,
    option(
        "Caps now, where --nodes has none: cpu_cap_w=140,gpu_cap_w=150, or device (read "
        "here, see --tree, --rapl, --gpu), or lowest (assumed).  [default: lowest "
        "without --nodes]",
        "--from",
    ),
]


def caps_now(start: str, tree: str, rapl: str, gpu: str) -> str | DeviceAddress:
    """Caps now as --from says, or the devices where they are read."""
    from rheostat.questions.budget import devices

    return devices(tree, rapl, gpu) if start == "device" or (tree and not start) else start
