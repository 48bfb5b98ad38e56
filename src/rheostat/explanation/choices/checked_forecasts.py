"""Words for how well forecasts did on jobs that the model had not seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rheostat.core.report import Chart, Report, Section
from rheostat.core.units import plain_name
from rheostat.decision.accuracy import Accuracy, accuracy_facts
from rheostat.explanation.number_words import share


def with_accuracy(report: Report, accuracy: Mapping[str, Accuracy], share_held: float) -> Report:
    """An advice's report with error and coverage on the newest jobs, which the method had not seen.

    Parameters
    ----------
    report : Report
        Of an `Advice`.
    accuracy : mapping
        Quantity to `Accuracy`.
    share_held : float
        Share of the log that was held back.

    Returns
    -------
    Report
    """
    said = [
        f"On the newest {share(share_held)} of jobs, learnt from the others, at what they ran at:"
    ]
    said += [accuracy_words(q, a) for q, a in accuracy.items()]
    section = Section("checked", tuple(said), None, calibration_chart(accuracy))
    facts = {**report.facts, "accuracy": accuracy_facts(accuracy)}
    first, *rest = report.sections
    first = replace(first, sentences=(*unheld_words(accuracy), *first.sentences))
    return replace(report, sections=[first, *rest, section], facts=facts)


def unheld_words(accuracy: Mapping[str, Accuracy]) -> tuple[str, ...]:
    """What stands before advice whose intervals did not hold on jobs that have run; else nothing.

    >>> unheld_words({"runtime_s": Accuracy(400, 0.4, 0.53, 0.9, ())})[0].partition(":")[0]
    'Do not follow this advice as it is'
    >>> unheld_words({"runtime_s": Accuracy(400, 0.4, 0.88, 0.9, ())})
    ()
    """
    short = {q: a for q, a in accuracy.items() if a.far_below}
    if not short:
        return ()
    held = ", ".join(
        f"{share(a.coverage)} of {a.rows:,} for {plain_name(q)}" for q, a in short.items()
    )
    level = share(next(iter(short.values())).level)
    return (
        f"Do not follow this advice as it is: on jobs that it had not seen, {level} intervals held "
        f"{held}. Intervals, confidence and the share over the limit are not promised for this log "
        "(one reason can be scripts used again for other inputs); a trial tells: "
        "rheostat trial plan FILE --share 0.05.",
    )


def accuracy_words(name: str, accuracy: Accuracy) -> str:
    """One quantity's error and coverage in a sentence.

    >>> accuracy_words("power_w", Accuracy(400, 0.023, 0.892, 0.9, ()))
    'power: half of 400 predictions within 2.3 %; 90 % intervals held 89.2 % of the truths.'
    """
    if not accuracy.rows:
        return f"{plain_name(name)}: nothing to check."
    return (
        f"{plain_name(name)}: half of {accuracy.rows:,} predictions within "
        f"{share(accuracy.error, 1)}; {share(accuracy.level)} intervals held "
        f"{share(accuracy.coverage, 1)} of the truths."
    )


def calibration_chart(accuracy: dict[str, Accuracy] | Any) -> Chart | None:
    """Nominal against observed coverage of intervals, one line per quantity."""
    series = tuple(
        {"name": plain_name(q), "x": [p[0] for p in a.curve], "y": [p[1] for p in a.curve]}
        for q, a in accuracy.items()
        if a.curve
    )
    return (
        Chart("calibration", series, ("nominal coverage", "observed coverage")) if series else None
    )
