"""The first answer to an operator: what is in a log, whatever it lacks.

Four questions that a month of accounting can always be asked: what was used and what of it was
lost; does the simulator, on the machine as found in the log, wait as the site did; can the log tell
what a setting does; and if not, what one thing would change that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.errors import DataError
from rheostat.explanation.log_summary import summary_report
from rheostat.explanation.narrate import Narrative
from rheostat.explanation.sampled_summary import sampled_report
from rheostat.measurement.job_logs.log_usage import LogUsage, log_usage
from rheostat.measurement.monitoring.power_samples import is_sampled, together
from rheostat.questions.logs.log_answer import LogAnswer, asked_of, is_log, lacks, remedy
from rheostat.simulation.comparison.as_logged import as_logged
from rheostat.simulation.comparison.replay import Replay, replay
from rheostat.simulation.log_machine import LogMachine, log_machine
from rheostat.simulation.report_facts import facts as run_facts
from rheostat.simulation.result import Simulation
from rheostat.simulation.simulate import simulate_run

OVERDUE = "extend"
"""A job that the log shows beyond its limit was let go on."""


@dataclass(frozen=True)
class LogSummary:
    """What `summary` found.

    Parameters
    ----------
    usage : LogUsage
        Jobs, node-hours, energy and what was lost, by state, application, user and partition.
    machine : LogMachine
        What the log tells of the machine.
    logged, easy : Simulation or None
        The waits of the log, and FCFS with EASY on that machine, of the same jobs.
    replay : Replay or None
        How near the two are.
    not_replayed : str
        Why there is no comparison; "" where there is.
    answer : LogAnswer
        What the log tells about nodes.
    change : str
        The one thing that would make it answer; "" where it does.
    log : JobTable
        What was asked: notes name its jobs by their rows.
    """

    usage: LogUsage
    machine: LogMachine
    logged: Simulation | None
    easy: Simulation | None
    replay: Replay | None
    not_replayed: str
    answer: LogAnswer
    change: str
    log: JobTable

    def facts(self, file: str = "FILE", *, deep: bool = False) -> dict[str, Any]:
        """As plain values; ``deep`` adds waits by size, length and user."""
        usage = asdict(self.usage)
        machine = asdict(self.machine) | {"words": self.machine.words, "toml": self.machine.toml()}
        return {
            "file": file,
            **usage,
            "devices": self.log.frame.to_dicts() if is_sampled(self.log) else None,
            "together": together(self.log) or None,
            "machine": machine if self.machine.procs else None,
            "waits": self._waits(file, deep=deep),
            "replay": None if self.replay is None else self.replay.facts(),
            "not_replayed": self.not_replayed or None,
            "settings": {
                "answers": self.answer.answers,
                "sentences": list(self.answer.sentences),
                "change": self.change or None,
                **self.answer.facts,
            },
        }

    def report(self, file: str = "FILE", *, page: bool = False) -> Narrative:
        """In sections, for a terminal or with pictures for a ``page``."""
        shown: Mapping[str, Any] | None = None
        if page and self.logged is not None and self.easy is not None:
            from rheostat.simulation.report_series import picture

            shown = picture([self.logged, self.easy])
        facts = self.facts(file, deep=page)
        if facts["devices"]:
            return sampled_report(facts)
        return summary_report(facts, shown)

    def _waits(self, file: str, *, deep: bool) -> dict[str, Any] | None:
        if self.logged is None or self.easy is None:
            return None
        how = {"estimates": "user", "semantics": "textbook", "overdue": OVERDUE}
        runs = [self.logged, self.easy]
        return run_facts(file, runs, how, read=self.log, deep=deep)


def summary(
    jobs: JobTable, machine: Machine | None = None, *, file: str = "FILE", seed: int = 0
) -> LogSummary:
    """What is in a job log: always an answer, with what the log lacks said in its place.

    Parameters
    ----------
    jobs : JobTable
        A log, as `rheostat.read` gives it.
    machine : Machine, optional
        Where it ran; by default what the log itself tells.
    file : str
        The log's name, for commands that are proposed.
    seed : int
        Of what draws.

    Returns
    -------
    LogSummary
        Its ``facts()`` are plain values, its ``report()`` is for reading.

    Examples
    --------
    >>> from rheostat.measurement.synthetic.world import World
    >>> found = summary(World(seed=1).jobs(60))
    >>> found.usage.jobs, found.usage.unit, found.answer.answers
    (60, 'node_h', False)
    """
    place = log_machine(jobs)
    pair, near, why = _replayed(jobs, machine or (Machine(place.procs) if place.procs else None))
    logged, easy = pair or (None, None)
    if is_log(jobs):
        answer = asked_of(jobs, seed=seed)
    else:
        answer = LogAnswer(False, (f"No: the log has no {' and no '.join(lacks(jobs))}.",))
    change = remedy(answer, jobs, file)
    return LogSummary(log_usage(jobs), place, logged, easy, near, why, answer, change, jobs)


def _replayed(
    jobs: JobTable, machine: Machine | None
) -> tuple[tuple[Simulation, Simulation] | None, Replay | None, str]:
    """The log beside EASY on the machine, how near they are, or why there is no comparison."""
    if machine is None:
        return None, None, "the log tells neither the size of its machine nor when jobs started"
    try:
        run = simulate_run(jobs, "easy", machine, overdue=OVERDUE)
    except DataError as error:
        return None, None, str(error)
    pair = as_logged(jobs, run)
    if pair is None:
        return None, None, "fewer than 30 jobs have a wait recorded, or none waited"
    return pair, replay(jobs, run.jobs), ""
