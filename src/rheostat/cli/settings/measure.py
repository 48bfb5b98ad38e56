"""``rheostat measure -- ./app``: time and energy of a command, and how each was known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o


def measure(
    command: Annotated[
        list[str] | None,
        typer.Argument(help="The command and its arguments, after --.", metavar="-- COMMAND..."),
    ] = None,
    meters: Annotated[
        str, typer.Option(help="rapl, nvml, zeus, slurm, comma-separated.  [default: all]")
    ] = "",
    interval: Annotated[float, typer.Option(min=0.001, help="Seconds between samples.")] = 0.1,
    rapl_root: Annotated[Path, typer.Option(help="Where the powercap files are.")] = Path(
        "/sys/class/powercap"
    ),
    perf: Annotated[
        str,
        typer.Option(
            metavar="EVENT,...",
            help="Also count these events with perf stat: instructions,cycles,LLC-load-misses.",
        ),
    ] = "",
    record: Annotated[
        Path | None,
        typer.Option(help="Write every sample here, as CSV.", writable=True, dir_okay=False),
    ] = None,
    replay: Annotated[
        Path | None, typer.Option(help="Add up a recording instead of running a command.")
    ] = None,
    html: o.Html = None,
    json: o.Json = False,
) -> None:
    """Run a command; print its time and energy, domain by domain, and how each is known.

    A domain is measured, derived, estimated or unavailable, and the reason is said.  Without any
    meter the time is told and power is unavailable.  Leaves with the status of the command.
    """  # fmt: skip
    from rheostat.cli.output import printed
    from rheostat.questions.settings.measure import measure as ask

    with printed(json=json, html=html) as put:
        put(done := ask(command or (), meter_names=meters, interval_s=interval,
                        rapl_root=rapl_root, events=perf, record=record, replay=replay,
                        to_stderr=json))  # fmt: skip
    raise typer.Exit(done.status)
