"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

MOST_SEED = 2**31 - 1
"""All libraries take seeds up to here."""

File = Annotated[
    Path, typer.Argument(help="A job log or table of runs, any format read knows.", metavar="FILE")
]
Form = Annotated[str, typer.Option("--format", help="Format; guessed by default.")]
Map = Annotated[Path | None, typer.Option("--map", help="TOML column mapping for tables of runs.")]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="Ours=theirs, as runtime_s=wall_s. Repeatable."),
]
Knobs = Annotated[
    list[str] | None,
    typer.Option(
        "--knob",
        help="What may be turned: nodes=1,2,4,8 or nodes=1..256 (powers of two) or "
        "cap_w=100..300/50 (steps of 50). Repeatable.  [default: nodes=1..256]",
    ),
]
Objectives = Annotated[str, typer.Option(help="Minimised quantities, comma-separated.")]
AdviceObjectives = Annotated[
    str,
    typer.Option(
        help="Minimised quantities, comma-separated.  "
        "[default: runtime_s,energy_j, without energy in the log runtime_s,node_hours]"
    ),
]
RuleText = Annotated[
    str,
    typer.Option(
        "--rule",
        help="knee, deadline=2h, power=15kW, energy=2MJ, node-hours=40, slowdown=1.2 or "
        "weighted=runtime_s:1,energy_j:1.",
    ),
]
TrialPlan = Annotated[
    Path | None,
    typer.Option(
        "--trial", help="Plan of a trial (rheostat trial plan --out) that is part of the log."
    ),
]
Slowdown = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        help="At most so many per cent slower than each job asked for, with 80 % confidence.  "
        "[default: 10 without --rule]",
    ),
]
Within = Annotated[
    list[str] | None,
    typer.Option(help="A limit to hold, as deadline=2h@0.9 (with 90 % confidence). Repeatable."),
]
Saved = Annotated[Path | None, typer.Option("--model", help="A model saved by rheostat fit.")]
Kind = Annotated[
    str,
    typer.Option(
        help="auto, within (compares settings within applications), law, forest, "
        "boosting, xgboost, lightgbm, tabnet or attention."
    ),
]
Seed = Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of everything that draws.")]
Html = Annotated[
    Path | None, typer.Option(help="Also write an HTML report here.", writable=True, dir_okay=False)
]


def _can_be_drawn(figure: Path | None) -> Path | None:
    """Refuses a name of no known ending, and a figure without matplotlib, before work begins."""
    if figure is not None:
        from rheostat._optional import require
        from rheostat.explanation.pictures.figure import ending_of

        ending_of(figure)
        require("matplotlib", extra="figures")
    return figure


def two_to_draw(figure: Path | None, objectives: str | Sequence[str]) -> None:
    """Refuses, before the runs, a figure of a front that has not two objectives."""
    from rheostat.questions.parse import parse_names

    objectives = parse_names(objectives)
    if figure is not None and len(objectives) != 2:
        what = f"{len(objectives)}: {', '.join(objectives)}"
        raise typer.BadParameter(f"a front is drawn of two --objectives, got {what}",
                                 param_hint="--figure")  # fmt: skip


Figure = Annotated[
    Path | None,
    typer.Option(
        help="Also write the picture here, for papers: .svg, .pdf or .png; further ones beside it.",
        writable=True,
        dir_okay=False,
        callback=_can_be_drawn,
    ),
]
Units = Annotated[
    list[str] | None,
    typer.Option(
        "--unit",
        help="Per what energy and power of serving runs are, or in what times are, where a column "
        "does not say: energy=J/request (mJ, Wh; token, batch, run), power=W/gpu, time=ms, "
        "batch=requests/replica. Repeatable.",
    ),
]
Where = Annotated[list[str] | None, typer.Option(help="Only rows with column=value. Repeatable.")]
By = Annotated[
    str, typer.Option(help="Columns that make runs the same application, as app,batch_size.")
]
Method = Annotated[
    str,
    typer.Option(
        help="auto, law, hypervolume, nehvi, parego, improvement, thompson, uncertain, "
        "nsga2, sobol or exhaustive."
    ),
]
Prior = Annotated[
    Path | None,
    typer.Option(help="Runs of other applications (column app) that teach the law method."),
]
TestFraction = Annotated[
    float,
    typer.Option(
        min=0.0, max=0.99, help="Share of the newest jobs that is not learned from and tested on."
    ),
]
PowerModel = Annotated[
    Path | None,
    typer.Option(
        metavar="MODEL",
        help="A saved model that predicts power, for jobs without measured watts and for planning "
        "under a cap.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]

RUNTIME_ENERGY = "runtime_s,energy_j"
