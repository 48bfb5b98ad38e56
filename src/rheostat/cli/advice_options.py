"""Options of advice from a log, and what stands before it: can this log answer?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.core.jobs import JobTable
    from rheostat.recipes.log_answer import LogAnswer

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
    ('least node-hours', 2)
    """
    from dataclasses import replace

    from rheostat.decision.decide import CONFIDENCE
    from rheostat.tradeoff.limits import MaxSlowdown
    from rheostat.tradeoff.rules import Weighted

    wanted = o.quantities(objectives)
    spent = next((q for q in ("energy_j", "node_hours", "power_w") if q in wanted), "runtime_s")
    chosen_by, limits = o.rules(rule or f"weighted={spent}:1", within, "requested")
    per_cent = SLOWER if slowdown is None and not rule else slowdown
    if per_cent is None:
        return chosen_by, limits
    slower = MaxSlowdown(1 + per_cent / 100, "requested", CONFIDENCE)
    if not isinstance(chosen_by, Weighted):
        return chosen_by, (*limits, slower)
    saved = (MaxSlowdown(1, "requested", CONFIDENCE, q) for q in chosen_by.weights)
    saving = tuple(saved) if len(chosen_by.weights) == 1 else ()
    return replace(chosen_by, counted=slower), (*limits, slower, *saving)


def advice_kind(kind: str, log: JobTable, saved: Path | None) -> str:
    """The method for advice: of a log, "auto" compares settings within applications."""
    from rheostat.recipes.log_answer import is_log

    return "within" if kind == "auto" and is_log(log) and saved is None else kind


def can_answer(
    learner: Any, log: JobTable, knobs: tuple[str, ...], schema: str, *, json: bool
) -> LogAnswer:
    """What the log identifies, told before any advice; a log that cannot answer is infeasible."""
    from rheostat.cli.output import put_json, tell
    from rheostat.errors import Infeasible
    from rheostat.recipes.log_answer import log_answer

    answer = log_answer(learner, log, knobs)
    words = " ".join(("Can this log answer?", *answer.sentences))
    if not answer.answers:
        if json:
            put_json(schema, answer.facts)
        raise Infeasible(words, -1)
    if answer.sentences:
        tell(words)
    return answer
