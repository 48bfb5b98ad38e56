"""`llm.plan` at prices of GPUs alone where nothing was metered: measured rows, and no law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rheostat.core.decision import Assignment
from rheostat.core.front import Front, Objective
from rheostat.core.jobs import JobTable
from rheostat.core.outcome import GRADES, Outcome
from rheostat.core.report import Grid, Report, Section
from rheostat.core.space import Setting
from rheostat.errors import DataError, Infeasible
from rheostat.explanation.choices.choice import explain_choice, nearest_section
from rheostat.explanation.choices.front import explain_front, front_table
from rheostat.measurement.read import guess_format
from rheostat.measurement.serving.runs import read_serving
from rheostat.questions import inputs, listener
from rheostat.questions.answer import Answer
from rheostat.questions.llm.runs import Pairs
from rheostat.questions.llm.serving_prices import COST, Prices, hour_prices
from rheostat.questions.parse import parse_pairs
from rheostat.recipes.energylens import KNOBS, of_service
from rheostat.tradeoff.limits import Limit
from rheostat.tradeoff.rules import Weighted

NO_LAW = (
    "no watts and no energy in these runs: cost is that of the GPUs' hours, of measured "
    "configurations alone; with power_w the law also predicts others"
)


@dataclass(frozen=True, kw_only=True, repr=False)
class MeasuredCostAnswer(Answer):
    """Measured configurations by the price of a token.

    Parameters
    ----------
    app : str
        The language model.
    front : Front
        Time between tokens and price of each measured configuration.
    choice : Assignment or None
        None where nothing holds the limits.
    nearest : int
        The row that misses the limits least, then; else -1.
    """

    schema: ClassVar[str] = "rheostat.llm-measured-cost/1"
    app: str
    front: Front
    choice: Assignment | None = None
    nearest: int = -1

    @property
    def setting(self) -> Setting:
        """The configuration to take; where nothing holds the limits, the one nearest to them."""
        return self.front.setting(self.nearest if self.choice is None else self.choice.index)

    def report(self) -> Report:
        """The choice and the front."""
        row = None if self.choice is None else self.choice.index
        sections, facts = explain_front(self.front, row, None, (), COST)
        if self.choice is not None:
            (taken, why), chosen = explain_choice(self.choice, self.front)
            sections, facts = [taken, why, *sections], {**facts, **chosen}
        elif self.nearest >= 0:
            sections = [nearest_section(self.front, self.setting), *sections]
        return Report("", sections, facts)

    def facts(self) -> dict[str, Any]:
        """The front and the choice."""
        return {**self.report().facts, "app": self.app, "feasible": self.choice is not None}

    def grids(self) -> tuple[Grid, ...]:
        """A row a configuration."""
        row = None if self.choice is None else self.choice.index
        return (front_table(self.front, row, None),)

    def beside(self) -> tuple[str, ...]:
        """The choice, its price and how sure it is."""
        if self.choice is None:
            return ()
        taken: Section = explain_choice(self.choice, self.front)[0][0]
        return taken.sentences


def unmetered(runs: JobTable | Sequence[Path], columns: Pairs, units: Pairs) -> JobTable | None:
    """Runs that tell time between tokens and no energy; None where there is energy, or no time."""
    if not isinstance(runs, JobTable):
        if {guess_format(f) for f in runs} - {"runs", "serving"}:
            return None
        named, said = parse_pairs(columns, "--column"), parse_pairs(units, "--unit")
        runs = inputs.together(
            runs, lambda f: read_serving(f, columns=named, units=said, energy=False)
        )
    known = {"itl_s", "gpu_model", "batch_cap", "app"} <= set(runs.columns)
    return runs if known and "energy_per_token_j" not in runs.columns else None


def measured_cost(
    runs: JobTable, app: str, workload: str, prices: Prices, limits: Sequence[Limit]
) -> MeasuredCostAnswer:
    """The measured configuration of least price a token within the limits.

    Raises
    ------
    DataError
        No price of a GPU, or none of this one.
    Infeasible
        None holds the limits.
    """
    if not prices.gpu_hour:
        said = "cost of runs without watts is that of GPUs: give --gpu-price, as 2.5 or H100=2.5"
        raise DataError("--minimise", [said])
    own = of_service(runs, app, workload)
    listener.note(NO_LAW)
    knobs = [k for k in KNOBS if k in own.columns]
    known = own.frame.filter(pl.col("itl_s") > 0)
    each = known.group_by(knobs, maintain_order=True).agg(pl.col("itl_s").mean(), runs=pl.len())
    settings = replace(own.select(knobs), frame=each.select(knobs))
    itl_s = each["itl_s"].to_numpy()[None, :]
    grade = np.full(len(each), GRADES.index("measured"))
    count = each["runs"].to_numpy()
    outcome = Outcome({"itl_s": itl_s}, support=count.astype(float), grade=grade)
    aims = (Objective.of("itl_s"), Objective(COST, "min", "", "price of a million tokens"))
    front = Front(settings, outcome, aims[:1], repeats=count.astype(np.int64))
    hours = 1e6 * itl_s / settings.numpy("batch_cap") / 3600.0
    draws = {"itl_s": itl_s, COST: hours * hour_prices(front, prices)}
    front = replace(front, outcome=replace(outcome, draws=draws), objectives=aims)
    answer = MeasuredCostAnswer(app=app, front=front)
    try:
        return replace(answer, choice=front.choose(Weighted({COST: 1.0}), limits))
    except Infeasible as stop:
        stop.answer = replace(answer, nearest=stop.nearest)
        raise
