"""`summary`: what is in a job log, the first answer to an operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.core.report import Report
from rheostat.measurement.job_logs.log_usage import held_jobs
from rheostat.measurement.read import guess_format
from rheostat.measurement.read import read as read_file
from rheostat.questions import listener
from rheostat.questions.answer import Answer
from rheostat.questions.inputs import Jobs
from rheostat.questions.listener import question
from rheostat.questions.logs.log_summary import LogSummary
from rheostat.questions.logs.log_summary import summary as summarise

HELD = (
    "{:,} jobs were held, or waited for others, or were to begin later (eligible_s): their waits "
    "count from submission, and the simulation lets them start at once"
)


@dataclass(frozen=True, kw_only=True, repr=False)
class SummaryAnswer(Answer):
    """What a log holds and can tell.

    Parameters
    ----------
    log : LogSummary
        Use, energy and losses; waits beside a simulation; what the log can tell of settings.
    file : str
        The log's name, for commands that are proposed.
    """

    schema: ClassVar[str] = "rheostat.summary/1"
    log: LogSummary
    file: str

    def report(self) -> Report:
        """What the log holds, section by section."""
        return self.log.report(self.file)

    def page_report(self) -> Report:
        """The report with its pictures."""
        return self.log.report(self.file, page=True)

    def facts(self) -> dict[str, Any]:
        """All of it, waits by size, length and user included."""
        return self.log.facts(self.file, deep=True)


@question
def summary(
    jobs: Jobs,
    *,
    machine: Machine | str = "",
    seed: int = 0,
    format: str = "",
    options: Mapping[str, Any] | None = None,
) -> SummaryAnswer:
    """Say what is in a job log: use, energy, failures, waits beside a simulation, what it can tell.

    Always answers, and says what the log lacks in the place of what it would tell.

    Parameters
    ----------
    jobs : JobTable or path
        A log.
    machine : Machine or str
        Where it ran: processors, or a TOML file; by default what the log itself tells.
    seed : int
        Of everything that draws.
    format : str
        The file's format; guessed by default.
    options : mapping
        How the file is read, as for `rheostat.read`.

    Returns
    -------
    SummaryAnswer
        With ``log``.

    Raises
    ------
    DataError
        The file cannot be read, or the machine is none.

    Examples
    --------
    >>> from rheostat.measurement.synthetic.world import World
    >>> answer = summary(World(seed=1).jobs(60))
    >>> answer.log.usage.jobs, answer.log.usage.unit, answer.log.answer.answers
    (60, 'node_h', False)
    """
    given = Machine.load(machine) if isinstance(machine, str) and machine else machine or None
    file = "FILE" if isinstance(jobs, JobTable) else str(jobs)
    if not isinstance(jobs, JobTable):
        with listener.working(f"reading {jobs}"):
            jobs = read_file(jobs, format or guess_format(Path(jobs)), options=dict(options or {}))
        listener.notes(jobs.notes)
    if count := held_jobs(jobs):
        listener.note(HELD.format(count))
    with listener.working(f"summing up {len(jobs):,} rows"):
        return SummaryAnswer(log=summarise(jobs, given, file=file, seed=seed), file=file)
