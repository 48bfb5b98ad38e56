"""``rheostat summary FILE``: what is in a job log, the first answer to an operator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rheostat.cli import options as o
from rheostat.cli.read import ReaderOptions, Zone, reader_options


def summary(
    file: Annotated[Path, typer.Argument(help="A job log, any format read knows.", metavar="FILE")],
    machine: Annotated[
        str, typer.Option(help="Processors, or a TOML file; what the log tells by default.")
    ] = "",
    form: o.Form = "",
    map_file: o.Map = None,
    column: o.Columns = None,
    zone: Zone = "",
    option: ReaderOptions = None,
    html: o.Html = None,
    figure: o.Figure = None,
    seed: o.Seed = 0,
    json: o.Json = False,
) -> None:
    """Say what is in a job log: use, energy, failures, waits beside a simulation, what it can tell.

    Always answers, and says what the log lacks in the place of what it would tell. Node-hours,
    energy and its source, and runs that did not complete, by application, user and partition; waits
    as logged beside FCFS with EASY on the machine as found in the log; whether the log can tell
    what a node count does, and the one thing that would change that.
    """
    from rheostat.cli.output import put_json, put_report, tell_notes, working, write_files
    from rheostat.core.machine import Machine
    from rheostat.measurement.read import guess_format, read
    from rheostat.recipes.log_summary import summary as summarise

    given = Machine.load(machine) if machine else None
    options: dict[str, Any] = reader_options(column, None, None, map_file, zone, option)
    with working(f"reading {file}"):
        jobs = read(file, form or guess_format(file), options=options)
    tell_notes(jobs.notes)
    with working(f"summing up {len(jobs):,} jobs"):
        answer = summarise(jobs, given, file=str(file), seed=seed)
    if html or figure:
        write_files(answer.report(str(file), page=True), html, figure)
    if json:
        put_json("rheostat.summary/1", answer.facts(str(file), deep=True))
        return
    put_report(answer.report(str(file)))
