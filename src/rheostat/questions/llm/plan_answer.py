"""What `llm.plan` answers: the front, the choice, and what simple rules would take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from rheostat.core.decision import Assignment
from rheostat.core.front import Front
from rheostat.core.jobs import JobTable
from rheostat.core.report import Grid, Report, Section
from rheostat.core.space import Setting
from rheostat.decision.serving.engine_line import engine_line
from rheostat.explanation.choices.choice import explain_choice
from rheostat.explanation.choices.front import explain_front, front_table
from rheostat.prediction.accelerators import Accelerator, stating
from rheostat.prediction.serving_law import ServingLaw
from rheostat.prediction.serving_law.equation import as_text
from rheostat.questions import listener
from rheostat.questions.answer import Answer
from rheostat.questions.llm.runs import Medians
from rheostat.questions.llm.serving_accuracy import calibration_sections

ENERGY = "energy_per_token_j"
WORDS = {ENERGY: "energy", "cost_per_mtoken": "cost", "carbon_g_per_mtoken": "carbon"}


@dataclass(frozen=True, kw_only=True, repr=False)
class PlanAnswer(Answer):
    """Configurations to serve a model with.

    Parameters
    ----------
    app : str
        The language model.
    engine : str
        Whose command line starts it.
    law : ServingLaw
        Fitted to the runs.
    front : Front
        Of all configurations, measured or predicted.
    choice : Assignment or None
        None where nothing holds the limits.
    simple : mapping of str to int
        Rows of the front that simple rules would take.
    aim : str
        What is minimised.
    nearest : int
        The row that misses the limits least, where nothing holds them; else -1.
    runs : JobTable
        What the law learned from.
    kernels : mapping or None
        Its prior by type of GPU, where kernel tables were given.
    gpus : mapping
        Types of GPU that were stated.
    """

    schema: ClassVar[str] = "rheostat.llm-plan/1"
    app: str
    engine: str = "vllm"
    law: ServingLaw
    front: Front
    choice: Assignment | None = None
    simple: Mapping[str, int] = field(default_factory=dict)
    aim: str = ENERGY
    nearest: int = -1
    runs: JobTable
    kernels: Medians | None = None
    gpus: Mapping[str, Accelerator] = field(default_factory=dict)

    @property
    def setting(self) -> Setting:
        """The configuration to take; where nothing holds the limits, the one nearest to them."""
        return self.front.setting(self.nearest if self.choice is None else self.choice.index)

    @property
    def engine_line(self) -> str:
        """The command that serves the model so; empty where nothing holds the limits."""
        return "" if self.choice is None else engine_line(self.app, self.setting, self.engine)

    def report(self) -> Report:
        """The front, the reasons, what simple rules would take, and how to start it."""
        return Report("", *self._content(), tuple(filter(None, [self.engine_line])))

    def page_report(self) -> Report:
        """The same with the law, and how far it is from runs that it did not learn from."""
        sections, facts = self._content()
        with stating(self.gpus), listener.working("predicting runs by laws that did not see them"):
            checks, checked = calibration_sections(self.runs, self.kernels)
        facts |= {"accuracy": checked} if checked else {}
        return Report(
            "", [*sections, Section("The law", listing=as_text(self.law)), *checks], facts
        )

    def pictures(self) -> Report:
        """The front alone."""
        return self.report()

    def facts(self) -> dict[str, Any]:
        """The front, the choice, and what simple rules would take and cost more."""
        return self._content()[1]

    def grids(self) -> tuple[Grid, ...]:
        """A row a configuration."""
        return (front_table(self.front, self._row, None),)

    def beside(self) -> tuple[str, ...]:
        """The choice, and what simple rules would take."""
        if self.choice is None:
            return ()
        return (explain_choice(self.choice, self.front)[0][0].sentences[0], *self._regrets(),
                f"to start it: {self.engine_line}")  # fmt: skip

    @property
    def _row(self) -> int | None:
        return None if self.choice is None else self.choice.index

    def _content(self) -> tuple[list[Section], dict[str, Any]]:
        """Sections and facts."""
        sections, facts = explain_front(self.front, self._row, None)
        facts |= {"feasible": self.choice is not None, "choice": None, "simple_rules": {}}
        facts["engine_line"] = self.engine_line or None
        facts["notes"] = [n.message for n in self.front.outcome.notes]
        if self.choice is not None:
            reasons, chosen = explain_choice(self.choice, self.front)
            sections, facts = [*sections, *reasons], facts | chosen
            facts |= {"minimised": self.aim, "simple_rules": self._rules()}
            sections.append(Section("What simple rules would take", self._regrets()))
        elif self.nearest >= 0:
            facts["nearest"] = self.front.setting(self.nearest)
        return sections, facts

    def _rules(self) -> dict[str, dict[str, Any]]:
        energy, value = self.front.mean(ENERGY), self.front.mean(self.aim)
        return {
            name: {"setting": self.front.setting(i),
                   "energy_ratio": float(energy[i] / energy[self._row]),
                   "ratio": float(value[i] / value[self._row])}
            for name, i in self.simple.items()
        }  # fmt: skip

    def _regrets(self) -> tuple[str, ...]:
        """What each simple rule takes, and how much more that costs."""
        return tuple(
            f"{name}: " + ", ".join(f"{k}={v}" for k, v in rule["setting"].items())
            + f": {100 * (rule['ratio'] - 1):+.1f} % {WORDS[self.aim]} per token"
            for name, rule in self._rules().items()
        )  # fmt: skip
