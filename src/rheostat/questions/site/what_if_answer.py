"""What `site_what_if` answers: plans side by side, the one to take, who waits for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rheostat.core.report import Chart, Grid, Report, Section
from rheostat.core.units import format_duration, format_quantity
from rheostat.questions.answer import Answer
from rheostat.simulation.comparison.paired_comparison import LEVEL

HEADS = (
    "plan", "energy_j", "cost", "carbon_kg", "over_s", "mean_wait_s", "slowdown", "later",
    "left_out", "over_limit",
)  # fmt: skip
UNITS = ("", "J", "", "kg", "s", "s", "", "", "", "")
MOST_IDS = 10
SHARES = ("available_w", "model", "configuration", "cap_w", "speed", "batch_w", "gap")
SHARE_UNITS = ("W", "", "", "W", "", "W", "")
DIVIDED = (
    "Plans that hold the power serve the models so, which loses least speed; each loss counts by "
    "the watts taken at full speed."
)
SAVED = (("energy_j", "energy"), ("cost", "cost"), ("carbon_kg", "CO2"))
LAST_WEEK = "Means of an hour, in the last week of submissions."
REPLAYED = f"Intervals ({LEVEL:.0%}) are over replays with submissions moved by up to two minutes. "
SIMULATED = "Simulated on this log: what a plan really saves only a trial tells."


@dataclass(frozen=True, kw_only=True)
class PlanResult:
    """What came of one plan on the log.

    Parameters
    ----------
    name : str
        Of the plan.
    measures : mapping
        ``energy_j``, ``cost``, ``carbon_kg``; for how long and by how much at most the power that
        there is was exceeded, ``over_s`` and ``over_w``; mean wait, turnaround (wait and
        run) and bounded ``slowdown`` (turnaround beside the run without a cap); NaN is not known.
    change : mapping
        Difference from doing nothing in each: mean, low and high over jittered replays.
    later : int
        Jobs that end more than a minute later than when nothing is done.
    left_out : int
        Jobs that the plan can never run, as they need more than the power that there is; a plan
        that leaves any out is not taken.
    over_limit : int
        Jobs that, as they run capped, need more time than the limit that they asked for.
    """

    name: str
    measures: Mapping[str, float]
    change: Mapping[str, tuple[float, float, float]]
    later: int
    left_out: int = 0
    over_limit: int = 0


@dataclass(frozen=True, kw_only=True, repr=False)
class SiteWhatIfAnswer(Answer):
    """Plans for power that is short, dear or dirty, replayed on a site's own log.

    Parameters
    ----------
    results : tuple of PlanResult
        Doing nothing first.
    choice : int or None
        The plan to take; None if none holds the power that there is.
    longer_s : float
        By how much later jobs were allowed to end on average.
    delayed : tuple of mapping
        Jobs that the choice delays most.
    over_limit : tuple
        Every job that the choice runs past the time limit that it asked for: a batch system has to
        extend it.
    power : mapping
        Mean watts of each hour of the last week, of doing nothing and of the choice, and the power
        that there is.
    served : tuple of mapping
        For each value of the power that there is and each served model: its configuration and
        most watts, its ``speed`` as a part of the highest, what is left to batch jobs, and by
        how much another division can be better at most (``gap``, None where the least does not
        fit).
    """

    schema: ClassVar[str] = "rheostat.site.what-if/1"
    results: tuple[PlanResult, ...]
    choice: int | None
    longer_s: float
    delayed: tuple[Mapping[str, Any], ...]
    power: Mapping[str, Any]
    served: tuple[Mapping[str, Any], ...] = ()
    over_limit: tuple[Any, ...] = ()

    def report(self) -> Report:
        """The plan to take and its price, then every plan, then who waits."""
        rows = tuple(
            (r.name, *(r.measures[m] for m in HEADS[1:-3]), r.later, r.left_out, r.over_limit)
            for r in self.results
        )
        named = [(d["job_id"], d["later_s"]) for d in self.delayed]
        return Report(
            "",
            [
                Section("answer", self.beside()),
                Section("plans", (), Grid(HEADS, rows, UNITS, self.choice)),
                *self._shares(),
                Section("power", (LAST_WEEK,), chart=self._chart()),
                Section(
                    "delayed most",
                    ("By the plan to take.",) if named else ("Nobody.",),
                    Grid(("job", "later_s"), tuple(named), ("", "s")) if named else None,
                ),
            ],
            self.facts(),
        )

    def beside(self) -> tuple[str, ...]:
        """What to do, what it saves and costs, and how sure that is."""
        if self.choice is None:
            every = [r for r in self.results if not r.left_out]
            least = min(every, key=lambda r: r.measures["over_s"])
            over = format_duration(least.measures["over_s"])
            said = "No plan holds the power that there is and runs every job"
            return (f"{said}; {least.name} exceeds it for {over}.",)
        taken, base = self.results[self.choice], self.results[0]
        if taken is base:
            return ("Do nothing: no other plan is better within what was asked.", SIMULATED)
        longer = taken.change["turnaround_s"][0]
        way = "later" if longer >= 0 else "earlier"
        first = (
            f"Take: {taken.name}. Jobs end {format_duration(abs(longer))} {way} on average, "
            f"{taken.later:,} of them by more than a minute."
        )
        if longer > self.longer_s:
            first += f" No plan that holds keeps that below {format_duration(self.longer_s)}."
        saved = [
            f"{name} {_percent(taken, base, key)}"
            for key, name in SAVED
            if np.isfinite(taken.measures[key])
        ]
        replayed = REPLAYED if np.isfinite(taken.change["turnaround_s"][1]) else ""
        beside = f"Beside doing nothing: {', '.join(saved)}."
        return first, beside, *self._slowed(), *self._over_limit(), replayed + SIMULATED

    def _slowed(self) -> tuple[str, ...]:
        """Served models that are slower where power is short."""
        return tuple(
            f"{row['app']} at {row['speed']:.0%} of its tokens per second where there are "
            f"{format_quantity(row['available_w'], 'W')}, within its limits: {row['setting']}."
            for row in self.served
            if row["speed"] < 1
        )

    def _over_limit(self) -> tuple[str, ...]:
        """Jobs whose time limit has to be extended."""
        if not self.over_limit:
            return ()
        some = ", ".join(map(str, self.over_limit[:MOST_IDS]))
        more = ", ..." if len(self.over_limit) > MOST_IDS else ""
        return (
            f"{len(self.over_limit):,} jobs run capped past the time limit that they asked for, "
            f"which has to be extended, or they are ended: {some}{more}.",
        )

    def facts(self) -> dict[str, Any]:
        """Plans, the choice, who is delayed, power over time."""
        return {
            "plans": [
                {
                    "name": r.name,
                    **r.measures,
                    "later": r.later,
                    "left_out": r.left_out,
                    "over_limit": r.over_limit,
                    "change": {k: list(v) for k, v in r.change.items()},
                }
                for r in self.results
            ],
            "choice": None if self.choice is None else self.results[self.choice].name,
            "longer_s": self.longer_s,
            "delayed": [dict(d) for d in self.delayed],
            "over_limit": list(self.over_limit),
            "power": dict(self.power),
            "served": [dict(row) for row in self.served],
        }

    def grids(self) -> tuple[Grid, ...]:
        """A row per plan."""
        return (self.report().sections[1].grid,)  # type: ignore[return-value]

    def _shares(self) -> list[Section]:
        """Who has which watts, where models are served."""
        if not self.served:
            return []
        rows = tuple(tuple(row.values()) for row in self.served)
        sure = [row["gap"] for row in self.served if row["gap"] is not None]
        said = f"{DIVIDED} No other division is better by more than {max(sure, default=0.0):.1%}."
        return [Section("served models", (said,), Grid(SHARES, rows, SHARE_UNITS))]

    def _chart(self) -> Chart:
        lines = [
            {"name": name, "x": self.power["from_s"], "y": values, "limit": name == "available"}
            for name, values in self.power["mean_w"].items()
        ]
        since, unit = self.power["since"], self.power["unit"]
        return Chart("time", tuple(lines), (since, "power"), units=(unit, "W"))


def _percent(taken: PlanResult, base: PlanResult, key: str) -> str:
    """Change in percent with its interval."""
    whole = base.measures[key]
    mean, low, high = (100 * v / abs(whole) if whole else float("nan") for v in taken.change[key])
    if not np.isfinite(low):  # no replays
        return f"{mean:+.1f} %"
    return f"{mean:+.1f} % [{low:+.1f}, {high:+.1f}]"
