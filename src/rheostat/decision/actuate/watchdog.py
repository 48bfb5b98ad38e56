"""A second process that puts caps back when the first one goes, however it goes.

The first process holds the writing end of a pipe and never writes.  When it ends - done, crashed or
killed with -9 - the kernel closes the pipe, the guard reads the end of it and restores from the
journal.  It lives in a session of its own, so that a signal to the first one's group misses it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from rheostat.decision.actuate.actuators import DeviceAddress
from rheostat.decision.actuate.apply import SETTLE_S, restore
from rheostat.decision.actuate.cap_journal import CapJournal
from rheostat.decision.actuate.device import Actuators
from rheostat.errors import RheostatError


def start(
    journal: Path, where: DeviceAddress, settle_s: float = SETTLE_S
) -> subprocess.Popen[bytes]:
    """Start a guard; close its ``stdin`` (or die) to have the caps restored."""
    argv = [sys.executable, "-m", __name__, str(journal), where.text(), str(settle_s)]
    guard = subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    if guard.stdout is None or guard.stdout.readline() != b"ready\n":
        guard.kill()
        raise RheostatError("the guard that would restore the caps did not start: nothing changed")
    return guard


def panel_of(journal: CapJournal, where: DeviceAddress) -> Actuators:
    """The devices that a journal names; those that are not here are told when they are asked."""
    entries, _ = journal.entries()
    return where.panel_of(entry.place for entry in entries)


def watch(journal: Path, where: DeviceAddress, settle_s: float) -> int:
    """Wait for the end of standard input, then restore; 0 if all was put back."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while sys.stdin.buffer.read(4096):
        continue
    book = CapJournal(journal)
    try:
        if not journal.exists():
            return 0  # nothing was ever changed, or somebody restored already
        problems = restore(book, panel_of(book, where), settle_s=settle_s).problems
    except (RheostatError, OSError) as error:
        problems = (str(error),)
    for problem in problems:
        sys.stderr.write(f"rheostat: {journal}: {problem}; run rheostat budget restore\n")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(watch(Path(sys.argv[1]), DeviceAddress.of(sys.argv[2]), float(sys.argv[3])))
