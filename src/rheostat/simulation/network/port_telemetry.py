"""What port telemetry says of jobs on a network: of a recorded run, or of one that is going on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.core.outcome import Array
from rheostat.errors import DataError
from rheostat.measurement.network.dragonfly import Dragonfly
from rheostat.measurement.network.folder import read_port_series
from rheostat.measurement.network.network_jobs import NetworkJob
from rheostat.measurement.network.port_series import PortSeries
from rheostat.prediction.iteration_time.forecast import PortsNow

GROWN = 1.02
"""Times its size when it was read last, from which a file is read again."""
WINDOWS = 8
"""Windows of telemetry that count as now."""
BUSY, QUIET = 20, 2
"""Windows with traffic that a job must have had, and windows without beyond the longest break that
it ever made, from which on it has ended."""


class PortTelemetry:
    """What ports show of the jobs, at any moment; nothing later.

    Parameters
    ----------
    ports, network
        Telemetry, and which port each terminal has.
    jobs
        All jobs; those in ``applications`` by their names there, the others are background.
    """

    def __init__(
        self,
        ports: PortSeries,
        network: Dragonfly,
        jobs: Sequence[NetworkJob],
        applications: Mapping[str, NetworkJob],
    ) -> None:
        self.end_s, self.window_s = ports.end_s, ports.window_s
        values, named = ports.values, {j.job: a for a, j in applications.items()}
        background = np.zeros(len(values))
        self.traffic: dict[str, Array] = {}
        for job in jobs:
            router, port = network.terminal_port(job.terminals)
            sent = values[:, router, port, 1].sum(axis=1)
            if job.job in named:
                self.traffic[named[job.job]] = sent
            else:
                background = background + sent
        self.over = {a: _silent(sent) for a, sent in self.traffic.items()}
        self.traffic[""] = background
        fabric = values[:, :, : network.wide_ports.stop]
        raw = np.stack([background, fabric[..., 2].sum((1, 2)), fabric[..., 3:].sum((1, 2, 3))])
        self.numbers = np.log1p(raw).T

    def at(self, moment_s: float) -> PortsNow:
        """Shares of the traffic; load, stalls and queues of the fabric; who has fallen silent."""
        windows = 0
        if moment_s < self.end_s[-1] + WINDOWS * self.window_s:
            windows = int(np.searchsorted(self.end_s, moment_s, side="right"))
        recent = {a: float(v[max(windows - WINDOWS, 0) : windows].sum())
                  for a, v in self.traffic.items()}  # fmt: skip
        total = sum(recent.values())
        shares = {a: v / total for a, v in recent.items()} if total > 0 else {}
        silent = {a for a, over in self.over.items() if windows and over[windows - 1]}
        return PortsNow(shares, self._standardised(windows), frozenset(silent))

    def _standardised(self, windows: int) -> Array:
        """Numbers of the last windows, against all windows until then."""
        if not windows:
            return np.zeros(self.numbers.shape[1])
        past = self.numbers[:windows]
        now = past[-WINDOWS // 2 :].mean(axis=0)
        return np.asarray((now - past.mean(axis=0)) / (past.std(axis=0) + 0.05))


def _silent(sent: Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """At the end of each window: has the job sent nothing for longer than ever before?

    >>> _silent(np.repeat([1.0, 0.0, 1.0, 0.0], [30, 1, 9, 5])).nonzero()[0].tolist()
    [43, 44]
    """
    over = np.zeros(len(sent), bool)
    busy = quiet = longest = 0
    for w, bytes_sent in enumerate(sent):
        if bytes_sent > 0:
            longest = max(longest, quiet) if busy else 0
            busy, quiet = busy + 1, 0
        else:
            quiet += 1
        over[w] = busy >= BUSY and quiet > longest + QUIET
    return over


class GrowingTelemetry:
    """Telemetry of a simulation that is going on, from the file that it writes.

    Parameters
    ----------
    path
        ``ross-stats-analysis-lps.bin``, or ``ports.npz``; it may not be there yet.
    network, jobs, applications
        As `PortTelemetry` takes them.
    """

    def __init__(
        self,
        path: Path,
        network: Dragonfly,
        jobs: Sequence[NetworkJob],
        applications: Mapping[str, NetworkJob],
    ) -> None:
        beyond = [t for j in jobs for t in j.terminals if t >= network.terminals]
        if beyond:
            said = f"terminals beyond the {network.terminals} of net.conf, such as {beyond[0]}"
            raise DataError("alloc.conf", [f"names {said}"])
        self.path, self.about = path, (network, jobs, applications)
        self.size = 0.0
        self.known: PortTelemetry | None = None
        self._read()

    def at(self, moment_s: float) -> PortsNow:
        """What ports show until a moment, as far as it was written."""
        if self.known is None or moment_s > self.known.end_s[-1]:
            with suppress(DataError):  # it is being written: what is half there is read later
                self._read()
        return PortsNow() if self.known is None else self.known.at(moment_s)

    def _read(self) -> None:
        size = self.path.stat().st_size if self.path.is_file() else 0
        if size and size >= GROWN * self.size:
            ports = read_port_series(self.path, self.about[0], growing=True)
            self.size = size
            self.known = PortTelemetry(ports, *self.about)
