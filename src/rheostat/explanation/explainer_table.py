"""Who explains what: one table by the name of a class, so that nothing is imported unneeded.

`explanation.explainers` enters the floors below, `questions.explain` the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rheostat.core.front import Front
from rheostat.core.jobs import JobTable
from rheostat.core.report import Report


@dataclass(frozen=True)
class Context:
    """What may stand beside a thing: its front, the job's row or table, the setting asked for."""

    front: Front | None = None
    job: JobTable | None = None
    requested: Mapping[str, Any] | None = None


Things = Sequence[Any]
Explain = Callable[[Things, Context], Report]


@dataclass(frozen=True)
class Explainer:
    """How things of a class are explained; ``words`` say what they are."""

    words: str
    explain: Explain


EXPLAINERS: dict[str, Explainer] = {}
"""By module and name of the class."""


def explains(class_path: str, words: str) -> Callable[[Explain], Explain]:
    """Enter a function in the table.

    Parameters
    ----------
    class_path : str
        Module and name of a class below ``rheostat``.
    words : str
        What it is called in the list that an error prints.

    Returns
    -------
    callable
        Decorates a function of (things, context): a list of at least one thing of the class.
    """

    def enter(function: Explain) -> Explain:
        EXPLAINERS[f"rheostat.{class_path}"] = Explainer(words, function)
        return function

    return enter


def explainer_of(kind: type) -> Explainer | None:
    """How things of this class, or of one it inherits from, are explained."""
    names = (f"{c.__module__}.{c.__qualname__}" for c in kind.__mro__)
    return next((EXPLAINERS[name] for name in names if name in EXPLAINERS), None)
