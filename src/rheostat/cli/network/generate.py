"""``rheostat network generate``: a simulated run to try the other commands on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import argument, option


@asks("network.generate", o.shown)
def generate(
    folder: Annotated[Path, argument("Written here, as read takes it.", "FOLDER", writable=True)],
    sizes: Annotated[
        str, option("Groups, routers of a group, terminals and global links of a router.")
    ] = "9,4,2,2",
    iterations: Annotated[int, option("Of each application.", min=2, max=100_000)] = 60,
    load: Annotated[
        float, option("Share of its link that a source of noise sends.", min=1e-3)
    ] = 0.1,
    seed: o.Seed = 0,
) -> None:
    """Simulate two applications and noise on a Dragonfly with SimGrid (Debian: python3-simgrid).

    A halo exchange, an all-reduce whose every tenth iteration is longer, and random messages whose
    rate changes.  SimGrid shares the bandwidth of links among flows; it has no queues to sample.
    """
