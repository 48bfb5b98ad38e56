"""``rheostat network generate``: a simulated run to try the other commands on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o


def generate(
    folder: Annotated[
        Path,
        typer.Argument(help="Written here, as read takes it.", metavar="FOLDER", writable=True),
    ],
    sizes: Annotated[
        str,
        typer.Option(help="Groups, routers of a group, terminals and global links of a router."),
    ] = "9,4,2,2",
    iterations: Annotated[int, typer.Option(help="Of each application.", min=2, max=100_000)] = 60,
    load: Annotated[
        float, typer.Option(help="Share of its link that a source of noise sends.", min=1e-3)
    ] = 0.1,
    seed: o.Seed = 0,
    json: o.Json = False,
) -> None:
    """Simulate two applications and noise on a Dragonfly with SimGrid (Debian: python3-simgrid).

    A halo exchange, an all-reduce whose every tenth iteration is longer, and random messages whose
    rate changes.  SimGrid shares the bandwidth of links among flows; it has no queues to sample.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.network import generate as ask

    with printed(json=json) as put:
        put(ask(folder, sizes=sizes, iterations=iterations, load=load, seed=seed))
