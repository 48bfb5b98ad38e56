"""What was odd about a trace, with the numbers a person can look up: records and jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rheostat.core.jobs import JobTable, Note
from rheostat.simulation.result import Simulation

FIRST = 5
OF_ITSELF = ("header ", "not known (null)", "nodes = ", "counts processors")
NoteFacts = dict[str, Any]


def noted(trace: JobTable, runs: Sequence[Simulation]) -> list[NoteFacts]:
    """Notes of the reader and of the runs: ``message``, ``rows`` concerned, ``dropped``, ``text``.

    The first of the rows are named: ``records`` are lines of the file that are neither blank nor
    comments, from 1, and ``jobs`` are job numbers.  ``text`` says all in a line; it is null for
    what a log says of itself.
    """
    result = [note_facts(n, "records", [r + 1 for r in n.rows[:FIRST]]) for n in trace.notes]
    seen: list[Note] = []
    for i, run in enumerate(runs):
        for note in run.jobs.notes[len(trace.notes) :]:
            if note not in seen:
                seen.append(note)
                jobs = [_job(trace, r) for r in note.rows[:FIRST]]
                result.append(note_facts(note, "jobs", jobs, policy=run.policy.name if i else ""))
    return result


def _job(trace: JobTable, row: int) -> Any:
    return trace.frame["job_id"][row] if "job_id" in trace.schema else row + 1


def note_facts(note: Note, kind: str, first: list[Any], *, policy: str = "") -> NoteFacts:
    """One note; ``first`` are numbers of rows of this ``kind``.

    >>> note_facts(Note("zero run time", (0, 4), 7), "jobs", [3, 9])["text"]
    'zero run time (7 rows: jobs 3, 9, ...)'
    >>> note_facts(Note("line is not 18 numbers", (4,), 1, True), "records", [5])["text"]
    'line is not 18 numbers: left out (1 row: record 5)'
    """
    which = f"{note.count:,} row{'' if note.count == 1 else 's'}"
    if first:
        more = ", ..." if note.count > len(first) else ""
        named = kind if note.count > 1 else kind.removesuffix("s")
        which += f": {named} {', '.join(map(str, first))}{more}"
    gone = ": left out" if note.dropped and "left out" not in note.message else ""
    text = f"{note.message}{gone} ({which})" if note.count else note.message
    if policy:
        text = f"{policy}: {text}"
    return {
        "message": note.message,
        "rows": note.count,
        "dropped": note.dropped,
        "text": None if note.message.startswith(OF_ITSELF) else text,
        **({kind: first} if first else {}),
    }
