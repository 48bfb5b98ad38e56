"""Options of what is wanted: knobs, objectives, rules and limits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

RUNTIME_ENERGY = "runtime_s,energy_j"

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
