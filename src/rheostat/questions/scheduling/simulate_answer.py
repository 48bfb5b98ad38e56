"""What `simulate` answers: schedules of one trace under several policies, side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.report import Grid, Report
from rheostat.core.storage.files import replacing
from rheostat.core.texts.formulas import without_formulas
from rheostat.explanation.schedules.schedule import flat_grid, schedule_report, schedule_text
from rheostat.questions.answer import Answer
from rheostat.simulation.comparison import jittered_replays
from rheostat.simulation.comparison.as_logged import logged_facts
from rheostat.simulation.comparison.replay import Replay, replay
from rheostat.simulation.log_machine import roomy_words
from rheostat.simulation.report_facts import facts as facts_of
from rheostat.simulation.report_series import picture
from rheostat.simulation.result import Simulation
from rheostat.simulation.workload import schedule_columns

WHOLE = ("submit_s", "start_s", "end_s")


@dataclass(frozen=True, kw_only=True, repr=False)
class SimulateAnswer(Answer):
    """Schedules of one trace under several policies, side by side.

    Parameters
    ----------
    jobs : JobTable
        The trace that was run.
    runs : tuple of Simulation
        One per policy; the first is what the others are compared with.
    trace : str
        Its name.
    planning : mapping
        How the runs were made: estimates, semantics, ties, overdue.
    seed : int
        Of the intervals.
    replays : mapping or None
        What other submissions, a little later, would have changed.
    """

    schema: ClassVar[str] = "rheostat.simulate/1"
    jobs: JobTable
    runs: tuple[Simulation, ...]
    trace: str = "trace"
    planning: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    replays: dict[str, Any] | None = None

    @property
    def schedule(self) -> JobTable:
        """The jobs that ran, in the order of the trace, with the times of the first policy."""
        return self.runs[0].jobs

    @property
    def schedules(self) -> dict[str, JobTable]:
        """The same of every policy, by its name."""
        return {run.policy.name: run.jobs for run in self.runs}

    def report(self) -> Report:
        """Metrics of each policy, then paired differences from the first."""
        return schedule_text(self._shown, self.beside())

    def page_report(self) -> Report:
        """With pictures, and waits by size, length and user."""
        return schedule_report(self._facts, picture(self.runs), self.beside())

    def facts(self) -> dict[str, Any]:
        """Every metric of every policy, who gains and who loses."""
        return self._facts

    def grids(self) -> tuple[Grid, ...]:
        """A row per policy."""
        return (flat_grid(self._shown),)

    def beside(self) -> tuple[str, ...]:
        """Whether anybody waits, what replays say, and how near this is to the waits logged."""
        replays = () if self.replays is None else jittered_replays.words(self.replays)
        replayed = _replay_words(self._replays)
        return tuple(filter(None, (self._roomy, *replays, replayed)))

    def write(self, path: Path) -> tuple[Path, ...]:
        """Write starts and ends as CSV, whole seconds as whole numbers; a file per policy."""
        return tuple(_written(run, path, alone=len(self.runs) == 1) for run in self.runs)

    @cached_property
    def _roomy(self) -> str:
        return roomy_words(self.jobs, self.runs)

    @cached_property
    def _replays(self) -> dict[str, Replay]:
        """How near each policy's run is to the log; empty where it has no waits."""
        near = {run.policy.name: replay(self.jobs, run.jobs) for run in self.runs}
        return {name: r for name, r in near.items() if r is not None}

    @cached_property
    def _shown(self) -> dict[str, Any]:
        """The facts that a terminal shows; the others take longer than the rest together."""
        return self._made(deep=False)

    @cached_property
    def _facts(self) -> dict[str, Any]:
        return self._made(deep=True)

    def _made(self, *, deep: bool) -> dict[str, Any]:
        facts = facts_of(
            self.trace, self.runs, self.planning, read=self.jobs, seed=self.seed, deep=deep
        )
        near = self._replays
        facts["nobody_waits"] = self._roomy or None
        facts["logged"] = logged_facts(self.jobs, self.runs)
        for key, name in (("replay", self.runs[0].policy.name), ("nearest", nearest(near))):
            facts[key] = {"policy": name, **near[name].facts()} if name in near else None
        return facts if self.replays is None else facts | {"replays": self.replays}


def nearest(replays: Mapping[str, Replay]) -> str:
    """The policy whose waits are nearest to those logged, the first of equal ones; "" of none."""
    return min(replays, key=lambda name: replays[name].ks, default="")


def _replay_words(replays: Mapping[str, Replay]) -> str:
    """The first policy, with which others are compared, and the nearest where it is another."""
    if not replays:
        return ""
    first, near = next(iter(replays)), nearest(replays)
    said = f"Against the waits logged, {first} is {_near(replays[first])}"
    return said if near == first else f"{said} Nearest is {near}: {_near(replays[near])}"


def _near(of: Replay) -> str:
    depth = of.queue_correlation
    queue = "" if math.isnan(depth) else f", queue correlation {depth:.2f}"
    return f"{of.words} KS {of.ks:.2f}{queue}."


def _written(run: Simulation, path: Path, *, alone: bool) -> Path:
    into = path if alone else path.with_stem(f"{path.stem}.{run.policy.name}")
    frame = schedule_columns(run.jobs.frame)
    whole = [c for c in WHOLE if (frame[c] == frame[c].round()).all()]
    with replacing(into) as draft:
        made = frame.with_columns(pl.col(c).cast(pl.Int64) for c in whole)
        without_formulas(made).write_csv(draft)
    return into
