"""`site.install` and `site.uninstall`: Slurm's hooks for advice at submission, in and out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from rheostat.core.report import Grid, Report, Section
from rheostat.decision.actuate.prolog import scripts
from rheostat.decision.budget.cap_plan import read_plan
from rheostat.decision.submission.advice_file import SubmissionAdvice, advice_bytes
from rheostat.decision.submission.priority_lines import beside_the_sites, read_weights
from rheostat.decision.submission.slurm_files import (
    INCLUDE,
    FileChange,
    slurm_conf,
    submission_files,
    with_caps,
    with_priority,
)
from rheostat.decision.submission.slurm_files import install as put_files
from rheostat.decision.submission.slurm_files import uninstall as take_files
from rheostat.errors import DataError, QuestionError
from rheostat.explanation.number_words import duration, quantity
from rheostat.measurement.tables import read_table, with_numbers
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question

NEEDED = ("app", "nodes", "nodes_requested", "status")
SIDES = ("requested", "advised")
SPENT = ("energy_j", "node_hours", "runtime_s")
AMOUNTS = ("submit_s", *(f"{q}_change{end}" for q in SPENT for end in ("", "_low", "_high")),
           *(f"{q}_{side}" for q in ("runtime_s", "energy_j") for side in SIDES))  # fmt: skip


@dataclass(frozen=True, kw_only=True, repr=False)
class InstallAnswer(Answer):
    """Files that are, or would be, written into Slurm's folder or taken out of it.

    Parameters
    ----------
    changes : tuple of FileChange
        Each file and what happens to it.
    dry_run : bool
        Whether nothing was done.
    hints : tuple of str
        What an administrator does next.
    """

    schema: ClassVar[str] = "rheostat.site.install/1"
    changes: tuple[FileChange, ...]
    dry_run: bool
    hints: tuple[str, ...] = ()

    def report(self) -> Report:
        """The files, and what comes next."""
        return Report("", [Section("", self.beside(), self.grids()[0])], self.facts())

    def beside(self) -> tuple[str, ...]:
        """What comes next."""
        return (*(("Dry run: nothing was changed.",) if self.dry_run else ()), *self.hints)

    def facts(self) -> Mapping[str, Any]:
        """The files, and what comes next."""
        rows = [{"path": c.path, "change": c.change, "size_b": c.size_b} for c in self.changes]
        return {"dry_run": self.dry_run, "files": rows, "hints": list(self.hints)}

    def grids(self) -> tuple[Grid, ...]:
        """A row per file."""
        rows = tuple((c.path, c.change, c.size_b) for c in self.changes)
        return (Grid(("file", "change", "size_b"), rows),)


@question
def install(
    advice: pl.DataFrame | Path | str,
    etc: Path | str,
    *,
    mode: str = "record",
    share: float = 0.5,
    plan: Path | str | None = None,
    gpu: str = "nvml",
    priority: Path | str | None = None,
    dry_run: bool = False,
) -> InstallAnswer:
    """Write Slurm's hooks for advice at submission, and for the caps of a plan, into its folder.

    Parameters
    ----------
    advice : DataFrame or path
        What ``rheostat decide --out`` wrote.
    etc : path
        Folder of slurm.conf, the same on every machine of the cluster.
    mode : str
        "record" writes to slurmctld's log alone, "suggest" tells who submits, "set" changes jobs of
        users who have run the same themselves, "trial" a share of these, drawn by a hash; `shadow`
        reads what that saved.
    share : float
        Of a trial, 0.01 to 0.99: share of the jobs that are changed.
    plan : path, optional
        Plan of caps that prolog and epilog apply and restore.
    gpu : str
        How GPU caps are set: nvml, amd or none.
    priority : path, optional
        Weights of the queue's order that ``rheostat explain --export slurm`` wrote.
    dry_run : bool
        Say what would be written, and write nothing.

    Returns
    -------
    InstallAnswer
        With ``changes``.

    Raises
    ------
    DataError
        No such table, files of the site's own in the way, or a folder of an unusual name.
    """
    if not 0.01 <= share <= 0.99:
        raise QuestionError("--share", [f"expected 0.01 to 0.99, got {share:g}"])
    frame = opened_advice(advice)
    folder = Path(etc)
    if not folder.is_dir():
        raise DataError("--etc", [f"expected the folder of slurm.conf, got {etc}"])
    place = os.path.abspath(folder)
    files = submission_files(place, mode, advice_bytes(_kinds(frame, mode)), share)
    if plan is not None:
        read_plan(Path(plan))
        files = with_caps(files, place, scripts(str(Path(plan).resolve()), "/var/lib/rheostat",
                                                   gpu=gpu))  # fmt: skip
    known: tuple[str, ...] = ()
    if priority is not None:
        weights = read_weights(priority)
        files = with_priority(files, weights)
        known = beside_the_sites(weights, slurm_conf(folder))
    changes = put_files(folder, files, dry_run=dry_run)
    hints = (
        *known,
        f"Add the line {INCLUDE!r} to slurm.conf on all machines, then: scontrol reconfigure.",
        f"To take it out: remove that line, and rheostat site uninstall --etc {etc}.",
    )
    return InstallAnswer(changes=tuple(changes), dry_run=dry_run, hints=hints)


def opened_advice(advice: pl.DataFrame | Path | str) -> pl.DataFrame:
    """What ``rheostat decide --out`` wrote, with numbers as numbers.

    Raises
    ------
    DataError
        It is no such table.
    """
    frame = advice if isinstance(advice, pl.DataFrame) else read_table(advice)
    if missing := [n for n in NEEDED if n not in frame.columns]:
        hint = "give what rheostat decide --out wrote, with --knob nodes=..."
        raise DataError("advice", [*(f"column {n} is missing" for n in missing), hint])
    return with_numbers(frame, "advice", counts=("nodes", "nodes_requested"), numbers=AMOUNTS)


@question
def uninstall(etc: Path | str, *, dry_run: bool = False) -> InstallAnswer:
    """Take out what `install` wrote, as far as nobody has changed it since.

    Parameters
    ----------
    etc : path
        Folder of slurm.conf.
    dry_run : bool
        Say what would be removed, and remove nothing.

    Returns
    -------
    InstallAnswer
        With ``changes``.

    Raises
    ------
    DataError
        Nothing is installed there, or slurm.conf still includes our settings.
    """
    changes = take_files(Path(etc), dry_run=dry_run)
    left = [c.path for c in changes if c.change.startswith("left")]
    hints = (f"Changed since, and left: {', '.join(left)}.",) if left else ()
    return InstallAnswer(changes=tuple(changes), dry_run=dry_run, hints=hints)


def _kinds(frame: pl.DataFrame, mode: str) -> Iterator[SubmissionAdvice]:
    """Advice by who, what and where; of jobs that differ in nothing else the newest stands.

    Where jobs are changed, nobody's are by what another user ran: whoever submits under a common
    name would choose the nodes of others.
    """
    if "submit_s" in frame.columns:
        frame = frame.sort("submit_s", maintain_order=True)
    for row in frame.iter_rows(named=True):
        if row["app"] is None or row["nodes_requested"] is None or row["nodes"] is None:
            continue
        words = submission_words(row)
        asked = row["nodes_requested"]
        nodes = row["nodes"] if words else asked
        users, places = (dict.fromkeys([str(row.get(k) or ""), ""]) for k in ("user", "partition"))
        for user in list(users)[:1] if mode in ("set", "trial") else users:
            for place in places:
                yield SubmissionAdvice(user, str(row["app"]), place, asked, nodes, words)


def submission_words(row: Mapping[str, Any]) -> str:
    """One sentence to who submits; empty where the request is kept.

    >>> submission_words({"status": "advised", "nodes": 32, "nodes_requested": 64,
    ...     "runtime_s_requested": 7560.0, "runtime_s_advised": 10440.0,
    ...     "energy_j_requested": 3.8e8, "energy_j_advised": 2.1e8, "energy_j_change": -0.45})
    '64 nodes: 2h 6m, 380 MJ; 32 nodes: 2h 54m, 210 MJ; --nodes=32 saves 45 %'
    """
    if row["status"] != "advised" or row["nodes"] == row["nodes_requested"]:
        return ""
    sides = []
    for name, end in (("nodes_requested", "requested"), ("nodes", "advised")):
        known = [(row.get(f"runtime_s_{end}"), duration), (row.get(f"energy_j_{end}"), _joules)]
        said = ", ".join(words(v) for v, words in known if v is not None)
        sides.append(f"{row[name]:.0f} nodes: {said or 'not known'}")
    change = row.get("energy_j_change", row.get("node_hours_change"))
    saved = "" if change is None else f" saves {-100 * change:.0f} %"
    return f"{'; '.join(sides)}; --nodes={row['nodes']:.0f}{saved}"


def _joules(value: float) -> str:
    return quantity(value, "J")
