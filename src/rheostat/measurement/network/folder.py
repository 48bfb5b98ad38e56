"""One simulated run: a folder of what the simulator read and wrote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rheostat.core.jobs import Note
from rheostat.core.outcome import Array
from rheostat.core.storage.file_kinds import describe_file, other_kind
from rheostat.errors import DataError
from rheostat.measurement.network.dragonfly import Dragonfly, read_dragonfly
from rheostat.measurement.network.iteration_log import (
    ApplicationMarks,
    application_marks,
    looks_like_log,
    read_iteration_log,
)
from rheostat.measurement.network.iteration_table import NOWHERE, is_table, read_iteration_table
from rheostat.measurement.network.link_statistics import read_link_statistics
from rheostat.measurement.network.model_statistics import read_model_statistics
from rheostat.measurement.network.network_jobs import NetworkJob, jobs_by_name, read_network_jobs
from rheostat.measurement.network.port_series import NS, PortSeries, read_ports

LOGS = ("iterations.txt.gz", "iterations.txt", "iterations.csv", "iterations.csv.gz",
        "iterations.parquet")  # fmt: skip
LOG_PER_PROCESS = "iteration-logs/pe=*.txt"
PORTS = ("ports.npz",)
BINARIES = ("ross-stats-analysis-lps.bin.gz", "ross-stats-analysis-lps.bin",
            "st/ross-stats-analysis-lps.bin")  # fmt: skip
LINKS = ("dragonfly-link-stats", "dragonfly-link-stats.csv")
ENDED_EARLY = 3
"""An application ended, rather than was cut off with the run, if the run went on for so many of its
iterations."""

MOST_APPS = 1000
"""Applications of a run: to look at each takes milliseconds, to forecast it a second."""
LONGEST_GAP = 1000
"""Iterations without a mark that are passed over; what lies beyond more of them is another run."""
OTHER_UNIT = 100.0
"""Times that telemetry goes on after the last mark, from which the two may differ in their unit."""


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

        Where marks are missing (lines that were lost, iterations that a surrogate skipped), at even
        distances between those around.
        """
        ends = self._of_ranks[app]
        if not len(ends.iteration):
            return ends.time_s
        every = np.arange(ends.iteration[0], ends.iteration[-1] + 1)
        return np.interp(every, ends.iteration, ends.time_s)

    @cached_property
    def _of_ranks(self) -> dict[str, ApplicationMarks]:
        """Marks by application, of the longest part without a gap of more than `LONGEST_GAP`."""
        return {a: max(_parts(application_marks(self.finished, j.job)), key=lambda m: len(m.time_s))
                for a, j in self.applications.items()}  # fmt: skip

    def checked(self) -> NetworkRun:
        """With notes where marks, or telemetry of the time of some, are missing.

        Raises
        ------
        DataError
            There are more than `MOST_APPS` applications, an iteration ended no later than the one
            before it, or iterations take less than a nanosecond: the clock has another unit.
        """
        if (count := len(self.applications)) > MOST_APPS:
            said = f"expected at most {MOST_APPS:,} applications, got {count:,}: leave some out"
            raise DataError(self.name, [said])
        notes, problems = [*self._without_telemetry()], []
        for app in self.applications:
            ends = self._of_ranks[app]
            when = ends.time_s
            if 0.0 < (usual := _median(np.diff(when)) or 0.0) < NS:
                problems.append(
                    f"{app}: expected marks in ns, got a median iteration of "
                    f"{usual / NS:.2g} ns; a table may have another unit (time_s)"
                )
            if ends.missing:
                said = "marks of single ranks are missing, the median of the others is used"
                notes.append(Note(f"{app}: {said}", (), ends.missing))
            problems += [f"{app}: expected iterations one after the other, got one that ended at "
                         f"{b:.9g} s, after one at {a:.9g} s" for a, b in pairwise(when.tolist())
                         if b <= a][:1]  # fmt: skip
            if passed := len(self.mark_s(app)) - len(when):
                said = "iterations have no mark, they are passed over as not seen"
                notes.append(Note(f"{app}: {said}", (), passed))
            if ends.after:
                said = "iterations have marks of too few ranks, or lie beyond a gap of more than"
                notes.append(Note(f"{app}: {said} {LONGEST_GAP:,}", (), ends.after, True))
        if problems:
            raise DataError(self.name, problems)
        return replace(self, notes=(*self.notes, *notes))

    def _without_telemetry(self) -> Iterator[Note]:
        """A note where telemetry and marks are not of the same time."""
        if self.ports is None:
            return
        end = float(self.ports.end_s[-1])
        if end + self.ports.window_s < self.end_s:
            yield Note(f"telemetry ends at {end:.6g} s, marks at {self.end_s:.6g} s: nothing is "
                       "known of the ports after it", (), 0)  # fmt: skip
        if end > OTHER_UNIT * self.end_s:
            yield Note(f"telemetry goes on to {end:.6g} s, marks end at {self.end_s:.6g} s: are "
                       "both in ns?", (), 0)  # fmt: skip

    def iteration_s(self, app: str) -> Array:
        """Seconds between the marks of an application, NaN where one of the two is missing."""
        ends = self._of_ranks[app]
        out = np.full(max(len(self.mark_s(app)) - 1, 0), np.nan)
        after_one = np.flatnonzero(np.diff(ends.iteration) == 1)
        out[ends.iteration[after_one] - ends.iteration[:1]] = np.diff(ends.time_s)[after_one]
        return out

    def first_iteration(self, app: str) -> int:
        """Number of the first iteration: that of the mark at its end, the second."""
        return int(self._of_ranks[app].iteration[0]) + 1

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
            app: {"ranks": job.ranks, "iterations": len(self._of_ranks[app].time_s),
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


def _parts(ends: ApplicationMarks) -> list[ApplicationMarks]:
    """Marks cut at gaps that are too long; each says how many iterations the others have."""
    cuts = np.flatnonzero(np.diff(ends.iteration) > LONGEST_GAP + 1) + 1
    pairs = zip(np.split(ends.iteration, cuts), np.split(ends.time_s, cuts), strict=True)
    return [replace(ends, iteration=i, time_s=t, after=ends.after + len(ends.iteration) - len(i))
            for i, t in pairs]  # fmt: skip


def _median(values: Array) -> float | None:
    there = values[np.isfinite(values)]
    return float(np.median(there)) if len(there) else None


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def read_network_run(folder: str | Path, *, ports: bool = True) -> NetworkRun:
    """Read a folder of a run.

    Parameters
    ----------
    folder
        Holds an iteration log (``iterations.txt.gz``, or ``iteration-logs/pe=0.txt`` and those of
        the other processes of a parallel simulation, or a table, see `read_iteration_table`), or is
        a table or a log itself; and what there is of ``net.conf``,
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
    if folder.is_file():
        return _log_alone(folder)
    if not folder.is_dir():
        what = f"expected a folder of a simulated run, got {describe_file(folder)}"
        raise DataError(str(folder), [what])
    if not (logs := iteration_logs(folder)):
        expected = ", ".join((*LOGS, LOG_PER_PROCESS))
        raise DataError(str(folder), [f"expected an iteration log ({expected}), got none"])
    finished, notes = _marked(logs)
    network = read_dragonfly(folder / "net.conf") if (folder / "net.conf").exists() else None
    jobs = _jobs(folder, finished, network)
    links = _first(folder, LINKS)
    frame, more = read_link_statistics(links) if links is not None else (None, [])
    series = _ports(folder, network) if ports else None
    notes += [*more, *_unused(folder)]
    if (folder / "wl.conf").exists() and (folder / "alloc.conf").exists():
        notes += _other_terminals(finished, jobs)
    run = NetworkRun(folder.resolve().name, finished, jobs, network, series, frame, tuple(notes))
    return run.checked()


def _log_alone(path: Path) -> NetworkRun:
    """A run of which nothing but its iteration log or table is there."""
    if not looks_like_log(path) and not is_table(path):
        kinds = (
            "a folder of a simulated run, an iteration log of CODES, a table (.csv, .parquet), or "
            "lines such as step_time_ms=41 or iter 3: time 41ms"
        )
        raise other_kind(path, kinds)
    finished, notes = _marked([path])
    jobs = _jobs(path, finished, None)
    return NetworkRun(path.name.partition(".")[0], finished, jobs, notes=tuple(notes)).checked()


def _marked(logs: Sequence[Path]) -> tuple[pl.DataFrame, list[Note]]:
    table = not looks_like_log(logs[0]) and is_table(logs[0])
    return read_iteration_table(logs[0]) if table else read_iteration_log(*logs)


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
        if "app" in finished.columns:
            raise DataError(str(folder), ["expected the column job in the table of iterations, as "
                                          "wl.conf names applications, got app"])  # fmt: skip
        jobs = read_network_jobs(*files)
    else:
        own = finished.unique(["job", "rank"]).sort("job", "rank")
        jobs = tuple(
            NetworkJob(int(str(k[0])), _app(k[0], g), tuple(g["terminal"]))
            for k, g in own.group_by("job", maintain_order=True)
        )
    problems = []
    if odd := sorted(set(finished["job"].unique()) - {j.job for j in jobs}):
        problems.append(f"the iteration log names jobs {odd[:5]}, wl.conf has {len(jobs)}")
    terminals = [t for j in jobs for t in j.terminals]
    if network is not None and min(terminals) == NOWHERE:
        problems.append("expected the terminal of each rank (a column terminal, or wl.conf and "
                        "alloc.conf) beside net.conf")  # fmt: skip
    if network is not None and max(terminals) >= network.terminals:
        problems.append(f"alloc.conf names terminals beyond the {network.terminals} of net.conf")
    if problems:
        raise DataError(str(folder), problems)
    return jobs


def _unused(folder: Path) -> Iterator[Note]:
    """A note on every file that is there and not read."""
    for names in (LOGS, (*PORTS, *BINARIES)):
        there = [n for n in names if (folder / n).is_file()]
        if len(there) > 1:
            yield Note(f"{there[0]} is read, {', '.join(there[1:])} beside it not")
    if _first(folder, LOGS) is not None and any(folder.glob(LOG_PER_PROCESS)):
        yield Note(f"{LOG_PER_PROCESS} is not read, as another log of iterations is there")
    jobs = [n for n in ("wl.conf", "alloc.conf") if (folder / n).exists()]
    if len(jobs) == 1:
        yield Note(f"{jobs[0]} is not read: wl.conf and alloc.conf are needed together")


def _other_terminals(finished: pl.DataFrame, jobs: Sequence[NetworkJob]) -> Iterator[Note]:
    """Notes where the log has other ranks, or other terminals of them, than alloc.conf."""
    own = finished.filter(pl.col("terminal") != NOWHERE).unique(["job", "rank"], keep="first")
    logged = {(j, r): t for j, r, t in own.select("job", "rank", "terminal").iter_rows()}
    for job in jobs:
        ranks = {r: t for (j, r), t in logged.items() if j == job.job}
        given = dict(enumerate(job.terminals))
        if ranks and (silent := len(given.keys() - ranks.keys())):
            yield Note(f"{job.app}: {silent} of {job.ranks} ranks have no marks")
        if odd := [r for r, t in ranks.items() if given.get(r, t) != t]:
            yield Note(f"{job.app}: the log and alloc.conf differ in the terminals of {len(odd)} "
                       "ranks, those of alloc.conf are used")  # fmt: skip


def _app(job: object, own: pl.DataFrame) -> str:
    return str(own["app"][0]) if "app" in own.columns else f"job-{job}"


def _ports(folder: Path, network: Dragonfly | None) -> PortSeries | None:
    path = _first(folder, (*PORTS, *BINARIES))
    return None if path is None else read_port_series(path, network)


def read_port_series(path: Path, network: Dragonfly | None, *, growing: bool = False) -> PortSeries:
    """Port telemetry in either form, of the sizes of ``network``.

    ``growing``: the simulation is still writing; what is not whole yet is left out.
    """
    if path.suffix == ".npz":
        series = read_ports(path)
    else:
        series = read_model_statistics(path, network.radix if network else 0, growing=growing)
    if network is not None and series.values.shape[1:3] != (network.routers, network.radix):
        raise DataError(str(path), [
            f"expected {network.routers} routers of {network.radix} ports as in net.conf, got "
            f"{series.values.shape[1]} of {series.values.shape[2]}"])  # fmt: skip
    return series
