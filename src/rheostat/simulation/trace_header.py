"""Which machine does a trace come from?  The header of the log says, where it has one."""

from __future__ import annotations

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.errors import DataError


def machine_of(jobs: JobTable, given: str = "") -> Machine:
    """The machine ``given`` (processors or a TOML file), else the one the trace's header names.

    >>> from rheostat.core.jobs import Note
    >>> from rheostat.core.vocabulary import table
    >>> head = Note("header Computer: SP2; MaxProcs: 128")
    >>> machine_of(table({"job_id": [1]}, notes=[head])).procs
    128
    """
    if given:
        return Machine.load(given)
    for note in jobs.notes:
        if not note.message.startswith("header "):
            continue
        header = dict(p.split(": ", 1) for p in note.message[7:].split("; ") if ": " in p)
        for key in ("MaxProcs", "MaxNodes"):
            size = header.get(key, "").split(" ")[0]
            if size.isdigit() and int(size) > 0:
                return Machine(int(size), name=header.get("Computer", ""))
    raise DataError("machine", ["the trace does not say its size: give its processors (--machine)"])
