"""Memory of a program and all that it has started: one limit for the group.

Limits of the kernel (rlimits) hold for each process, so that sixty of them may take sixty times as
much.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

OWN = re.compile(r"^Rss(?:Anon|Shmem):\s+(\d+) kB", re.MULTILINE)
PROCESSES = Path("/proc")


def group_memory_b(leader: int) -> int:
    """Bytes in memory of a process and its descendants, files that they read left out.

    Parameters
    ----------
    leader : int
        The first process; what has lost its parent is a child of the sandbox's first process.

    Returns
    -------
    int
        Pages that several of them share are counted for each.

    Examples
    --------
    >>> import os
    >>> group_memory_b(os.getpid()) > 2**20, group_memory_b(2**30)
    (True, 0)
    """
    total_kb, waiting = 0, [str(leader)]
    while waiting:
        place = PROCESSES / waiting.pop()
        with suppress(OSError):  # it has just ended
            total_kb += sum(map(int, OWN.findall((place / "status").read_text())))
            for task in (place / "task").iterdir():
                waiting += (task / "children").read_text().split()
    return total_kb << 10
