"""A simulated run, and those of its applications that are asked about."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rheostat.errors import DataError
from rheostat.measurement.network.folder import NetworkRun, read_network_run
from rheostat.questions import listener
from rheostat.questions.parse import Names, parse_names
from rheostat.recipes.smart import LEAST

Run = NetworkRun | Path | str


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
    seen = {a: int(np.isfinite(run.iteration_s(a)).sum()) for a in known}
    long = [a for a in known if seen[a] >= LEAST]
    if not (apps := list(dict.fromkeys(asked or long))):
        counts = ", ".join(f"{a} with {n}" for a, n in seen.items())
        raise DataError(run.name, [
            f"expected an application of {LEAST} iterations or more, got {counts}"])  # fmt: skip
    for app in () if asked else (a for a in known if a not in long):
        listener.line(f"{app} is left out: expected {LEAST} iterations, got {seen[app]}")
    return apps
