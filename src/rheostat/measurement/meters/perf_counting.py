"""perf: hardware counters of a command, by running it under ``perf stat``.

The command runs as it would, with perf beside it; what perf wrote becomes rates per second.  Where
perf is not installed, or may not count, the command still runs, and why is told.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rheostat.errors import DataError
from rheostat.measurement.counters.perf_stat import read_perf

PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


@dataclass(frozen=True)
class Counting:
    """The command to run, and afterwards what was counted while it ran."""

    command: list[str]
    written: Path | None = None
    why: str = ""

    def rates(self, runtime_s: float) -> dict[str, Any]:
        """Rates by counter; or why there are none; empty if none were asked for."""
        if self.written is None:
            return {"why": self.why} if self.why else {}
        try:
            jobs = read_perf(self.written, runtime_s=runtime_s)
        except DataError as error:
            return {"why": f"perf wrote nothing to read: {error}"}
        row = jobs.frame.row(0, named=True)
        rates = {k: v for k, v in row.items() if k.endswith(("_per_s", "_w", "busy_cores"))}
        known = {k: v for k, v in rates.items() if v is not None}
        return {"rates": known, "notes": [n.message for n in jobs.notes]}


def perf_why() -> str:
    """Why perf cannot count here; empty if it can."""
    if shutil.which("perf") is None:
        return "perf is not in PATH"
    strict = PARANOID.is_file() and int(PARANOID.read_text()) > 2
    return "kernel.perf_event_paranoid forbids counters to users" if strict else ""


@contextmanager
def counting(command: Sequence[str], events: Sequence[str]) -> Iterator[Counting]:
    """The command under perf, if there are ``events`` and perf is there."""
    why = perf_why() if events else ""
    if not events or why:
        yield Counting(list(command), why=why)
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "perf.csv"
        argv = ["perf", "stat", "-x,", "-o", str(file), "-e", ",".join(events), "--", *command]
        yield Counting(argv, file)
