"""``rheostat trial``: which jobs run at another setting, to learn what settings do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o


def trial(
    file: o.File,
    share: Annotated[
        float, typer.Option(min=0.0, max=0.5, help="Expected share of jobs that take part.")
    ] = 0.05,
    knob: Annotated[str, typer.Option(help="The setting that is turned.")] = "nodes",
    largest: Annotated[int, typer.Option(min=1, help="Largest setting that exists.")] = 256,
    out: Annotated[Path | None, typer.Option(writable=True, help="Write the plan as CSV.")] = None,
    seed: o.Seed = 0,
    form: o.Form = "",
    mapped: o.Map = None,
    json: o.Json = False,
) -> None:
    """Plan a randomised trial: a few jobs of FILE run at a quarter or four times their setting.

    Who takes part is drawn by chance, larger jobs more often.  Keep the column KNOB_requested in
    the log of what ran: `rheostat decide --kind within` reads it back.
    """
    from rheostat.cli.output import put_json, put_report, tell
    from rheostat.core.files import replace_file
    from rheostat.core.report import Grid, Report, Section
    from rheostat.decision.trial import plan_trial

    planned = plan_trial(o.load(file, form, mapped), share, knob, high=largest, seed=seed)
    frame = planned.table.frame
    part = frame.filter(frame["takes_part"])
    if out is not None:
        replace_file(out, frame.write_csv().encode())
        tell(f"wrote {out}")
    said = f"{planned.taking_part:,} of {len(frame):,} jobs take part."
    grid = Grid(tuple(part.columns), tuple(part.rows()))
    if json:
        facts = {"share": share, "knob": knob, "taking_part": planned.taking_part}
        put_json("rheostat.trial/1", {**facts, "jobs": part.to_dicts()})
        return
    put_report(Report("", [Section("trial", (said,), grid)]), grid)
