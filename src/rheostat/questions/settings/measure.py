"""`measure`: time and energy of a command, and how each was known."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from rheostat.core.report import Grid, Report, Section
from rheostat.core.units import format_quantity as said
from rheostat.errors import CommandError, QuestionError
from rheostat.measurement.meters import Measured, Session, meters
from rheostat.measurement.meters.perf_counting import counting
from rheostat.measurement.meters.rapl import Rapl
from rheostat.measurement.meters.session import replay as add_up
from rheostat.questions import listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.parse import Names, parse_names

POWERCAP = "/sys/class/powercap"


@dataclass(frozen=True, kw_only=True, repr=False)
class MeasureAnswer(Answer):
    """What a command took.

    Parameters
    ----------
    measured : Measured
        Seconds, and energy by domain.
    command : tuple of str
        Empty where a recording was added up.
    status : int
        Of the command.
    counters : mapping
        Rates of events, or why there are none.
    """

    schema: ClassVar[str] = "rheostat.measure/1"
    measured: Measured
    command: tuple[str, ...] = ()
    status: int = 0
    counters: dict[str, Any] = field(default_factory=dict)

    def report(self) -> Report:
        """Time and energy, domain by domain, and how each is known."""
        facts = self.facts()
        sections = [Section("measured", self._first()), *_domains(facts), *_counts(self.counters)]
        silent = tuple(facts["unavailable"].items())
        if silent:
            sections.append(Section("not available", (), Grid(("meter", "why"), silent)))
        return Report("", tuple(sections), facts)

    def facts(self) -> dict[str, Any]:
        """The same as data."""
        m = self.measured
        return {
            "command": list(self.command), "status": self.status, "runtime_s": m.runtime_s,
            "energy_j": m.energy_j, "power_w": m.power_w, "state": m.state,
            "domains": [
                {"meter": r.meter, "domain": r.domain, "state": r.state, "energy_j": r.energy_j,
                 "power_w": r.power_w, "window_s": r.window_s, "why": r.why, "part_of": r.part_of,
                 "wraps": r.wraps, "glitches": r.glitches, "samples": r.samples,
                 "counted": r in m.counted}
                for r in m.readings
            ],
            "unavailable": m.silent, "counters": self.counters,
        }  # fmt: skip

    def _first(self) -> tuple[str, ...]:
        m = self.measured
        time = f"{said(m.runtime_s, 's')}."
        if m.state == "unavailable":
            why = "a domain could not be measured" if m.readings else "no meter could be read"
            return time, f"Power is unavailable: {why}."
        energy = f"{said(m.energy_j, 'J')}, {said(m.power_w, 'W')} on average"
        return (f"{said(m.runtime_s, 's')} and {energy} ({m.state}).",)


@question
def measure(
    command: Sequence[str] = (),
    *,
    meter_names: Names = (),
    interval_s: float = 0.1,
    rapl_root: Path | str = POWERCAP,
    events: Names = (),
    record: Path | str | None = None,
    replay: Path | str | None = None,
    to_stderr: bool = False,
) -> MeasureAnswer:
    """Run a command; its time and energy, domain by domain, and how each is known.

    A domain is measured, derived, estimated or unavailable, and the reason is said.

    Parameters
    ----------
    command : sequence of str
        The command and its arguments.
    meter_names : str or sequence of str
        rapl, nvml, zeus, slurm; all by default.
    interval_s : float
        Between samples.
    rapl_root : path
        Where the powercap files are.
    events : str or sequence of str
        Count these with perf stat, too.
    record : path, optional
        Where every sample goes, as CSV.
    replay : path, optional
        Add up a recording instead of running a command.
    to_stderr : bool
        What the command prints goes to standard error.

    Returns
    -------
    MeasureAnswer
        With ``measured`` and ``status``.

    Raises
    ------
    QuestionError
        Neither a command nor a recording is given, or both.
    CommandError
        The command cannot be started.

    Examples
    --------
    >>> import rheostat as rh
    >>> answer = rh.measure(["true"], meter_names="rapl")
    >>> answer.status, answer.measured.runtime_s > 0
    (0, True)
    """
    if (not command) == (replay is None):
        problem = "expected a command after --, or --replay with a recording"
        raise QuestionError("measure", [problem])
    if replay is not None:
        answer = MeasureAnswer(measured=add_up(Path(replay)))
    else:
        answer = _run(list(command), parse_names(meter_names), parse_names(events), interval_s,
                      Path(rapl_root), record, to_stderr=to_stderr)  # fmt: skip
    for r in answer.measured.readings:
        if r.glitches:
            every = r.samples + r.glitches
            listener.note(f"{r.meter} {r.domain}: {r.glitches} of {every} samples cannot be right "
                          "and are not counted")  # fmt: skip
    if answer.status:
        listener.line(f"the command left with status {answer.status}")
    return answer


def _run(
    command: list[str], names: tuple[str, ...], events: tuple[str, ...], interval_s: float,
    root: Path, record: Path | str | None, *, to_stderr: bool,
) -> MeasureAnswer:  # fmt: skip
    every = [Rapl(root) if m.name == "rapl" else m for m in meters(names)]
    out = sys.stderr if to_stderr else None
    with counting(command, events) as counts:
        with Session(every, interval_s=interval_s, keep=record is not None) as session:
            try:
                status = subprocess.run(counts.command, check=False, stdout=out).returncode
            except OSError as error:
                raise CommandError(command[0], error) from error
        rates = counts.rates(session.measured.runtime_s)
    if record is not None:
        session.write(Path(record))
        listener.line(f"wrote {record}")
    return MeasureAnswer(measured=session.measured, command=tuple(command), counters=rates,
                         status=128 - status if status < 0 else status)  # fmt: skip


def _domains(facts: dict[str, Any]) -> list[Section]:
    heads = ("domain", "meter", "energy", "power", "known", "wraps", "glitches", "remark")
    rows = tuple(
        (d["domain"], d["meter"], d["energy_j"], d["power_w"], d["state"], d["wraps"],
         d["glitches"], "; ".join(filter(None, (f"in {d['part_of']}" if d["part_of"] else "",
                                                d["why"]))))
        for d in facts["domains"]
    )  # fmt: skip
    return [Section("domains", (), Grid(heads, rows, ("", "", "J", "W")))] if rows else []


def _counts(counters: dict[str, Any]) -> list[Section]:
    if counters.get("rates"):
        rates = tuple(counters["rates"].items())
        return [Section("counters", (), Grid(("counter", "value, rates per second"), rates))]
    return [Section("counters", (f"Unavailable: {counters['why']}.",))] if counters else []
