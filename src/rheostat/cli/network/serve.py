"""``rheostat network serve``: answer the director of CODES while it simulates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli.asks import asks
from rheostat.cli.options.declared import option


@asks("network.serve")
def serve(
    endpoint: Annotated[
        str, option("Where to listen; port * takes a free one.")
    ] = "tcp://127.0.0.1:5555",
    model: Annotated[
        Path | None, option("A model saved by rheostat network fit.", "--model")
    ] = None,
    workload: Annotated[
        Path | None, option("The file wl.conf of the simulation, with --allocation.")
    ] = None,
    allocation: Annotated[
        Path | None, option("The file alloc.conf: ranks of a job share one forecast.")
    ] = None,
    net: Annotated[
        Path | None, option("The file net.conf of the simulation, with --telemetry.")
    ] = None,
    telemetry: Annotated[
        Path | None,
        option(
            "The file of port telemetry that the simulation writes (--model-stats=3); it may "
            "not be there yet.",
            dir_okay=False,
        ),
    ] = None,
    models: Annotated[Path, option("Models are saved and loaded only here.", writable=True)] = Path(
        "models"
    ),
    stop_after: Annotated[
        float, option("Stop after so many seconds without a request; 0: never.", min=0.0)
    ] = 0.0,
) -> None:
    """Answer the director of CODES, which asks for iteration times while it simulates.

    Ends when it is asked to (exit), or with Ctrl-C.
    """
