"""`budget.plan`: caps of every node, for a budget of watts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from rheostat.core.report import Grid, Report
from rheostat.core.storage.files import replace_file
from rheostat.decision.budget.allocate_power import PowerLimits, allocate_power
from rheostat.decision.budget.cap_plan import SCHEMA, facts
from rheostat.decision.budget.node_options import BudgetObjective
from rheostat.errors import QuestionError
from rheostat.explanation.choices.budget import budget_grid, budget_report
from rheostat.explanation.formats.json import document, plain
from rheostat.questions import inputs, listener
from rheostat.questions.answer import Answer
from rheostat.questions.budget.capped_runs import capped as capped_runs
from rheostat.questions.budget.fleets import (
    LOWEST,
    Start,
    beside_served,
    fleet_of,
    limits_of,
    start_of,
)
from rheostat.questions.listener import question
from rheostat.questions.parse import Names

LEAST = {
    "max-min": "max-min lifts the least gain in speed over each node's caps {now}; max-min-speed "
    "lifts the least speed itself, as a share of that at an application's best caps",
    "max-min-speed": "max-min-speed lifts the least speed, as a share of that at an application's "
    "best caps: here {least:.2f}",
}
"""Of what the least is taken."""


@dataclass(frozen=True, kw_only=True, repr=False)
class BudgetAnswer(Answer):
    """Caps of nodes, and what they gain.

    Parameters
    ----------
    plan : mapping
        As `rheostat.budget.apply` takes it from a file.
    """

    schema: ClassVar[str] = SCHEMA
    plan: Mapping[str, Any]

    def report(self) -> Report:
        """What is shared, who gains, and what changes."""
        return budget_report(plain(self.plan))

    def page_report(self) -> Report:
        """The same with every node."""
        return budget_report(plain(self.plan), full=True)

    def facts(self) -> Mapping[str, Any]:
        """The plan."""
        return self.plan

    def grids(self) -> tuple[Grid, ...]:
        """A row a node."""
        return (budget_grid(plain(self.plan)),)


@question
def plan(
    runs: inputs.Jobs,
    total: str | float = "",
    *,
    extra_w: float | None = None,
    limits: PowerLimits | Path | str | None = None,
    at: str = "0",
    nodes: pl.DataFrame | Path | str | None = None,
    count: int = 0,
    start: Start = None,
    objective: str = "mean",
    risk: float | None = None,
    slowdown: float | None = None,
    reclaim_w: float | None = None,
    hysteresis: float = 0.0,
    most_changes: int | None = None,
    served: Sequence[inputs.Jobs] = (),
    out: Path | str | None = None,
    where: Sequence[str] = (),
    by: Names = "",
    seed: int = 0,
    format: str = "",
    columns: Path | None = None,
    renamed: Sequence[str] = (),
) -> BudgetAnswer:
    """Plan caps for every node from a table of runs under caps.

    Parameters
    ----------
    runs : JobTable or path
        app, runtime_s and cpu_cap_w, gpu_cap_w or cap_w; power_w or energy_j where measured.
    total : float or str
        Watts of caps in all, also as ``"12kW"``; in its place ``extra_w`` or ``limits``.
    extra_w : float, optional
        Watts per node above the caps now.
    limits : PowerLimits or path, optional
        A TOML file with ``[site] total`` and e.g. ``[rack] r1``; ``at`` is the moment of a total
        that changes with time.
    at : str
        A duration.
    nodes : polars.DataFrame or path, optional
        node, app, caps now, weight, draws, rack, ...; one per application by default.
    count : int
        Without ``nodes``: how many; they run the applications in turn.
    start : str, mapping or DeviceAddress, optional
        Caps now where ``nodes`` has none, as ``"cpu_cap_w=140,gpu_cap_w=150"``, "lowest", or the
        `devices` to read.
    objective : str
        mean (gain in speed over the caps now), max-min (the least of these gains), max-min-speed
        (the least speed, as a share of that at its application's best caps), or energy (with
        ``slowdown``).
    risk : float, optional
        Count only what is reached with this probability.
    slowdown : float, optional
        No node may run longer than this times now, as 1.05.
    reclaim_w : float, optional
        Take only what devices do not draw, less this margin.
    hysteresis : float
        Gain below which caps are left alone.
    most_changes : int, optional
        Change at most so many nodes.
    served : sequence of JobTable or path
        Language models that share the budget, as `rheostat.llm.plan` writes them; under ``cap_w``.
    out : path, optional
        Where the plan goes.
    where : sequence of str
        Rows to keep, as ``column=value``.
    by : str or sequence of str
        Columns that make runs the same application.
    seed : int
        Of the surfaces' draws.
    format, columns, renamed
        How a file is read; ``renamed`` are texts ``ours=theirs``.

    Returns
    -------
    BudgetAnswer
        With ``plan``.

    Raises
    ------
    QuestionError
        Not one of the three budgets is given, or a slowdown below 1.
    Infeasible
        The budget is below the lowest caps.

    Examples
    --------
    >>> import rheostat as rh
    >>> from rheostat.measurement.synthetic.capped_runs import capped_runs
    >>> answer = rh.budget.plan(capped_runs(3, seed=0), "1.5kW", start="lowest")
    >>> answer.table().height
    3
    """
    if slowdown is not None and not slowdown >= 1:
        raise QuestionError("--slowdown", [f"expected 1 or more, as 1.05, got {slowdown}"])
    bound = None if slowdown is None else slowdown - 1.0
    objectives = BudgetObjective(objective, risk, bound, hysteresis)
    capped = capped_runs(runs, where, by, format, columns, renamed)
    if served:
        capped = beside_served(capped, served)
    begin = start_of(start, nodes)
    fleet = fleet_of(capped, nodes, count, begin, seed)
    allowed = limits_of(fleet, total, extra_w, limits, at)
    with listener.working(f"planning {len(fleet):,} nodes"):
        spent = allocate_power(fleet, allowed, objectives, reclaim_w=reclaim_w,
                               most_changes=most_changes)  # fmt: skip
        made = facts(spent)
    made["caps_now"] = "assumed" if begin == LOWEST else "known"
    if objective in LEAST:
        now = "now, assumed to be the lowest" if begin == LOWEST else "now"
        made["notes"].append(LEAST[objective].format(now=now, least=made["least_speed"]))
        listener.note(made["notes"][-1])
    if out is not None:
        replace_file(Path(out), document(SCHEMA, made))
        listener.line(f"wrote {out}")
    return BudgetAnswer(plan=made)
