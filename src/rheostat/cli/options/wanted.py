"""Options of what is wanted: knobs, objectives, rules and limits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli.options.declared import option

RUNTIME_ENERGY = "runtime_s,energy_j"

Knobs = Annotated[
    list[str] | None,
    option(
        "What may be turned: nodes=1,2,4,8 or nodes=1..256 (powers of two) or "
        "cap_w=100..300/50 (steps of 50). Repeatable.  [default: nodes=1..256]",
        "--knob",
    ),
]

Objectives = Annotated[str, option("Minimised quantities, comma-separated.")]

AdviceObjectives = Annotated[
    str,
    option(
        "Minimised quantities, comma-separated.  [default: runtime_s,energy_j, without "
        "energy in the log runtime_s,node_hours]"
    ),
]

RuleText = Annotated[
    str,
    option(
        "knee, deadline=2h, power=15kW, energy=2MJ, node-hours=40, slowdown=1.2 or "
        "weighted=runtime_s:1,energy_j:1.",
        "--rule",
    ),
]

TrialPlan = Annotated[
    Path | None,
    option("Plan of a trial (rheostat trial plan --out) that is part of the log.", "--trial"),
]

Slowdown = Annotated[
    float | None,
    option(
        "At most so many per cent slower than each job asked for, with 80 % confidence.  "
        "[default: 10 without --rule]",
        min=0.0,
    ),
]

Within = Annotated[
    list[str] | None,
    option("A limit to hold, as deadline=2h@0.9 (with 90 % confidence). Repeatable."),
]
