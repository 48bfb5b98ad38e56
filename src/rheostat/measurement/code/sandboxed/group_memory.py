"""Memory and times of a program and all that it has started: one limit for the group.

Limits of the kernel (rlimits) hold for each process, so that sixty of them may take sixty times as
much.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

OWN = re.compile(r"^Rss(?:Anon|Shmem):\s+(\d+) kB", re.MULTILINE)
PROCESSES = Path("/proc")
TIMES = slice(11, 15)
"""Of the words behind a process's name: user and system time, its own and of what it waited for."""


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
    total_kb = 0
    for place in _group(leader):
        with suppress(OSError):  # it has just ended
            total_kb += sum(map(int, OWN.findall(_text(f"{place}/status"))))
    return total_kb << 10


def group_cpu_s(leader: int) -> float:
    """CPU seconds of a process, its descendants, and those of them that have ended.

    >>> import os
    >>> group_cpu_s(os.getpid()) > 0, group_cpu_s(2**30)
    (True, 0.0)
    """
    ticks = 0
    for place in _group(leader):
        with suppress(OSError):  # it has just ended
            behind_name = _text(f"{place}/stat").rpartition(")")[2].split()
            ticks += sum(map(int, behind_name[TIMES]))
    return ticks / os.sysconf("SC_CLK_TCK")


def group_delay_s(leader: int) -> float:
    """Seconds that threads of a process and its descendants, while they live, waited for a core.

    >>> import os
    >>> group_delay_s(os.getpid()) >= 0, group_delay_s(2**30)
    (True, 0.0)
    """
    delay_ns = 0
    for place in _group(leader):
        with suppress(OSError, IndexError):  # it has just ended, or the kernel does not count
            for task in os.listdir(f"{place}/task"):
                delay_ns += int(_text(f"{place}/task/{task}/schedstat").split()[1])
    return delay_ns / 1e9


def _group(leader: int) -> Iterator[str]:
    """Where the kernel tells of a process and of all that it has started."""
    waiting = [str(leader)]
    while waiting:
        place = f"{PROCESSES}/{waiting.pop()}"
        yield place
        with suppress(OSError):  # it has just ended
            for task in os.listdir(f"{place}/task"):
                waiting += _text(f"{place}/task/{task}/children").split()


def _text(path: str) -> str:
    """What a file of the kernel says; asked ten times a second, so without Path and buffers."""
    with open(path, "rb", buffering=0) as file:
        return file.read().decode("utf-8", "replace")
