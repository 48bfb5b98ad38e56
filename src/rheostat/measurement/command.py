"""`Command`: a program of one's own as what a search measures with.

Each setting becomes a command line, run in a shell; what it prints as its last line, a JSON object
or a number of seconds, is the measurement, and the wall time stands in for a runtime that it does
not print.  A run that fails, hangs or prints no sense is a measurement without a value and a note.
"""

from __future__ import annotations

import json
import math
import os
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rheostat.core.jobs import JobTable, Note
from rheostat.core.outcome import Outcome
from rheostat.errors import DataError
from rheostat.measurement.meters.reading import EnergyMeter
from rheostat.measurement.meters.session import Measured, Session


class Command:
    r"""Measure settings by running ``template`` with ``{knob}`` replaced by its value.

    Braces of the shell's own are doubled, as in Python's format strings.  The values are quoted.
    With ``meters`` (see `measure.meters`) the energy of a run that prints neither joules nor watts
    is what they read, if they can; how it is known is noted once.

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

    Raises
    ------
    DataError
        When called: the template names a knob that is not there, or a quantity is missing.

    Examples
    --------
    >>> from rheostat import table
    >>> measure = Command("echo '{{\"runtime_s\": {nodes}, \"power_w\": 50}}'", ["energy_j"])
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
    ) -> None:
        self.template = template
        self.wanted = tuple(wanted)
        self.repeat = repeat
        self.timeout_s = timeout_s
        self.meters = tuple(m for m in meters if not m.why())
        self.notes: tuple[Note, ...] = ()

    @property
    def program(self) -> str:
        """What is run; a journal of a search holds it."""
        return self.template

    def __call__(self, jobs: JobTable) -> Outcome:
        """One draw per repetition; NaN where a run gave no value."""
        columns = [
            [self._run(row) for _ in range(self.repeat)] for row in jobs.frame.rows(named=True)
        ]
        names = dict.fromkeys(q for row in columns for run in row for q in run)
        names = names or dict.fromkeys(("runtime_s", *self.wanted))  # no run gave anything
        draws = {
            q: np.array([[run.get(q, math.nan) for run in row] for row in columns]).T for q in names
        }
        return Outcome(draws, notes=self.notes)

    def _run(self, setting: Mapping[str, Any]) -> dict[str, float]:
        line = self._line(setting)
        with Session(self.meters) as session:
            status, text = _finished(line, self.timeout_s)
        seconds = session.measured.runtime_s
        if status is None:
            return self._failed(line, f"took longer than {self.timeout_s:g} s")
        if status != 0:
            return self._failed(line, f"ended with status {status}")
        values = {"runtime_s": seconds} | parse(text)
        if not {"energy_j", "power_w"} & set(values):
            values |= self._metered(session.measured)
        outcome = Outcome({q: np.array([[v]]) for q, v in values.items()})
        missing = [q for q in self.wanted if q not in outcome]
        if missing:
            raise DataError(
                "measure",
                [
                    f"the command gave {', '.join(values)}, not {', '.join(missing)}",
                    'print a JSON object such as {"runtime_s": 12.5, "energy_j": 4100} last',
                ],
            )
        return values

    def _metered(self, measured: Measured) -> dict[str, float]:
        """Energy by the meters, if they could tell it; how it is known becomes a note."""
        if not math.isfinite(measured.energy_j):
            return {}
        names = ", ".join(f"{r.meter} {r.domain}" for r in measured.counted)
        note = Note(f"energy by meter ({measured.state}): {names}")
        if note not in self.notes:
            self.notes = (*self.notes, note)
        return {"energy_j": measured.energy_j}

    def _line(self, setting: Mapping[str, Any]) -> str:
        quoted = {k: shlex.quote(str(v)) for k, v in setting.items()}
        try:
            return self.template.format(**quoted)
        except (KeyError, IndexError, ValueError) as error:
            raise DataError(
                "measure",
                [f"{self.template!r}: {{NAME}} must be one of {', '.join(setting)}; got {error}"],
            ) from error

    def _failed(self, line: str, why: str) -> dict[str, float]:
        self.notes = (*self.notes, Note(f"{line}: {why}", count=1))
        return {}


def _finished(line: str, timeout_s: float) -> tuple[int | None, str]:
    """(exit status, stdout); status None where the time ran out and all its processes ended."""
    process = subprocess.Popen(
        line, shell=True, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        text, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        _stop(process)
        return None, ""
    except KeyboardInterrupt:
        _stop(process)
        raise
    return process.returncode, text


def _stop(process: subprocess.Popen[str]) -> None:
    """End the command and everything that it started."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def parse(text: str) -> dict[str, float]:
    r"""The last line as quantities: a JSON object of numbers, or a number of seconds.

    >>> parse("hello\n12.5\n"), parse('{"energy_j": 7}'), parse("done")
    ({'runtime_s': 12.5}, {'energy_j': 7.0}, {})
    """
    lines = [x for x in text.splitlines() if x.strip()]
    if not lines:
        return {}
    try:
        value = json.loads(lines[-1])
    except json.JSONDecodeError:
        return {}
    if isinstance(value, dict):
        return {str(k): float(v) for k, v in value.items() if _number(v)}
    return {"runtime_s": float(value)} if _number(value) else {}


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
