"""Options of advice from a log, and what stands before it: can this log answer?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.core.jobs import JobTable
    from rheostat.core.report import Report

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
    from dataclasses import replace

    from rheostat.decision.decide import CONFIDENCE
    from rheostat.tradeoff.limits import MaxSlowdown
    from rheostat.tradeoff.rules import Weighted

    wanted = o.names(objectives)
    spent = next((q for q in ("energy_j", "node_hours", "power_w") if q in wanted), "runtime_s")
    chosen_by, limits = o.rules(rule or f"weighted={spent}:1", within, "requested")
    per_cent = SLOWER if slowdown is None and not rule else slowdown
    if per_cent is None:
        return chosen_by, limits
    slower = MaxSlowdown(1 + per_cent / 100, "requested", CONFIDENCE)
    if isinstance(chosen_by, Weighted):
        chosen_by = replace(chosen_by, counted=slower)
    return chosen_by, (*limits, slower)


def advice_kind(kind: str, log: JobTable, saved: Path | None) -> str:
    """The method for advice: of a log, "auto" compares settings within applications."""
    return "within" if kind == "auto" and _is_log(log) and saved is None else kind


@dataclass(frozen=True)
class LogAnswer:
    """Can this log answer?  In ``sentences``, and as data for ``--json``."""

    answers: bool = True
    sentences: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    def above(self, report: Report) -> Report:
        """The report, for a page, with the answer as its first section."""
        from dataclasses import replace

        from rheostat.core.report import Section

        if not self.sentences:
            return report
        asked = Section("can this log answer?", self.sentences)
        return replace(report, sections=[asked, *report.sections])


def can_answer(
    learner: Any, log: JobTable, knobs: tuple[str, ...], schema: str, *, json: bool
) -> LogAnswer:
    """What the log identifies, told before any advice; a log that cannot answer is infeasible."""
    from rheostat.cli.output import put_json, tell
    from rheostat.errors import Infeasible

    answer = _answer(learner, log, knobs)
    words = " ".join(("Can this log answer?", *answer.sentences))
    if not answer.answers:
        if json:
            put_json(schema, answer.facts)
        raise Infeasible(words, -1)
    if answer.sentences:
        tell(words)
    return answer


def _answer(learner: Any, log: JobTable, knobs: tuple[str, ...]) -> LogAnswer:
    from dataclasses import asdict

    from rheostat.decision.evidence import variation
    from rheostat.decision.placebo import placebos
    from rheostat.decision.trial_size import trial_for
    from rheostat.explanation.identification import (
        identification_facts,
        identification_words,
        placebo_words,
        trial_words,
    )

    identification = getattr(learner, "identification_", None)
    if identification is None and not _is_log(log):
        return LogAnswer()
    varied = [v for k in knobs if (v := variation(log, k)) is not None]
    designed = identification is not None and identification.by == "design"
    tests = [] if designed else [p for k in knobs for p in placebos(log, k)]
    answers = identification is None or identification.answers
    needed = None if answers else trial_for(log, knobs[0])
    said = (
        *(NOT_ASKED if identification is None else identification_words(identification)),
        *(() if needed is None else trial_words(needed)),
        *(v.words() for v in varied),
        *(() if designed else placebo_words(tests)),
    )
    facts = {
        **({} if identification is None else identification_facts(identification)),
        "variation": [asdict(v) for v in varied],
        "placebos": [{**asdict(p), "passes": p.passes} for p in tests],
        "trial": None if needed is None else asdict(needed),
        "sentences": list(said),
    }
    return LogAnswer(answers, said, {"identification": facts})


NOT_ASKED = (
    "The model that was named takes the settings of a log as if chance had chosen them: users had "
    "reasons.",
)


def _is_log(jobs: JobTable) -> bool:
    """Whether users chose the settings: a table without submission times holds measured runs."""
    return "submit_s" in jobs.columns and bool({"app", "user"} & set(jobs.columns))
