"""``rheostat measure -- ./app``: time and energy of a command, and how each was known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import Values, asks
from rheostat.cli.options.declared import argument, option, written


@asks("measure", o.paged, meters="meter_names", perf="events")
def measure(
    command: Annotated[
        list[str] | None, argument("The command and its arguments, after --.", "-- COMMAND...")
    ] = None,
    meters: Annotated[
        str, option("rapl, nvml, zeus, slurm, comma-separated.  [default: all]")
    ] = "",
    interval: Annotated[float, option("Seconds between samples.", min=0.001)] = 0.1,
    rapl_root: Annotated[Path, option("Where the powercap files are.")] = Path(
        "/sys/class/powercap"
    ),
    perf: Annotated[
        str,
        option(
            "Also count these events with perf stat: instructions,cycles,LLC-load-misses.",
            metavar="EVENT,...",
        ),
    ] = "",
    record: Annotated[Path | None, written("Write every sample here, as CSV.")] = None,
    replay: Annotated[
        Path | None, option("Add up a recording instead of running a command.")
    ] = None,
    json: o.Json = False,
) -> Values:
    """Run a command; print its time and energy, domain by domain, and how each is known.

    A domain is measured, derived, estimated or unavailable, and the reason is said.  Without any
    meter the time is told and power is unavailable.  Leaves with the status of the command.
    """
    return {"to_stderr": json}
