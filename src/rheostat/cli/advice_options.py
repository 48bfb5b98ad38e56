"""Options of advice from a log, and what stands before it: can this log answer?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.core.jobs import JobTable

TrialPlan = Annotated[
    Path | None,
    typer.Option(
        "--trial", help="Plan of a trial (rheostat trial plan --out) that is part of the log."
    ),
]


def with_trial(log: JobTable, plan: Path | None, knobs: tuple[str, ...]) -> JobTable:
    """The log with what the jobs of a trial had asked for; without a plan as it is."""
    from rheostat.cli.output import tell_notes
    from rheostat.core.vocabulary import table
    from rheostat.decision.trial_size import with_trial as joined
    from rheostat.measurement.tables import read_table

    if plan is None:
        return log
    planned = table(read_table(plan).to_dict())
    turned = [k for k in knobs if f"{k}_requested" in planned.columns] or knobs[:1]
    before = len(log.notes)
    for knob in turned:
        log = joined(log, planned, knob)
    tell_notes(log.notes[before:])
    return log


SLOWER = 10.0
"""Per cent that a job may be slower where no rule is given."""


def advice_rules(
    rule: str, slowdown: float | None, within: list[str] | None, objectives: str
) -> tuple[Any, tuple[Any, ...]]:
    """Rule and limits of advice for jobs; slowdowns refer to what each job asked for.

    >>> rule, limits = advice_rules("", None, None, "runtime_s,node_hours")
    >>> str(rule), len(limits)
    ('least node-hours', 1)
    """
    from rheostat.decision.decide import CONFIDENCE

    wanted = o.names(objectives)
    spent = next((q for q in ("energy_j", "node_hours", "power_w") if q in wanted), "runtime_s")
    chosen_by, limits = o.rules(rule or f"weighted={spent}:1", within, "requested")
    per_cent = SLOWER if slowdown is None and not rule else slowdown
    if per_cent is None:
        return chosen_by, limits
    return chosen_by, (
        *limits,
        *o.rules("knee", [f"slowdown={1 + per_cent / 100:g}@{CONFIDENCE}"], "requested")[1],
    )


def advice_kind(kind: str, log: JobTable, saved: Path | None) -> str:
    """The method for advice: of a log, "auto" compares settings within applications."""
    alike = {"app", "user"} & set(log.columns)
    logged = "submit_s" in log.columns and bool(alike)
    return "within" if kind == "auto" and logged and saved is None else kind


def can_answer(learner: Any, log: JobTable, knobs: tuple[str, ...]) -> dict[str, Any]:
    """What the log identifies, told before any advice; a log that cannot answer is infeasible."""
    from dataclasses import asdict

    from rheostat.cli.output import tell
    from rheostat.decision.evidence import variation
    from rheostat.decision.placebo import placebos
    from rheostat.errors import Infeasible
    from rheostat.explanation.identification import (
        identification_facts,
        identification_words,
        placebo_words,
    )

    identification = getattr(learner, "identification_", None)
    if identification is None:
        return {}
    varied = [v for k in knobs if (v := variation(log, k)) is not None]
    designed = identification.by == "design"
    tests = [] if designed else [p for k in knobs for p in placebos(log, k)]
    said = (*identification_words(identification), *(v.words() for v in varied))
    words = " ".join(("Can this log answer?", *said, *(() if designed else placebo_words(tests))))
    if not identification.answers:
        raise Infeasible(words, -1)
    tell(words)
    facts = {
        "variation": [asdict(v) for v in varied],
        "placebos": [{**asdict(p), "passes": p.passes} for p in tests],
    }
    return {"identification": {**identification_facts(identification), **facts}}
