"""`budget.run` and `budget.hooks`: a command under a plan's caps, and Slurm's own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from rheostat.core.storage.files import replace_file
from rheostat.decision.actuate import watchdog
from rheostat.decision.actuate.actuators import DeviceAddress
from rheostat.decision.actuate.apply import apply as set_caps
from rheostat.decision.actuate.apply import check
from rheostat.decision.actuate.cap_journal import CapJournal
from rheostat.decision.actuate.prolog import scripts
from rheostat.decision.budget.cap_plan import read_plan
from rheostat.errors import RheostatError
from rheostat.questions import listener
from rheostat.questions.budget.fleets import devices
from rheostat.questions.budget.set_caps import JOURNAL, changes_of


def run(
    plan: Path | str,
    command: Sequence[str],
    *,
    journal: Path | str = JOURNAL,
    node: str = "",
    where: DeviceAddress | None = None,
    settle_s: float = 1.0,
) -> int:
    """Run a command under the caps of a plan; they are put back however this ends, kill -9 too.

    A second process waits for the end of this one and restores from the journal.

    Parameters
    ----------
    plan : path
        As `rheostat.budget.plan` writes it.
    command : sequence of str
        What to run.
    journal, node, where, settle_s
        As for `rheostat.budget.apply`.

    Returns
    -------
    int
        The status of the command.

    Raises
    ------
    RheostatError
        Caps could not all be put back.
    """
    address, book = where or devices(), CapJournal(Path(journal))
    changes, panel = changes_of(plan, node, address)
    check(changes, panel, book)
    watcher = watchdog.start(Path(journal), address, settle_s)
    try:
        done = set_caps(changes, panel, CapJournal(Path(journal)), settle_s=settle_s)
        listener.line(f"{done} caps set")
        code = subprocess.run(command, check=False).returncode
    finally:
        _, _ = watcher.communicate()
    if watcher.returncode:
        hint = f"rheostat budget restore --journal {journal}"
        raise RheostatError(f"the caps could not all be put back: {hint} (the command: {code})")
    listener.line("caps put back")
    return code


def hooks(
    plan: Path | str,
    out: Path | str = ".",
    *,
    journals: str = "/var/lib/rheostat",
    program: str = "rheostat",
    gpu: str = "nvml",
) -> tuple[Path, ...]:
    """Write the Slurm prolog and epilog that apply a plan on its nodes and put caps back.

    Parameters
    ----------
    plan : path
        As `rheostat.budget.plan` writes it.
    out : path
        Folder of the two.
    journals : str
        Folder on the nodes.
    program : str
        The rheostat of the nodes: a name or an absolute path.
    gpu : str
        How GPU caps are set: nvml, amd or none.

    Returns
    -------
    tuple of Path
        What was written.
    """
    read_plan(Path(plan))
    written = []
    for name, text in scripts(os.path.realpath(plan), journals, program, gpu).items():
        file = Path(out) / name
        replace_file(file, os.fsencode(text))
        file.chmod(0o755)
        listener.line(f"wrote {file}")
        written.append(file)
    return tuple(written)
