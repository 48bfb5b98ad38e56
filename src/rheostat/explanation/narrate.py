"""`explain`: what a front, a plan, an advice or a model says, in plain words and numbers.

A `Narrative` is a `Report` that prints itself: text on a terminal, HTML in a notebook.  Every
sentence is made from the value explained; nothing is said that the data does not say.

What can be explained stands in `explanation.explainer_table`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rheostat.core.front import Front
from rheostat.core.jobs import JobTable
from rheostat.core.report import Report
from rheostat.errors import DataError
from rheostat.explanation import explainers  # noqa: F401 - fills the table
from rheostat.explanation.explainer_table import EXPLAINERS, Context, Things, explainer_of


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
        from rheostat.explanation.formats.text import render

        return render(self)

    def _repr_html_(self) -> str:
        from rheostat.explanation.formats.html import page

        return page(self)


def explain(
    thing: Any,
    *,
    front: Front | None = None,
    job: JobTable | None = None,
    requested: Mapping[str, Any] | None = None,
) -> Narrative:
    """Say what ``thing`` says, whatever a function of rheostat returned it.

    Parameters
    ----------
    thing : object, or list of objects of one class
        A front or search result, a choice, an advice, a back-test, a comparison, a trial, a plan of
        a budget, caps or a shared node, a schedule, a tree or learned order, importances, a counter
        model.
    front : Front, optional
        With a choice: the front it was chosen from, to name what was given up.
    job : JobTable, optional
        The job's row; its knob values are what was asked for.  With a counter model: runs.
    requested : mapping, optional
        The setting asked for, where it is not in ``job``.

    Returns
    -------
    Narrative
        Sections of sentences, tables and pictures; ``facts`` is the same as data.

    Raises
    ------
    DataError
        If this cannot be explained; the message lists what can.

    Examples
    --------
    >>> import numpy as np
    >>> from rheostat import Front, Knee, Outcome, table
    >>> n = np.array([1.0, 2.0, 4.0, 8.0])
    >>> draws = {"runtime_s": (100 + 900 / n)[None], "power_w": (100 * n)[None]}
    >>> front = Front(table({"nodes": [1, 2, 4, 8]}), Outcome(draws), ("runtime_s", "energy_j"))
    >>> said = explain(front.choose(Knee()), front=front, requested={"nodes": 8})
    >>> print(said.sections[0].sentences[0])
    4 nodes instead of the 8 nodes asked for: 24 % less energy for 53 % more time.
    """
    things = list(thing) if isinstance(thing, (list, tuple)) else [thing]
    kinds = {explainer_of(type(t)) for t in things}
    explainer = kinds.pop() if len(kinds) == 1 else None
    if explainer is None:
        raise DataError("explain", [_expected(things)])
    report = explainer.explain(things, Context(front, job, requested))
    return Narrative(report.title, report.sections, report.facts, report.next_commands)


def _expected(things: Things) -> str:
    names = sorted({type(t).__name__ for t in things}) or ["an empty list"]
    known = "; ".join(sorted(e.words for e in EXPLAINERS.values()))
    return f"expected one of these, or several of one of them: {known}. Got {', '.join(names)}"
