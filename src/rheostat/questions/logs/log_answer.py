"""Can this log answer?  What a log of a site tells about its settings, and what would change that.

The same judgement stands before all advice: commands ask it of the model that is to advise, and a
summary of a log of the model that would.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from rheostat.core.jobs import JobTable
from rheostat.core.report import Report, Section
from rheostat.decision.evidence import variation
from rheostat.decision.placebo import placebos, untested
from rheostat.decision.trials.trial_size import TrialSize, trial_for
from rheostat.errors import RheostatError
from rheostat.explanation.identification import (
    doubted_words,
    identification_facts,
    identification_words,
    placebo_words,
    trial_words,
)
from rheostat.questions.logs.scheduler_words import scheduler_of

if TYPE_CHECKING:
    from rheostat.decision.placebo import Placebo
    from rheostat.prediction.effects.identification import Identification

NOT_ASKED = (
    "The model that was named takes the settings of a log as if chance had chosen them: users had "
    "reasons.",
)
PLAN = "rheostat trial plan"
BY_CHOICE = ("size", "repeats")
"""Sources of an answer where users chose the settings, and may have had reasons."""
MOST_JOBS = 20_000
"""The newest so many jobs are asked in a summary; a site does not change its habits weekly."""


@dataclass(frozen=True)
class LogAnswer:
    """Can this log answer?  In ``sentences``, as data for ``--json``, with the trial it needs."""

    answers: bool = True
    sentences: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    trial: TrialSize | None = None

    def above(self, report: Report) -> Report:
        """The report, for a page, with what the log can tell behind the answer, else first."""
        from dataclasses import replace

        if not self.sentences:
            return report
        asked = Section("can this log answer?", self.sentences)
        answer, *rest = [*report.sections] or [asked]
        return replace(report, sections=[answer, asked, *rest] if report.sections else [asked])


def log_answer(learner: Any, log: JobTable, knobs: Sequence[str]) -> LogAnswer:
    """What ``log`` identifies of the effect of ``knobs``, by a fitted model's own account.

    A table of measured runs is not asked.
    """
    identification = getattr(learner, "identification_", None)
    if identification is None and not is_log(log):
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
        *_placebo_said(learner, identification, log, knobs[0], tests),
    )
    facts = {
        **({} if identification is None else identification_facts(identification)),
        "variation": [asdict(v) for v in varied],
        "doubted_applications": dict(getattr(learner, "doubted_", {})),
        "placebos": [{**asdict(p), "passes": p.passes} for p in tests],
        "trial": None if needed is None else asdict(needed),
        "sentences": list(said),
    }
    return LogAnswer(answers, said, {"identification": facts}, needed)


def _placebo_said(
    learner: Any,
    tells: Identification | None,
    log: JobTable,
    knob: str,
    tests: Sequence[Placebo],
) -> tuple[str, ...]:
    """By application where advice rests on what users chose; chance and design need none."""
    if tells is None or not tells.answers:
        return placebo_words(tests, "" if tests else untested(log, knob))
    if tells.by in BY_CHOICE:
        return doubted_words(knob, learner.doubted_, len(learner.coding_.apps))
    return ()


def asked_of(jobs: JobTable, knob: str = "nodes", seed: int = 0) -> LogAnswer:
    """What a log tells about ``knob``, by the method that would advise; never an error.

    The newest `MOST_JOBS` jobs are asked.  Where the method cannot learn from the log at all, the
    sentences say why.
    """
    from rheostat.decision.backtest import end_s
    from rheostat.recipes.nodecount import model, prepared

    log = prepared(jobs)
    if knob not in log.columns or not log.frame[knob].count():
        received = f"{knob}_alloc" in log.columns
        why = f"only {knob} received" if received else f"no {knob}"
        return LogAnswer(False, (f"No: the log has {why}, not those asked for.",))
    try:
        if len(log) > MOST_JOBS:
            log = log.rows(end_s(log).argsort(kind="stable")[-MOST_JOBS:])
        learner = model("within", log, knobs=(knob,), seed=seed).fit(log)
        return log_answer(learner, log, (knob,))
    except RheostatError as error:
        return LogAnswer(False, (f"No: nothing can be learned from it: {error}.",))


def remedy(answer: LogAnswer, jobs: JobTable, file: str = "FILE") -> str:
    """The one thing that would make the log answer; "" where it does."""
    if answer.answers:
        return ""
    counted = "nodes" in jobs.columns and jobs.frame["nodes"].count()
    if lacking := lacks(jobs) or ([] if counted else ["the nodes that jobs ask for"]):
        return scheduler_of(jobs).recorded(lacking)
    memory = "memory_b" in jobs.columns and jobs.frame["memory_b"].count()
    needed = answer.trial
    if not memory:
        trial = f" Else a trial of {needed.needed:,} jobs." if needed is not None else ""
        return (
            f"Record the memory that jobs ask for ({scheduler_of(jobs).memory}): it tells the size "
            f"of the problem.{trial}"
        )
    if needed is None:
        return f"Run a small trial: {PLAN} {file}."
    if not needed.expected:
        return f"Run a trial of {needed.needed:,} jobs; a larger log names them: {PLAN} FILE."
    few = needed.expected < needed.needed
    often = f", {needed.needed / needed.expected:.1f} logs like this one" if few else ""
    return (
        f"Run a trial of {needed.needed:,} jobs{often}: {PLAN} {file} --share 0.05 "
        f"names {needed.expected:,} of as many jobs as these, to run at another setting."
    )


def is_log(jobs: JobTable) -> bool:
    """Whether users chose the settings: a table without submission times holds measured runs."""
    return not lacks(jobs)


def lacks(jobs: JobTable) -> list[str]:
    """What a log of jobs has and this table has not.

    >>> from rheostat import table
    >>> lacks(table({"submit_s": [0.0], "nodes": [2]}))
    ['applications or users']
    """
    times = [] if "submit_s" in jobs.columns else ["submission times"]
    who = [] if {"app", "user"} & set(jobs.columns) else ["applications or users"]
    return [*times, *who]
