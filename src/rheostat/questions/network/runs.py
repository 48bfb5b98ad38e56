"""A simulated run, and those of its applications that are asked about."""

from __future__ import annotations

from pathlib import Path

from rheostat.errors import DataError
from rheostat.measurement.network.folder import NetworkRun, read_network_run
from rheostat.questions import listener
from rheostat.questions.parse import Names, parse_names
from rheostat.recipes.smart import LEAST

Run = NetworkRun | Path | str
MOST_APPS = 1000
"""Applications that are asked about where none is named: each takes a second of CPU time."""


def opened(run: Run) -> NetworkRun:
    """A run as it is; a folder is read."""
    if isinstance(run, NetworkRun):
        return run
    read = read_network_run(Path(run))
    listener.notes(read.notes)
    return read


def applications(run: NetworkRun, wanted: Names) -> list[str]:
    """Applications that were asked for, or all that are long enough; others are named."""
    known, asked = list(run.applications), parse_names(wanted)
    if odd := [a for a in asked if a not in known]:
        raise DataError("--app", [f"expected {', '.join(known)}, got {a}" for a in odd])
    if asked:
        return list(dict.fromkeys(asked))
    if len(known) > MOST_APPS:
        said = (
            f"expected at most {MOST_APPS:,} applications, got {len(known):,}: name some by --app"
        )
        raise DataError(run.name, [said])
    counts = {a: len(run.iteration_s(a)) for a in known}
    if not (long := [a for a, count in counts.items() if count >= LEAST]):
        named = ", ".join(f"{a} with {count}" for a, count in counts.items())
        raise DataError(run.name, [
            f"expected an application of {LEAST} iterations or more, got {named}"])  # fmt: skip
    for app in known:
        if app not in long:
            listener.line(f"{app} is left out: expected {LEAST} iterations, got {counts[app]}")
    return long
