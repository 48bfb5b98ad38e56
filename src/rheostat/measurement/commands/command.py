"""`Command`: a program of one's own as what a search measures with.

Each setting becomes a command line, run in a shell and timed here; what it prints as a JSON object
on a line of its own counts by its names.  A run that fails, hangs or whose output is wrong is a
measurement without a value and a note.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any

import numpy as np

from rheostat.core.jobs import JobTable, Note
from rheostat.core.outcome import Outcome
from rheostat.errors import DataError
from rheostat.measurement.commands.output_check import OutputCheck
from rheostat.measurement.commands.shell_line import ShellLine
from rheostat.measurement.meters.reading import EnergyMeter
from rheostat.measurement.meters.session import Measured, Session
from rheostat.measurement.runs.guess import guess_name
from rheostat.measurement.runs.header_units import split_unit

KEPT_B = 2**20
"""Of what a program prints; the line with its figures comes last."""
MEASURED = frozenset({"runtime_s", "energy_j", "power_w"})
WRITTEN = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(\w*)\s*")
"""A number and perhaps a unit."""
SHORTEST_S = 0.01
TOO_SHORT = (
    f"runs of less than {1e3 * SHORTEST_S:g} ms: the start of a process hides what settings differ "
    "by; measure more work in one run, or print the time of the work itself as runtime_s"
)


class Command:
    r"""Measure settings by running ``template`` with ``{knob}`` replaced by its value.

    Each value is one word, inside quotes a plain one; other braces are the shell's (`ShellLine`).
    A run's time is measured here, around the command.  What the command prints counts where it says
    what it is: a line that is a JSON object of numbers, ``{"runtime_s": 12.5}``, or of texts under
    names with a unit, ``"12.5 ms"``; a bare number does not, as it may be a checksum.  With
    ``meters`` (see `measure.meters`) the energy of a run that prints neither joules nor watts is
    what they read, if they can.  Where each quantity came from is in the notes.

    Parameters
    ----------
    template : str
        Command line for the shell.
    wanted : sequence of str
        Quantities that each run must give.
    repeat : int
        Runs of each setting.
    timeout_s : float
        Longest run, s; a longer one is ended and noted.
    meters : sequence of EnergyMeter
        What measures joules where the command prints none.
    warm_up : int
        Runs of each setting before those that count, so that caches and clocks are as in use.
    check : str
        A regular expression that the output must contain, or, after ``cmd:``, a command that
        reads it and ends with status 0 where it is right; with knobs in braces as in the template.
        A run whose output is wrong measured nothing, and is noted.

    Raises
    ------
    DataError
        When called: the template names a knob that is not there or has a place where a value could
        run, or a quantity is missing.

    Examples
    --------
    >>> from rheostat import table
    >>> measure = Command("printf '{\"runtime_s\": %s, \"power_w\": 50}' {nodes}", ["energy_j"])
    >>> measure(table({"nodes": [4, 8]})).mean("energy_j")
    array([200., 400.])
    """

    def __init__(
        self,
        template: str,
        wanted: Sequence[str] = ("runtime_s",),
        *,
        repeat: int = 1,
        timeout_s: float = 86400.0,
        meters: Sequence[EnergyMeter] = (),
        warm_up: int = 0,
        check: str = "",
    ) -> None:
        self._line = ShellLine(template)
        self._right = OutputCheck(check, timeout_s)
        self.warm_up = warm_up
        self.wanted = tuple(wanted)
        self.repeat = repeat
        self.timeout_s = timeout_s
        self.meters = tuple(m for m in meters if not m.why())
        self.notes: tuple[Note, ...] = ()

    @property
    def program(self) -> str:
        """What is run and how it is checked; a journal of a search holds it."""
        return self._line.template + (f" # check {self._right.text}" if self._right.text else "")

    def __call__(self, jobs: JobTable) -> Outcome:
        """One draw per repetition; NaN where a run gave no value."""
        columns = [self._runs(row) for row in jobs.frame.rows(named=True)]
        names = dict.fromkeys(q for row in columns for run in row for q in run)
        names = names or dict.fromkeys(("runtime_s", *self.wanted))  # no run gave anything
        draws = {
            q: np.array([[run.get(q, math.nan) for run in row] for row in columns]).T for q in names
        }
        return Outcome(draws, notes=self.notes)

    def _runs(self, setting: Mapping[str, Any]) -> list[dict[str, float]]:
        """What each repetition gave, after the warm-up; a run that fails there fails for all."""
        for _ in range(self.warm_up):
            if not self._run(setting):
                return [{}] * self.repeat
        return [self._run(setting) for _ in range(self.repeat)]

    def _run(self, setting: Mapping[str, Any]) -> dict[str, float]:
        line = self._line.filled(setting)
        with Session(self.meters) as session:
            status, text = _finished(line, self.timeout_s)
        seconds = session.measured.runtime_s
        if status is None:
            return self._failed(line, f"took longer than {self.timeout_s:g} s")
        if status != 0:
            return self._failed(line, f"ended with status {status}")
        if wrong := self._right(text, setting):
            return self._failed(line, wrong)
        printed = parse(text)
        if not printed.get("runtime_s", seconds) > 0:
            return self._failed(line, f"printed runtime_s {printed['runtime_s']:g}, not above 0")
        for name in [q for q, v in printed.items() if math.isnan(v)]:
            self._note(
                f"{name}: the command printed no finite number in its unit ({line}): not known"
            )
        values = {"runtime_s": seconds} | printed
        self._tell_source(printed, seconds)
        if not {"energy_j", "power_w"} & set(values):
            values |= self._metered(session.measured)
        outcome = Outcome({q: np.array([[v]]) for q, v in values.items()})
        missing = [q for q in self.wanted if q not in outcome]
        if missing:
            raise DataError(
                "measure",
                [
                    f"the command gave {', '.join(values)}, not {', '.join(missing)}",
                    'print a JSON object such as {"runtime_s": 12.5, "energy_j": 4100} on a line',
                ],
            )
        return values

    def _tell_source(self, printed: Mapping[str, float], seconds: float) -> None:
        """Note, once, what was printed, what was measured here, and what is too short for it."""
        if printed:
            self._note(f"{', '.join(printed)}: printed by the command")
        if "runtime_s" not in printed:
            self._note("runtime_s: measured around the command, its start included")
            for name in (n for n in printed if guess_name(n) == "runtime_s"):
                self._note(f"{name}: not taken for the run time; print runtime_s or runtime_ms")
        if printed.get("runtime_s", seconds) < SHORTEST_S:
            self._note(TOO_SHORT)

    def _note(self, text: str) -> None:
        if Note(text) not in self.notes:
            self.notes = (*self.notes, Note(text))

    def _metered(self, measured: Measured) -> dict[str, float]:
        """Energy by the meters, if they could tell it; how it is known becomes a note."""
        if not math.isfinite(measured.energy_j):
            return {}
        names = ", ".join(f"{r.meter} {r.domain}" for r in measured.counted)
        self._note(f"energy_j: read by a meter ({measured.state}): {names}")
        return {"energy_j": measured.energy_j}

    def _failed(self, line: str, why: str) -> dict[str, float]:
        self.notes = (*self.notes, Note(f"{line}: {why}", count=1))
        return {}


def _finished(line: str, timeout_s: float) -> tuple[int | None, str]:
    """(exit status, end of stdout); status None where the time ran out and all its processes ended.

    What a program leaves running and writing counts as its own until the time runs out.
    """
    process = subprocess.Popen(line, shell=True, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    printed = _End(process.stdout)
    until = time.monotonic() + timeout_s
    try:
        status: int | None = process.wait(timeout_s)
        printed.join(min(max(until - time.monotonic(), 0.0), threading.TIMEOUT_MAX))
    except subprocess.TimeoutExpired:
        status = None
    except KeyboardInterrupt:
        _stop(process)
        raise
    if status is None or printed.is_alive():
        _stop(process)
        return None, ""
    # What a program prints may have any bytes; its numbers are ASCII.
    return status, bytes(printed.kept).decode("utf-8", "replace")


class _End(threading.Thread):
    """The last `KEPT_B` bytes of a stream, so that no program fills the memory by printing."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self.stream, self.kept = stream, bytearray()
        self.start()

    def run(self) -> None:
        with self.stream:
            while some := os.read(self.stream.fileno(), 65_536):
                self.kept += some
                del self.kept[:-KEPT_B]


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the command and everything of its session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def parse(text: str) -> dict[str, float]:
    r"""Named quantities: those of the last line that is a JSON object; NaN for no finite number.

    Ours are read in the unit that their name ends with: ``runtime_ms``, ``energy_kJ``.

    >>> parse('{"energy_j": 7}\nbye'), parse("hello\n12.5\n"), parse("done")
    ({'energy_j': 7.0}, {}, {})
    >>> parse('{"runtime_ms": 1500, "loss": 0.5}')
    {'runtime_s': 1.5, 'loss': 0.5}
    >>> parse('{"power_w": "55 W", "energy_kJ": "7 MJ", "status": "ok", "runtime_s": "soon"}')
    {'power_w': 55.0, 'energy_j': 7000000.0, 'runtime_s': nan}
    """
    for line in reversed(text.splitlines()):
        if not line.strip().startswith("{"):
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):  # a ValueError also for an integer of 10,000 digits
            continue
        numbers = {str(k): _number(v) for k, v in value.items() if type(v) in (int, float)}
        texts = {str(k): _written(str(k), v) for k, v in value.items() if isinstance(v, str)}
        numbers |= {k: v for k, v in texts.items() if v is not None}
        return _in_our_units(numbers) | {k: v for k, v in numbers.items() if k in MEASURED}
    return {}


def _in_our_units(printed: Mapping[str, float]) -> dict[str, float]:
    """Run time, energy and power under our name and in our unit; all others as they are."""
    ours = {}
    for name, value in printed.items():
        stem, suffix, _unit, factor = split_unit(name, timed=True)
        known = stem + suffix in MEASURED
        ours[stem + suffix if known else name] = value * factor if known else value
    return ours


def _written(name: str, text: str) -> float | None:
    """A quantity that a program wrote as text, in the unit of its name; NaN where it is none.

    Texts under a name without a unit are remarks: None.
    """
    stem, suffix, base, factor = split_unit(name, timed=True)
    if not suffix:
        return None
    written = WRITTEN.fullmatch(text)
    if written is None:
        return math.nan
    value, unit = float(written[1]), written[2]
    if not unit:
        return value
    _, _, read, times = split_unit(f"{stem}_{unit}", timed=True)
    return value * times / factor if read == base else math.nan


def _number(value: float) -> float:
    """NaN for what is no finite double; a JSON integer can be larger than any."""
    return float(value) if abs(value) <= sys.float_info.max else math.nan
