"""One simulated run: a folder of what the simulator read and wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rheostat.core.file_kinds import describe_file
from rheostat.core.jobs import Note
from rheostat.core.outcome import Array
from rheostat.errors import DataError
from rheostat.measurement.network.dragonfly import Dragonfly, read_dragonfly
from rheostat.measurement.network.iteration_log import application_marks, read_iteration_log
from rheostat.measurement.network.link_statistics import read_link_statistics
from rheostat.measurement.network.model_statistics import read_model_statistics
from rheostat.measurement.network.network_jobs import NetworkJob, jobs_by_name, read_network_jobs
from rheostat.measurement.network.port_series import PortSeries, read_ports

LOGS, LOG_PER_PROCESS = ("iterations.txt.gz", "iterations.txt"), "iteration-logs/pe=*.txt"
PORTS = ("ports.npz",)
BINARIES = ("ross-stats-analysis-lps.bin.gz", "ross-stats-analysis-lps.bin",
            "st/ross-stats-analysis-lps.bin")  # fmt: skip
LINKS = ("dragonfly-link-stats", "dragonfly-link-stats.csv")
ENDED_EARLY = 3
"""An application ended, rather than was cut off with the run, if the run went on for so many of its
iterations."""


@dataclass(frozen=True, eq=False)
class NetworkRun:
    """What was read of a run; `iteration_s` is what is to be predicted.

    Parameters
    ----------
    name
        Name of the folder.
    finished
        Iteration marks, see `read_iteration_log`.
    jobs
        Applications and their terminals; without configuration files, as the log names them.
    network, ports, links
        None where the folder holds none.
    notes
        What readers left out.
    """

    name: str
    finished: pl.DataFrame
    jobs: tuple[NetworkJob, ...]
    network: Dragonfly | None = None
    ports: PortSeries | None = None
    links: pl.DataFrame | None = None
    notes: tuple[Note, ...] = field(default=())

    @property
    def applications(self) -> dict[str, NetworkJob]:
        """Jobs with iteration marks, by name; two of one name have their number behind it."""
        there = set(self.finished["job"].unique())
        return jobs_by_name([j for j in self.jobs if j.job in there])

    def mark_s(self, app: str) -> Array:
        """When the application finished its iterations, s since the start of the run.

        Where marks are missing (iterations that a surrogate skipped), the longest stretch without
        a gap.
        """
        return max(self._stretches(app), key=len)

    def _stretches(self, app: str) -> list[Array]:
        """Marks of an application, cut where some are missing."""
        iteration, when = application_marks(self.finished, self.applications[app].job)
        return np.split(when, np.flatnonzero(np.diff(iteration) != 1) + 1)

    def checked(self) -> NetworkRun:
        """With a note where marks are missing.

        Raises
        ------
        DataError
            An iteration ended no later than the one before it.
        """
        notes, problems = [], []
        for app in self.applications:
            stretches = self._stretches(app)
            when = np.concatenate(stretches)
            problems += [f"{app}: expected iterations one after the other, got one that ended at "
                         f"{b:.9g} s, after one at {a:.9g} s" for a, b in pairwise(when.tolist())
                         if b <= a][:1]  # fmt: skip
            if len(stretches) > 1:
                left = len(when) - max(map(len, stretches))
                notes.append(Note(f"{app}: marks are missing, the longest stretch without a gap is "
                                  "used, others are left out", (), left, True))  # fmt: skip
        if problems:
            raise DataError(self.name, problems)
        return replace(self, notes=(*self.notes, *notes))

    def iteration_s(self, app: str) -> Array:
        """Seconds between the marks of an application."""
        return np.diff(self.mark_s(app))

    @property
    def end_s(self) -> float:
        """When the last mark of any application was made."""
        return float(np.max(self.finished["time_s"].to_numpy()))

    def ended_s(self, app: str) -> float:
        """When an application ended, infinity where it ran until the run was over.

        A scheduler knows the end of a job when it comes.  A log only shows that no mark follows,
        so an application has ended if the run went on for three of its iterations.
        """
        finished = self.mark_s(app)
        usual = float(np.median(np.diff(finished))) if len(finished) > 1 else 0.0
        last = float(finished[-1]) if len(finished) else np.inf
        return last if self.end_s - last > ENDED_EARLY * usual else np.inf

    def summary(self) -> dict[str, Any]:
        """Sizes as plain data."""
        apps = {
            app: {"ranks": job.ranks, "iterations": len(self.mark_s(app)),
                  "median_iteration_s": _median(self.iteration_s(app)),
                  "ended_s": _finite(self.ended_s(app))}
            for app, job in self.applications.items()
        }  # fmt: skip
        return {
            "run": self.name,
            "end_s": self.end_s,
            "applications": apps,
            "background": [{"app": j.app, "ranks": j.ranks, "interval_s": j.interval_s}
                           for j in self.jobs if j not in self.applications.values()],
            "network": None if self.network is None else {
                "groups": self.network.groups, "routers": self.network.routers,
                "terminals": self.network.terminals, "ports": self.network.ports,
                "edges": int(self.network.edges.shape[1]), "routing": self.network.routing},
            "windows": None if self.ports is None else {
                "count": len(self.ports.end_s), "window_s": self.ports.window_s,
                "traffic_b": float(self.ports.values[..., 1].sum()),
                "stalled_chunks": float(self.ports.values[..., 2].sum())},
            "links": None if self.links is None else self.links.height,
        }  # fmt: skip


def _median(values: Array) -> float | None:
    return float(np.median(values)) if len(values) else None


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def read_network_run(folder: str | Path, *, ports: bool = True) -> NetworkRun:
    """Read a folder of a run.

    Parameters
    ----------
    folder
        Holds an iteration log (``iterations.txt.gz``, or ``iteration-logs/pe=0.txt`` and those of
        the other processes of a parallel simulation), and what there is of ``net.conf``,
        ``wl.conf`` with ``alloc.conf``, port telemetry (``ports.npz`` or
        ``ross-stats-analysis-lps.bin``) and ``dragonfly-link-stats``.
    ports
        Read the port telemetry, which is most of the bytes.

    Raises
    ------
    DataError
        There is no iteration log, or a file is damaged or does not agree with another.
    """
    folder = Path(folder)
    if not folder.is_dir():
        what = f"expected a folder of a simulated run, got {describe_file(folder)}"
        raise DataError(str(folder), [what])
    if not (logs := iteration_logs(folder)):
        expected = ", ".join((*LOGS, LOG_PER_PROCESS))
        raise DataError(str(folder), [f"expected an iteration log ({expected}), got none"])
    finished, notes = read_iteration_log(*logs)
    network = read_dragonfly(folder / "net.conf") if (folder / "net.conf").exists() else None
    jobs = _jobs(folder, finished, network)
    links = _first(folder, LINKS)
    frame, more = read_link_statistics(links) if links is not None else (None, [])
    series = _ports(folder, network) if ports else None
    run = NetworkRun(folder.name, finished, jobs, network, series, frame, (*notes, *more))
    return run.checked()


def iteration_logs(folder: Path) -> list[Path]:
    """Iteration logs of a folder: one, or one per process of a parallel simulation.

    A process without ranks writes none or an empty one.
    """
    one = _first(folder, LOGS)
    each = [p for p in sorted(folder.glob(LOG_PER_PROCESS)) if p.stat().st_size]
    return each if one is None else [one]


def _first(folder: Path, names: Sequence[str]) -> Path | None:
    return next((folder / n for n in names if (folder / n).is_file()), None)


def _jobs(
    folder: Path, finished: pl.DataFrame, network: Dragonfly | None
) -> tuple[NetworkJob, ...]:
    files = [folder / "wl.conf", folder / "alloc.conf"]
    if all(f.exists() for f in files):
        jobs = read_network_jobs(*files)
    else:
        own = finished.unique(["job", "rank"]).sort("job", "rank")
        jobs = tuple(
            NetworkJob(int(str(k[0])), f"job-{k[0]}", tuple(g["terminal"]))
            for k, g in own.group_by("job", maintain_order=True)
        )
    problems = []
    if odd := sorted(set(finished["job"].unique()) - {j.job for j in jobs}):
        problems.append(f"the iteration log names jobs {odd[:5]}, wl.conf has {len(jobs)}")
    if network is not None and max(t for j in jobs for t in j.terminals) >= network.terminals:
        problems.append(f"alloc.conf names terminals beyond the {network.terminals} of net.conf")
    if problems:
        raise DataError(str(folder), problems)
    return jobs


def _ports(folder: Path, network: Dragonfly | None) -> PortSeries | None:
    path = _first(folder, PORTS)
    if path is not None:
        series = read_ports(path)
    elif (path := _first(folder, BINARIES)) is not None:
        series = read_model_statistics(path, network.radix if network else 0)
    else:
        return None
    if network is not None and series.values.shape[1:3] != (network.routers, network.radix):
        raise DataError(str(path), [
            f"expected {network.routers} routers of {network.radix} ports as in net.conf, got "
            f"{series.values.shape[1]} of {series.values.shape[2]}"])  # fmt: skip
    return series
