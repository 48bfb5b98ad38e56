"""Which application runs where: ``wl.conf`` (jobs) and ``alloc.conf`` (their terminals)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rheostat.core.storage.files import read_text
from rheostat.errors import DataError


@dataclass(frozen=True)
class NetworkJob:
    """One line of the two files.

    Parameters
    ----------
    job
        Number in the logs: the line, from 0.
    app
        Name of the workload, as ``milc``.
    terminals
        Terminal of each rank.
    interval_s
        Mean time between messages of synthetic traffic, s; 0 for an application.
    """

    job: int
    app: str
    terminals: tuple[int, ...]
    interval_s: float = 0.0

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self.terminals)


def read_network_jobs(workload: str | Path, allocation: str | Path) -> tuple[NetworkJob, ...]:
    """Jobs with their terminals.

    Parameters
    ----------
    workload
        Lines ``ranks workload qos interval_ns``; the workload may be a file, as ``./milc.json``.
    allocation
        Line k holds the terminals of job k.

    Raises
    ------
    DataError
        The two do not agree, or a terminal belongs to two jobs.
    """
    kinds = [_job_line(workload, k, line) for k, line in enumerate(_lines(workload))]
    places = [_numbers(allocation, k, line) for k, line in enumerate(_lines(allocation))]
    if len(kinds) != len(places):
        raise DataError(
            str(allocation),
            [f"expected {len(kinds)} lines as {workload} has jobs, got {len(places)}"],
        )
    problems = [
        f"line {k + 1}: expected {ranks} terminals for {app}, got {len(place)}"
        for k, ((ranks, app, _), place) in enumerate(zip(kinds, places, strict=True))
        if ranks != len(place)
    ]
    every = [t for place in places for t in place]
    if len(set(every)) < len(every):
        problems.append("a terminal is there twice")
    if problems:
        raise DataError(str(allocation), problems)
    return tuple(
        NetworkJob(k, app, place, interval)
        for k, ((_, app, interval), place) in enumerate(zip(kinds, places, strict=True))
    )


def jobs_by_name(jobs: Sequence[NetworkJob]) -> dict[str, NetworkJob]:
    """Jobs by the name of their application; two of one name have their number behind it.

    >>> list(jobs_by_name([NetworkJob(k, app, ()) for k, app in enumerate("aba")]))
    ['a-0', 'b', 'a-2']
    """
    jobs_of = Counter(j.app for j in jobs)
    return {j.app if jobs_of[j.app] == 1 else f"{j.app}-{j.job}": j for j in jobs}


def _lines(path: str | Path) -> list[str]:
    lines = [x.strip() for x in read_text(path).splitlines() if x.strip()]
    if not lines:
        raise DataError(str(path), ["expected a line per job, got none"])
    return lines


def _job_line(path: str | Path, row: int, line: str) -> tuple[int, str, float]:
    match = re.fullmatch(r"(\d{1,7})\s+(\S+)\s+(\d+)\s+(\d{1,15}(?:\.\d+)?)", line)
    if match is None:
        raise DataError(
            str(path),
            [f"line {row + 1}: expected ranks, workload, qos, interval in ns, got {line[:60]!r}"],
        )
    return int(match[1]), Path(match[2]).stem, float(match[4]) * 1e-9


def _numbers(path: str | Path, row: int, line: str) -> tuple[int, ...]:
    words = line.split()
    if not all(re.fullmatch(r"\d{1,9}", w) for w in words):
        raise DataError(
            str(path), [f"line {row + 1}: expected numbers of terminals, got {line[:60]!r}"]
        )
    return tuple(map(int, words))
