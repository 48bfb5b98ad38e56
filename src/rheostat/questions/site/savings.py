"""`site_savings`: who could have saved what on a log's newest jobs, by user and application."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from rheostat.core.front import Constraint, Rule
from rheostat.core.report import Grid, Report, Section
from rheostat.decision.decide import Advice
from rheostat.questions import inputs
from rheostat.questions.advice.decide import decide
from rheostat.questions.advice.log_advice import SPENT, LogAdvice
from rheostat.questions.listener import question
from rheostat.questions.parse import Knobs, Names, parse_space
from rheostat.questions.site.newest_jobs import newest

GROUPS = ("user", "app")
MOST_JOBS = 20_000
HEADS = ("jobs", "advised", "before", "saved", "saved_low", "saved_high", "slower_s")


@dataclass(frozen=True, kw_only=True, repr=False)
class SiteSavingsAnswer(LogAdvice):
    """Forecast savings on the newest jobs, by who submitted them.

    Parameters
    ----------
    advice : Advice
        For each of the jobs.
    quantity : str
        What is saved: energy_j, or node_hours where the log has no energy.
    by_group : mapping of str to DataFrame
        Rows of users and of applications, the largest saving first.
    """

    schema: ClassVar[str] = "rheostat.site-savings/1"
    advice: Advice
    quantity: str
    by_group: dict[str, pl.DataFrame]

    def report(self) -> Report:
        """The total, and a table for each kind of group."""
        sections = [Section(f"by {name}", (), Grid(tuple(frame.columns), tuple(frame.rows())))
                    for name, frame in self.by_group.items()]  # fmt: skip
        return Report("", [Section("savings", self.beside()), *sections], self.facts())

    def beside(self) -> tuple[str, ...]:
        """The total with its interval, and what kind of figure it is."""
        total = self.advice.totals.get(self.quantity)
        if total is None:
            return ("Nothing can be compared.",)
        mean, low, high = (-c for c in total.change)
        said = f"{mean:.0%} [{high:.0%} {low:.0%}] of {self.quantity} could have been saved."
        return (said, "A forecast of the model: what was saved only a trial tells.")

    def facts(self) -> dict[str, Any]:
        """Total, users and applications as data."""
        total = self.advice.totals.get(self.quantity)
        return {
            **self.log.facts, "quantity": self.quantity, "figure": "forecast by the model",
            "jobs": len(self.advice), "counts": self.advice.counts(),
            "total": None if total is None else
            {"before": total.before, "after": total.after, "change": list(total.change)},
            "by": {name: frame.to_dicts() for name, frame in self.by_group.items()},
        }  # fmt: skip

    def grids(self) -> tuple[Grid, ...]:
        """A row per user, else per application."""
        frames = list(self.by_group.values())[:1]
        return tuple(Grid(tuple(f.columns), tuple(f.rows())) for f in frames)


@question
def site_savings(
    jobs: inputs.Jobs,
    *,
    model: inputs.Model | None = None,
    knobs: Knobs = None,
    objectives: Names = (),
    rule: str | Rule | None = None,
    slowdown: float | None = None,
    limits: Sequence[str | Constraint] = (),
    method: str = "auto",
    days: float = 31.0,
    seed: int = 0,
) -> SiteSavingsAnswer:
    """Say who could have saved what on the newest ended jobs, by user and application.

    The interval of a group adds up the ends of its jobs' intervals: it holds also if all errors of
    the group go the same way.

    Parameters
    ----------
    jobs : JobTable or path
        A log.
    model, knobs, objectives, rule, slowdown, limits, method, seed
        As those of `rheostat.decide`.
    days : float
        Jobs submitted in so many last days of the log, the newest 20,000 at most.

    Returns
    -------
    SiteSavingsAnswer
        With ``by_group``.

    Raises
    ------
    DataError
        No job has ended, or no such knob or objective.
    Infeasible
        The log cannot answer; ``answer`` of the error says why.

    Examples
    --------
    >>> from rheostat.measurement.synthetic.world import World
    >>> answer = site_savings(World(seed=1).jobs(300), knobs="nodes=1..64")
    >>> answer.by_group["user"].columns[:3]
    ['user', 'jobs', 'advised']
    """
    space = parse_space(knobs)
    log = inputs.opened(jobs, knobs=space.names)
    recent = newest(log, days, MOST_JOBS)
    answer = decide(
        recent, past=log, model=model, knobs=space, objectives=objectives, rule=rule,
        slowdown=slowdown, limits=limits, method=method, seed=seed,
    )  # fmt: skip
    table = answer.table()
    quantity = next((q for q in SPENT if f"{q}_requested" in table.columns), "runtime_s")
    groups = {name: _grouped(table, name, quantity) for name in GROUPS if name in table.columns}
    return SiteSavingsAnswer(advice=answer.advice, quantity=quantity, by_group=groups,
                             log=answer.log)  # fmt: skip


def _grouped(table: pl.DataFrame, name: str, quantity: str) -> pl.DataFrame:
    """Sums over the advised jobs of each group; low and high add up the ends."""
    change, moved = pl.col(f"{quantity}_change"), pl.col("status") == "advised"
    before = pl.col(f"{quantity}_requested")
    saved = [
        (before * -pl.col(f"{quantity}_change{end}")).filter(moved).sum().alias(f"saved{other}")
        for end, other in (("", ""), ("_high", "_low"), ("_low", "_high"))
    ]
    slower = (pl.col("runtime_s_advised") - pl.col("runtime_s_requested")).filter(moved).sum()
    sums = table.filter(change.is_not_null()).group_by(name).agg(
        pl.len().alias("jobs"), moved.sum().alias("advised"), before.sum().alias("before"),
        *saved, slower.alias("slower_s"),
    )  # fmt: skip
    return sums.select(name, *HEADS).sort("saved", name, descending=[True, False], nulls_last=True)
