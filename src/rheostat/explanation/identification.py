"""Can this log answer?  What tells the effect of a setting from the reasons why it was chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import exp
from typing import TYPE_CHECKING, Any

from rheostat.core.units import plain_name
from rheostat.prediction.effects.plausible import SMALL_CHANGE

if TYPE_CHECKING:
    from rheostat.decision.placebo import Placebo
    from rheostat.decision.trials.trial_size import TrialSize
    from rheostat.prediction.effects.identification import Identification

REMEDIES = (
    "Record the problem's size (memory asked for, the job script; a column that holds either is "
    "named by --column script=THEIRS or memory_b=THEIRS, MaxRSS of sacct, say), or run a small "
    "trial: `rheostat trial plan FILE` names jobs to run at another setting.",
)


def identification_words(log: Identification) -> tuple[str, ...]:
    """Sentences for a person who decides whether to believe the advice."""
    return (*_answer(log), *(f"{d[0].upper()}{d[1:]}." for d in log.doubts))


def _answer(log: Identification) -> tuple[str, ...]:
    by = log.by
    if by == "design":
        chosen = "the settings were chosen to be compared"
        return (f"Yes: {'chance drew the setting of every job' if log.drawn else chosen}.",)
    if log.conflict:
        return (f"No: a trial contradicts {log.conflict}. What chance showed counts more.",)
    if by == "trial":
        return (
            f"Yes: {log.turned} jobs of {log.turned_apps} application"
            f"{'s' * (log.turned_apps != 1)} ran at another setting "
            "than was asked for, drawn by chance.",
        )
    if by == "repeats":
        reason = (
            f"{log.repeats} problems ran at two or more settings, and what their runs at equal "
            f"settings differ by leaves the exponent of scaling open by {abs(log.misled):.2f}"
        )
        return (f"Yes: {reason}.",) if log.answers else (f"No: {reason}: too far.", *REMEDIES)
    if by == "size":
        share = 100 * log.reliability
        explained = f"{share:.0f} %" if share >= 1 else "less than 1 %"
        reason = (
            f"{', '.join(log.sizes)} may tell the size of a problem: it explains "
            f"{explained} of how runtime varies at equal requests, so the "
            f"exponent of scaling may be wrong by {abs(log.misled):.2f}"
        )
        return (f"In part: {reason}.",) if log.answers else (f"No: {reason}: too rough.", *REMEDIES)
    return (
        "No: larger problems on more nodes look exactly like a code that does not scale, and "
        "nothing in this log tells the two apart. If chance drew the setting of every job, say so "
        "in a column randomized that is 1.",
        *REMEDIES,
    )


def placebo_words(tests: Sequence[Placebo], lacking: str) -> tuple[str, ...]:
    """Sentences on what a setting tells of the run before, which it cannot cause.

    ``lacking`` is what the log lacks for a test.
    """
    failed = [t for t in tests if not t.passes]
    if not tests:
        return (f"No placebo test: {lacking}.",)
    if not failed:
        outcomes = " and ".join(plain_name(t.outcome) for t in tests)
        return (f"Placebo: {tests[0].knob} do not tell {outcomes} of the run before.",)
    return tuple(
        f"Placebo: {t.knob} tell {plain_name(t.outcome)} of the run before, which they cannot "
        f"cause (exponent {t.exponent:.2f} [{t.low:.2f}, {t.high:.2f}]): users had reasons that "
        "move both."
        for t in failed
    )


SHOWN = 5


def doubted_words(knob: str, exponents: Mapping[str, float], applications: int) -> tuple[str, ...]:
    """What the next setting tells of the run before, by application, and how far advice then goes.

    ``exponents`` are those of applications where it is more than chance.

    >>> doubted_words("nodes", {"cfd": 0.5}, 6)[0].split(": ", 1)[1]
    'in 1 of 6 applications nodes tell the runtime of the run before, which they cannot cause: cfd \
(exponent 0.50: no advice beyond a factor of 1.11).'
    """
    if not exponents:
        return (
            f"Placebo: in none of {applications} applications do {knob} tell the runtime of the "
            "run before by more than chance.",
        )
    said = [
        f"{app or 'all'} (exponent {e:.2f}: no advice beyond a factor of "
        f"{exp(SMALL_CHANGE / abs(e)):.2f})"
        for app, e in sorted(exponents.items(), key=lambda pair: -abs(pair[1]))
    ]
    more = f" and {len(said) - SHOWN} more" if len(said) > SHOWN else ""
    return (
        f"Placebo: in {len(said)} of {applications} applications {knob} tell the runtime of the "
        f"run before, which they cannot cause: {', '.join(said[:SHOWN])}{more}.",
    )


def trial_words(size: TrialSize) -> tuple[str, ...]:
    """How large that trial must be."""
    if not size.needed:
        return ()
    basis = "" if size.measured else " (if runtimes vary as usual)"
    return (
        f"A trial of {size.needed:,} jobs tells the exponent of runtime to "
        f"±{size.accuracy:g}{basis}; --share 0.05 of a log like this one is {size.expected:,}.",
    )


def identification_facts(log: Identification) -> dict[str, Any]:
    """The same as data."""
    facts = asdict(log)
    facts["reliability"] = log.reliability if log.sizes else None
    return {"by": log.by, "can_answer": log.answers, **facts}
