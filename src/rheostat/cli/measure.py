"""``rheostat measure -- ./app``: time and energy of a command, and how each was known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.core.report import Report
    from rheostat.measurement.meters import Measured


def measure(
    command: Annotated[
        list[str] | None,
        typer.Argument(help="The command and its arguments, after --.", metavar="-- COMMAND..."),
    ] = None,
    meters: Annotated[
        str, typer.Option(help="rapl, nvml, zeus, slurm, comma-separated.  [default: all]")
    ] = "",
    interval: Annotated[float, typer.Option(min=0.001, help="Seconds between samples.")] = 0.1,
    rapl_root: Annotated[Path, typer.Option(help="Where the powercap files are.")] = Path(
        "/sys/class/powercap"
    ),
    perf: Annotated[
        str,
        typer.Option(
            metavar="EVENT,...",
            help="Also count these events with perf stat: instructions,cycles,LLC-load-misses.",
        ),
    ] = "",
    record: Annotated[
        Path | None,
        typer.Option(help="Write every sample here, as CSV.", writable=True, dir_okay=False),
    ] = None,
    replay: Annotated[
        Path | None, typer.Option(help="Add up a recording instead of running a command.")
    ] = None,
    html: o.Html = None,
    json: o.Json = False,
) -> None:
    """Run a command; print its time and energy, domain by domain, and how each is known.

    A domain is measured, derived, estimated or unavailable, and the reason is said.  Without any
    meter the time is told and power is unavailable.  Leaves with the status of the command.
    """  # fmt: skip
    from rheostat.cli.output import put_json, put_report, tell, write_files
    from rheostat.questions.parse import parse_names

    if (command is None) == (replay is None):
        raise typer.BadParameter("expected a command after --, or --replay with a recording")
    status, counted = 0, dict[str, Any]()
    if replay is not None:
        from rheostat.measurement.meters.session import replay as again

        measured = again(replay)
    else:
        status, measured, counted = _run(
            command or [], parse_names(meters), parse_names(perf),
            quiet=json, interval=interval, root=rapl_root, record=record,
        )  # fmt: skip
    for r in measured.readings:
        if r.glitches:
            every = r.samples + r.glitches
            tell(f"note: {r.meter} {r.domain}: {r.glitches} of {every} samples cannot be right "
                 "and are not counted")  # fmt: skip
    facts = {"command": command or [], "status": status, **_facts(measured), "counters": counted}
    report = _report(facts)
    if json:
        put_json("rheostat.measure/1", facts)
    else:
        put_report(report)
    write_files(report, html)
    if status:
        tell(f"the command left with status {status}")
        raise typer.Exit(status)


def _run(
    command: list[str],
    names: tuple[str, ...],
    events: tuple[str, ...],
    *,
    interval: float,
    root: Path,
    record: Path | None,
    quiet: bool,
) -> tuple[int, Measured, dict[str, Any]]:
    """Status, what was measured, what perf counted; ``quiet`` keeps stdout for the document."""
    import subprocess
    import sys

    from rheostat.cli.output import tell
    from rheostat.measurement.meters import Session
    from rheostat.measurement.meters import meters as chosen
    from rheostat.measurement.meters.perf_counting import counting
    from rheostat.measurement.meters.rapl import Rapl

    every = [Rapl(root) if m.name == "rapl" else m for m in chosen(names)]
    out = sys.stderr if quiet else None
    with counting(command, events) as counts:
        with Session(every, interval_s=interval, keep=record is not None) as session:
            try:
                status = subprocess.run(counts.command, check=False, stdout=out).returncode
            except OSError as error:  # as a shell has it
                tell(f"{command[0]}: {error.strerror}")
                raise typer.Exit(127 if isinstance(error, FileNotFoundError) else 126) from error
        rates = counts.rates(session.measured.runtime_s)
    if record is not None:
        session.write(record)
        tell(f"wrote {record}")
    return (128 - status if status < 0 else status), session.measured, rates


def _facts(m: Measured) -> dict[str, Any]:
    return {
        "runtime_s": m.runtime_s,
        "energy_j": m.energy_j,
        "power_w": m.power_w,
        "state": m.state,
        "domains": [
            {"meter": r.meter, "domain": r.domain, "state": r.state, "energy_j": r.energy_j,
             "power_w": r.power_w, "window_s": r.window_s, "why": r.why, "part_of": r.part_of,
             "wraps": r.wraps, "glitches": r.glitches, "samples": r.samples,
             "counted": r in m.counted}
            for r in m.readings
        ],
        "unavailable": m.silent,
    }  # fmt: skip


def _report(facts: dict[str, Any]) -> Report:
    from rheostat.core.report import Grid, Report, Section
    from rheostat.core.units import format_quantity as said

    first = [f"{said(facts['runtime_s'], 's')}."]
    if facts["state"] == "unavailable":
        why = "a domain could not be measured" if facts["domains"] else "no meter could be read"
        first.append(f"Power is unavailable: {why}.")
    else:
        first.append(f"{said(facts['energy_j'], 'J')}, {said(facts['power_w'], 'W')} on average "
                     f"({facts['state']}).")  # fmt: skip
    sections = [Section("measured", tuple(first))]
    heads = ("domain", "meter", "energy", "power", "known", "wraps", "glitches", "remark")
    rows = tuple(
        (d["domain"], d["meter"], d["energy_j"], d["power_w"], d["state"], d["wraps"],
         d["glitches"], "; ".join(filter(None, (f"in {d['part_of']}" if d["part_of"] else "",
                                                d["why"]))))
        for d in facts["domains"]
    )  # fmt: skip
    if rows:
        sections.append(Section("domains", (), Grid(heads, rows, ("", "", "J", "W"))))
    counts = facts["counters"]
    if counts.get("rates"):
        rates = tuple((name, value) for name, value in counts["rates"].items())
        sections.append(
            Section("counters", (), Grid(("counter", "value, rates per second"), rates))
        )
    elif counts:
        sections.append(Section("counters", (f"Unavailable: {counts['why']}.",)))
    silent = tuple((name, why) for name, why in facts["unavailable"].items())
    if silent:
        sections.append(Section("not available", (), Grid(("meter", "why"), silent)))
    return Report("", tuple(sections), facts)
