"""``rheostat summary FILE``: what is in a job log, the first answer to an operator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o


def summary(
    file: Annotated[Path, typer.Argument(help="A job log, any format read knows.", metavar="FILE")],
    machine: Annotated[
        str, typer.Option(help="Processors, or a TOML file; what the log tells by default.")
    ] = "",
    form: o.Form = "",
    map_file: o.Map = None,
    column: o.Columns = None,
    zone: o.Zone = "",
    option: o.ReaderOptions = None,
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
    from rheostat.cli.output import printed
    from rheostat.questions.logs.summary import summary as ask
    from rheostat.questions.parse import parse_reader_options

    options = parse_reader_options(column or (), columns=map_file, zone=zone, options=option or ())
    with printed(json=json, html=html, figure=figure) as put:
        put(ask(file, machine=machine, seed=seed, format=form, options=options))
