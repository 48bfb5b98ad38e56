"""What stands before all advice for jobs: default rule and limits, and "can this log answer?"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from rheostat.core.front import Constraint, Rule
from rheostat.core.jobs import JobTable
from rheostat.core.report import Report
from rheostat.decision.decide import CONFIDENCE
from rheostat.errors import Infeasible
from rheostat.questions import listener
from rheostat.questions.answer import Answer
from rheostat.questions.logs.log_answer import LogAnswer, is_log, log_answer
from rheostat.questions.parse import Names, parse_objectives, parse_rules
from rheostat.tradeoff.limits import MaxSlowdown
from rheostat.tradeoff.rules import Weighted

SLOWER = 10.0
"""Per cent that a job may be slower where no rule is given."""
SPENT = ("energy_j", "node_hours", "power_w")


def advice_rules(
    rule: str | Rule | None,
    slowdown: float | None,
    limits: Iterable[str | Constraint] | None,
    objectives: Names,
) -> tuple[Any, tuple[Any, ...]]:
    """Rule and limits of advice for jobs; slowdowns refer to what each job asked for.

    >>> rule, limits = advice_rules("", None, None, "runtime_s,node_hours")
    >>> str(rule), len(limits)
    ('least node-hours', 2)
    """
    wanted = parse_objectives(objectives)
    spent = next((q for q in SPENT if q in wanted), "runtime_s")
    chosen_by, held = parse_rules(rule or f"weighted={spent}:1", limits, "requested")
    per_cent = SLOWER if slowdown is None and not rule else slowdown
    if per_cent is None:
        return chosen_by, held
    slower = MaxSlowdown(1 + per_cent / 100, "requested", CONFIDENCE)
    if not isinstance(chosen_by, Weighted):
        return chosen_by, (*held, slower)
    saved = (MaxSlowdown(1, "requested", CONFIDENCE, q) for q in chosen_by.weights)
    saving = tuple(saved) if len(chosen_by.weights) == 1 else ()
    return replace(chosen_by, counted=slower), (*held, slower, *saving)


def advice_method(method: str, log: JobTable, model: Any) -> str:
    """The method for advice: of a log, "auto" compares settings within applications."""
    return "within" if method == "auto" and is_log(log) and model is None else method


@dataclass(frozen=True, kw_only=True, repr=False)
class LogAdvice(Answer):
    """An answer that rests on a log, with what the log can tell.

    Parameters
    ----------
    log : LogAnswer
        Whether the log tells what a setting does, from what, and what would change that.
    """

    log: LogAnswer = field(default_factory=LogAnswer)

    def page_report(self) -> Report:
        """The report below what the log can tell."""
        return self.with_notes(self.log.above(self.report()))


@dataclass(frozen=True, kw_only=True, repr=False)
class NoAdvice(LogAdvice):
    """What a log said that cannot answer; ``asked`` is the name of the question's document."""

    schema: ClassVar[str] = ""
    asked: str = ""

    def report(self) -> Report:
        """Nothing: the error says it."""
        return Report("", [])

    def facts(self) -> dict[str, Any]:
        """What the log identifies."""
        return dict(self.log.facts)

    def to_dict(self) -> dict[str, Any]:
        """The document of the question that was asked."""
        return {**super().to_dict(), "schema": self.asked}


def can_answer(learner: Any, log: JobTable, knobs: Sequence[str], asked: str) -> LogAnswer:
    """What the log identifies, said before any advice.

    Raises
    ------
    Infeasible
        The log cannot answer; ``answer`` of the error holds why.
    """
    answer = log_answer(learner, log, knobs)
    words = " ".join(("Can this log answer?", *answer.sentences))
    if not answer.answers:
        raise Infeasible(words, -1, NoAdvice(log=answer, asked=asked))
    if answer.sentences:
        listener.line(words)
    return answer
