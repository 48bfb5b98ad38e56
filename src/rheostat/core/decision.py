"""`Decision`: what to do, job by job, and because of what - as data, not prose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Because:
    """Why a setting was taken: the rule, the numbers it looked at, what came second.

    ``numbers`` maps a quantity of the chosen setting to (mean, low, high); ``runner_up`` is the
    setting the rule would have taken next, ``compared`` the chosen over the runner-up, as ratios;
    ``evidence`` is what the forecast rests on, a word of `core.outcome.GRADES`; ``try_next`` is a
    setting expected to be better than what was measured, but not surely so.  ``judged`` are the
    quantities that the rule compares, ``next_rows`` rows of the front that it would take next.
    """

    rule: str
    numbers: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    limits: tuple[str, ...] = ()
    runner_up: Mapping[str, Any] | None = None
    compared: Mapping[str, float] = field(default_factory=dict)
    support: float | None = None
    evidence: str | None = None
    try_next: Mapping[str, Any] | None = None
    judged: tuple[str, ...] = ()
    next_rows: tuple[int, ...] = ()


@dataclass(frozen=True)
class Assignment:
    """A job gets a setting; ``index`` is the row of the front it was chosen from."""

    job: int | str | None
    setting: Mapping[str, Any]
    because: Because
    index: int = -1


@dataclass(frozen=True)
class Decision:
    """Assignments made together."""

    assignments: tuple[Assignment, ...] = ()

    def __len__(self) -> int:
        return len(self.assignments)
