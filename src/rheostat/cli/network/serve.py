"""``rheostat network serve``: answer the director of CODES while it simulates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def serve(
    endpoint: Annotated[
        str, typer.Option(help="Where to listen; port * takes a free one.")
    ] = "tcp://127.0.0.1:5555",
    model: Annotated[
        Path | None, typer.Option("--model", help="A model saved by rheostat network fit.")
    ] = None,
    workload: Annotated[
        Path | None, typer.Option(help="The file wl.conf of the simulation, with --allocation.")
    ] = None,
    allocation: Annotated[
        Path | None, typer.Option(help="The file alloc.conf: ranks of a job share one forecast.")
    ] = None,
    net: Annotated[
        Path | None, typer.Option(help="The file net.conf of the simulation, with --telemetry.")
    ] = None,
    telemetry: Annotated[
        Path | None,
        typer.Option(
            help="The file of port telemetry that the simulation writes (--model-stats=3); it may "
            "not be there yet.",
            dir_okay=False,
        ),
    ] = None,
    models: Annotated[
        Path,
        typer.Option(help="Models are saved and loaded only here.", writable=True),
    ] = Path("models"),
    stop_after: Annotated[
        float, typer.Option(help="Stop after so many seconds without a request; 0: never.", min=0.0)
    ] = 0.0,
) -> None:
    """Answer the director of CODES, which asks for iteration times while it simulates.

    Ends when it is asked to (exit), or with Ctrl-C.
    """
    from rheostat.cli.output import tell
    from rheostat.questions.network import serve as ask

    answered = ask(endpoint, model=model, workload=workload, allocation=allocation, net=net,
                   telemetry=telemetry, models=models, stop_after_s=stop_after)  # fmt: skip
    tell(f"answered {answered} requests")
