"""`budget.follow`: a plan for a budget that changes with time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from rheostat.core.report import Grid, Report, Section
from rheostat.core.units import parse_duration
from rheostat.decision.budget.allocate_power import settings
from rheostat.decision.budget.changing_budget import BudgetAt
from rheostat.decision.budget.changing_budget import follow as moments_of
from rheostat.decision.budget.node_options import BudgetObjective
from rheostat.questions import inputs
from rheostat.questions.answer import Answer
from rheostat.questions.budget.capped_runs import capped as capped_runs
from rheostat.questions.budget.fleets import Start, fleet_of, start_of
from rheostat.questions.listener import question
from rheostat.questions.parse import Names
from rheostat.recipes.ecoshift import budget_series, limits_file

HEADS = ("at_s", "budget_w", "caps_w", "nodes_changed", "mean_gain_by_change")
NODE = ("at_s", "node", "app")
SHOWN = 40
"""Rows of nodes up to which a terminal shows them; a pipe has all."""


@dataclass(frozen=True, kw_only=True, repr=False)
class FollowAnswer(Answer):
    """What happens when, each plan from the last.

    Parameters
    ----------
    moments : tuple of tuple
        ``at_s``, ``budget_w``, ``caps_w``, ``nodes_changed``, ``mean_gain_by_change`` (over nodes,
        by their weights).
    caps : tuple of str
        The caps that are set.
    changes : tuple of tuple
        ``at_s``, ``node``, ``app``, and the new value of each cap, of every node that changes.
    """

    schema: ClassVar[str] = "rheostat.follow/1"
    moments: tuple[tuple[Any, ...], ...]
    caps: tuple[str, ...]
    changes: tuple[tuple[Any, ...], ...]

    def report(self) -> Report:
        """A row a moment, and one for each node that changes then."""
        moments, changes = self.grids()
        nodes = Section("Caps to be set", grid=changes, folded=len(self.changes) > SHOWN)
        return Report("A budget over time", [Section("", grid=moments), nodes])

    def facts(self) -> dict[str, Any]:
        """The moments, each with the nodes that change."""
        made = [dict(zip(HEADS, r, strict=True)) for r in self.moments]
        nodes = [dict(zip((*NODE, *self.caps), r, strict=True)) for r in self.changes]
        return {
            "moments": [m | {"nodes": [n for n in nodes if n["at_s"] == m["at_s"]]} for m in made]
        }

    def grids(self) -> tuple[Grid, ...]:
        """A row a moment, and a row for each node that changes then."""
        heads = (*NODE, *self.caps)
        return (
            Grid(HEADS, self.moments, ("s", "W", "W")),
            Grid(heads, self.changes, ("s", "", "", *("W" for _ in self.caps))),
        )


@question
def follow(
    runs: inputs.Jobs,
    limits: Path | str,
    *,
    until: str = "24h",
    lead_s: float = 2.0,
    nodes: pl.DataFrame | Path | str | None = None,
    count: int = 0,
    start: Start = None,
    hysteresis: float = 0.0,
    where: Sequence[str] = (),
    by: Names = "",
    seed: int = 0,
    format: str = "",
    columns: Path | None = None,
    renamed: Sequence[str] = (),
) -> FollowAnswer:
    """Plan for a budget that changes with time: what happens when, each plan from the last.

    Caps go down before the budget falls and up after it has risen.

    Parameters
    ----------
    runs : JobTable or path
        As for `plan`.
    limits : path
        TOML with a ``[site] total`` that changes with time.
    until : str
        How far to look.
    lead_s : float
        Seconds before a fall at which caps go down.
    nodes, count, start, hysteresis, where, by, seed, format, columns, renamed
        As for `plan`.

    Returns
    -------
    FollowAnswer
        With ``moments``.

    Raises
    ------
    DataError
        The total does not change with time, or the file says something else.
    """
    capped = capped_runs(runs, where, by, format, columns, renamed)
    fleet = fleet_of(capped, nodes, count, start_of(start, nodes), seed)
    file = Path(limits)
    plans = list(moments_of(fleet, budget_series(file), BudgetObjective(change=hysteresis),
                            end_s=parse_duration(until), lead_s=lead_s,
                            limits=limits_file(file)))  # fmt: skip
    return FollowAnswer(
        moments=tuple(
            (m.at_s, m.budget_w, float(m.spent.after.now_w.sum()), len(m.spent.changed),
             m.spent.mean_gain[0])
            for m in plans
        ),
        caps=fleet.caps,
        changes=tuple(row for m in plans for row in _changes(m)),
    )  # fmt: skip


def _changes(moment: BudgetAt) -> Iterator[tuple[Any, ...]]:
    """What is to be set then: a row a node."""
    spent = moment.spent
    for i in spent.changed.tolist():
        app = spent.fleet.surfaces[spent.fleet.app[i]].app
        yield (moment.at_s, spent.fleet.names[i], app, *settings(spent, i)[1].values())
