"""What `llm.plan` answers: the front, the choice, and what simple rules would take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from rheostat.core.decision import Assignment
from rheostat.core.front import Front
from rheostat.core.jobs import JobTable
from rheostat.core.report import Grid, Report, Section
from rheostat.core.space import Setting
from rheostat.decision.serving.engine_line import engine_line
from rheostat.explanation.choices.choice import explain_choice, nearest_section, price_words
from rheostat.explanation.choices.front import explain_front, front_table
from rheostat.explanation.interval_words import interval_words
from rheostat.explanation.number_words import spanned
from rheostat.prediction.accelerators import Accelerator, stating
from rheostat.prediction.serving_law import ServingLaw
from rheostat.prediction.serving_law.equation import as_text
from rheostat.prediction.serving_law.measured_rows import QUANTITIES
from rheostat.questions import listener
from rheostat.questions.answer import Answer
from rheostat.questions.llm.runs import Medians
from rheostat.questions.llm.serving_accuracy import calibration_sections
from rheostat.questions.llm.serving_limits import TTFT
from rheostat.recipes.energylens import PRECISION

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
        return "" if self.choice is None else engine_line(self.app, self.started, self.engine)

    @property
    def started(self) -> Setting:
        """The setting; with the precision of all runs where an engine does not see it in a name."""
        columns = self.front.alternatives.frame
        named = PRECISION in self.setting or "fp8" in self.app.lower()
        alone = "" if named or PRECISION not in columns else str(columns[PRECISION][0]).lower()
        return {**self.setting, PRECISION: alone} if alone == "fp8" else self.setting

    def report(self) -> Report:
        """The choice, the reasons, what simple rules would take, how to start it, and the front."""
        return Report("", *self._content())

    def page_report(self) -> Report:
        """The same with all settings, the law, and how far it is from runs that it did not see."""
        sections, facts = self._content()
        with stating(self.gpus), listener.working("predicting runs by laws that did not see them"):
            checks, checked = calibration_sections(self.runs, self.kernels)
        facts |= {"accuracy": checked} if checked else {}
        law = Section("The law", listing=as_text(self.law))
        return Report("", [*sections, law, *checks], facts)

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
        return (self._answer(self.choice), *self._regrets(), *interval_words(self.law),
                f"to start it: {self.engine_line}")  # fmt: skip

    def _answer(self, choice: Assignment) -> str:
        """What to take, what it costs, and how sure that is."""
        taken = explain_choice(choice, self.front)[0][0].sentences[0].rstrip(".")
        return f"{taken}{self._first_token(choice.index)}; {self._sureness(choice)}."

    def _first_token(self, row: int) -> str:
        """The time to the first token, where a plan knows the prompts."""
        if TTFT not in self.front.outcome:
            return ""
        mean, (low, high) = self.front.mean(TTFT), self.front.interval(TTFT)
        said = spanned(float(mean[row]), float(low[row]), float(high[row]), "s")
        return f", the first token after {said} by the law"

    def _sureness(self, choice: Assignment) -> str:
        """What the figures of the choice rest on."""
        runs = round(choice.because.support or 0)
        if choice.because.evidence == "measured":
            return f"measured in {runs} run{'s' * (runs != 1)}"
        evidence = self.law.evidence_
        held = np.nan if evidence is None else evidence.held[QUANTITIES.index(ENERGY), 1]
        known = f", which hold {100 * held:.0f} % of runs left out" if np.isfinite(held) else ""
        return f"predicted, with 90 % intervals{known}"

    @property
    def _row(self) -> int | None:
        return None if self.choice is None else self.choice.index

    def _content(self) -> tuple[list[Section], dict[str, Any]]:
        """Sections and facts."""
        rules = self.simple.values()
        front, facts = explain_front(self.front, self._row, None, rules, self.aim)
        facts |= {"feasible": self.choice is not None, "choice": None, "simple_rules": {}}
        facts["engine_line"] = self.engine_line or None
        facts["notes"] = [n.message for n in self.front.outcome.notes]
        if self.choice is not None:
            (_, why), chosen = explain_choice(self.choice, self.front)
            facts |= {**chosen, "minimised": self.aim, "simple_rules": self._rules()}
            why = replace(why, sentences=(*why.sentences[:-1], *interval_words(self.law)))
            price = price_words(self.front, self.choice.index)
            return [Section("answer", (self._answer(self.choice), *price)), why,
                    Section("What simple rules would take", self._regrets()),
                    Section("to start it", listing=self.engine_line), *front], facts  # fmt: skip
        if self.nearest >= 0:
            facts["nearest"] = self.front.setting(self.nearest)
            front = [nearest_section(self.front, facts["nearest"]), *front]
        return front, facts

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
            f"{name}: " + ", ".join(f"{k}={_plain(v)}" for k, v in rule["setting"].items())
            + f": {100 * (rule['ratio'] - 1):+.1f} % {WORDS[self.aim]} per token"
            for name, rule in self._rules().items()
        )  # fmt: skip


def _plain(value: Any) -> Any:
    """A whole number without a point."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
