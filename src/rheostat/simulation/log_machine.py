"""The machine that a log was made on: what its header says, or the most its jobs held at once.

What was held at once is a lower bound of what there was; a machine that was once full is found
exactly.  The unit is that of the simulator: processors asked for, else used, else nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.core.machine import Machine
from rheostat.errors import DataError
from rheostat.simulation.timeline import steps
from rheostat.simulation.workload import Array, sizes

if TYPE_CHECKING:
    from rheostat.simulation.result import Simulation

FEWEST = 0.5


@dataclass(frozen=True)
class LogMachine:
    """What a log tells of its machine.

    Parameters
    ----------
    procs : int
        Processors; 0 where the log does not tell.
    source : str
        "header", or "held": the most that jobs held at once.
    held : int
        The most processors held at once; 0 where the log has no starts.
    largest : int
        Processors of the largest job.
    partitions : tuple of (str, int)
        Partitions and the most processors that jobs of each held at once, the largest first.
    name : str
        Of the machine, from the header.
    """

    procs: int
    source: str
    held: int
    largest: int
    partitions: tuple[tuple[str, int], ...] = ()
    name: str = ""

    @property
    def words(self) -> str:
        """Where the size comes from, in a sentence."""
        if self.source == "header":
            return f"{self.procs:,} processors, as the header of the log says"
        return f"{self.procs:,} processors, the most that jobs of the log held at once"

    def toml(self) -> str:
        """A machine file for ``--machine``, with a partition per partition of the log.

        >>> print(LogMachine(96, "held", 96, 64, (("batch", 64), ("gpu", 32))).toml(), end="")
        [[partition]]
        name = "batch"
        procs = 64
        <BLANKLINE>
        [[partition]]
        name = "gpu"
        procs = 32
        """
        if len(self.partitions) < 2:
            return f"procs = {self.procs}\n"
        return "\n".join(
            f'[[partition]]\nname = "{name}"\nprocs = {held}\n' for name, held in self.partitions
        )


def log_machine(jobs: JobTable) -> LogMachine:
    """What ``jobs`` tell of the machine they ran on.

    >>> from rheostat.core.vocabulary import table
    >>> ran = {"submit_s": [0.0, 0.0, 9.0], "start_s": [0.0, 5.0, 30.0],
    ...        "runtime_s": [10.0, 10.0, 10.0], "cores": [4, 2, 5]}
    >>> found = log_machine(table(ran))
    >>> found.procs, found.source, found.largest
    (6, 'held', 5)
    """
    size = sizes(jobs)
    largest = int(np.nanmax(size)) if np.isfinite(size).any() else 0
    start, end = _spans(jobs)
    known = np.isfinite(start) & (end > start) & (size > 0)
    recorded = known.sum() >= FEWEST * max((size > 0).sum(), 1)
    held = max(_most(start, end, size, known), largest) if recorded else 0
    said, name = header_procs(jobs)
    parts: tuple[tuple[str, int], ...] = ()
    if recorded and "partition" in jobs.columns:
        names = jobs.frame["partition"].cast(pl.String)
        most = [
            (n, _most(start, end, size, known & (names == n).fill_null(value=False).to_numpy()))
            for n in names.drop_nulls().unique().sort()
        ]
        parts = tuple(sorted((p for p in most if p[1] > 0), key=lambda p: (-p[1], p[0])))
    return LogMachine(said or held, "header" if said else "held", held, largest, parts, name)


def header_procs(jobs: JobTable) -> tuple[int, str]:
    """(processors, name) that the header of a trace names; 0 where it names none."""
    for note in jobs.notes:
        if not note.message.startswith("header "):
            continue
        header = dict(p.split(": ", 1) for p in note.message[7:].split("; ") if ": " in p)
        for key in ("MaxProcs", "MaxNodes"):
            size = header.get(key, "").split(" ")[0]
            if size.isdigit() and int(size) > 0:
                return int(size), header.get("Computer", "")
    return 0, ""


def machine_of(jobs: JobTable, given: str = "") -> Machine:
    """The machine ``given`` (processors or a TOML file), else the one `log_machine` finds.

    Raises
    ------
    DataError
        No machine is given, and the log names none and has no starts to find one by.

    >>> from rheostat.core.jobs import Note
    >>> from rheostat.core.vocabulary import table
    >>> head = Note("header Computer: SP2; MaxProcs: 128")
    >>> machine_of(table({"job_id": [1]}, notes=[head])).procs
    128
    """
    if given:
        return Machine.load(given)
    machine = log_machine(jobs)
    if not machine.procs:
        problem = "the trace does not say its size, and has no starts to find it by: give its "
        raise DataError("machine", [problem + "processors (--machine)"])
    return Machine(machine.procs, name=machine.name)


def placed(jobs: JobTable, given: str = "") -> tuple[JobTable, Machine]:
    """`machine_of`, and ``jobs`` with a note where it is a proposal, or smaller than the log's.

    Raises
    ------
    DataError
        Every job needs more processors than there are.
    """
    machine = machine_of(jobs, given)
    said = "" if given else proposal_words(log_machine(jobs))
    size = sizes(jobs)
    too_large = (size > machine.procs).sum() / max((size > 0).sum(), 1)
    if too_large > ODD:
        said = too_few_words(jobs, machine)
    if too_large == 1.0:
        raise DataError("machine", [said])
    return (jobs.noted(Note(said)) if said else jobs), machine


def proposal_words(machine: LogMachine) -> str:
    """What to know of a machine that was proposed from the log; "" where the header names it."""
    if machine.source == "header" or not machine.procs:
        return ""
    parts = [f"{name} {held:,}" for name, held in machine.partitions]
    said = f" ({', '.join(parts)})" if 1 < len(parts) <= MOST else ""
    return (
        f"no machine given: {machine.words}{said}; there may have been more: --machine N, or a "
        "file with a [[partition]] for each"
    )


def too_few_words(jobs: JobTable, machine: Machine) -> str:
    """What to type where jobs need more processors than there are.

    >>> from rheostat.core.vocabulary import table
    >>> log = table({"submit_s": [0.0, 0.0], "runtime_s": [9.0, 9.0], "nodes": [1, 2],
    ...              "cores": [64, 128]})
    >>> too_few_words(log, Machine(2))
    'jobs ask for up to 128 processors, the machine has 2: --machine counts processors, not nodes: \
2 nodes of 64 are --machine 128'
    """
    ours, procs = log_machine(jobs), machine.procs
    held = f", {ours.held:,} at once in all" if ours.held > ours.largest else ""
    said = (
        f"jobs ask for up to {ours.largest:,} processors{held}, the machine has {procs:,}: "
        "--machine counts processors"
    )
    if each := _procs_of_a_node(jobs):
        return f"{said}, not nodes: {procs:,} nodes of {each} are --machine {procs * each}"
    return f"{said}: at least --machine {max(ours.held, ours.largest)} is the log's"


def _procs_of_a_node(jobs: JobTable) -> int:
    """The most processors that a job has on each of its nodes; 0 where they are not told apart."""
    size, most = sizes(jobs), 0.0
    for name in ("nodes", "nodes_alloc"):
        if name in jobs.columns:
            each = size / np.where(jobs.numpy(name) > 0, jobs.numpy(name), np.nan)
            most = max(most, float(np.nanmax(each, initial=0.0)))
    return round(most) if most > 1.0 else 0


def roomy_words(jobs: JobTable, runs: Sequence[Simulation]) -> str:
    """That nobody waits because the machine is larger than all jobs need; "" where some wait."""
    if any((run.jobs.numpy("wait_s") > 0).mean() > FEW for run in runs):
        return ""
    size, most = runs[0].machine.procs, max(map(_peak, runs))
    machine = log_machine(jobs)
    less = machine.procs if 0 < machine.procs < size else most
    return (
        f"Nobody waits, whatever the policy: of {size:,} processors at most {most:,} are ever used "
        f"at once. --machine {less} is "
        + (
            "the machine of the log."
            if less == machine.procs
            else "the least on which nobody waits."
        )
    )


def _peak(run: Simulation) -> int:
    start, end, procs = (run.jobs.numpy(c) for c in ("start_s", "end_s", "procs"))
    return _most(start, end, procs, end > start)


MOST, FEW, ODD = 8, 0.001, 0.1


def _spans(jobs: JobTable) -> tuple[Array, Array]:
    """(start, end) of each job as logged, s; NaN unknown."""
    nothing = np.full(len(jobs), np.nan)

    def column(name: str) -> Array:
        return jobs.numpy(name).astype(float) if name in jobs.columns else nothing

    start = column("start_s")
    start = np.where(np.isfinite(start), start, column("submit_s") + column("wait_s"))
    end = start + column("runtime_s")
    return start, np.where(np.isfinite(end), end, column("end_s"))


def _most(start: Array, end: Array, size: Array, rows: np.ndarray) -> int:
    """The most processors that the jobs in ``rows`` held at once."""
    if not rows.any():
        return 0
    return round(float(steps(start[rows], end[rows], size[rows])[1].max()))
