"""`explain`: what a front, a choice, an advice or a model says, in plain words and numbers.

A `Narrative` is a `Report` that prints itself: text on a terminal, HTML in a notebook.  Every
sentence is made from the value explained; nothing is said that the data does not say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rheostat.core.decision import Assignment, Decision
from rheostat.core.front import Front
from rheostat.core.jobs import JobTable
from rheostat.core.report import Report
from rheostat.errors import DataError


@dataclass(frozen=True)
class Narrative(Report):
    """A report that knows how to print itself.

    Parameters
    ----------
    title : str
        Heading.
    sections : sequence of Section
        Sentences, tables and charts in reading order.
    facts : mapping
        The same as data.
    next_commands : tuple of str
        What to run next.
    """

    def __str__(self) -> str:
        from rheostat.explanation.text import render

        return render(self)

    def _repr_html_(self) -> str:
        from rheostat.explanation.html import page

        return page(self)


def explain(
    thing: Any,
    *,
    front: Front | None = None,
    job: JobTable | None = None,
    requested: Mapping[str, Any] | None = None,
) -> Narrative:
    """Say what ``thing`` says: a `Front`, an `Assignment`, an `Advice`, a back-test, importances.

    Parameters
    ----------
    thing : object
        What to explain.
    front : Front, optional
        With an `Assignment`: the front it was chosen from, to name what was given up.
    job : JobTable, optional
        The job's row; its knob values are what was asked for.
    requested : mapping, optional
        The setting asked for, where it is not in ``job``.

    Returns
    -------
    Narrative
        Prints itself as text, shows itself in a notebook, and has ``facts``.

    Raises
    ------
    DataError
        Nothing is known about such an object.

    Examples
    --------
    >>> import numpy as np
    >>> from rheostat import Knee, Outcome, table
    >>> n = np.array([1.0, 2.0, 4.0, 8.0])
    >>> draws = {"runtime_s": (100 + 900 / n)[None], "power_w": (100 * n)[None]}
    >>> front = Front(table({"nodes": [1, 2, 4, 8]}), Outcome(draws), ("runtime_s", "energy_j"))
    >>> said = explain(front.choose(Knee()), front=front, requested={"nodes": 8})
    >>> print(said.sections[0].sentences[0])
    4 nodes instead of the 8 nodes asked for: 24 % less energy for 53 % more time.
    """
    from rheostat.decision.backtest import Backtest
    from rheostat.decision.decide import Advice
    from rheostat.explanation import advice, choice, models

    if isinstance(thing, Front):
        sections, facts = choice.explain_front(thing, None, choice.asked(thing, job, requested))
        return Narrative("", sections, facts)
    if isinstance(thing, Assignment):
        sections, facts = choice.explain_choice(thing, front, job, requested)
        return Narrative("", sections, facts)
    if isinstance(thing, Decision):
        return Narrative("", *choice.explain_decision(thing))
    if isinstance(thing, Advice):
        return Narrative("", *advice.explain_advice(thing))
    if isinstance(thing, Backtest):
        return Narrative("", *advice.explain_backtest(thing))
    told = models.explain_model_fact(thing)
    if told is None:
        raise DataError("explain", [f"nothing is known about a {type(thing).__name__}"])
    return Narrative("", *told)
