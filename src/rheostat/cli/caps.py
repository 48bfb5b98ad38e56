"""``rheostat caps``: how slow under caps that nobody tried, and which to keep."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    pass


def caps(
    known: Annotated[
        Path,
        typer.Argument(help="Runs of known applications under caps.", metavar="KNOWN"),
    ],
    app: Annotated[str, typer.Option(help="The application asked about.")],
    tried: Annotated[
        Path | None,
        typer.Option(help="Its few runs; by default those that KNOWN has of it."),
    ] = None,
    loss: Annotated[
        float, typer.Option(min=0, max=0.9, help="Share of speed that may be lost.")
    ] = 0.05,
    risk: Annotated[
        float, typer.Option(min=0.5, max=0.999, help="Probability with which the bound must hold.")
    ] = 0.9,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write what is believed as runs (CSV), for rheostat budget plan.",
            writable=True,
            dir_okay=False,
        ),
    ] = None,
    where: o.Where = None,
    by: o.By = "",
    html: o.Html = None,
    figure: o.Figure = None,
    form: o.Form = "",
    mapped: o.Map = None,
    column: o.Columns = None,
    knob: Annotated[
        list[str] | None,
        typer.Option(
            "--knob",
            help="Caps to predict that the known applications did not run, as cap_w=100..250/5 or "
            "gpu_cap_w=155,165. Repeatable.",
        ),
    ] = None,
    json: o.Json = False,
) -> None:
    """Say from a few runs how slow an application gets under caps, what to keep, what to try next.

    KNOWN has app, runtime_s and cpu_cap_w, gpu_cap_w or cap_w, several applications at the same
    settings; gpus or nodes too where their number varies. The first run of a new application is at
    the highest caps; the others are asked for in turn. Beside the answer stand a line between the
    same runs, bilinear interpolation of the corners, and a Gaussian process's lower bound.
    """
    from rheostat.cli.output import put_json, put_report, tell, working, write_files
    from rheostat.core.files import replacing
    from rheostat.decision.caps import as_runs, choose_caps
    from rheostat.explanation.caps import caps_facts, caps_grid, caps_report
    from rheostat.questions import inputs
    from rheostat.questions.parse import parse_space

    runs = inputs.capped(known, where, by, form, mapped, column)
    own = runs if tried is None else inputs.capped(tried, None, by, form, mapped, column)
    asked = parse_space(knob).knobs if knob else ()
    with working("learning from the known applications"):
        choice = choose_caps(runs, own, app, loss=loss, risk=risk, knobs=asked)
    for note in choice.notes:
        tell(f"note: {note}")
    facts = caps_facts(choice)
    if json:
        put_json("rheostat.caps/1", facts)
    else:
        put_report(caps_report(facts), caps_grid(facts) if choice.ready else None)
        if choice.ready and not sys.stdout.isatty():
            for line in caps_report(facts).sections[0].sentences:
                tell(line)
    if out is not None and choice.ready:
        with replacing(out) as draft:
            as_runs(choice).frame.write_csv(draft)
        tell(f"wrote {out}")
    write_files(caps_report(facts), html, figure)
