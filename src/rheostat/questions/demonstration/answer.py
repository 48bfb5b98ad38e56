"""`demo`: the whole job in one go, offline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from rheostat.core.report import Report
from rheostat.questions import listener
from rheostat.questions.answer import Answer
from rheostat.questions.demonstration.demo import Demo, demonstrate
from rheostat.questions.demonstration.demo_report import complete, facts, short
from rheostat.questions.listener import question


@dataclass(frozen=True, kw_only=True, repr=False)
class DemoAnswer(Answer):
    """What the main job says of a generated log, beside the truth.

    Parameters
    ----------
    demo : Demo
        The log, the model, the front, the choice, and the truth.
    """

    schema: ClassVar[str] = "rheostat.demo/1"
    demo: Demo

    def report(self) -> Report:
        """What a terminal shows."""
        return short(self.demo)

    def page_report(self) -> Report:
        """The same with calibration and all recent jobs."""
        return complete(self.demo)

    def facts(self) -> Mapping[str, Any]:
        """The choice beside the truth."""
        return facts(self.demo)


@question
def demo(seed: int = 0, *, jobs: int = 2000, method: str = "auto") -> DemoAnswer:
    """Show the main job on a generated log whose truth is known.

    Parameters
    ----------
    seed : int
        Of the log and of all that draws.
    jobs : int
        How many are generated.
    method : str
        auto, law, forest, boosting, xgboost or lightgbm.

    Returns
    -------
    DemoAnswer
        With ``demo``.
    """
    with listener.working("generating a log, learning from it, choosing"):
        return DemoAnswer(demo=demonstrate(seed, jobs, method))
