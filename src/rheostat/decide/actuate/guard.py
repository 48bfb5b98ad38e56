"""A second process that puts caps back when the first one goes, however it goes.

The first process holds the writing end of a pipe and never writes.  When it ends - done, crashed or
killed with -9 - the kernel closes the pipe, the guard reads the end of it and restores from the
journal.  It lives in a session of its own, so that a signal to the first one's group misses it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from rheostat.decide.actuate.apply import SETTLE_S, restore
from rheostat.decide.actuate.device import split
from rheostat.decide.actuate.journal import Journal
from rheostat.decide.actuate.panel import Where
from rheostat.errors import RheostatError


def start(journal: Path, where: Where, settle_s: float = SETTLE_S) -> subprocess.Popen[bytes]:
    """Start a guard; close its ``stdin`` (or die) to have the caps restored."""
    argv = [sys.executable, "-m", __name__, str(journal), where.text(), str(settle_s)]
    guard = subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    if guard.stdout is None or guard.stdout.readline() != b"ready\n":
        guard.kill()
        raise RheostatError("the guard that would restore the caps did not start: nothing changed")
    return guard


def panel_of(journal: Journal, where: Where):  # type: ignore[no-untyped-def]
    """The devices that a journal names."""
    places = [split(entry.place) for entry in journal.entries()]
    return where.panel({node for node, _, _ in places}, {knob for _, knob, _ in places})


def watch(journal: Path, where: Where, settle_s: float) -> int:
    """Wait for the end of standard input, then restore; 0 if all was put back."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while sys.stdin.buffer.read(4096):
        continue
    if not journal.exists():
        return 0  # nothing was ever changed, or somebody restored already
    book = Journal(journal)
    try:
        restore(book, panel_of(book, where), settle_s=settle_s)
    except (RheostatError, OSError) as error:
        sys.stderr.write(f"rheostat: {journal}: {error}; run rheostat budget restore\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(watch(Path(sys.argv[1]), Where.of(sys.argv[2]), float(sys.argv[3])))
