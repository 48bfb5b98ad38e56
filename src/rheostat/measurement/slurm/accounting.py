"""Ask Slurm's accounting for the jobs of a stretch of time, and read large exports piece by piece.

sacct gets the world's clock (``TZ=UTC``, times as seconds since 1970), a delimiter that no name
holds, and only fields that its release knows.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rheostat.core.jobs import JobTable
from rheostat.core.storage.bounded_read import PART_B
from rheostat.core.storage.files import ordinary_file
from rheostat.errors import DataError, RheostatError
from rheostat.measurement.lines import raw_lines
from rheostat.measurement.slurm.sacct import read_piece
from rheostat.measurement.slurm.sacct_lines import delimiter_of

FIELDS = (
    "JobID", "JobIDRaw", "JobName", "User", "Group", "Account", "Cluster", "Partition", "QOS",
    "State", "ExitCode", "Submit", "Eligible", "Start", "End", "ElapsedRaw", "TimelimitRaw",
    "ReqNodes", "AllocNodes", "NNodes", "ReqCPUS", "AllocCPUS", "NCPUS", "ReqMem", "ReqTRES",
    "AllocTRES", "TRESUsageInTot", "ReqCPUFreqMax", "ConsumedEnergyRaw", "NodeList", "Priority",
    "AdminComment",
)  # fmt: skip
DELIMITER = "\x1f"
LINES_AT_ONCE = 200_000
MOST_WAIT_S = 600.0
"""One call of sacct may take that long: a stretch of a day of the largest sites is minutes."""


def sacct_lines(since_s: float, until_s: float, path: Path, program: str = "sacct") -> None:
    """Write what sacct says of all jobs that were there between two moments.

    Parameters
    ----------
    since_s, until_s : float
        Seconds since 1970.
    path : path
        Where its lines go.
    program : str
        A name in PATH or a path.

    Raises
    ------
    RheostatError
        No such program, or it failed: with what it said.
    """
    call = [_located(program), "--allusers", "--parsable2", f"--delimiter={DELIMITER}",
            f"--starttime={_moment(since_s)}", f"--endtime={_moment(until_s)}",
            f"--format={','.join(known_fields(program))}"]  # fmt: skip
    with path.open("wb") as file:
        _run(call, file.fileno())


def known_fields(program: str = "sacct") -> list[str]:
    """Those of `FIELDS` that this sacct has."""
    with tempfile.TemporaryFile() as file:
        _run([_located(program), "--helpformat"], file.fileno())
        file.seek(0)
        have = set(file.read(PART_B).decode("utf-8", "replace").split())
    return [name for name in FIELDS if name in have]


def _located(program: str) -> str:
    place = shutil.which(program)
    if place is None:
        hint = "run this where Slurm's commands are, or give an export with --from"
        raise RheostatError(f"{program}: no such program here; {hint}")
    return place


def _run(call: list[str], out: int) -> None:
    clock = {**os.environ, "TZ": "UTC", "SLURM_TIME_FORMAT": "%s"}
    try:
        done = subprocess.run(
            call, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, env=clock,
            timeout=MOST_WAIT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        hint = "ask for shorter stretches with --window"
        raise RheostatError(f"{call[0]}: no answer in {MOST_WAIT_S:g} s; {hint}") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise RheostatError(f"{call[0]} failed ({done.returncode}): {' '.join(said)[:500]}")


def _moment(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%dT%H:%M:%S")


@dataclass(frozen=True)
class SacctPiece:
    """Lines of an export from a job's on, up to another job's, below the export's first line."""

    text: str
    delimiter: str
    zone: str

    def table(self) -> JobTable:
        """Its jobs with their steps; a job with no line of its own here is noted."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "piece.psv"
            path.write_text(self.text, encoding="utf-8", errors="surrogateescape", newline="")
            return read_piece(path, delimiter=self.delimiter, zone=self.zone, rejoin="JobName")


def sacct_pieces(
    path: str | Path, *, zone: str = "UTC", lines_at_once: int = LINES_AT_ONCE
) -> Iterator[SacctPiece]:
    """An export of any length in pieces, as it is never in memory as a whole.

    Parameters
    ----------
    path : path
        What ``sacct --parsable2`` printed.
    zone : str
        Time zone of the site's clock, where times are not seconds since 1970.
    lines_at_once : int
        Lines of one piece, and the rest of the steps of its last job.

    Yields
    ------
    SacctPiece
        One after the other.
    """
    lines = (x.decode("utf-8", "surrogateescape") for x in raw_lines(ordinary_file(path)))
    header = next(lines, "")
    delimiter = DELIMITER if DELIMITER in header else delimiter_of(header.rstrip("\r\n"))
    for part in _pieces(lines, header, delimiter, lines_at_once):
        yield SacctPiece("".join([header, *part]), delimiter, zone)


def _goes_on(job_id: str) -> bool:
    """Whether a line belongs to the job above it: a step, or a component but the first.

    >>> [_goes_on(text) for text in ("7", "7.batch", "7+0", "7+1", "8_2")]
    [False, True, False, True, False]
    """
    return "." in job_id or ("+" in job_id and not job_id.endswith("+0"))


def _pieces(lines: Iterator[str], header: str, delimiter: str, most: int) -> Iterator[list[str]]:
    """Lines in pieces that end where the line of a job, no later component, follows."""
    names = header.rstrip("\r\n").split(delimiter)
    at = next((names.index(n) for n in ("JobID", "JobIDRaw") if n in names), None)
    if at is None:
        raise DataError("sacct", [f"field JobID is missing: {header.strip()[:200]}"])
    if "Submit" not in names:
        raise DataError("sacct", [f"field Submit is missing: {header.strip()[:200]}"])
    part: list[str] = []
    for line in lines:
        if len(part) >= most and not _goes_on("".join(line.split(delimiter, at + 1)[at : at + 1])):
            yield part
            part = []
        part.append(line)
    if part:
        yield part
